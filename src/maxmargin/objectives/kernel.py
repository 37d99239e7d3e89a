"""Kernel machines: f = Σ c_j k(x_j, ·) + b."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin.certificate import Certificate, Status, certificate_of_sums
from maxmargin.data.arrays import UNIT, Array
from maxmargin.data.problem import Problem
from maxmargin.kernels import Kernel, Linear
from maxmargin.losses import Loss
from maxmargin.objectives.base import (
    Intercept,
    Judged,
    PrimalDual,
    SumError,
    adds_up,
    refuse_intercept,
    rounding_slip,
    sums_to_zero,
)
from maxmargin.objectives.expansion import Expansion
from maxmargin.objectives.rounding import expansion_error, row_error, value_error_bound
from maxmargin.objectives.scalar import ScalarObjective
from maxmargin.objectives.standard_form import StandardForm


class Setting(NamedTuple):
    """What a certificate needs of a kernel machine besides sums over its samples.

    `nu_sum` is ν Σ C_i where ρ or ε is a variable.
    """

    loss: Loss
    free: bool  # the intercept
    nu_sum: float | None
    negligible: float
    convex: bool


@dataclass(frozen=True, eq=False)
class KernelObjective(Expansion, ScalarObjective):
    """P(c, b) = ½ c'Kc + Σ C_i ℓ(f(x_i)), to be minimised; f = Σ c_j k(x_j, ·) + b.

    A primal point is its coefficients c; that of a dual point β has c = β. An intercept is free or
    absent.
    """

    #: Outer steps of SMO between gap checks.
    gap_check_interval: ClassVar[int] = 1000

    kernel: Kernel = field(default_factory=Linear)

    @property
    def dimension(self) -> int:
        """The number of samples: w are their coefficients."""
        return self.problem.n_samples

    def intercept_of(self, beta: Array) -> float:
        """0: that of a dual point is free or absent."""
        del beta
        return 0.0

    def best_offsets(self, z: Array) -> tuple[float, float]:
        """Minimise P over a free intercept and the number in the loss, where that is a variable."""
        best = self.sums.best_offsets(z, self.intercept is Intercept.FREE, 0.0)
        return best.b, best.number

    def near_kinks(self, z: Array, width: float) -> NDArray[np.bool_]:
        """Which samples are near a kink of the loss, at the best intercept for z = Kc."""
        return self.near_kink(z + self.best_offsets(z)[0], width)

    def balanced(self, beta: Array) -> bool:
        """Whether Σ β_i = 0 up to rounding, where a free intercept demands it."""
        free = self.intercept is Intercept.FREE
        return not free or sums_to_zero(float(beta.sum()), float(np.abs(beta).sum()))

    def near_kink(self, f: Array, width: float) -> NDArray[np.bool_]:
        """Which samples have an f within that width of a kink of the loss."""
        miss = self.loss.target_scale * self.problem.y - f
        return np.asarray(np.abs(np.abs(miss) - self.loss.epsilon) <= width)

    def error_bound(self, f: Array, beta: Array, error: SumError) -> float:
        """Bound what errors of f of that mean and spread may add to the gap.

        A sample's share of the gap changes with f at the rate β_i − end_i, where end_i is the end
        of its box that is optimal at f, or, near a kink of the loss, any end. Errors of different
        samples are independent: four standard deviations of their sum are allowed for. What rounds
        a sum z + b at a kink is added to the spread, unless z = 0.
        """
        box, epsilon, (bias, spread, exact) = self.box, self.loss.epsilon, error
        if bias or spread:
            largest = self.problem.target_summary.max_abs + epsilon
            spread += UNIT * (self.loss.target_scale if self.loss.one_sided else largest)
        miss = self.loss.target_scale * self.problem.y - f
        ends = np.where(miss < -epsilon, box.lower, 0.0)
        rate = beta - np.where(miss > epsilon, box.upper, ends)
        unsure = self.near_kink(f, abs(bias) + spread)
        if exact is not None:
            rate[exact], unsure[exact] = 0.0, False
        kinks = self._kinks(miss, unsure)
        sums = abs(bias * float(rate.sum())) + 4.0 * spread * math.sqrt(float(rate @ rate))
        return sums + (abs(bias) + spread) * kinks

    def _kinks(self, miss: Array, unsure: NDArray[np.bool_]) -> float:
        """Return the rate of the gap in an error of f at samples that may be beyond their kink."""
        del miss
        return float((self.box.upper - self.box.lower).sum(where=unsure))

    @property
    def setting(self) -> Setting:
        """What the certificate needs besides sums over the samples."""
        free = self.intercept is Intercept.FREE
        return Setting(self.loss, free, None, self.negligible, self.convex)

    def standard_form(self) -> StandardForm:
        """Return the dual in the variables of SMO."""
        y = self.problem.y
        return StandardForm(
            self.loss.target_scale * y,
            self.box.lower,
            self.box.upper,
            np.zeros(len(y), dtype=np.uint8),
            np.zeros_like(y),
            self.loss.epsilon,
            self.intercept is Intercept.FREE,
        )

    def variables(self, form: StandardForm, beta: Array) -> Array:
        """Return the variables of SMO for a dual point, which is made feasible first.

        Where a constant fits all targets, β = 0 is the optimum, which steps would only come near.
        """
        return form.begin if self._constant_fits() else form.unfold(self.feasible(beta))

    def _constant_fits(self) -> bool:
        """Whether a tube about a constant, or about 0 without an intercept, holds all targets."""
        if self.loss.one_sided:
            return False
        y = self.problem.y[self.problem.cost > 0.0]
        free = self.intercept is Intercept.FREE
        width = 0.5 * np.ptp(y) if free else np.abs(y).max()
        return bool(width <= self._least_tube)

    @property
    def _least_tube(self) -> float:
        return self.loss.epsilon

    def judge(self, point: PrimalDual) -> Judged:
        """Complete the point, and certify it: its intercept is the best one for it.

        A point that has no w of its own is that of β, which is made feasible where it is not.
        """
        if point.w is None:
            return self._judge_dual(point)
        b = point.b
        if self.intercept is Intercept.FREE:
            b = self.problem.representable(point.w, self.best_intercept(point.z, b))
        point = replace(point, b=b)
        return Judged(point, self.certify(point), self.loss)

    def _judge_dual(self, point: PrimalDual) -> Judged:
        """Judge the primal point of a dual point β, with z = Kβ."""
        beta, z, error = self._balanced(point)
        b = self.problem.representable(beta, self.best_offsets(z)[0])
        point = PrimalDual(beta, b, beta, z, z, error)
        error_bound = self.error_bound(z + b, beta, error) if error else 0.0
        return Judged(point, self.certify(point), self.loss, error_bound, paired=True)

    def _balanced(self, point: PrimalDual) -> tuple[Array, Array, SumError | None]:
        """Return β, Kβ and its error; steps that cancel may have left Σ β ≠ 0."""
        if self.balanced(point.beta):
            return point.beta, point.z, point.error
        beta = self.feasible(point.beta)
        return beta, self.kernel_values(beta), None

    def reduced(self, w: Array, b: float, beta: Array) -> KernelObjective | None:
        """Return a problem with fewer variables whose optimum is this one's, up to rounding.

        With targets far from 0, the rounding of the intercept, here as given back, may cost more
        than the fit itself; w adapts to it where it is a constant of the problem. There β need not
        be balanced, which only a kernel that has its origin at 0 allows to give back.
        """
        del beta
        problem, kernel = self.problem, self.kernel
        far = not self.loss.one_sided and problem.level.height != 0.0
        moved = isinstance(kernel, Linear) and kernel.origin is not None and kernel.origin.any()
        if moved or not far or self.intercept is not Intercept.FREE:
            return None
        rest = Problem(problem.X, problem.y - problem.own_intercept(w, b), problem.cost)
        return KernelObjective(rest, self.loss, Intercept.NONE, self.kernel)

    def judge_reduced(
        self, reduced: KernelObjective, answer: tuple[Array, float, Array], before: Any
    ) -> Judged:
        """Judge the answer (w, b, β) of the reduced problem, at the b and β that were found before.

        At a given b the β of the answer need not be balanced.
        """
        del reduced
        w, b = answer[0], self.problem.own_intercept(answer[0], before.b)
        point = PrimalDual(w, b, before.beta, self.kernel_values(w))
        return Judged(point, self.certify(point), self.loss, paired=True)

    def certify(self, point: PrimalDual) -> Certificate:
        """Judge f = Σ w_j k(x_j, ·) + b by a feasible β.

        The same sum as for a linear f, with ‖w − w_β‖² = (w − β)'K(w − β). Errors of z are allowed
        for in the gap.
        """
        w, b, beta = point.w, point.b, point.beta
        refuse_intercept(self.intercept, b)
        z = self.kernel_values(w) if point.z is None else point.z
        difference, distance, lost = w - beta, 0.0, 0.0
        if difference.any():
            known = point.dual is not None
            distance = float(
                difference @ (z - point.dual if known else self.kernel_values(difference))
            )
            lost = self.rounding_of(difference, distance).spread
        square = float(w @ z)
        dual_square = square - 2.0 * float(difference @ z) + distance
        part = self.sums.sum_values(z + b, beta)
        error = point.error or self.rounding_of(w, square)
        error = error._replace(spread=error.spread + row_error(self.problem, 0.0, b))
        if self.loss.bounded:
            error_bound = self.error_bound(z + b, beta, error)
        else:
            error_bound = value_error_bound(self, part, 4.0 * error.spread)
        lost = 2.0 * (error.spread + lost)  # of a value that ½‖w_β‖² and ½‖w − w_β‖² are sums of
        error_bound += lost * math.sqrt(float(beta @ beta))
        certificate = expansion_certificate(
            self.setting, part, b, (square, dual_square, distance), error_bound
        )
        return replace(certificate, evidence="sampled") if point.error else certificate

    def rounding_of(self, coef: Array, square: float) -> SumError:
        """Return the errors of Kc in float64, where c'Kc = `square`."""
        return expansion_error(coef, self.diagonal, square, self.value_rounding)


def expansion_certificate(
    setting: Setting,
    part: _core.CertificateSums,
    b: float,
    squares: tuple[float, float, float],
    error_bound: float = 0.0,
    status: Status = Status.RUNNING,
) -> Certificate:
    """Return the certificate from the sums over the samples, and ‖w‖², ‖w_β‖² and ‖w − w_β‖².

    `error_bound` is how much errors of f may add to the gap.
    """
    square, dual_square, distance = squares
    lost = error_bound + rounding_slip(setting.free, b, part.sum, part.size)
    primal, gap = 0.5 * square + part.losses, part.fenchel_young + 0.5 * max(0.0, distance) + lost
    dual = part.conjugates - 0.5 * dual_square - lost
    if setting.nu_sum is not None:
        extra, lacking = _nu_terms(setting.loss, setting.nu_sum, part.size)
        primal, gap = primal + extra, gap + lacking
        dual = primal - gap
    return certificate_of_sums(
        part, (primal, dual, gap), square, setting.negligible, status=status, convex=setting.convex
    )


def _nu_terms(loss: Loss, nu_sum: float, size: float) -> tuple[float, float]:
    """Return −sρ or sε, and what Σ |β_i| ≠ s costs the dual.

    For the margin the two may differ by rounding only, or β proves nothing; the tube allows
    Σ |β_i| < s.
    """
    lacking = nu_sum - size
    if loss.one_sided:
        rho = loss.target_scale
        return -nu_sum * rho, abs(lacking * rho) if adds_up(size, nu_sum) else math.inf
    return nu_sum * loss.epsilon, abs(lacking * loss.epsilon)
