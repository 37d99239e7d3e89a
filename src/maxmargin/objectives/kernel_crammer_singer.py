"""K classes in one problem for kernel machines."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from maxmargin.certificate import Certificate, Evidence, certificate_of_sums
from maxmargin.data.arrays import UNIT, Array
from maxmargin.kernels import Kernel, Linear
from maxmargin.objectives.base import Judged, PrimalDual, refuse_intercept
from maxmargin.objectives.crammer_singer import CrammerSingerObjective, multiclass_slip
from maxmargin.objectives.expansion import Expansion
from maxmargin.objectives.rounding import expansion_error


@dataclass(frozen=True, eq=False)
class KernelCrammerSingerObjective(Expansion, CrammerSingerObjective):
    """The same problem for f_j(x) = Σ_i c_ij k(x_i, x) + b_j, with ½‖W‖² = ½ Σ_j c_j'K c_j.

    A primal point is its coefficients c', of shape (K, n); an intercept is free or absent.
    """

    kernel: Kernel = field(default_factory=Linear)

    def lay_out(self, coef: Array) -> Array:
        """Return the coefficients as they are."""
        return coef

    def values(self, W: Array, b: Array) -> Array:
        """f_j(x_i), of shape (n, K)."""
        return np.asarray(self.kernel_values(W) + b)

    def regularizer(self, W: Array, b: Array) -> float:  # noqa: ARG002 - b is not penalised
        """½‖W‖²."""
        return 0.5 * float(np.einsum("ij,ij->", W, self.kernel_values(W)))

    def dual(self, beta: Array) -> float:
        """D(β), for a feasible β."""
        return float(beta[self.own].sum()) - self.regularizer(beta, np.zeros(self.n_classes))

    def error_bound(self, f: Array, beta: Array, error: tuple[Array, float]) -> float:
        """Bound what errors of f may add to the gap; see `KernelObjective.error_bound`.

        The errors of f have a mean for each class and one spread. A sample's share of the gap
        changes with f_j at the rate β_ij + C_i (1[j has the largest score] − 1[j = y_i]).
        """
        bias, spread = error[0], error[1] + UNIT * float(np.abs(f).max())
        scores, cost = self.augmented_scores(f), self.problem.cost
        rate = beta.copy()
        rate[self.own] -= cost
        np.add.at(rate, (self.own[0], scores.argmax(axis=1)), cost)
        second, first = np.partition(scores, -2, axis=1)[:, -2:].T
        reach = 2.0 * (float(np.abs(bias).max()) + spread)
        kinks = float(cost.sum(where=first - second <= reach))
        sums = float(np.abs(bias * rate.sum(axis=0)).sum())
        return sums + 4.0 * spread * float(np.linalg.norm(rate)) + reach * kinks

    def judge(self, point: PrimalDual) -> Judged:
        """Certify f_j = Σ_i β_ij k(x_i, ·) + b_j by the feasible β itself."""
        error_bound = 0.0
        if point.error is not None:
            error_bound = self.error_bound(point.z + point.b, point.beta, point.error)
        certificate = self.certify(point)
        return Judged(
            replace(point, w=point.beta.T), certificate, self.loss, error_bound, paired=True
        )

    def certify(self, point: PrimalDual) -> Certificate:
        """Judge f_j = Σ_i c_ij k(x_i, ·) + b_j of K classes by a feasible β; c = β if not given.

        Errors of z = Kc are allowed for in the gap.
        """
        b, beta = point.b, point.beta
        refuse_intercept(self.intercept, b)
        coef = beta if point.w is None else np.asarray(point.w).T
        z = self.kernel_values(coef) if point.z is None else point.z
        square, difference, distance = float(np.einsum("ij,ij->", coef, z)), coef - beta, 0.0
        if difference.any():
            between = self.kernel_values(difference)
            distance = max(0.0, float(np.einsum("ij,ij->", difference, between)))
        dual_square = square - 2.0 * float(np.einsum("ij,ij->", difference, z)) + distance
        part = self.classes.sum_values(z + b, beta)
        evidence: Evidence = "sampled" if point.error is not None else "float64"
        error = point.error
        if error is None:
            known = self.diagonal, square, self.value_rounding
            error = np.zeros(self.n_classes), expansion_error(coef, *known).spread
        lost = self.error_bound(z + b, beta, error)
        lost += multiclass_slip(self, b, beta)
        dual = part.conjugates - 0.5 * dual_square - lost
        gap = part.fenchel_young + 0.5 * distance + lost
        kind = {"convex": self.convex, "evidence": evidence}
        values = 0.5 * square + part.losses, dual, gap
        return certificate_of_sums(part, values, square, self.negligible, **kind)
