"""‖w‖₁ with the squared hinge, by working sets: `core/linear/l1.hpp` descends on their columns."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin.certificate import Certificate, Status
from maxmargin.data.arrays import Array
from maxmargin.l1_certificate import L1Pair, certify_l1, certify_l1_products
from maxmargin.objectives.l1 import L1Objective
from maxmargin.objectives.objective import Intercept
from maxmargin.runtime.monitor import Monitor, Point
from maxmargin.solution import Solution
from maxmargin.solvers.base import Start

#: Columns of the first working set, and by what it grows.
FIRST, GROWTH = 1024, 4

#: Epochs of coordinate descent between two Newton steps, and most iterations of a Newton step. Of
#: 12, 20 and 40 the first took least on IMDB, a9a and 72 rows of 7,000 columns.
EPOCHS, ITERATIONS = 10, 12

MOST, SLOW = 16, 0.5

#: Share of the relative gap asked for to which the working set's is brought.
INNER = 0.5


class L1Monitor(Monitor):
    """A Monitor of an L1Objective."""

    objective: L1Objective  # type: ignore[assignment]
    columns: Array  # Σ β_i x_i of the last dual point
    latest_b: float  # that of the last point

    def judge_l1(self, w: Array, b: float, beta: Array, n_iter: int) -> Status:
        """Certify the point by a multiple of β; the best free intercept is found for it."""
        objective = self.objective
        beta = objective.signed(beta)
        z, columns = objective.problem.products(w, beta)
        return self._judge(Point(w, b, beta, n_iter, z, columns))

    def judge_products(self, point: Point) -> Status:
        """Do the same where Xw and Σ β_i x_i are known."""
        return self._judge(point)

    def _judge(self, point: Point) -> Status:
        w, b, beta, n_iter, z, columns = point
        if self.objective.intercept is Intercept.FREE:
            b = self.objective.best_intercept(z, b)
        pair = certify_l1_products(self.objective, w, b, beta, z, columns)
        self.columns, self.latest_b = pair.columns, b
        self._keep(pair.certificate, (w, b), pair.beta)
        return self._decide(n_iter)

    def _certify_best(self) -> Certificate:
        _, w, b = self._primal
        pair: L1Pair = certify_l1(self.objective, w, b, self._dual[1])
        return pair.certificate


class _WorkingSet:
    """The columns that are packed, and the weights of all."""

    def __init__(self, objective: L1Objective, start: Start) -> None:
        problem = objective.problem
        self.objective = objective
        self.core = _core.L1WorkingSet(problem.rows, problem.y, problem.cost)
        self.feature = _feature(objective)
        if self.feature:
            free = objective.intercept is Intercept.FREE
            self.core.append_constant(self.feature, 0.0 if free else 1.0)
        self.w = np.zeros(problem.n_features) if start.w is None else start.w.astype(np.float64)
        self.b = float(start.b) if self.feature else 0.0
        self.packed = np.zeros(problem.n_features, dtype=bool)
        self.features = np.zeros(0, dtype=np.int32)

    def grow(self, columns: Array, size: int) -> None:
        """Pack those with the largest |c_j| too, up to that number, and all that are in use."""
        size = min(size, len(self.packed))
        rank = np.abs(columns)
        rank[self.w != 0.0] = np.inf
        rank[self.packed] = -1.0
        wanted = max(size - len(self.features), np.count_nonzero(np.isinf(rank)))
        if wanted > 0:
            new: NDArray[np.intp] = np.argpartition(-rank, min(wanted, len(rank)) - 1)[:wanted]
            new = np.sort(new[rank[new] >= 0.0]).astype(np.int32)
            self.core.append(self.objective.problem.rows, new)
            self.packed[new] = True
            self.features = np.concatenate([self.features, new])

    def descend(self, epochs: int, iterations: int, target: float, monitor: Monitor) -> Array:
        """Make epochs and a Newton step; return the dual point that they leave."""
        core, first = self.core, int(self.feature > 0.0)
        w = np.empty(first + len(self.features))
        w[first:] = self.w[self.features]
        if first:
            w[0] = self.b / self.feature
        core.restart(w)
        core.descend(epochs, target * core.primal, monitor.stopped)
        if core.primal - core.dual > target * core.primal:
            core.newton(0.1 * target, iterations, monitor.stopped)
        w = core.w
        self.w = np.zeros(len(self.packed))
        self.w[self.features] = w[first:]
        self.b = float(self.feature * w[0]) if first else 0.0
        return self._dual_point(core.dual_residual)

    def _dual_point(self, residual: Array) -> Array:
        """Return the β of residuals √C_i (1 − y_i f_i)."""
        problem = self.objective.problem
        cost = problem.cost
        rest = np.divide(residual, np.sqrt(cost), out=np.zeros_like(residual), where=cost > 0.0)
        return self.objective.dual_of(problem.y * (1.0 - rest))


@dataclass(frozen=True)
class L1:
    """Coordinate descent with extrapolation, and Newton steps on the support, on working sets.

    The working set has the columns with the largest |Σ β_i x_ij| and grows while those without
    decide the gap. Within it, cyclic coordinate descent (Yuan et al., JMLR 2010) finds the support;
    a Newton step by conjugate gradients on it gives the dual point that proves the gap.
    """

    name = "l1"

    def solve(self, objective: L1Objective, monitor: L1Monitor, start: Start) -> Solution:
        """Descend on growing working sets until the monitor says stop."""
        working = _WorkingSet(objective, start)
        status = self._begin(working, monitor, start)
        size, gap, effort = FIRST, math.inf, 1
        while status is Status.RUNNING:
            working.grow(monitor.columns, size)
            done = working.core.epochs
            epochs = monitor.iterations_left(done, effort * EPOCHS)
            beta = working.descend(epochs, effort * ITERATIONS, INNER * monitor.tol, monitor)
            status = monitor.halted(0)
            judged = monitor.judge_l1(working.w, working.b, beta, working.core.epochs)
            status = judged if status is Status.RUNNING or judged is Status.OPTIMAL else status
            if objective.intercept is Intercept.FREE:
                working.b = monitor.latest_b
            if status is Status.RUNNING and monitor.stalled:
                status = Status.STALLED
            before, gap = gap, monitor.history[-1].gap
            effort = min(2 * effort, MOST) if gap > SLOW * before else 1
            inner, used = working.core.primal - working.core.dual, np.count_nonzero(working.w)
            if inner < 0.5 * gap or len(working.features) < 2 * used:
                size = min(len(working.packed), GROWTH * max(size, len(working.features)))
        return monitor.finish(self.name, status)

    def _begin(self, working: _WorkingSet, monitor: L1Monitor, start: Start) -> Status:
        """Judge where the fit starts: at w = 0 the dual point is exact, so a C too small ends it."""
        objective = working.objective
        zero = np.zeros_like(working.w)
        at_zero = np.zeros(objective.problem.n_samples)
        status = monitor.judge_l1(zero, 0.0, objective.dual_of(at_zero), 0)
        if status is Status.RUNNING and start.w is not None and start.beta is not None:
            status = monitor.judge_l1(working.w, working.b, start.beta, 0)
        return status


def _feature(objective: L1Objective) -> float:
    """Return the value of the intercept's column; 0 without an intercept."""
    if objective.intercept is Intercept.PENALIZED:
        return objective.intercept_scaling
    return 1.0 if objective.intercept is Intercept.FREE else 0.0
