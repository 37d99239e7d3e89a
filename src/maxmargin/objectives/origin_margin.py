"""The hard margin without an intercept: y_i <w, φ(x_i)> ≥ 1 of every sample that has a weight."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from maxmargin.certificate import Certificate, relative
from maxmargin.data.arrays import Array, Matrix
from maxmargin.data.problem import Problem
from maxmargin.kernels import Kernel
from maxmargin.losses import HINGE
from maxmargin.objectives.base import Intercept, Judged, PrimalDual
from maxmargin.objectives.nu import NuObjective

#: Rounding of f beside the longest sample. And ½‖w‖² times its square from which on the margin is
#: less than a millionth of it, which counts as none.
_ROUNDING, _NO_MARGIN = 1e-14, 0.5e12


@dataclass(frozen=True, eq=False)
class Signed(Kernel):
    """y_i y_j k(x_i, x_j) of samples that are given by their positions."""

    kernel: Kernel
    X: Matrix
    y: Array

    @property
    def mercer(self) -> bool | None:  # type: ignore[override]
        """As certain as of the kernel itself."""
        return self.kernel.mercer

    def __call__(self, A: Matrix, B: Matrix) -> Array:
        """k(a, b) times both signs."""
        one, two = positions_in(A), positions_in(B)
        signs = self.y[one][:, np.newaxis] * self.y[two]
        return np.asarray(signs * self.kernel(self.X[one], self.X[two]))

    def diagonal(self, A: Matrix) -> Array:
        """k(a, a)."""
        return self.kernel.diagonal(self.X[positions_in(A)])

    def rounding(self, X: Matrix) -> float:
        """Return the rounding of the kernel itself."""
        del X
        return self.kernel.rounding(self.X)


@dataclass(frozen=True, eq=False)
class OriginMarginObjective(NuObjective):
    """The point of the convex hull of all y_i φ(x_i) nearest to 0: the largest margin's direction.

    That is the one-class problem of these points, with a bound that is never active.
    """

    @classmethod
    def of(cls, problem: Problem, kernel: Kernel) -> OriginMarginObjective:
        """Return that of a problem; its samples of weight 0 are left out."""
        used = np.flatnonzero(problem.cost > 0.0)
        one = np.ones(len(used))
        at = Problem(used[:, np.newaxis].astype(np.float64), one, one)
        return cls(at, HINGE, Intercept.NONE, Signed(kernel, problem.X, problem.y), nu_sum=1.0)

    @property
    def infeasible_above(self) -> float:  # type: ignore[override]
        """A dual value that shows that there is no margin, or one that counts as none."""
        longest = float(self.diagonal.max())
        return _NO_MARGIN / longest if longest > 0.0 else 0.0

    def hard_margin(self, beta: Array) -> Judged:
        """Scale a point of the hull to a least margin of 1, and its weights to the best dual point.

        With u = Σ β_i y_i φ_i, Σ β = 1 and f = u / least, P = ½‖u‖²/least², and α = β/‖u‖² has
        D = Σ α − ½‖Σ α_i y_i φ_i‖² = ½/‖u‖².
        """
        z, longest = self.kernel_values(beta), float(self.diagonal.max())
        square = float(beta @ z)
        rounding = _ROUNDING * longest * self.value_rounding
        least = float(z.min()) - rounding
        dual = 0.5 / (max(0.0, square) + rounding) if longest > 0.0 else math.inf
        separated = least > 0.0 and square > 0.0
        primal = 0.5 * square / least**2 if separated else math.inf
        gap = max(0.0, primal - dual) if separated else math.inf
        certificate = Certificate(
            primal=primal,
            dual=dual,
            gap=gap,
            relative_gap=relative(gap, dual),
            kkt_violation=float(z[beta != 0.0].max() / least - 1.0) if separated else math.inf,
            n_support_free=int(np.count_nonzero(beta)),
            n_support_bounded=0,
            margin=least / math.sqrt(square) if separated else 0.0,
            slack_sum=0.0 if separated else math.inf,
        )
        w = beta / least if separated else beta
        point = PrimalDual(w, 0.0, beta / square if square > 0.0 else beta)
        return Judged(self._of_samples(point), certificate, HINGE)

    def _of_samples(self, point: PrimalDual) -> PrimalDual:
        """Return it for all samples, those of weight 0 among them, with β_i = y_i α_i."""
        assert isinstance(self.kernel, Signed)
        y, used = self.kernel.y, positions_in(self.problem.X)
        w, beta = np.zeros(len(y)), np.zeros(len(y))
        w[used], beta[used] = y[used] * point.w, y[used] * point.beta
        return PrimalDual(w, 0.0, beta)


def positions_in(A: Matrix) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
    """Return positions that stand for samples, as indices."""
    return np.asarray(A)[:, 0].astype(np.intp)
