"""‖w‖₁ with the squared hinge, by working sets: `core/linear/l1.hpp` descends on their columns."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

import maxmargin._core as _core
from maxmargin.certificate import Status
from maxmargin.data.arrays import Array
from maxmargin.objectives.base import Intercept, PrimalDual
from maxmargin.objectives.l1 import L1Objective
from maxmargin.runtime.monitor import Monitor
from maxmargin.solution import Solution
from maxmargin.solvers.base import Start
from maxmargin.solvers.requirements import require

#: Columns of the first working set, and by what it grows.
FIRST, GROWTH = 1024, 4

#: Epochs of coordinate descent between two Newton steps, and most iterations of a Newton step: of
#: 12, 20 and 40 the first took least on IMDB, a9a and 72 rows of 7,000 columns. While a round
#: leaves more than SLOW of the gap, the next has twice of both, up to MOST times.
EPOCHS, ITERATIONS = 10, 12
SLOW, MOST = 0.5, 16

#: To what share of the relative gap a Newton step is solved.
INEXACT = 0.01

#: Costs larger than EASY times those up to which w = 0 are approached in steps of RATIO, each to a
#: gap of ROUGH.
EASY, RATIO, ROUGH = 300.0, math.sqrt(10.0), 1e-3

#: A start whose relative gap is larger is given up for w = 0 and that path.
USEFUL = 1.0

#: Costs, beside those up to which w = 0 is the optimum, from which on w = 0 is no answer.
NOT_ZERO = 1.0 + 1e-6

#: Share of the relative gap asked for to which the working set's is brought.
INNER = 0.5


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
        self.size = FIRST
        self.columns = np.zeros(problem.n_features)  # Σ β_i x_i of the last dual point

    def grow(self) -> None:
        """Pack those with the largest |c_j| too, up to the size wanted, and all that are in use."""
        size = min(self.size, len(self.packed))
        rank = np.abs(self.columns)
        rank[self.w != 0.0] = np.inf
        rank[self.packed] = -1.0
        wanted = max(size - len(self.features), int(np.isinf(rank).sum()))
        if wanted > 0:
            found = np.argpartition(-rank, min(wanted, len(rank)) - 1)[:wanted]
            new = np.sort(found[rank[found] >= 0.0]).astype(np.int32)
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
        gap = 1.0 - core.dual / core.primal if core.primal > 0.0 else 0.0
        if gap > target:
            core.newton(max(0.1 * target, INEXACT * gap), iterations, monitor.stopped)
        w = core.w
        self.w = np.zeros(len(self.packed))
        self.w[self.features] = w[first:]
        self.b = float(self.feature * w[0]) if first else 0.0
        return self.dual_point(core.dual_residual)

    def judged_by(self, monitor: Monitor, point: PrimalDual) -> Status:
        """Ask for the proof."""
        point = self.objective.completed(point) if point.z is None else point
        self.b, self.columns = point.b, point.dual
        return monitor.judge(point, self.core.epochs)

    def move_to(self, objective: L1Objective) -> None:
        """Go on with other costs, which are a multiple of those so far."""
        now, then = (
            posed.problem.target_summary.total_cost for posed in (self.objective, objective)
        )
        if now != then:
            self.core.scale_costs(then / now)
        self.objective = objective

    def descend_to(self, monitor: Monitor, status: Status) -> Status:
        """Descend on growing working sets until the monitor says stop."""
        gap, effort = math.inf, 1
        while status is Status.RUNNING:
            self.grow()
            done = self.core.epochs
            epochs = monitor.iterations_left(done, effort * EPOCHS)
            beta = self.descend(epochs, effort * ITERATIONS, INNER * monitor.tol, monitor)
            status = self.judged_by(monitor, PrimalDual(self.w, self.b, beta))
            if status is Status.RUNNING and monitor.stalled:
                status = Status.STALLED
            before, gap = gap, monitor.history[-1].gap
            effort = min(2 * effort, MOST) if gap > SLOW * before else 1
            inner, used = self.core.primal - self.core.dual, np.count_nonzero(self.w)
            if inner < 0.5 * gap or len(self.features) < 2 * used:
                self.size = min(len(self.packed), GROWTH * max(self.size, len(self.features)))
        return status

    def dual_point(self, residual: Array) -> Array:
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

    def solve(self, objective: L1Objective, monitor: Monitor, start: Start) -> Solution:
        """Descend at growing costs, then at those given, until the monitor says stop."""
        require(objective, self.name, (L1Objective,))
        working, status = _WorkingSet(objective, start), Status.RUNNING
        if start.w is not None and start.beta is not None:
            status = working.judged_by(monitor, PrimalDual(working.w, working.b, start.beta))
            if status is Status.RUNNING and monitor.latest.relative_gap > USEFUL:
                start, working = Start(), _WorkingSet(objective, Start())
        if start.w is None or start.beta is None:
            status = self._approach(working, monitor)
        return monitor.finish(self.name, working.descend_to(monitor, status))

    def _approach(self, working: _WorkingSet, monitor: Monitor) -> Status:
        """Judge w = 0, whose own dual point is exact, and go through smaller costs if it is not it.

        That dual point has to be shortened as many times as the costs exceed those at which w = 0
        is the optimum.
        """
        objective = working.objective
        beta = objective.dual_of(np.zeros(objective.problem.n_samples))
        point = objective.completed(PrimalDual(working.w, working.b, beta))
        status = working.judged_by(monitor, point)
        excess = float(np.abs(beta).max() / np.abs(point.beta).max())
        for share in _path(excess) if status is Status.RUNNING else ():
            stage = _at_share(objective, share)
            working.move_to(stage)
            working.descend_to(monitor.on(stage, max(ROUGH, monitor.tol)), Status.RUNNING)
        working.move_to(objective)
        if status is Status.OPTIMAL and excess > NOT_ZERO:  # within tol, and yet not the optimum
            closer = monitor.on(objective, 0.1 * monitor.latest.relative_gap)
            working.descend_to(closer, Status.RUNNING)
            beta = working.dual_point(working.core.dual_residual)
            status = working.judged_by(monitor, PrimalDual(working.w, working.b, beta))
        return status


def _at_share(objective: L1Objective, share: float) -> L1Objective:
    """Return the same problem at a share of the costs."""
    problem = objective.problem
    return replace(objective, problem=problem.with_targets(problem.y, share * problem.cost))


def _path(excess: float) -> Array:
    """Return the shares of the costs at which to start where they are excess × the least of use."""
    stages = math.ceil(math.log(max(1.0, excess / EASY)) / math.log(RATIO))
    return np.asarray(RATIO ** np.arange(-float(stages), 0.0))


def _feature(objective: L1Objective) -> float:
    """Return the value of the intercept's column; 0 without an intercept."""
    if objective.intercept is Intercept.PENALIZED:
        return objective.intercept_scaling
    return 1.0 if objective.intercept is Intercept.FREE else 0.0
