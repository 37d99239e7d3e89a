"""Several linear problems on the same rows: one for each class, pair of classes or output."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from maxmargin.certificate import Status
from maxmargin.data.arrays import Array
from maxmargin.data.checks import check_magnitudes
from maxmargin.data.problem import Problem
from maxmargin.losses import Loss
from maxmargin.multiclass.subproblems import Subproblems
from maxmargin.multiclass.unreached import Unreached
from maxmargin.objectives.base import Intercept, PrimalDual
from maxmargin.objectives.linear import LinearObjective
from maxmargin.solution import Solution
from maxmargin.solvers import DualCD, Solver, Start, choose
from maxmargin.solvers.linear.newton import MAX_FEATURES
from maxmargin.solvers.linear.one_vs_rest import GROUP, OneVsRest, points_so_far

#: Numbers of features for which Newton's BLAS would take several threads: little faster, and far
#: slower beside other fits.
_THREADED_BLAS = range(200, MAX_FEATURES + 1)


@dataclass(eq=False)
class LinearProblems(Subproblems):
    """Linear problems that differ in their targets and costs.

    If `members` are given, a problem has those rows of `problem` only; if `numbers`, the class of
    each row, the problems are those of one class against the rest, which coordinate descent begins
    together. A `solver` of None is chosen by the objective.
    """

    problem: Problem
    targets: list[Array]
    costs: list[Array]
    members: list[NDArray[np.intp]] | None
    starts: list[Start]
    kind: type[LinearObjective]
    loss: Loss
    intercept: Intercept
    scaling: float
    solver: Solver | None
    numbers: NDArray[np.int32] | None = None

    def __post_init__(self) -> None:
        self.one_blas_thread = self.problem.n_features in _THREADED_BLAS
        fresh = self.starts[0].beta is None
        if self.members is None:
            solver = self.solver_of_all  # refused before a fit is reported
            if self.numbers is not None and fresh and isinstance(solver, DualCD):
                self.batch = OneVsRest(self.numbers)

    def pose(self, task: int) -> LinearObjective:
        """Return the objective of one problem."""
        objective = self.first if task == 0 and self.members is None else self._posed(task)
        scaling = objective.intercept_scaling if self.intercept is Intercept.PENALIZED else 0.0
        check_magnitudes(objective.problem.longest, objective.problem.target_summary, scaling)
        return objective

    @cached_property
    def first(self) -> LinearObjective:
        """The objective of the first problem of all rows, by which the solver is chosen."""
        return self._posed(0)

    def _posed(self, task: int) -> LinearObjective:
        if self.members is None:
            return self._with_targets(self.problem, task)
        X, origin = self.problem.X[self.members[task]], self.problem.origin
        rows = Problem(X, self.targets[task], self.costs[task], origin=origin)
        return self._with_targets(rows, task)

    def _with_targets(self, rows: Problem, task: int) -> LinearObjective:
        posed = rows.with_targets(self.targets[task], self.costs[task])
        return self.kind(posed, self.loss, self.intercept, self.scaling)

    @cached_property
    def solver_of_all(self) -> Solver:
        """The solver of all problems of all rows: they have the same costs, which may decide it."""
        return self.solver or choose(self.first)

    def solver_for(self, objective: LinearObjective) -> Solver:
        """Return the solver of a problem."""
        if self.members is None:
            return self.solver_of_all
        return self.solver or choose(objective)

    def rounds(self, n_threads: int) -> list[list[range]]:
        """Return groups of as many classes as share a pass."""
        del n_threads
        n, size = len(self), len(self) if self.batch is None else GROUP
        return [[range(begin, min(begin + size, n))] for begin in range(0, n, size)]

    def start(self, task: int, objective: LinearObjective) -> Start:
        """Return w = 0 where all targets are alike: that is the optimum."""
        start = self.starts[task]
        if objective.problem.target_summary.constant:
            return Start(start.seed, np.zeros(objective.problem.n_samples))
        return start

    def may_be_left(self, task: int) -> bool:
        """Any of them."""
        del task
        return True

    def constants(self, left: list[int], status: Status, seconds: float) -> list[Solution] | None:
        """Return the best constants of pairs of classes."""
        if self.members is None:
            return None
        objective = self._unseen(left[0])
        if not (objective.loss.one_sided and objective.loss.regularized):
            return None
        name = self.solver_for(objective).name
        unreached = Unreached(objective.loss, objective.intercept, status, name)
        targets, costs = [self.targets[k] for k in left], [self.costs[k] for k in left]
        return unreached.solutions(targets, costs, [self.problem.n_features] * len(left), seconds)

    def as_they_are(self, left: list[int]) -> Iterator[tuple[LinearObjective, PrimalDual, int]]:
        """Yield those that were begun together where they are, others at w = 0."""
        begun = [so_far for task in left if (so_far := self.starts[task].begun)]
        points = points_so_far([self._posed(task) for task in left], begun) if begun else None
        for number, task in enumerate(left):
            if points is not None:
                yield self._posed(task), points[number], begun[number].epochs
            else:
                objective = self._unseen(task)
                yield objective, _nothing(objective.problem), 0

    def _unseen(self, task: int) -> LinearObjective:
        """Return the objective without a copy of rows: with zeros, for a w of 0 that sees none."""
        if self.members is None:
            return self._posed(task)
        target, cost = self.targets[task], self.costs[task]
        zeros = sparse.csr_matrix((len(target), self.problem.n_features))
        return self._with_targets(Problem(zeros, target, cost), task)


def _nothing(problem: Problem) -> PrimalDual:
    """Return where a problem is that was not begun."""
    n, d = problem.n_samples, problem.n_features
    return PrimalDual(np.zeros(d), 0.0, np.zeros(n), np.zeros(n), np.zeros(d))
