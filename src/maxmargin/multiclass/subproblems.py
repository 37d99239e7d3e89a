"""The problems of one fit — for classes, pairs of classes or outputs — and who solves them when."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import chain
from typing import Any

from maxmargin.certificate import Status
from maxmargin.objectives.base import PrimalDual
from maxmargin.runtime.blas_threads import one_blas_thread
from maxmargin.runtime.interrupt import Interrupt
from maxmargin.runtime.monitor import Monitor, Report, Stopping
from maxmargin.runtime.progress import Progress
from maxmargin.runtime.threads import in_threads
from maxmargin.solution import Solution
from maxmargin.solvers.base import BatchSolver, Solver, Start


class Subproblems(ABC):
    """The problems of a fit, and what they share."""

    #: Where each begins; a batch solver moves these on.
    starts: list[Start]

    #: What solves or begins several of them at once.
    batch: BatchSolver | None = None

    #: Whether the solvers are slower with several threads in BLAS.
    one_blas_thread: bool = False

    def __len__(self) -> int:
        return len(self.starts)

    @abstractmethod
    def pose(self, task: int) -> Any:
        """Return the objective of one problem, or refuse it."""

    @abstractmethod
    def solver_for(self, objective: Any) -> Solver:
        """Return the solver of a problem."""

    def prepare(self, over: Callable[[], bool], *, reporting: bool) -> None:
        """Compute what the problems share, unless time is over.

        If gap checks are reported, no batch solver is used that has none.
        """
        del over, reporting

    def rounds(self, n_threads: int) -> list[list[range]]:
        """Return groups for the batch solver, round by round; in threads within a round."""
        del n_threads
        return [[range(len(self))]]

    def start(self, task: int, objective: Any) -> Start:
        """Return where to start, with what is known of the objective."""
        del objective
        return self.starts[task]

    def may_be_left(self, task: int) -> bool:
        """Whether a problem need not be begun when time is over."""
        del task
        return False

    def constants(self, left: list[int], status: Status, seconds: float) -> list[Solution] | None:
        """Return the best constants of problems that were left; None if each is to be judged."""
        del left, status, seconds
        return None

    def as_they_are(self, left: list[int]) -> Iterator[tuple[Any, PrimalDual, int]]:
        """Yield objective, point and epochs of problems that were left."""
        raise NotImplementedError


class OneProblem(Subproblems):
    """The one problem of all classes."""

    def __init__(
        self, objective: Any, solver: Solver, start: Start, *, one_blas_thread: bool = False
    ) -> None:
        self.objective, self.solver, self.starts = objective, solver, [start]
        self.one_blas_thread = one_blas_thread

    def pose(self, task: int) -> Any:
        """Return it."""
        assert task == 0
        return self.objective

    def solver_for(self, objective: Any) -> Solver:
        """Return its solver."""
        assert objective is self.objective
        return self.solver


@dataclass(frozen=True, eq=False)
class Schedule:
    """The fit of the problems. Those that Ctrl-C or the clock stops are certified as they are."""

    problems: Subproblems
    stopping: Stopping
    interrupt: Interrupt
    progress: Progress
    begin: float
    n_threads: int

    def run(self) -> list[Solution]:
        """Solve them all."""
        problems = self.problems
        problems.prepare(self._over, reporting=self.progress.has_listeners)
        with one_blas_thread() if problems.one_blas_thread else nullcontext():
            rounds = problems.rounds(self.n_threads)
            return list(chain.from_iterable(map(self._round, rounds)))

    def _round(self, groups: list[range]) -> list[Solution]:
        solved: dict[int, Solution] = {}

        def solve_many(group: range) -> None:
            solved.update(self._solve_many(group))

        def solve(task: int) -> Solution | None:
            return solved.get(task) or self._solve(task)

        if self.problems.batch is not None:
            in_threads(solve_many, groups, self.n_threads)
        tasks = sorted(chain.from_iterable(groups))
        found = in_threads(solve, tasks, self.n_threads)
        left = [task for task, solution in zip(tasks, found, strict=True) if solution is None]
        rest = self._left(left)
        return [solution or next(rest) for solution in found]

    def _over(self) -> bool:
        """Whether nothing more is to be begun."""
        limit = self.stopping.max_time
        return self.interrupt.requested or (limit is not None and self._seconds >= limit)

    @property
    def _seconds(self) -> float:
        return time.perf_counter() - self.begin

    def _monitor(self, objective: Any, report: Report | None) -> Monitor:
        return Monitor(objective, self.stopping, self.interrupt, report, self.begin)

    def _solve_many(self, group: range) -> Iterator[tuple[int, Solution]]:
        """Yield what the batch solver solves of a group; the rest starts from where it came to."""
        problems, batch = self.problems, self.problems.batch
        assert batch is not None
        objective = problems.pose(group[0])
        if group[0] > 0 and self._over():
            return
        starts = [problems.starts[task] for task in group]
        ends = batch.solve_many(objective, group, starts, self._monitor(objective, None))
        for task, end in zip(group, ends, strict=True):
            if isinstance(end, Solution):
                yield task, end
            else:
                problems.starts[task] = end

    def _solve(self, task: int) -> Solution | None:
        """Solve one problem; when time is over, only if it starts where a fit before ended."""
        problems = self.problems
        if problems.may_be_left(task) and problems.starts[task].beta is None and self._over():
            return None
        objective = problems.pose(task)
        start = problems.start(task, objective)
        with self.progress.reporting(task) as report:
            monitor = self._monitor(objective, report)
            return problems.solver_for(objective).solve(objective, monitor, start)

    def _left(self, left: list[int]) -> Iterator[Solution]:
        """Return the solutions of problems that were not begun, or not gone on with."""
        if not left:
            return iter(())
        status = Status.INTERRUPTED if self.interrupt.requested else Status.STOPPED_BY_TIME
        known = None
        if not self.progress.has_listeners:
            known = self.problems.constants(left, status, self._seconds)
        return iter(known) if known is not None else self._judged(left)

    def _judged(self, left: list[int]) -> Iterator[Solution]:
        for task, reached in zip(left, self.problems.as_they_are(left), strict=True):
            objective, point, epochs = reached
            with self.progress.reporting(task) as report:
                monitor = self._monitor(objective, report)
                status = monitor.judge(point, epochs)
            yield monitor.finish(self.problems.solver_for(objective).name, status)
