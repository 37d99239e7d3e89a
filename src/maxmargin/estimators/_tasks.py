"""Several linear problems on the same rows: one for each class, pair of classes or output."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from maxmargin.estimators._progress import Progress
from maxmargin.multiclass import in_threads
from maxmargin.objective import Objective
from maxmargin.problem import Problem
from maxmargin.solution import Solution
from maxmargin.solvers import Monitor, Solver, Start, Stopping
from maxmargin.solvers.base import Report
from maxmargin.solvers.interrupt import Interrupt
from maxmargin.solvers.one_vs_rest import GROUP, Point, begin_together, no_point, points_so_far
from maxmargin.validation import Array, check_magnitudes


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
    pose: Callable[[Problem, Array, Array], Objective]
    solver: Callable[[Objective], Solver]

    def posed(self, task: int) -> Objective:
        """Return the objective of one problem."""
        target, cost = self.targets[task], self.costs[task]
        if self.members is None:
            return self.pose(self.problem, target, cost)
        return self.pose(Problem(self.problem.X[self.members[task]], target, cost), target, cost)


@dataclass(frozen=True, eq=False)
class Fit:
    """The tasks under way. Those that Ctrl-C leaves behind are judged as they are."""

    tasks: Tasks
    stopping: Stopping
    interrupt: Interrupt
    progress: Progress
    begin: float
    n_threads: int

    def run(self, numbers: NDArray[np.int32] | None) -> list[Solution]:
        """Solve them; if the rows have numbers, of the one class against the rest, together.

        Together means that the first epochs of some classes are made in common passes.
        """
        n_tasks = len(self.tasks.targets)
        size = n_tasks if numbers is None else GROUP
        solutions: list[Solution] = []
        for lowest in range(0, n_tasks, size):
            group = range(lowest, min(lowest + size, n_tasks))
            if numbers is not None and not self.interrupt.requested:
                self._begin_together(group, numbers)
            found = in_threads(self._solve, group, self.n_threads)
            left = [task for task, solution in zip(group, found, strict=True) if not solution]
            rest = map(self._as_it_is, left, self._points(left))
            solutions += [solution or next(rest) for solution in found]
        return solutions

    def _monitor(self, objective: Objective, report: Report | None) -> Monitor:
        return Monitor(objective, self.stopping, self.interrupt, report, self.begin)

    def _begin_together(self, group: range, numbers: NDArray[np.int32]) -> None:
        objective, starts = self.tasks.posed(group.start), self.tasks.starts
        own, seed = numbers - np.int32(group.start), starts[group.start].seed
        begun = begin_together(objective, own, len(group), seed, self._monitor(objective, None))
        for task, so_far in zip(group, begun, strict=True):
            starts[task] = replace(starts[task], begun=so_far)

    def _solve(self, task: int) -> Solution | None:
        """Solve one problem; not after Ctrl-C, unless it starts where a fit before ended.

        Nor after the time that there was, if it was begun together with others.
        """
        start = self.tasks.starts[task]
        if self.interrupt.requested and start.beta is None:
            return None
        objective = self.tasks.posed(task)
        if start.begun and self._monitor(objective, None).stopped():
            return None
        own = objective.problem
        check_magnitudes(own.squared_norms, own.y, own.cost)
        if _alike(own.y, own.cost):  # the optimum is w = 0
            start = Start(start.seed, np.zeros_like(own.y))
        with self.progress.reporting(task) as report:
            monitor = self._monitor(objective, report)
            return self.tasks.solver(objective).solve(objective, monitor, start)

    def _points(self, left: list[int]) -> list[Point] | repeat[None]:
        """Return where these problems are, if they were begun together."""
        begun = [so_far for task in left if (so_far := self.tasks.starts[task].begun)]
        if not begun:
            return repeat(None)
        return points_so_far([self.tasks.posed(task) for task in left], begun)

    def _as_it_is(self, task: int, point: Point | None) -> Solution:
        objective = self.tasks.posed(task)
        with self.progress.reporting(task) as report:
            monitor = self._monitor(objective, report)
            status = monitor.judge(*(point or no_point(objective)))
        name = self.tasks.solver(objective).name
        return monitor.finish(name, status, steps=0, bound=math.inf)


def _alike(target: Array, cost: Array) -> bool:
    """Whether no two samples of positive weight are to be told apart."""
    live = target if cost.all() else target[cost > 0.0]
    return len(live) == 0 or bool((live == live[0]).all())
