"""The problems of a kernel machine: their samples, and what they share."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin.data.arrays import Array, Matrix
from maxmargin.data.origin import UNMOVED, Level
from maxmargin.kernels import Kernel, Precomputed
from maxmargin.losses import HINGE
from maxmargin.multiclass.unreached import Unreached
from maxmargin.objectives.base import Objective
from maxmargin.objectives.kernel import KernelObjective
from maxmargin.runtime.memory import free_memory
from maxmargin.runtime.progress import under_way
from maxmargin.solution import Record, Solution
from maxmargin.solvers import Monitor, Solver
from maxmargin.solvers.kernel.batch_smo import Task
from maxmargin.solvers.kernel.row_source import KernelSamples, SharedSamples
from maxmargin.solvers.kernel.smo import SMO

#: Bytes of kernel values that are kept for all problems of a fit.
_TABLE = 2**28

#: Kernel values between two looks at the clock and at Ctrl-C.
VALUES_AT_ONCE = 2**23

#: Values of a sample from which on its kernel values are worth sharing.
_WORTH_SHARING = 32


class Posed(NamedTuple):
    """Rows and targets as given, the samples as the kernel takes them, the rows of each class.

    `level` is what was subtracted from the targets.
    """

    X: Matrix
    y: Any
    samples: Matrix
    kernel: Kernel
    members: list[NDArray[np.intp]]
    level: Level = UNMOVED


def unbegun(n_samples: int) -> Solution:
    """Return f = 0, where a problem is before its first gap check."""
    return under_way(Record(0.0, 0, math.inf, 0.0, math.inf), np.zeros(n_samples), 0.0, HINGE)


def has_constant_answer(objective: Objective) -> bool:
    """Whether the answer to problems like this one that were not begun is known."""
    return objective.loss is HINGE and type(objective) is KernelObjective


def reached_or_not(
    found: list[Solution | None], tasks: list[Task], first: Monitor, solver: str
) -> list[Solution]:
    """Return the solutions, with the best constants where there is none."""
    left = [task for task, solution in zip(tasks, found, strict=True) if solution is None]
    if not left:
        return [solution for solution in found if solution]
    objective = first.objective
    unreached = Unreached(objective.loss, objective.intercept, first.halted(0), solver)
    sizes = [len(rows) for rows, _, _ in left]
    targets, costs = [target for _, target, _ in left], [cost for _, _, cost in left]
    rest = iter(unreached.solutions(targets, costs, sizes, first.seconds))
    return [solution or next(rest) for solution in found]


def places(n: int) -> Array:
    return np.arange(n, dtype=np.float64)[:, np.newaxis]


def tabulated(
    X: Matrix,
    kernel: Kernel,
    members: list[NDArray[np.intp]] | None,
    stopped: Callable[[], bool],
) -> tuple[Matrix, Kernel, bool]:
    """Return the samples as positions in the table of their kernel values, class by class; True.

    Samples and kernel as they are, and False, if it is to stop first.
    """
    n = X.shape[0]
    order = np.arange(n) if members is None else np.concatenate(members)
    at, rows = np.empty((n, 1)), X[order]
    at[order] = places(n)
    step = max(1, VALUES_AT_ONCE // n)
    table = np.empty((n, n)) if n > step else kernel(rows, rows)
    for begin in range(0, n, step) if n > step else ():
        if stopped():
            return X, kernel, False
        table[begin : begin + step] = kernel(rows[begin : begin + step], rows)
    return at, Precomputed(table, kernel.mercer, kernel.rounding(rows)), True


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
