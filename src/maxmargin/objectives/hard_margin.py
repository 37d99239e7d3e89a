"""The hard margin: y_i f(x_i) ≥ 1 of every sample that has a weight."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from maxmargin.certificate import Certificate, relative
from maxmargin.data.arrays import Array
from maxmargin.losses import Box
from maxmargin.objectives.base import Intercept, Judged, PrimalDual, rounding_slip
from maxmargin.objectives.kernel import KernelObjective
from maxmargin.objectives.standard_form import StandardForm


@dataclass(frozen=True, eq=False)
class HardMarginObjective(KernelObjective):
    """½‖w‖² subject to y_i f(x_i) ≥ 1; β is unbounded, costs are 1 or 0."""

    #: Each gap check brings a step in all free variables at once.
    gap_check_interval: ClassVar[int] = 10

    @cached_property
    def box(self) -> Box:
        """Where the dual variables may lie."""
        bound = np.where(self.problem.cost > 0.0, np.inf, 0.0)
        return self.loss.box(self.problem.y, bound)

    @cached_property
    def infeasible_above(self) -> float:  # type: ignore[override]
        """A dual value that shows that there is no margin, or one that counts as none.

        ½‖w‖² is then so large that the margin is less than a millionth of the largest distance from
        one of the samples. Samples without weight need no margin.
        """
        used = np.flatnonzero(self.problem.cost > 0.0)
        X, diagonal = self.problem.X[used], self.diagonal[used]
        squares = diagonal + diagonal[0] - 2.0 * self.kernel(X, X[:1])[:, 0]
        widest = float(squares.max())
        return 0.5e12 / widest if widest > 0.0 else math.inf

    def near_kinks(self, z: Array, width: float) -> NDArray[np.bool_]:  # noqa: ARG002
        """None: errors of f are allowed for at every sample alike."""
        return np.zeros(len(z), dtype=bool)

    def reduced(self, w: Array, b: float, beta: Array) -> None:
        """None: there is no such problem."""
        del w, b, beta

    def _clipped(self, beta: Array) -> Array:
        return np.clip(beta, self.box.lower, self.box.upper)

    def standard_form(self) -> StandardForm:
        """Return the dual in the variables of SMO: the nearest points of the two convex hulls."""
        weighted = (self.problem.cost > 0.0).astype(float)
        form = StandardForm.of_sums(self.problem.y, weighted, 2.0, 1.0 / self.infeasible_above)
        return replace(form, hulls=True)

    def _judge_dual(self, point: PrimalDual) -> Judged:
        """Put f midway between the classes and give it a least margin of 1, if it has one."""
        beta, z, error, y = point.beta, point.z, point.error, self.problem.y
        used = self.problem.cost > 0.0
        rise, fall = float(z[used & (y > 0.0)].min()), float(-z[used & (y < 0.0)].max())
        b, least = 0.5 * (fall - rise), 0.5 * (fall + rise)
        certificate = self.certify(PrimalDual(beta, b, beta, z, z, error))
        square = float(beta @ z)
        alpha = beta * (float(np.abs(beta).sum()) / square) if square > 0.0 else beta
        if least > 0.0:
            beta, b = beta / least, b / least
        return Judged(PrimalDual(beta, b, alpha), certificate, self.loss, paired=True)

    def certify(self, point: PrimalDual) -> Certificate:
        """Judge f scaled so that its least margin is 1, by β scaled so that its value is largest.

        If v = f / least and α = sβ with s = Σ |β_i| / ‖w_β‖², the gap is
        ½‖w_v − w_α‖² + Σ |α_i| (y_i v(x_i) − 1).
        """
        w, b, beta = point.w, point.b, point.beta
        y, used = self.problem.y, self.problem.cost > 0.0
        z = self.kernel_values(w) if point.z is None else point.z
        square = float(w @ z)
        error = point.error or self.rounding_of(w, square)
        margins = y * (z + b)
        worst = abs(error.mean) + 4.0 * error.spread
        least = float(margins[used].min()) - worst
        difference = w - beta
        K_beta = z - self.kernel_values(difference) if difference.any() else z
        size, dual_square = float(np.abs(beta).sum()), float(beta @ K_beta)
        dual_square = max(0.0, dual_square) + worst * size  # the least bound that rounding allows
        scale = size / dual_square if dual_square > 0.0 else math.inf
        dual = 0.5 * size * scale if size > 0.0 else 0.0
        free, scaled = self.intercept is Intercept.FREE, b / least if least > 0.0 else 0.0
        slip = rounding_slip(free, scaled, float(beta.sum()), size)
        dual = dual if slip < math.inf else -math.inf  # Σ β = 0 is missed
        primal = gap = math.inf
        if least > 0.0 and size > 0.0 and min(square, dual_square) > 0.0:
            primal = 0.5 * square / least**2
            change = w / least - scale * beta
            distance = float(change @ (z / least - scale * K_beta))
            beyond = np.maximum(0.0, (margins + worst) / least - 1.0)
            gap = 0.5 * max(0.0, distance) + scale * (float(np.abs(beta) @ beyond) + slip)
            gap = max(gap, primal - dual)
        edge = int(np.count_nonzero(beta))
        return Certificate(
            primal=primal,
            dual=dual,
            gap=gap,
            relative_gap=relative(gap, dual),
            kkt_violation=math.inf
            if gap == math.inf
            else float(margins[beta != 0.0].max() / least - 1.0),
            n_support_free=edge,
            n_support_bounded=0,
            margin=least / math.sqrt(square) if primal < math.inf else 0.0,
            slack_sum=0.0 if primal < math.inf else math.inf,
            convex=self.convex,
            evidence="sampled" if point.error else "float64",
        )
