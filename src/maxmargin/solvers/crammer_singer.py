"""K classes by dual block coordinate ascent: `core/crammer_singer.hpp` runs the epochs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

import maxmargin._core as _core
from maxmargin.certificate import Certificate, Status, certify_joint
from maxmargin.joint import JointObjective
from maxmargin.objective import Intercept
from maxmargin.solution import Solution
from maxmargin.solvers.base import Monitor, Start, typical_norm
from maxmargin.validation import Array

#: The rows set aside come back whenever the sweep's gap has fallen by this factor, and as many
#: steps as three visits to every row have been made.
RECALL, VISITS = 0.25, 3

#: Steps go RELAX times as far as the maximum: 1 needs up to twice the epochs, 1.9 as many as 1. From
#: NEAR times the gap asked for on, all rows come back and steps stop short of the maximum, which
#: leaves less of a gap behind. The sweep's estimate must be a little better than what is to be proven.
RELAX, LAST_RELAX, NEAR, TRUST = 1.4, 0.8, 2.5, 0.85

#: Epochs are made in float32 down to this gap, and to the first look at most.
NARROW_GAP = 1e-4

#: A proof costs about two visits to every row: without hope it is not asked for before this many.
VISITS_BEFORE_LOOK = 32


class JointMonitor(Monitor):
    """A Monitor of a JointObjective: w is a matrix of shape (K, d) and b a vector."""

    objective: JointObjective  # type: ignore[assignment]

    def __init__(self, objective: JointObjective, *settings: Any) -> None:
        super().__init__(objective, *settings)  # type: ignore[arg-type]

    def judge_joint(self, W: Array, b: Array, beta: Array, n_iter: int) -> Status:
        """Certify the weights, laid out, by β; remember what is best and decide."""
        beta = self.objective.feasible(beta, W, b)
        certificate = certify_joint(self.objective, W, b, beta)
        better_primal = certificate.primal <= self._primal[0]
        better_dual = certificate.dual >= self._dual[0]
        if better_primal:
            self._primal = (certificate.primal, self.objective.coef(W), b.copy())
        if better_dual:
            self._dual = (certificate.dual, beta)
        self._best = certificate if better_primal and better_dual else None
        return self._decide(n_iter)

    def _certify_best(self) -> Certificate:
        _, coef, b = self._primal
        return certify_joint(self.objective, self.objective.lay_out(coef), b, self._dual[1])


@dataclass(frozen=True)
class CrammerSinger:
    """Dual block coordinate ascent with shrinking and over-relaxation for K classes at once.

    A step maximises the dual over all K variables of one sample, an exact projection on the simplex
    (Keerthi et al., KDD 2008; Blondel et al., ICPR 2014). It needs O((n + d) K) memory.
    """

    name = "dual_cd"

    def solve(self, objective: JointObjective, monitor: JointMonitor, start: Start) -> Solution:
        """Sweep; when the sweep's own estimate of the gap is small enough, ask for the proof."""
        problem, K = objective.problem, objective.n_classes
        n = problem.n_samples
        free, feature = objective.intercept is Intercept.FREE, _feature(objective)
        anchor, w_bias = np.zeros(K), np.zeros(K)
        alpha, rows = np.zeros((n, _core.padded(K))), problem.rows
        narrow = start.beta is None and problem.narrow_rows is not None
        if start.beta is None:
            alpha[objective.own] = problem.cost
            rows = problem.narrow_rows if narrow else problem.rows
            W = objective.zero(narrow=narrow)
        else:
            if free:
                anchor[:] = start.b
            beta = objective.feasible(start.beta, objective.zero(), anchor)
            alpha[:, :K] = -beta
            alpha[objective.own] += problem.cost
            W = _summed(objective, alpha)
            w_bias[:] = feature * beta.sum(axis=0)
        order = np.arange(n, dtype=np.int32)
        sweep, random = _core.Sweep(n), _core.Random(start.seed)

        def judge() -> Status:
            wide, b = objective.widened(W), anchor + feature * w_bias
            return monitor.judge_joint(wide, b, -alpha[:, :K], sweep.epochs)

        status, trust, estimate, now = Status.RUNNING, TRUST, math.inf, math.inf
        near, recalled, looked = False, 0, 0  # steps made by then
        if start.beta is not None:
            status = judge()
            sweep.dual = monitor.dual
        while status is Status.RUNNING:
            done = sweep.epochs
            if not near and now <= NEAR * monitor.tol:
                near, sweep.n_active, recalled = True, n, sweep.steps
            recall, least = RECALL * estimate, trust * monitor.tol
            visits = looked + VISITS_BEFORE_LOOK * n - sweep.steps  # until a look is worth it
            wanted = max(monitor.until_due(done), visits // max(1, sweep.n_active))
            epochs = monitor.iterations_left(done, wanted)
            targets = recall, least, 0.0 if near else NEAR * monitor.tol, NARROW_GAP * narrow
            _core.crammer_singer(
                rows, objective.classes, alpha, W, w_bias, anchor, feature, free, order, sweep,
                random, LAST_RELAX if near else RELAX, epochs, max(targets), monitor.seconds_left,
            )  # fmt: skip
            status = monitor.halted(sweep.epochs)
            now = sweep.left / sweep.last_dual if sweep.last_dual > 0.0 else math.inf
            whole = sweep.epochs > done
            promising = whole and now <= least
            if whole and now <= recall:
                estimate = now
                if sweep.steps - recalled >= VISITS * n:
                    sweep.n_active, recalled = n, sweep.steps
            worth = sweep.steps - looked >= VISITS_BEFORE_LOOK * n
            due = whole and worth and monitor.due(sweep.epochs)
            look = status is not Status.RUNNING or promising or due
            if look:
                status, looked = judge(), sweep.steps
                gap = monitor.history[-1].gap
                if status is not Status.RUNNING:
                    break
                if promising:  # so much closer, if the estimate keeps its ratio to the proof
                    trust *= max(0.25, min(0.8, 0.9 * monitor.tol * monitor.dual / gap))
                if promising or gap > 4.0 * sweep.last_gap:
                    sweep.n_active = n
            if narrow and (look or now <= NARROW_GAP):
                narrow, rows, W = False, problem.rows, _summed(objective, alpha)
        return monitor.finish(self.name, status)


def _summed(objective: JointObjective, alpha: Array) -> Array:
    """Return W = β'X, laid out, for β_ij = C_i 1[j = y_i] − α_ij."""
    beta = -alpha[:, : objective.n_classes]
    beta[objective.own] += objective.problem.cost
    return objective.lay_out(objective.weights(beta))


def _feature(objective: JointObjective) -> float:
    """Return the constant feature whose weights are the intercepts; see `bias_of`."""
    if objective.intercept is Intercept.NONE:
        return 0.0
    if objective.intercept is Intercept.PENALIZED:
        return objective.intercept_scaling
    problem = objective.problem
    norm = typical_norm(problem.squared_norms, problem.cost)
    return max(norm, math.sqrt(1.0 / float(problem.cost.sum())))
