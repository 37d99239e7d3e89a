"""Several problems of a kernel machine, and the kernel values that they share."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from maxmargin.certificate import Status
from maxmargin.data.arrays import Array, Matrix
from maxmargin.data.origin import Level
from maxmargin.data.problem import Problem
from maxmargin.kernels import Kernel, Precomputed
from maxmargin.multiclass.subproblems import Subproblems
from maxmargin.multiclass.unreached import Unreached
from maxmargin.objectives.formulation import Formulation
from maxmargin.objectives.kernel import KernelObjective
from maxmargin.runtime.blas_threads import blas_threads_for, one_blas_thread
from maxmargin.runtime.memory import free_memory
from maxmargin.solution import Solution
from maxmargin.solvers import SMO, Solver, Start
from maxmargin.solvers.kernel.batch_smo import BatchSMO, Task
from maxmargin.solvers.kernel.row_source import KernelSamples, SharedSamples

#: Bytes of kernel values that are kept for all problems of a fit.
_TABLE = 2**28

#: Kernel values between two checks of the clock and of Ctrl-C.
VALUES_AT_ONCE = 2**23

#: Values of a sample from which on its kernel values are worth sharing.
_WORTH_SHARING = 32


@dataclass(eq=False)
class KernelProblems(Subproblems):
    """Problems over the same samples that differ in their rows, targets and costs.

    `members`, where the problems are pairs of classes, are the rows of each class.
    """

    X: Matrix
    kernel: Kernel
    tasks: list[Task]
    starts: list[Start]
    formulation: Formulation
    solver: Solver
    members: list[NDArray[np.intp]] | None
    level: Level
    cache_size: float | None
    shared: SharedSamples | None = field(default=None, init=False)
    answers_are_known: bool = field(default=False, init=False)
    _first: KernelObjective | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._first = self.pose(0)  # an invalid kernel is refused before a fit is reported

    def pose(self, task: int) -> KernelObjective:
        """Return the objective of one problem."""
        if task == 0 and self._first is not None:
            return self._first
        rows, target, cost = self.tasks[task]
        problem = Problem(rows_of(self.X, rows), target, cost, level=self.level)
        first = self._first if rows is self.tasks[0][0] else None
        # eigenvalues take many small products, each of which would wake the threads of BLAS
        with one_blas_thread() if self.kernel.mercer is None else nullcontext():
            return self.formulation.objective(problem, self.kernel, first.convex if first else None)

    def solver_for(self, objective: KernelObjective) -> Solver:
        """Return the solver of all of them."""
        del objective
        return self.solver

    def prepare(self, over: Callable[[], bool], *, reporting: bool) -> None:
        """Make the table of all kernel values where that is small; else what pairs share."""
        table, solver = None, self.solver
        if isinstance(solver, SMO) and are_small(
            self.X, self.kernel, self.tasks, solver.small, self.cache_size
        ):
            table = tabulated(self.X, self.kernel, self.members, over)
        if table is not None:
            (self.X, self.kernel), self._first = table, None
            if self.starts[0].beta is None and not reporting:
                nu_sums = [self.formulation.nu_sum(y, cost) for _, y, cost in self.tasks]
                self.batch = BatchSMO(solver.name, self.X, self.tasks, nu_sums)
        self.one_blas_thread = table is None
        self.shared = shared_samples(self.X, self.kernel, self.members, solver, self.cache_size)
        self.answers_are_known = self.formulation.constants_are_known and not reporting

    def rounds(self, n_threads: int) -> list[list[range]]:
        """Return a group for each thread."""
        n = len(self)
        return [[range(first, n, n_threads) for first in range(min(n_threads, n))]]

    def start(self, task: int, objective: KernelObjective) -> Start:
        """Return where to start, with the rows that its classes share."""
        start = self.starts[task]
        if self.shared is None:
            return start
        return replace(start, samples=self.shared.pair(task, objective.problem.X))

    def may_be_left(self, task: int) -> bool:
        """Those but the first whose best constants are known."""
        return task > 0 and self.answers_are_known

    def constants(self, left: list[int], status: Status, seconds: float) -> list[Solution]:
        """Return the best constants."""
        posed, some = self.formulation, [self.tasks[task] for task in left]
        posing = posed.loss, posed.intercept, status, self.solver.name
        unreached = Unreached(*posing, nu=posed.nu is not None)
        targets, costs = [target for _, target, _ in some], [cost for _, _, cost in some]
        return unreached.solutions(targets, costs, [len(rows) for rows, _, _ in some], seconds)


def positions(n: int) -> Array:
    """Return positions for samples: what a table of kernel values takes."""
    return np.arange(n, dtype=np.float64)[:, np.newaxis]


def tabulated(
    X: Matrix,
    kernel: Kernel,
    members: list[NDArray[np.intp]] | None,
    over: Callable[[], bool],
) -> tuple[Matrix, Kernel] | None:
    """Return the samples as positions in the table of their kernel values, class by class.

    None if time is over first.
    """
    n = X.shape[0]
    order = np.arange(n) if members is None else np.concatenate(members)
    at, rows = np.empty((n, 1)), X[order]
    at[order] = positions(n)
    step = max(1, VALUES_AT_ONCE // n)
    with blas_threads_for(n * min(n, step) * X.shape[1]):
        table = np.empty((n, n)) if n > step else kernel(rows, rows)
        for begin in range(0, n, step) if n > step else ():
            if over():
                return None
            table[begin : begin + step] = kernel(rows[begin : begin + step], rows)
    return at, Precomputed(table, kernel.mercer, kernel.rounding(rows))


def table_bytes(n: int, cache_size: float | None) -> int:
    """Return what the kernel values of n samples take; 0 where that is too much to keep them all.

    That is also more than half of the megabytes given for kernel values.
    """
    room = _TABLE if cache_size is None else min(_TABLE, 0.5e6 * float(cache_size))
    return 8 * n**2 if 8 * n**2 <= room else 0


def are_small(
    X: Matrix, kernel: Kernel, tasks: list[Task], small: int, cache_size: float | None
) -> bool:
    """Whether several problems need the same kernel values, and few enough to keep them all."""
    if len(tasks) == 1 or kernel.mercer is None or not table_bytes(X.shape[0], cache_size):
        return False
    return max(len(rows) for rows, _, _ in tasks) <= small


def shared_samples(
    X: Matrix,
    kernel: Kernel,
    members: list[NDArray[np.intp]] | None,
    solver: Solver,
    cache_size: float | None,
) -> SharedSamples | None:
    """Return what pairs of classes share, where they are large and their rows worth keeping."""
    if members is None or len(members) < 3:
        return None
    if not isinstance(solver, SMO) or X.shape[0] <= 2 * solver.small:
        return None
    samples = KernelSamples(kernel, X, solver.n_threads)
    if samples.formula is None or samples.stored < _WORTH_SHARING or samples.far.any():
        return None
    cache = 0.25e-6 * free_memory() if cache_size is None else 0.5 * float(cache_size)
    return SharedSamples(samples, members, cache)


def rows_of(X: Matrix, rows: NDArray[np.intp]) -> Matrix:
    """Return those rows; X itself if they are all of it, in order."""
    if len(rows) == X.shape[0] and np.array_equal(rows, np.arange(len(rows))):
        return X
    return X[rows]
