"""Dual coordinate descent: `core/linear/dual_cd.hpp` runs the epochs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import maxmargin._core as _core
from maxmargin.certificate import Status
from maxmargin.objectives.base import Intercept, PrimalDual
from maxmargin.objectives.linear import LinearObjective
from maxmargin.runtime.monitor import Monitor
from maxmargin.solution import Solution
from maxmargin.solvers.base import Start
from maxmargin.solvers.linear.intercept import best_constant, short_bias_of
from maxmargin.solvers.requirements import require, require_regularized

#: Least gap to be proven with weights in float32.
_COARSE = 1e-5


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
        problem, norms = objective.problem, objective.diagonal
        n, d = problem.n_samples, problem.n_features
        bias = short_bias_of(objective)
        free = objective.intercept is Intercept.FREE
        if free and not objective.loss.one_sided:  # of labels, 0 is about in the middle
            bias.anchor = best_constant(objective)
        beta, w = np.zeros(n), np.zeros(d, np.float32 if _narrow(objective, monitor) else None)
        order = np.arange(n, dtype=np.int32)
        sweep, random = _core.Sweep(n), _core.Random(start.seed)
        if start.beta is not None:
            beta[:] = objective.feasible(start.beta)
            w, sweep.bias_weight = problem.combine(beta), bias.feature * float(beta.sum())
            sweep.share = 1.0
            if free:  # the b of the last fit may be that of other rows
                bias.anchor = objective.best_intercept(problem.predict(w, 0.0), start.b)
        if start.begun is not None:
            beta, w, sweep.bias_weight, bias.anchor, order, *where = start.begun
            sweep.n_active, sweep.threshold, sweep.dual, sweep.epochs = where
            sweep.share = 1.0
        rows = _core.DualProblem(problem.rows, objective.terms, norms)
        state = _core.DualState(beta, order, bias, sweep, random)
        trust = 0.7  # in the sweep's forecast of the gap: 0.7 to 0.9 of what it is, on text

        def judge() -> Status:
            b = float(bias.anchor + bias.feature * sweep.bias_weight)
            point = PrimalDual(np.array(w, dtype=np.float64), b, beta)
            return monitor.judge(point, sweep.epochs)

        status = Status.RUNNING
        if start.beta is not None:
            if start.w is not None:
                monitor.judge(PrimalDual(start.w, start.b, beta), 0)
            status = judge()
            sweep.dual = monitor.dual
        while status is Status.RUNNING:
            done = sweep.epochs
            epochs = monitor.iterations_left(done, monitor.until_due(done))
            budget = _core.SweepBudget(epochs, trust * monitor.tol, monitor.seconds_left)
            _core.dual_cd(rows, state, w, budget)
            status = monitor.halted(sweep.epochs)
            whole = sweep.epochs > done
            promising = whole and sweep.left <= trust * monitor.tol * sweep.last_dual
            if status is Status.RUNNING and not promising and not monitor.due(sweep.epochs):
                continue
            status = judge()
            if status is Status.RUNNING and monitor.stalled:
                status = Status.STALLED
            if status is Status.RUNNING:  # without what rounding left of steps that cancel
                w, sweep.bias_weight = problem.combine(beta), bias.feature * float(beta.sum())
            if promising:
                trust *= 0.5
            if promising or monitor.history[-1].gap > 4.0 * sweep.last_gap:
                # Rows were shrunk too early, or will be looked at again before the next proof.
                sweep.n_active, sweep.share = n, 1.0
        return monitor.finish(self.name, status)


def _narrow(objective: LinearObjective, monitor: Monitor) -> bool:
    """Whether weights in float32 will do until the first look.

    They are half as many cache lines of a w too long for the cache, and cost ½‖δ‖² of the gap if δ
    is their rounding. If that look is no proof, the weights are summed again, in float64.
    """
    problem, loss = objective.problem, objective.loss
    reach = 1.0 if loss.one_sided else problem.extent.reach
    return problem.wide and problem.fits_float32 and 1e-20 < reach < 1e20 and monitor.tol >= _COARSE
