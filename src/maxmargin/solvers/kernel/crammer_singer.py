"""K classes of a kernel machine at once: `core/smo/crammer_singer.hpp` makes the steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin.certificate import Status
from maxmargin.data.arrays import Array
from maxmargin.data.checks import check_count
from maxmargin.objectives.balance import balance
from maxmargin.objectives.base import Intercept, PrimalDual
from maxmargin.objectives.kernel_crammer_singer import KernelCrammerSingerObjective
from maxmargin.runtime.monitor import Monitor
from maxmargin.runtime.stall import StallDetector
from maxmargin.solution import Solution, SolverInfo
from maxmargin.solvers.base import Start
from maxmargin.solvers.kernel.crammer_singer_active_set import face_step
from maxmargin.solvers.kernel.kernel_sums import exact_values, kernel_matrix
from maxmargin.solvers.kernel.row_cache import (
    check_row_settings,
    out_of_memory,
    row_capacities,
)
from maxmargin.solvers.kernel.row_source import KernelSamples, affords_float64
from maxmargin.solvers.kernel.value_checks import refuse_for_float32
from maxmargin.solvers.requirements import require

#: Outer steps between gap checks where no proof is expected. Small problems are checked often: each
#: check brings a step in all free variables at once.
_STEPS_PER_CHECK_OF_GAP, _STEPS_IF_SMALL = 500, 20

#: Gap checks in a row that neither lower the gap by a tenth nor, unless a proof was expected, raise
#: the dual beyond rounding.
_PATIENCE, _ROUNDING = 30, 1e-13

#: Samples whose mean is the origin, if the intercepts are free.
_CENTRE = 16

#: Samples at which sums of float32 kernel values are compared with float64.
_N_COMPARED = 64


@dataclass(frozen=True)
class ClassSMO:
    """Two-level block coordinate ascent for the kernel machine of Crammer and Singer.

    Inside a working set, whose kernel block fits the cache, a step maximises the dual over all K
    variables of one sample, an exact projection on the simplex. Free intercepts are multipliers.
    Kernel rows are float32, as in `SMO`, and the parameters are those of it.
    """

    working_set: int = 256
    cache_size: float | None = None
    n_threads: int = 1
    small: int = 1024

    name = "smo"

    def __post_init__(self) -> None:
        check_count("working_set", self.working_set - 1, advice="256 is usual, 2 the least.")
        check_row_settings(self)

    def solve(
        self, objective: KernelCrammerSingerObjective, monitor: Monitor, start: Start
    ) -> Solution:
        """Make outer steps; certify the point when the estimate of its gap is small enough."""
        require(objective, self.name, (KernelCrammerSingerObjective,))
        refuse_for_float32(objective.kernel, objective.diagonal)
        try:
            return self._solve(objective, monitor, start)
        except MemoryError as error:
            n = objective.problem.n_samples
            raise out_of_memory(self.cache_size, n, self.working_set) from error

    def _solve(
        self, objective: KernelCrammerSingerObjective, monitor: Monitor, start: Start
    ) -> Solution:
        small = objective.problem.n_samples <= self.small and objective.kernel.mercer is not None
        ascent = _Ascent(self, objective, kernel_matrix(objective) if small else None)
        most = _STEPS_IF_SMALL if small else _STEPS_PER_CHECK_OF_GAP
        steps, tol = monitor.iterations_left(0, most), monitor.tol
        if start.beta is not None:  # a start is certified before the first step
            ascent.start(start.beta, start.b, monitor)
            steps = 0
        stall, precise = StallDetector(_PATIENCE), False
        while True:
            converged = ascent.run(tol, steps, monitor)
            point = ascent.point(monitor, precise=precise)
            known, exact = (point.beta, point.b, point.z), point.error is None
            status = monitor.judge(point, ascent.engine.outer_steps)
            if status is not Status.RUNNING:
                break
            raised = stall.raises_dual(monitor.latest.dual, _ROUNDING) and not converged
            progress = stall.lowers_gap(monitor.latest.gap) or raised
            if stall.count(progress, None if exact else 3):
                status = Status.STALLED
                break
            if converged:
                tol *= 0.5
                precise = precise or monitor.error_bound > 0.5 * monitor.tol * abs(monitor.dual)
            ascent.go_on(*_moved(objective, *known) if exact else known)
            steps = monitor.iterations_left(ascent.engine.outer_steps, most)
        if status is Status.OPTIMAL and exact:
            beta, b, z = _moved(objective, *known)
            monitor.improve(PrimalDual(None, b, beta, z))
        return monitor.finish(self.name, status, ascent.info)


class _Ascent:
    """The core's ascent; with free intercepts the samples are shifted by a point c of their space.

    `means` are <x_i, c>, `mean` is <c, c>. Where Σ_i β_i = 0 that changes Kβ by a constant for each
    class, which the intercepts make up for; nothing else changes but the conditioning.
    """

    def __init__(
        self, setting: ClassSMO, objective: KernelCrammerSingerObjective, K: Array | None
    ) -> None:
        problem, self.objective, self.K = objective.problem, objective, K
        self.free = objective.intercept is Intercept.FREE
        self.shape = (objective.n_classes, problem.n_samples)
        self.means, self.mean = np.zeros(problem.n_samples), 0.0
        samples = KernelSamples(objective.kernel, problem.X, setting.n_threads)
        rows = samples.rows()
        if self.free:
            live = np.flatnonzero(problem.cost)
            some = live[:: max(1, len(live) // _CENTRE)]
            self.means = objective.kernel_values(_shares(some, problem.n_samples))[:, 0].copy()
            self.mean = float(self.means[some].mean())
            rows = rows.centred(self.means, self.mean)
        if K is not None:
            K = np.ascontiguousarray(K - self.means - self.means[:, np.newaxis] + self.mean)
        squares = np.maximum(objective.diagonal - 2.0 * self.means + self.mean, 0.0)
        penalty = max(np.average(squares, weights=problem.cost), 1.0 / problem.cost.sum())
        working = setting.working_set
        most, first = row_capacities(samples, problem.n_samples, setting.cache_size, working)
        self.engine = _core.ClassSmo(
            rows, objective.classes, self.free, penalty, working, most, K, first
        )

    @property
    def info(self) -> SolverInfo:
        """Steps, rows and the violation of the last point."""
        engine = self.engine
        return SolverInfo(violation=engine.violation, steps=engine.steps, rows=engine.rows_computed)

    def start(self, beta: Array, b: Any, monitor: Monitor) -> None:
        """Go on from a given dual point, if there is time to sum its Kβ."""
        b = np.zeros(self.objective.n_classes) + b
        beta = self.objective.feasible(beta, beta, b)
        values = exact_values(self.objective, beta, monitor)
        if values is not None:
            self.go_on(beta, b, values)

    def point(self, monitor: Monitor, *, precise: bool) -> PrimalDual:
        """Return the feasible dual point with its Kβ; in float64 if asked for, or if cheap."""
        objective, beta, z = self.objective, self.feasible(), None
        b, n_support = self.intercepts(beta), int(np.count_nonzero(beta.any(axis=1)))
        if self.K is not None:
            z = self.K @ beta
        elif precise or affords_float64(objective.problem.X, len(beta) * n_support):
            z = exact_values(objective, beta, monitor)
        if z is not None:
            return PrimalDual(None, b, beta, z)
        z = self.summed(beta)
        return PrimalDual(None, b, beta, z, error=_error(objective, beta, z))

    def run(self, tol: float, steps: int, monitor: Monitor) -> bool:
        """Make outer steps; return whether its own estimate of the gap ended them."""
        before = self.engine.outer_steps
        self.engine.run(tol, self.objective.negligible, steps, monitor.stopped)
        return bool(self.engine.outer_steps < before + steps)

    def go_on(self, beta: Array, b: Array, z: Array) -> None:
        """Go on from a feasible β with z = Kβ."""
        alpha, scores, shift = -beta, z + 1.0, self.means @ beta
        alpha[self.objective.own] += self.objective.problem.cost
        scores[self.objective.own] -= 1.0
        self.engine.go_on(alpha.T.copy(), (scores - shift).T.copy(), b + shift)

    def feasible(self) -> Array:
        """Return β, made feasible."""
        beta = self.objective.within_simplices(-self.engine.alpha.reshape(self.shape).T.copy())
        if self.free:
            scores = self.engine.scores.reshape(self.shape).T + self.engine.b
            balance(beta, self.objective.own, self.objective.problem.cost, scores)
        return beta

    def intercepts(self, beta: Array) -> Array:
        """Return b for the samples without the shift."""
        return np.asarray(self.engine.b - self.means @ beta)

    def summed(self, beta: Array) -> Array:
        """Return Kβ: sums of float32 rows at the engine's point, float64 for how β differs."""
        own, cost = self.objective.own, self.objective.problem.cost
        shifted = self.engine.scores.reshape(self.shape).T - 1.0
        shifted[own] += 1.0
        at = -self.engine.alpha.reshape(self.shape).T
        at[own] += cost
        z = shifted + np.outer(self.means - self.mean, at.sum(axis=0)) + self.means @ at
        change = beta - at
        change[np.abs(change) <= 1e-12 * cost[:, np.newaxis]] = 0.0
        return np.ascontiguousarray(z + self.objective.kernel_values(change))


def _shares(some: NDArray[np.intp], n: int) -> Array:
    """Return the coefficients of the mean of some samples, as a column."""
    shares = np.zeros((n, 1))
    shares[some] = 1.0 / len(some)
    return shares


def _moved(
    objective: KernelCrammerSingerObjective, beta: Array, b: Array, z: Array
) -> tuple[Array, ...]:
    """Return the point after a step in all free variables at once, where that raises the dual."""
    found = face_step(objective, beta, b, z) if objective.convex else None
    if found is None:
        return beta, b, z
    after = objective.within_simplices(beta + found[0])
    if objective.intercept is Intercept.FREE:
        balance(after, objective.own, objective.problem.cost, objective.augmented_scores(z + b))
    values = z + objective.kernel_values(after - beta)
    before, now = (
        float(point[objective.own].sum()) - 0.5 * float(np.vdot(point, at))
        for point, at in ((beta, z), (after, values))
    )
    return (after, b + found[1], values) if now > before else (beta, b, z)


def _error(objective: KernelCrammerSingerObjective, beta: Array, z: Array) -> tuple[Array, float]:
    """Mean by class and spread of the error of z, from support vectors and others in float64."""
    X, support, everyone = objective.problem.X, np.flatnonzero(beta.any(axis=1)), np.arange(len(z))
    if len(support) == 0:
        return np.zeros(objective.n_classes), 0.0
    rows = np.concatenate(
        [some[:: max(1, len(some) // _N_COMPARED)][:_N_COMPARED] for some in (support, everyone)]
    )
    errors = z[rows] - objective.kernel(X[rows], X[support]) @ beta[support]
    return errors.mean(axis=0), float(errors.std(axis=0).max())
