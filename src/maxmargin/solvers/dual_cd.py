"""Dual coordinate descent: `core/dual_cd.hpp` runs the epochs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import maxmargin._core as _core
from maxmargin.certificate import Status
from maxmargin.objective import Intercept, Objective
from maxmargin.solution import Solution
from maxmargin.solvers.base import Monitor, Start, bias_of, require


@dataclass(frozen=True)
class DualCD:
    """Dual coordinate descent with shrinking (Hsieh et al., ICML 2008).

    One epoch costs two passes over the rows that are still in play. It needs no memory beyond
    O(n + d) and is the solver for wide sparse data.
    """

    name = "dual_cd"

    def solve(self, objective: Objective, monitor: Monitor, start: Start) -> Solution:
        """Sweep; when the sweep's own estimate of the gap is small enough, ask for the proof."""
        require(objective, self.name, regularized=True)
        problem = objective.problem
        n, d = problem.n_samples, problem.n_features
        norms = problem.squared_norms
        bias = bias_of(objective, reach=1.0)
        free = objective.intercept is Intercept.FREE
        beta, w = np.zeros(n), np.zeros(d + 1)
        if start.beta is not None:
            beta[:] = objective.feasible(start.beta)
            w[:d], w[d] = problem.combine(beta), bias.feature * beta.sum()
            bias.anchor = start.b if free else 0.0
        order = np.arange(n, dtype=np.int32)
        sweep, random = _core.Sweep(n), _core.Random(start.seed)
        if start.begun is not None:
            beta, w, bias.anchor, order, *where = start.begun
            sweep.n_active, sweep.threshold, sweep.dual, sweep.epochs = where
        trust = 0.8  # in the sweep's forecast of the gap: 0.7 to 0.9 of what it is, on text

        def now() -> float:
            return float(bias.anchor + bias.feature * w[d])

        status = Status.RUNNING
        if start.beta is not None:
            status = monitor.judge(w[:d], now(), beta, 0)
            sweep.dual = monitor.dual
        while status is Status.RUNNING:
            done = sweep.epochs
            epochs = monitor.iterations_left(done, monitor.until_due(done))
            _core.dual_cd(
                problem.rows, objective.terms, norms, bias, free, beta, w, order, sweep,
                random, epochs, trust * monitor.tol, monitor.seconds_left,
            )  # fmt: skip
            status = monitor.halted(sweep.epochs)
            whole = sweep.epochs > done
            promising = whole and sweep.left <= trust * monitor.tol * sweep.last_dual
            if status is Status.RUNNING and not promising and not monitor.due(sweep.epochs):
                continue
            status = monitor.judge(w[:d], now(), beta, sweep.epochs)
            if promising:
                trust *= 0.5
            if promising or monitor.history[-1].gap > 4.0 * sweep.last_gap:
                # Rows were set aside too early, or will be looked at again before the next proof.
                sweep.n_active = n
        return monitor.finish(self.name, status)
