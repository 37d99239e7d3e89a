"""Semismooth Newton with proximal outer steps: `core/newton.hpp` runs the passes."""

from __future__ import annotations

import itertools
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cython_blas, lapack

import maxmargin._core as _core
from maxmargin.certificate import Status
from maxmargin.objective import Intercept, Objective
from maxmargin.solution import Solution
from maxmargin.solvers.base import Halted, Monitor, Start, bias_of, require
from maxmargin.validation import Array, check_count, check_positive

Subset = NDArray[np.int32]

_DSYRK = cython_blas.__pyx_capi__["dsyrk"]

#: Multiply-adds that one compiled call may spend on the Hessian: some hundredths of a second.
_FLOPS_PER_CALL = 2**29
_VALUES_PER_CALL = 2**24

#: Beyond it a single factorisation takes minutes.
MAX_FEATURES = 10_000

#: Between looks at a gap that is not promising.
_STEPS_PER_LOOK = 25

#: Rows for which a pass costs next to nothing.
_FEW = 10_000

_SLOPED = 1  # kSloped of core/newton.hpp


@dataclass(frozen=True)
class Newton:
    """Second-order solver for few features: the work per step is a Gram matrix and two passes.

    Absolute losses are softened over a width that shrinks from outer step to outer step around the
    last dual point (an augmented Lagrangian method), squared losses need no softening. Large
    problems are first solved on samples of the rows, each `growth` times the last.

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
        check_positive("softness", self.softness, advice="2.0 starts with a least-squares fit.")
        check_count("growth", self.growth - 1, advice="growth must be at least 2.")
        if not 0.0 < self.shrink < 1.0:
            raise ValueError(f"shrink must lie between 0 and 1, got {self.shrink!r}.")

    def solve(self, objective: Objective, monitor: Monitor, start: Start) -> Solution:
        """Climb through the samples to the whole problem."""
        require(objective, self.name, regularized=True)
        problem = objective.problem
        n, d = problem.n_samples, problem.n_features
        if d > MAX_FEATURES:
            raise ValueError(
                f"solver='newton' keeps matrices of n_features², {8e-9 * d * d:.0f} GB each for the"
                f" {d} features of X, and takes at most {MAX_FEATURES}. Use solver='dual_cd'."
            )
        bias, w = bias_of(objective, reach=30.0), np.zeros(d + 1)
        everything = np.arange(n, dtype=np.int32)
        first, later = self.softness * objective.unit, 0.5 * objective.unit
        if start.beta is not None:
            beta = objective.feasible(start.beta)
            w[:d], w[d] = problem.combine(beta), bias.feature * beta.sum()
            bias.anchor = start.b if objective.intercept is Intercept.FREE else 0.0
            level = _Level(monitor, bias, everything, w, later, beta)
            return level.solve(self.shrink, 0)
        softness, n_iter, rng = first, 0, np.random.default_rng(start.seed)
        for size in self._sample_sizes(n, d):
            subset = np.sort(rng.choice(n, size, replace=False)).astype(np.int32)
            level = _Level(monitor, bias, subset, w, softness)
            n_iter = level.rough_solve(self.shrink, n_iter)
            w, softness = level.w, later
        return _Level(monitor, bias, everything, w, softness).solve(self.shrink, n_iter)

    def _sample_sizes(self, n: int, d: int) -> list[int]:
        """Ascending; the smallest still has eight rows a feature."""
        sizes = []
        size = n // self.growth
        while size >= max(2000, 8 * d):
            sizes.append(size)
            size //= self.growth
        return sizes[::-1]


class _Level:
    """Newton's method on some of the rows, their costs raised to stand for all.

    Everything but the weights is indexed by position in `subset`. `w` has the bias as its last
    entry. Invariants after `sums`: beta is the maximiser at z, combination = Σ β_k (x_k, bias).
    """

    def __init__(
        self,
        monitor: Monitor,
        bias: _core.Bias,
        subset: Subset,
        w: Array,
        softness: float,
        centre: Array | None = None,
    ) -> None:
        objective = monitor.objective
        problem = objective.problem
        n, m, dim = problem.n_samples, len(subset), problem.n_features + 1
        self.monitor, self.objective, self.bias, self.subset = monitor, objective, bias, subset
        self.w, self.softness = w, softness
        y, cost = problem.y, problem.cost
        if m < n:
            y, cost = y[subset], cost[subset] * (n / m)
        self.terms = objective.terms_of(y, cost)
        self.z, self.dz = np.empty(m), np.empty(m)
        self.beta, self.combination = np.zeros(m), np.zeros(dim)
        self.gram = np.zeros((dim, dim), order="F")  # of the rows flagged as held, by cost
        self.flags = np.zeros(m, dtype=np.uint8)
        self.hessian = np.empty_like(self.gram)
        self.diagonal = self.hessian.reshape(-1, order="F")[:: dim + 1]
        per_row = max(problem.n_stored // max(n, 1), 1)
        self.step_rows = max(1, _VALUES_PER_CALL // per_row)
        self.step_gram = max(1, _FLOPS_PER_CALL // dim**2)
        self._predict(self.w, self.z, interruptible=False)
        self.z += bias.anchor
        # The middle of the box: right to first order for the rows at the kink, whoever they are.
        side = y if objective.loss.one_sided else np.sign(y - self.z)
        self.centre = centre if centre is not None else 0.5 * cost * side
        if softness >= 2.0 * objective.unit:
            self.centre = np.zeros(m)

    def _predict(self, w: Array, out: Array, *, interruptible: bool = True) -> None:
        rows = self.objective.problem.rows
        for begin in range(0, len(out), self.step_rows):
            if interruptible:
                self.monitor.checkpoint()
            end = min(begin + self.step_rows, len(out))
            _core.newton_predict(rows, self.subset, self.bias, w, begin, end, out)

    def sums(self) -> None:
        """Dual point, gradient and an estimate of the gap at z."""
        rows, m = self.objective.problem.rows, len(self.z)
        losses, fenchel_young, self.n_sloped, self.n_leaving = 0.0, 0.0, 0, 0
        for begin in range(0, m, self.step_rows):
            part = _core.newton_dual(
                rows, self.subset, self.terms, self.bias, self.centre, self.softness, self.z,
                begin, min(begin + self.step_rows, m), self.beta, self.combination, self.flags,
            )  # fmt: skip
            losses += part.primal_loss
            fenchel_young += part.fenchel_young
            self.n_sloped += part.n_sloped
            self.n_leaving += part.n_leaving
        self.gradient = self.w - self.combination
        self.imbalance = 0.5 * float(self.gradient @ self.gradient)
        self.softening = fenchel_young
        self.gap = self.imbalance + fenchel_young
        self.primal = self.objective.regularizer(self.w[:-1], self.b) + losses

    def refresh_hessian(self) -> None:
        """I + Σ over the sloped rows of x x' / stiffness, from the rows that changed piece."""
        if self.n_leaving > self.n_sloped:  # fewer rows to add anew than to take away
            self.forget_gram()
        for begin in range(0, len(self.z), self.step_gram):
            self.monitor.checkpoint()
            end = min(begin + self.step_gram, len(self.z))
            _core.newton_gram(
                self.objective.problem.rows, self.subset, self.terms, self.bias, begin, end,
                _DSYRK, self.flags, self.gram,
            )  # fmt: skip
        np.multiply(self.gram, self.stiffness, out=self.hessian)
        self.diagonal += 1.0

    @property
    def b(self) -> float:
        """The intercept."""
        return float(self.bias.anchor + self.bias.feature * self.w[-1])

    def forget_gram(self) -> None:
        """Start the Gram matrix anew."""
        self.gram[:] = 0.0
        self.flags &= _SLOPED

    @property
    def stiffness(self) -> float:
        """−dβ/dz of a sloped row, in units of its cost."""
        return 1.0 / self.softness if self.objective.loss.bounded else 2.0

    def direction(self) -> Array:
        """−hessian⁻¹ gradient, by Cholesky; damped where rounding has spoilt the matrix."""
        self.refresh_hessian()
        _, solution, failed = lapack.dposv(self.hessian, self.gradient, lower=0)
        if failed:
            self.forget_gram()  # taking away an outlying row leaves its rounding errors behind
            self.refresh_hessian()
            solution = _damped_solve(self.hessian, self.gradient)
        return -np.asarray(solution)

    def step(self) -> None:
        """One Newton step of exact length."""
        direction = self.direction()
        self._predict(direction, self.dz)
        length = _core.exact_line_search(
            self.terms, self.centre, self.softness, self.z, self.dz,
            float(self.gradient @ direction), float(self.w @ direction),
            float(direction @ direction), 0.3,
        )  # fmt: skip
        self.w = self.w + length * direction
        self.z += length * self.dz

    def recentre(self, shrink: float) -> None:
        """One outer step: the dual point becomes the centre, b the anchor."""
        self.centre = self.beta.copy()
        self.softness *= shrink
        if self.objective.intercept is Intercept.FREE:
            self.bias.anchor, self.w[-1] = self.b, 0.0
        if len(self.z) <= _FEW or self.gap <= 1e-5 * self.primal:  # rounding errors have added up
            self._predict(self.w, self.z)
            self.z += self.bias.anchor
        self.sums()

    @property
    def settled(self) -> bool:
        """Whether the softening, and not the Newton iteration, is what is left of the gap."""
        return self.imbalance <= 0.3 * self.softening

    def advance(self, shrink: float, *, recentre: bool) -> None:
        """One step, after an outer one if it is time; left at the last point if halted in it."""
        with suppress(Halted):
            if recentre:
                self.recentre(shrink)
            self.step()

    def rough_solve(self, shrink: float, n_iter: int) -> int:
        """Solve roughly: more is lost on the step to the next sample anyway."""
        for _ in range(30):
            if self.monitor.halted(n_iter) is not Status.RUNNING:
                break
            self.sums()
            if self.gap <= 0.3 * self.primal:
                break
            self.advance(shrink, recentre=self.settled)
            n_iter += 1
        return n_iter

    def solve(self, shrink: float, n_iter: int) -> Solution:
        """Solve until the monitor is content; the estimate of the gap says when to ask it."""
        monitor = self.monitor
        for steps in itertools.count(1):
            self.sums()
            status = monitor.halted(n_iter)
            promising = self.gap <= monitor.tol * (self.primal - self.gap)
            if status is not Status.RUNNING or promising or steps % _STEPS_PER_LOOK == 0:
                status = monitor.judge(self.w[:-1], self.b, self.beta, n_iter)
            if status is not Status.RUNNING:
                return monitor.finish(Newton.name, status)
            self.advance(shrink, recentre=promising or self.settled)
            n_iter += 1
        raise AssertionError


def _damped_solve(hessian: Array, gradient: Array) -> Array:
    """hessian⁻¹ gradient, scaled to a unit diagonal, with the least ridge that factorises."""
    scale = 1.0 / np.sqrt(hessian.diagonal())
    scaled = hessian * scale * scale[:, None]
    for ridge in 10.0 ** np.arange(-15, 1):
        np.fill_diagonal(scaled, 1.0 + ridge)
        _, solution, failed = lapack.dposv(scaled, gradient * scale, lower=0)
        if not failed:
            break
    return np.asarray(solution) * scale
