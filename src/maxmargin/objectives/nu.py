"""ν-machines: the margin ρ or the tube ε is a variable too."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin.data.arrays import Array
from maxmargin.data.checks import as_floats
from maxmargin.objectives.base import Intercept, Judged, PrimalDual, Shares, adds_up
from maxmargin.objectives.kernel import KernelObjective, Setting
from maxmargin.objectives.standard_form import StandardForm, fill_to_sum

#: Length of Σ β_i φ(x_i) beside Σ |β_i| ‖φ(x_i)‖ that counts as zero: its square is rounded to some
#: 1e-15 of theirs.
SHORT = 6e-8


@dataclass(frozen=True, eq=False)
class NuObjective(KernelObjective):
    """The kernel machine whose loss has a variable: the margin ρ asked for, or the tube ε.

    With s = ν Σ C_i, −sρ joins P in classification and sε in regression. In the dual, Σ |β_i| = s
    (≤ s for the tube). Without an intercept and with one class it is the one-class SVM. `loss`
    holds the ρ or ε at which P is meant.
    """

    #: The optimum may be so near 0 that it shows in float64 only.
    gap_check_interval: ClassVar[int] = 200

    nu_sum: float = math.nan

    def __post_init__(self) -> None:
        as_floats(self, "nu_sum")
        super().__post_init__()
        self._check_nu_sum()

    @cached_property
    def negligible(self) -> float:
        """A value that counts as zero; `vanishes` says whether the optimum of a margin is 0."""
        return 0.0 if self.loss.one_sided else super().negligible

    @property
    def setting(self) -> Setting:
        """What the certificate needs besides sums over the samples."""
        return super().setting._replace(nu_sum=self.nu_sum)

    def at(self, number: float) -> NuObjective:
        """Return the objective with that ρ or ε in its loss."""
        if self.loss.one_sided:
            loss = replace(self.loss, target_scale=number)
        else:
            loss = replace(self.loss, epsilon=number)
        other = replace(self, loss=loss)
        # the number is not in them
        for known in ("box", "diagonal", "convex", "negligible", "value_rounding"):
            if known in self.__dict__:
                other.__dict__[known] = self.__dict__[known]
        return other

    def best_offsets(self, z: Array) -> tuple[float, float]:
        """Minimise P over a free intercept and ρ or ε."""
        best = self.sums.best_offsets(z, self.intercept is Intercept.FREE, self.nu_sum)
        return best.b, best.number

    def near_kinks(self, z: Array, width: float) -> NDArray[np.bool_]:
        """Which samples are near a kink of the loss, at the best intercept and ρ or ε."""
        b, number = self.best_offsets(z)
        return self.at(number).near_kink(z + b, width)

    def _judge_dual(self, point: PrimalDual) -> Judged:
        beta, z, error = self._balanced(point)
        # the rounding of float32 sums is no proof of anything
        if error is None and self.convex and self.vanishes(beta, float(beta @ z)):
            return self._judge_zero(beta, z)
        b, number = self.best_offsets(z)
        b, posed = self.problem.representable(beta, b), self.at(number)
        point = PrimalDual(beta, b, beta, z, z, error)
        error_bound = posed.error_bound(z + b, beta, error) if error else 0.0
        shares = posed.shares(z + b, beta)
        return Judged(point, posed.certify(point), posed.loss, error_bound, shares, paired=True)

    def _judge_zero(self, beta: Array, z: Array) -> Judged:
        """Return w = 0, ρ = 0, where β shows it to be the optimum up to the gap: rounding."""
        posed, zero = self.at(0.0), np.zeros_like(beta)
        point = PrimalDual(zero, 0.0, beta, zero, z)
        certificate = replace(posed.certify(point), relative_gap=0.0)
        return Judged(point, certificate, posed.loss, 0.0, posed.shares(zero, beta), paired=True)

    @property
    def _least_tube(self) -> float:
        return 0.0

    def reduced(self, w: Array, b: float, beta: Array) -> KernelObjective | None:
        """Return the problem at ε = 0, which is the optimum where Σ |β_i| stays below s.

        There no β_i is the small difference of two large variables.
        """
        del w, b
        if self.loss.one_sided or float(np.abs(beta).sum()) >= self.nu_sum:
            return None
        loss = replace(self.loss, epsilon=0.0)
        return KernelObjective(self.problem, loss, self.intercept, self.kernel)

    def judge_reduced(
        self, reduced: KernelObjective, answer: tuple[Array, float, Array], before: Any
    ) -> Judged:
        """Judge the answer of the reduced problem as it is."""
        del before
        w, b, beta = answer
        posed, beta = self.at(reduced.loss.epsilon), self.feasible(beta)
        point = PrimalDual(w, self.problem.own_intercept(w, b), beta, self.kernel_values(w))
        shares = posed.shares(point.z + point.b, beta)
        return Judged(point, posed.certify(point), posed.loss, 0.0, shares, paired=True)

    def shares(self, f: Array, beta: Array) -> Shares:
        """Return the shares of margin errors and of support vectors: ν lies between them."""
        return shares_of(self.sums.fractions(f, beta))

    def vanishes(self, beta: Array, square: float) -> bool:
        """Whether ‖w_β‖ is rounding (`SHORT`), and the margin a variable: w = 0, ρ = 0 will do.

        P is 0 there, and at least −½‖w_β‖² everywhere for any feasible β: one with Σ |β_i| = s,
        which the β = 0 of a fit that was stopped at once has not. The square must be a sum in
        float64; what rounding may hide of it is in the gap.
        """
        if not self.loss.one_sided or not short(beta, self.diagonal, square):
            return False
        return adds_up(float(np.abs(beta).sum()), self.nu_sum)

    def feasible(self, beta: Array) -> Array:
        """Make the dual point feasible: in its box, Σ |β_i| = s, balanced for a free intercept."""
        if self.loss.one_sided:
            return self._filled(self._clipped(beta))
        beta = super().feasible(beta)
        return beta * min(1.0, self.nu_sum / max(float(np.abs(beta).sum()), self.nu_sum))

    def _filled(self, beta: Array) -> Array:
        """Σ |β_i| = s, in equal shares of the two labels; scaled down, or filled up evenly."""
        y, cost = self.problem.y, self.problem.cost
        sides = [y > 0.0, y < 0.0] if self.intercept is Intercept.FREE else [y > 0.0]
        for side in sides:
            size, most = np.abs(beta[side]), cost[side]
            total, share = float(size.sum()), min(self.nu_sum / len(sides), float(most.sum()))
            room = float((most - size).sum())
            if total > share:
                size *= share / total
            elif total < share and room > 0.0:
                size += (most - size) * min(1.0, (share - total) / room)
            beta[side] = y[side] * size
        return beta

    def _kinks(self, miss: Array, unsure: NDArray[np.bool_]) -> float:
        kinks = super()._kinks(miss, unsure)
        if not self.loss.one_sided:
            return kinks
        beyond = (miss * self.problem.y > 0.0) & ~unsure  # with a ρ that is lower by 2 errors
        return min(kinks, 2.0 * abs(self.nu_sum - float(self.problem.cost.sum(where=beyond))))

    def standard_form(self) -> StandardForm:
        """Return the dual in the variables of SMO.

        A margin that is a variable keeps the sum of each label's β as it is at the start, and makes
        the target 0: what is left is −½β'Kβ. A tube that is one splits β in its positive and its
        negative part, each a group; every sample is there twice.
        """
        y, cost = self.problem.y, self.problem.cost
        if self.loss.one_sided:
            return StandardForm.of_sums(y, cost, self.nu_sum, self.negligible)
        half = fill_to_sum(cost, 0.5 * self.nu_sum)
        zeros, ones = np.zeros_like(y), np.ones(len(y), dtype=np.uint8)
        return StandardForm(
            np.tile(y, 2),
            np.append(zeros, -cost),
            np.append(cost, zeros),
            np.append(0 * ones, ones),
            np.append(half, -half),
            doubled=True,
            nu_sum=self.nu_sum,
        )

    def _check_nu_sum(self) -> None:
        """Refuse a sum that the boxes cannot hold, or a combination that has no meaning."""
        problem, loss, nu_sum = self.problem, self.loss, self.nu_sum
        if not loss.bounded or not loss.regularized:
            raise ValueError("A ν-problem needs the hinge or epsilon-insensitive loss.")
        sides = [problem.y > 0.0, problem.y < 0.0]
        if self.intercept is Intercept.NONE:
            if not loss.one_sided or sides[1].any():
                raise ValueError(
                    "A ν-problem without an intercept is for one class, y = +1 throughout."
                )
            sides = sides[:1]
        most = math.inf
        if loss.one_sided:
            most = len(sides) * min(float(problem.cost[side].sum()) for side in sides)
        if not 0.0 < nu_sum <= most * (1.0 + 1e-12):
            raise ValueError(f"nu_sum must be positive and at most {most:g}, got {nu_sum:g}.")


def shares_of(fractions: _core.Fractions) -> Shares:
    """Return the shares that the core counted."""
    return Shares(fractions.margin_errors, fractions.support_vectors)


def short(beta: Array, diagonal: Array, square: float) -> bool:
    """Whether ‖Σ β_i φ(x_i)‖² is no more than rounding leaves of 0, beside its terms."""
    return square <= (SHORT * float(np.abs(beta) @ np.sqrt(np.maximum(diagonal, 0.0)))) ** 2
