"""Several linear problems on the same rows: one for each class, pair of classes or output."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import repeat

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from maxmargin.certificate import Status
from maxmargin.data.arrays import Array
from maxmargin.data.checks import check_magnitudes
from maxmargin.data.problem import Problem
from maxmargin.multiclass.unreached import Unreached
from maxmargin.objectives.base import PrimalDual
from maxmargin.objectives.linear import LinearObjective
from maxmargin.runtime.interrupt import Interrupt
from maxmargin.runtime.monitor import Report
from maxmargin.runtime.progress import Progress
from maxmargin.runtime.threads import in_threads
from maxmargin.solution import Solution
from maxmargin.solvers import Monitor, Solver, Start, Stopping
from maxmargin.solvers.linear.one_vs_rest import GROUP, begin_together, points_so_far


@dataclass(frozen=True, eq=False)
class Tasks:
    """Problems that differ in their targets and costs.

    If `members` are given, a problem has those rows of `problem` only. `pose` makes an objective of
    a problem and its targets and costs, `solver` is the one for it.
    """

    problem: Problem
    targets: list[Array]
    costs: list[Array]
    members: list[NDArray[np.intp]] | None
    starts: list[Start]
    pose: Callable[[Problem, Array, Array], LinearObjective]
    solver: Callable[[LinearObjective], Solver]

    def posed(self, task: int) -> LinearObjective:
        """Return the objective of one problem."""
        target, cost = self.targets[task], self.costs[task]
        if self.members is None:
            return self.pose(self.problem, target, cost) if task > 0 else self.first
        X, origin = self.problem.X[self.members[task]], self.problem.origin
        return self.pose(Problem(X, target, cost, origin=origin), target, cost)

    @cached_property
    def first(self) -> LinearObjective:
        """The objective of the first problem of all rows, by which the solver is chosen."""
        return self.pose(self.problem, self.targets[0], self.costs[0])

    @cached_property
    def solver_of_all(self) -> Solver:
        """The solver of all problems of all rows: they have the same costs, and it may ask them."""
        return self.solver(self.first)

    def solver_for(self, objective: LinearObjective) -> Solver:
        """Return the solver of a problem."""
        return self.solver_of_all if self.members is None else self.solver(objective)

    def unseen(self, task: int) -> LinearObjective:
        """Return the same without a copy of rows: with zeros, for a w of 0 that sees no row."""
        if self.members is None:
            return self.posed(task)
        target, cost = self.targets[task], self.costs[task]
        zeros = sparse.csr_matrix((len(target), self.problem.n_features))
        return self.pose(Problem(zeros, target, cost), target, cost)


@dataclass(frozen=True, eq=False)
class Fit:
    """The tasks under way. Those that Ctrl-C or the clock leaves behind are judged as they are.

    If `numbers` has the class of each row, the tasks are those of one class against the rest, and
    the first epochs of some are made in common passes.
    """

    tasks: Tasks
    numbers: NDArray[np.int32] | None
    stopping: Stopping
    interrupt: Interrupt
    progress: Progress
    begin: float
    n_threads: int

    def run(self) -> list[Solution]:
        """Solve them all."""
        n_tasks = len(self.tasks.targets)
        size = n_tasks if self.numbers is None else GROUP
        solutions: list[Solution] = []
        for lowest in range(0, n_tasks, size):
            group = range(lowest, min(lowest + size, n_tasks))
            if self.numbers is not None:
                self._begin_together(group, self.numbers)
            found = in_threads(self._solve, group, self.n_threads)
            left = [task for task, solution in zip(group, found, strict=True) if not solution]
            rest = self._unreached(left) or map(self._as_it_is, left, self._points(left))
            solutions += [solution or next(rest) for solution in found]
        return solutions

    def _over(self) -> bool:
        """Whether nothing more is to be begun."""
        limit = self.stopping.max_time
        late = limit is not None and time.perf_counter() - self.begin >= limit
        return late or self.interrupt.requested

    def _monitor(self, objective: LinearObjective, report: Report | None) -> Monitor:
        return Monitor(objective, self.stopping, self.interrupt, report, self.begin)

    def _begin_together(self, group: range, numbers: NDArray[np.int32]) -> None:
        objective, starts = self.tasks.posed(group.start), self.tasks.starts
        _check(objective)
        if group.start > 0 and self._over():
            return
        own, seed = numbers - np.int32(group.start), starts[group.start].seed
        begun = begin_together(objective, own, len(group), seed, self._monitor(objective, None))
        for task, so_far in zip(group, begun, strict=True):
            starts[task] = replace(starts[task], begun=so_far)

    def _solve(self, task: int) -> Solution | None:
        """Solve one problem; when it is over, only if it starts where a fit before ended."""
        start = self.tasks.starts[task]
        if start.beta is None and self._over():
            return None
        objective = self.tasks.posed(task)
        _check(objective)
        if objective.problem.extent.alike:  # the optimum is w = 0
            start = Start(start.seed, np.zeros(objective.problem.n_samples))
        with self.progress.reporting(task) as report:
            monitor = self._monitor(objective, report)
            return self.tasks.solver_for(objective).solve(objective, monitor, start)

    def _unreached(self, left: list[int]) -> Iterator[Solution] | None:
        """Return the solutions of pairs that were not begun; None if each is to be looked at."""
        tasks = self.tasks
        if not left or tasks.members is None or self.progress.heard:
            return None
        objective = tasks.unseen(left[0])
        if not (objective.loss.one_sided and objective.loss.regularized):
            return None
        status = Status.INTERRUPTED if self.interrupt.requested else Status.STOPPED_BY_TIME
        name, d = tasks.solver_for(objective).name, tasks.problem.n_features
        unreached = Unreached(objective.loss, objective.intercept, status, name)
        seconds = time.perf_counter() - self.begin
        targets, costs = [tasks.targets[k] for k in left], [tasks.costs[k] for k in left]
        return iter(unreached.solutions(targets, costs, [d] * len(left), seconds))

    def _points(self, left: list[int]) -> list[PrimalDual] | repeat[None]:
        """Return where these problems are, if they were begun together."""
        begun = [so_far for task in left if (so_far := self.tasks.starts[task].begun)]
        if not begun:
            return repeat(None)
        return points_so_far([self.tasks.posed(task) for task in left], begun)

    def _as_it_is(self, task: int, point: PrimalDual | None) -> Solution:
        objective = self.tasks.posed(task) if point else self.tasks.unseen(task)
        name = self.tasks.solver_for(objective).name
        with self.progress.reporting(task) as report:
            monitor = self._monitor(objective, report)
            begun = self.tasks.starts[task].begun if point else None
            status = monitor.judge(
                point or _nothing(objective.problem), begun.epochs if begun else 0
            )
        return monitor.finish(name, status)


def _nothing(problem: Problem) -> PrimalDual:
    """Return where a problem is that was not begun."""
    n, d = problem.n_samples, problem.n_features
    return PrimalDual(np.zeros(d), 0.0, np.zeros(n), np.zeros(n), np.zeros(d))


def _check(objective: LinearObjective) -> None:
    check_magnitudes(objective.problem.longest, objective.problem.extent)
