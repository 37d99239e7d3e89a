"""Semismooth Newton with proximal outer steps: `core/linear/newton.hpp` makes the steps."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cython_blas, cython_lapack

import maxmargin._core as _core
from maxmargin.certificate import Status
from maxmargin.data.arrays import Array
from maxmargin.data.checks import as_floats, check_count, check_positive
from maxmargin.objectives.base import Intercept, PrimalDual
from maxmargin.objectives.linear import LinearObjective
from maxmargin.runtime.monitor import Monitor
from maxmargin.runtime.stall import StallDetector
from maxmargin.solution import Solution
from maxmargin.solvers.base import Start
from maxmargin.solvers.linear.intercept import bias_of, typical_norm
from maxmargin.solvers.requirements import require, require_regularized

_BLAS = _core.Blas(
    cython_blas.__pyx_capi__["dsyrk"],
    cython_blas.__pyx_capi__["dgemm"],
    cython_blas.__pyx_capi__["dtrsm"],
    cython_lapack.__pyx_capi__["dpotrf"],
    cython_lapack.__pyx_capi__["dpotrs"],
)

#: Beyond it a single factorisation takes minutes.
MAX_FEATURES = 10_000

#: Between checks of a gap that is not promising.
_STEPS_PER_CHECK_OF_GAP = 25

#: Gap checks in a row that do not lower the gap by a tenth: rounding is what is left.
_PATIENCE = 8

#: That a sample should hold at most, since it is a copy, if a smaller one can give its Hessian.
_SAMPLE_VALUES = 2**23

#: Up to so many, steps from 0 take no longer than the search for a better start.
_FEW_ROWS = 1000

#: On one sample of the rows; where more would be needed, the next sample is the better place.
_STEPS_PER_SAMPLE = 50


@dataclass(frozen=True)
class Newton:
    """Second-order solver for few features: the work per step is a Gram matrix and a pass or two.

    Absolute losses are softened over a width that shrinks from outer step to outer step around the
    last dual point (an augmented Lagrangian method), squared losses need no softening. Large
    problems are first solved on samples of the rows, each about `growth` times the last; of a very
    large X only on the smaller ones. Squared losses start from averaged stochastic steps instead
    where no sample has rows enough for a Hessian.

    Parameters
    ----------
    softness : float
        First width, in units of the margin. At 2 the first step is a least-squares fit.
    shrink : float
        Factor from one outer step to the next.
    growth : int
        Ratio of successive sample sizes.
    """

    softness: float = 2.0
    shrink: float = 0.5
    growth: int = 8

    name = "newton"

    def __post_init__(self) -> None:
        as_floats(self, "softness", "shrink")
        check_positive("softness", self.softness, advice="2.0 starts with a least-squares fit.")
        check_count("growth", self.growth - 1, advice="growth must be at least 2.")
        if not 0.0 < self.shrink < 1.0:
            raise ValueError(f"shrink must lie between 0 and 1, got {self.shrink!r}.")

    def solve(self, objective: LinearObjective, monitor: Monitor, start: Start) -> Solution:
        """Climb through the samples to the whole problem."""
        require(objective, self.name, (LinearObjective,))
        require_regularized(objective, self.name)
        problem = objective.problem
        n, d = problem.n_samples, problem.n_features
        if d > MAX_FEATURES:
            raise ValueError(
                f"solver='newton' keeps matrices of n_features², {8e-9 * d * d:.0f} GB each for the"
                f" {d} features of X, and takes at most {MAX_FEATURES}. Use solver='dual_cd'."
            )
        bias = bias_of(objective, reach=30.0)
        free = objective.intercept is Intercept.FREE
        whole = _core.NewtonLevel(problem.rows, objective.terms, bias, _BLAS)
        n_iter, status = 0, Status.RUNNING
        if start.beta is not None:
            beta = objective.feasible(start.beta)
            bias.anchor = start.b if free else 0.0
            w = np.append(problem.combine(beta), bias.feature * beta.sum())
            whole.start(w, 0.5 * objective.unit, beta, monitor.stopped)
            if start.w is not None:
                monitor.judge(PrimalDual(start.w, start.b, beta), 0)
            status = monitor.judge(PrimalDual(w[:d], whole.b, beta), 0)
        else:
            samples = _samples(objective, self._sample_sizes(objective), start.seed)
            if samples or objective.loss.bounded or n <= _FEW_ROWS:
                w, softness, n_iter = self._climb(objective, samples, whole, bias, monitor)
                whole.start(w, softness, _centre(n_iter, n), monitor.stopped)
            else:
                whole.descend(
                    problem.squared_norms,
                    typical_norm(problem.squared_norms, problem.cost) if free else bias.feature,
                    _core.Random(start.seed),
                    monitor.stopped,
                )
        follows = not (objective.loss.bounded or free)  # the dual point from w
        before, stall = n_iter, StallDetector(_PATIENCE)
        while status is Status.RUNNING:
            steps = monitor.iterations_left(n_iter, _STEPS_PER_CHECK_OF_GAP)
            whole.solve(monitor.tol, self.shrink, steps, monitor.stopped)
            n_iter = before + whole.n_steps
            w, b = whole.w[:d], whole.b
            point = PrimalDual(w, b, None if follows else whole.beta)
            status = monitor.judge(point, n_iter)
            progress = stall.lowers_gap(monitor.history[-1].gap)
            if stall.count(progress) and status is Status.RUNNING:
                status = Status.STALLED
        if status is not Status.OPTIMAL:  # what is returned is no worse than 0
            zero = np.zeros(d)
            if monitor.dual < 0.0 or monitor.history[-1].primal > objective.primal(zero, 0.0):
                monitor.judge(PrimalDual(zero, 0.0, np.zeros(n)), n_iter)
        return monitor.finish(self.name, status)

    def _climb(
        self,
        objective: LinearObjective,
        samples: list[tuple[NDArray[np.int32], Array]],
        whole: _core.NewtonLevel,
        bias: _core.Bias,
        monitor: Monitor,
    ) -> tuple[Array, float, int]:
        """Solve the samples; return where the whole is to start, and the steps made.

        Of squared losses, the largest sample may give its Hessian, and is kept for it.
        """
        problem = objective.problem
        d, n_iter = problem.n_features, 0
        w, softness = np.zeros(d + 1), self.softness * objective.unit
        for places, cost in samples:
            sample = problem.part(places, cost)
            terms = objective.terms_of(sample.y, sample.cost)
            level = _core.NewtonLevel(sample.rows, terms, bias, _BLAS)
            level.start(w, softness, _centre(n_iter, len(places)), monitor.stopped)
            level.rough_solve(
                monitor.tol,
                self.shrink,
                3.0 * objective.unit * math.sqrt((d + 1) / len(places)),
                monitor.iterations_left(n_iter, _STEPS_PER_SAMPLE),
                monitor.stopped,
            )
            w, softness = level.w, level.softness
            n_iter += level.n_steps
        if samples and not objective.loss.bounded:
            whole.use_hessian_of(level, places)
        return w, softness, n_iter

    def _sample_sizes(self, objective: LinearObjective) -> list[int]:
        """Ascending; the smallest has eight rows a feature, a large one is needed for a Hessian.

        Squared losses are worth no sample that cannot give its Hessian.
        """
        problem = objective.problem
        n, d = problem.n_samples, problem.n_features
        enough = 2 * _core.ROWS_FOR_HESSIAN * (d + 1)
        if not objective.loss.bounded and n // self.growth < enough:
            return []
        sizes = []
        size = n // self.growth
        while size >= max(1000, 8 * d):
            sizes.append(size)
            size //= self.growth
        while (
            len(sizes) > 1
            and sizes[0] * problem.n_stored > _SAMPLE_VALUES * n
            and sizes[1] > enough
        ):
            del sizes[0]
        return sizes[::-1]


def _centre(n_iter: int, count: int) -> Array | None:
    """Return the dual point 0 to begin with; later the middle of the box serves better."""
    return np.zeros(count) if n_iter == 0 else None


def _samples(
    objective: LinearObjective, sizes: list[int], seed: int
) -> list[tuple[NDArray[np.int32], Array]]:
    """Draw about so many rows, and costs with which they stand for all; each sample has the last.

    Half of the chances go by C_i‖x_i‖²: an outlying row decides the curvature in its direction, and
    a sample without it would lead astray. Where such rows hold most of X, there is no sample.
    """
    if not sizes:
        return []
    problem = objective.problem
    n = problem.n_samples
    mean_curvature = float(np.einsum("i,i->", problem.cost, problem.squared_norms)) / n or 1.0
    share, norms = 0.5 * sizes[-1] / n, problem.squared_norms
    draw = _core.PoissonSample(  # the rows of the largest sample
        problem.cost, norms, share, share / mean_curvature, sizes[-1], _core.Random(seed)
    )
    places, number, chance = draw.indices, draw.numbers, draw.chances
    cost = problem.cost[places]
    most = 2.0 * sizes[-1] / n * problem.n_stored
    samples = []
    for size in sizes:
        own = np.minimum(1.0, size / sizes[-1] * chance)
        taken = number < own
        if problem.stored_in(places[taken]) <= most:
            samples.append((places[taken], cost[taken] / own[taken]))
    return samples
