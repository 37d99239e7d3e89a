"""K classes by dual block coordinate ascent: `core/linear/crammer_singer.hpp` runs the epochs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import sparse

import maxmargin._core as _core
from maxmargin.certificate import Status
from maxmargin.objectives.base import PrimalDual
from maxmargin.objectives.crammer_singer import CrammerSingerObjective
from maxmargin.runtime.monitor import Monitor
from maxmargin.solution import Solution
from maxmargin.solvers.base import Start
from maxmargin.solvers.linear.intercept import short_bias_of
from maxmargin.solvers.requirements import require

#: Shrunk rows come back whenever the sweep's gap has fallen by this factor, and as many
#: steps as three visits to every row have been made.
RECALL, VISITS = 0.25, 3

#: Steps go RELAX times as far as the maximum: 1 needs up to twice the epochs, 1.9 as many as 1.
#: From NEAR times the gap asked for on, all rows come back and steps stop short of the maximum,
#: which leaves less of a gap behind. A proof is asked for at TRUST times it, as the sweep sees it.
RELAX, LAST_RELAX, NEAR, TRUST = 1.4, 0.8, 2.5, 0.85

#: Epochs are made in float32 down to this gap, and to the first gap check at most.
NARROW_GAP = 1e-4

#: A proof costs about two visits to every row: one that is not expected to succeed is not asked for
#: before this many.
VISITS_BEFORE_CHECK = 32


class _Ascent:
    """The ascent under way: α, W = β'X for β_ij = C_i 1[j = y_i] − α_ij, and the intercepts.

    Epochs are narrow, with W in float32, from the start where the rows allow it, until `widen`.
    """

    def __init__(self, objective: CrammerSingerObjective, start: Start) -> None:
        problem, K = objective.problem, objective.n_classes
        n = problem.n_samples
        self.objective = objective
        bias = short_bias_of(objective)
        self.feature, self.anchor, self.w_bias = bias.feature, np.zeros(K), np.zeros(K)
        self.alpha, self.sweep = np.zeros((n, _core.padded(K))), _core.Sweep(n)
        self.state = _core.ClassState(
            self.alpha,
            _core.ClassBias(bias.feature, bias.free, self.w_bias, self.anchor),
            np.arange(n, dtype=np.int32),
            self.sweep,
            _core.Random(start.seed),
        )
        self.narrow = start.beta is None and sparse.issparse(problem.X) and problem.fits_float32
        if start.beta is None:
            self.alpha[objective.own] = problem.cost
            self.W = objective.zero(narrow=self.narrow)
            return
        if bias.free:
            self.anchor[:] = start.b
        beta = objective.feasible(start.beta, objective.zero(), self.anchor)
        self.alpha[:, :K] = -beta
        self.alpha[objective.own] += problem.cost
        self.w_bias[:] = self.feature * beta.sum(axis=0)
        self.widen()

    def run(self, relax: float, epochs: int, target: float, seconds: float) -> None:
        """Make epochs until the gap that they seem to leave is small enough."""
        objective, budget = self.objective, _core.SweepBudget(epochs, target, seconds)
        _core.crammer_singer(
            objective.problem.rows, objective.classes, self.state, self.W, relax, budget
        )

    @property
    def gap(self) -> float:
        """What the last epoch seems to have left of the relative gap, shrunk rows apart."""
        sweep = self.sweep
        return sweep.left / sweep.last_dual if sweep.last_dual > 0.0 else math.inf

    def widen(self) -> None:
        """Go on in float64, with the weights summed up again."""
        beta = -self.alpha[:, : self.objective.n_classes]
        beta[self.objective.own] += self.objective.problem.cost
        self.narrow, self.W = False, self.objective.weights(beta)

    def judged_by(self, monitor: Monitor) -> Status:
        """Ask for the proof."""
        W, b = self.objective.widened(self.W), self.anchor + self.feature * self.w_bias
        beta = -self.alpha[:, : self.objective.n_classes]
        return monitor.judge(PrimalDual(W, b, beta), self.sweep.epochs)


@dataclass(frozen=True)
class CrammerSinger:
    """Dual block coordinate ascent with shrinking and over-relaxation for K classes at once.

    A step maximises the dual over all K variables of one sample, an exact projection on the simplex
    (Keerthi et al., KDD 2008; Blondel et al., ICPR 2014). It needs O((n + d) K) memory.
    """

    name = "dual_cd"

    def solve(self, objective: CrammerSingerObjective, monitor: Monitor, start: Start) -> Solution:
        """Sweep; when the sweep's own estimate of the gap is small enough, ask for the proof."""
        require(objective, self.name, (CrammerSingerObjective,))
        n, tol, ascent = objective.problem.n_samples, monitor.tol, _Ascent(objective, start)
        sweep, status = ascent.sweep, Status.RUNNING
        trust, estimate, near = TRUST, math.inf, False
        recalled = checked = 0  # steps made by then
        if start.beta is not None:
            status = ascent.judged_by(monitor)
            if status is Status.RUNNING and monitor.history[-1].primal > objective.at_zero:
                ascent = _Ascent(objective, Start(start.seed))  # 0 is the better start
                sweep = ascent.sweep
            else:
                sweep.dual = monitor.dual
        while status is Status.RUNNING:
            done, recall, least = sweep.epochs, RECALL * estimate, trust * tol
            visits = checked + VISITS_BEFORE_CHECK * n - sweep.steps  # until a check is worth it
            wanted = max(monitor.until_due(done), visits // max(1, sweep.n_active))
            epochs = monitor.iterations_left(done, wanted)
            target = max(recall, least, NARROW_GAP * ascent.narrow, 0.0 if near else NEAR * tol)
            ascent.run(LAST_RELAX if near else RELAX, epochs, target, monitor.seconds_left)
            status = monitor.halted(sweep.epochs)
            whole = sweep.epochs > done
            promising = whole and ascent.gap <= least
            if whole and ascent.gap <= recall:
                estimate = ascent.gap
                if sweep.steps - recalled >= VISITS * n:
                    sweep.n_active, recalled = n, sweep.steps
            if not near and ascent.gap <= NEAR * tol:
                near, sweep.n_active, recalled = True, n, sweep.steps
            worth = sweep.steps - checked >= VISITS_BEFORE_CHECK * n
            due = whole and worth and monitor.due(sweep.epochs)
            check = status is not Status.RUNNING or promising or due
            if check:
                status, checked = ascent.judged_by(monitor), sweep.steps
                gap = monitor.history[-1].gap
                if status is Status.RUNNING and monitor.stalled:
                    status = Status.STALLED
                if promising:  # so much closer, if the estimate keeps its ratio to the proof
                    trust *= max(0.25, min(0.8, 0.9 * tol * monitor.dual / max(gap, 1e-300)))
                if promising or gap > 4.0 * sweep.last_gap:
                    sweep.n_active = n
            if ascent.narrow and status is Status.RUNNING and (check or ascent.gap <= NARROW_GAP):
                ascent.widen()
        return monitor.finish(self.name, status)
