"""Dual coordinate descent: `core/linear/dual_cd.hpp` runs the epochs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import maxmargin._core as _core
from maxmargin.certificate import Status
from maxmargin.data.arrays import Array
from maxmargin.objectives.base import PrimalDual
from maxmargin.objectives.linear import LinearObjective
from maxmargin.runtime.monitor import Monitor
from maxmargin.solution import Solution
from maxmargin.solvers.base import Start
from maxmargin.solvers.linear.intercept import best_constant, short_bias_of
from maxmargin.solvers.requirements import require, require_regularized

#: Least gap to be proven with weights in float32.
_COARSE = 1e-5

#: A gap so many times as large as what the sweep met is mostly that of rows that are shrunk.
_HIDDEN = 1.5


class _Ascent:
    """The ascent under way: β, w = Σ β_i x_i and the intercept.

    w is float32 from a cold start, where that will do until the first gap check.
    """

    def __init__(self, objective: LinearObjective, monitor: Monitor, start: Start) -> None:
        problem = objective.problem
        n, d = problem.n_samples, problem.n_features
        self.problem, self.bias, self.sweep = problem, short_bias_of(objective), _core.Sweep(n)
        if self.bias.free and not objective.loss.one_sided:  # of labels, 0 is about in the middle
            self.bias.anchor = best_constant(objective)
        self.beta, order = np.zeros(n), np.arange(n, dtype=np.int32)
        self.w: Array = np.zeros(d, np.float32 if _narrow(objective, monitor) else None)
        if start.beta is not None:
            self.beta[:] = objective.feasible(start.beta)
            self.sum_up()
            self.sweep.share = 1.0
            if self.bias.free:  # the b of the last fit may be that of other rows
                z = problem.predict(self.w, 0.0)
                self.bias.anchor = objective.best_intercept(z, start.b)
        if start.begun is not None:
            begun, self.sweep.share = start.begun, 1.0
            self.beta, self.w, order, self.bias.anchor = *begun[:2], begun.order, begun.anchor
            self.sweep.bias_weight, self.sweep.n_active = begun.bias_weight, begun.n_active
            self.sweep.threshold, self.sweep.dual = begun.threshold, begun.dual
            self.sweep.epochs = begun.epochs
        self.rows = _core.DualProblem(problem.rows, objective.terms, objective.diagonal)
        self.state = _core.DualState(
            self.beta, order, self.bias, self.sweep, _core.Random(start.seed)
        )

    def run(self, epochs: int, target: float, seconds: float) -> None:
        """Make epochs until the gap that they seem to leave is small enough."""
        _core.dual_cd(self.rows, self.state, self.w, _core.SweepBudget(epochs, target, seconds))

    def sum_up(self) -> None:
        """Sum w again, in float64, without what rounding left of steps that cancel."""
        self.w = self.problem.combine(self.beta)
        self.sweep.bias_weight = self.bias.feature * float(self.beta.sum())

    def judged_by(self, monitor: Monitor) -> Status:
        """Ask for the proof."""
        b = float(self.bias.anchor + self.bias.feature * self.sweep.bias_weight)
        point = PrimalDual(np.array(self.w, dtype=np.float64), b, self.beta)
        return monitor.judge(point, self.sweep.epochs)


@dataclass(frozen=True)
class DualCD:
    """Dual coordinate descent with shrinking (Hsieh et al., ICML 2008).

    One epoch costs two passes over the rows that are still active. It needs no memory beyond
    O(n + d) and is the solver for wide sparse data.
    """

    name = "dual_cd"

    def solve(self, objective: LinearObjective, monitor: Monitor, start: Start) -> Solution:
        """Sweep; when the sweep's own estimate of the gap is small enough, ask for the proof."""
        require(objective, self.name, (LinearObjective,))
        require_regularized(objective, self.name)
        ascent = _Ascent(objective, monitor, start)
        sweep, status = ascent.sweep, Status.RUNNING
        trust = 0.7  # in the sweep's forecast of the gap: 0.7 to 0.9 of what it is, on text
        if start.beta is not None:
            if start.w is not None:
                monitor.judge(PrimalDual(start.w, start.b, ascent.beta), 0)
            status = ascent.judged_by(monitor)
            sweep.dual = monitor.dual
        while status is Status.RUNNING:
            done = sweep.epochs
            epochs = monitor.iterations_left(done, monitor.until_due(done))
            ascent.run(epochs, trust * monitor.tol, monitor.seconds_left)
            status = monitor.halted(sweep.epochs)
            whole = sweep.epochs > done
            promising = whole and sweep.left <= trust * monitor.tol * sweep.last_dual
            if status is Status.RUNNING and not promising and not monitor.due(sweep.epochs):
                continue
            status = ascent.judged_by(monitor)
            if status is Status.RUNNING and monitor.stalled:
                status = Status.STALLED
            if status is Status.RUNNING:
                ascent.sum_up()
            hidden = monitor.history[-1].gap > _HIDDEN * sweep.last_gap
            if promising and not hidden:
                trust *= 0.5
            if promising or hidden:
                # Rows were shrunk too early, or will be looked at again before the next proof.
                sweep.n_active, sweep.share = objective.problem.n_samples, 1.0
        return monitor.finish(self.name, status)


def _narrow(objective: LinearObjective, monitor: Monitor) -> bool:
    """Whether weights in float32 will do until the first gap check.

    They are half as many cache lines of a w too long for the cache, and cost ½‖δ‖² of the gap if δ
    is their rounding. If that is no proof, the weights are summed again, in float64.
    """
    problem, loss = objective.problem, objective.loss
    reach = 1.0 if loss.one_sided else problem.target_summary.max_abs
    return problem.wide and problem.fits_float32 and 1e-20 < reach < 1e20 and monitor.tol >= _COARSE
