"""Linear machines: f(x) = <w, x> + b."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np

import maxmargin._core as _core
from maxmargin.certificate import Certificate, certificate_of_sums
from maxmargin.data.arrays import UNIT, Array
from maxmargin.data.checks import as_floats
from maxmargin.objectives.base import (
    Intercept,
    Judged,
    PrimalDual,
    refuse_intercept,
    rounding_slip,
)
from maxmargin.objectives.rounding import (
    counts,
    dual_error,
    exact_brackets,
    exact_residuals,
    lower_bound,
    rounding_bound,
    row_error,
    value_error_bound,
)
from maxmargin.objectives.scalar import ScalarObjective


@dataclass(frozen=True, eq=False)
class LinearObjective(ScalarObjective):
    """P(w, b) = ½‖w‖² + Σ C_i ℓ(<w, x_i> + b), to be minimised.

    A penalised intercept is a further feature of constant value `intercept_scaling`, so that
    ½ (b / intercept_scaling)² joins ½‖w‖². A free one adds the dual constraint Σ β_i = 0.
    """

    intercept_scaling: float = 1.0

    def __post_init__(self) -> None:
        as_floats(self, "intercept_scaling")
        super().__post_init__()

    @property
    def diagonal(self) -> Array:
        """‖x_i‖² of every row."""
        return self.problem.squared_norms

    @property
    def dimension(self) -> int:
        """The number of features."""
        return self.problem.n_features

    @property
    def _longest(self) -> float:
        penalized = self.intercept is Intercept.PENALIZED
        return self.problem.longest + (
            self.intercept_scaling * self.intercept_scaling if penalized else 0.0
        )

    def judge(self, point: PrimalDual) -> Judged:
        """Complete the point and certify it.

        A point that comes with its products has a feasible β.
        """
        if point.beta is None:
            return self._judge_primal(point)
        problem, w, b, beta = self.problem, point.w, point.b, point.beta
        z, dual_w = point.z, point.dual
        if z is None:
            beta = self.feasible(beta)
        free = self.intercept is Intercept.FREE
        if z is None and free:
            z, dual_w = problem.products(w, beta)
        # A perceptron's loss is least on the boundary: its b stays.
        if free and self.loss.regularized:
            b = problem.representable(w, self.best_intercept(z, b))
        point = PrimalDual(w, b, beta, z, dual_w)
        return Judged(point, self.certify(point), self.loss)

    def _judge_primal(self, point: PrimalDual) -> Judged:
        """Judge (w, b) under a squared loss by the β that belongs to it, in one pass.

        β_i = −C_i ℓ'(z_i) is feasible unless it would have to be balanced for a free intercept.
        """
        problem, w, b = self.problem, point.w, point.b
        beta, dual_w = np.empty(problem.n_samples), np.zeros(problem.n_features)
        parts = [
            self.sums.sum_rows_of_w(problem.rows, w, b, beta, begin, end, dual_w)
            for begin, end in problem.blocks()
        ]
        certificate = _summed(self, PrimalDual(w, b, beta, dual=dual_w), reduce(add, parts))
        return Judged(replace(point, beta=beta), certificate, self.loss)

    def certify(self, point: PrimalDual) -> Certificate:
        """Judge (w, b) by a feasible β.

        With w_β = Σ β_i x_i,

            P(w, b) − D(β) = ½‖w − w_β‖² + Σ [C_i ℓ(z_i) + z_i β_i − conjugate_i(β_i)],

        and each bracket is a Fenchel-Young gap, hence non-negative.
        """
        problem, w, b, beta = self.problem, point.w, point.b, point.beta
        z, dual_w = point.z if point.dual is not None else None, point.dual
        if z is None and not problem.wide and w.any() and self.loss.regularized:
            dual_w = np.zeros(problem.n_features)
            parts = [
                self.sums.sum_rows(problem.rows, w, b, beta, begin, end, dual_w)
                for begin, end in problem.blocks()
            ]
            return _summed(self, replace(point, dual=dual_w), reduce(add, parts))
        if z is None:
            z, dual_w = problem.products(w, beta)
        part = self.sums.sum_values(z + b, beta)
        certificate = _summed(self, replace(point, dual=dual_w), part)
        if self.loss.regularized or (problem.y * (z + b) > 0.0)[problem.cost > 0.0].all():
            return certificate
        return replace(certificate, relative_gap=math.inf)  # a perceptron: f = 0 is a mistake

    def regularizer(self, w: Array, b: float) -> float:
        """½‖w‖², and the intercept's share if it is penalised."""
        return self.regularized(float(np.einsum("i,i->", w, w)), b)  # BLAS would wake its threads

    def regularized(self, square: float, b: float) -> float:
        """Return the same from ‖w‖²."""
        if not self.loss.regularized:
            return 0.0
        if self.intercept is Intercept.PENALIZED:
            square += (b / self.intercept_scaling) ** 2
        return 0.5 * square

    def weights_of(self, beta: Array) -> tuple[Array, float]:
        """(w, b) = Σ β_i (x_i, ·): the primal point that belongs to β. A free b is not in it."""
        return self.problem.combine(beta), self.intercept_of(beta)

    def intercept_of(self, beta: Array) -> float:
        """Return the b of `weights_of`."""
        if self.intercept is Intercept.PENALIZED:
            return self.intercept_scaling**2 * float(beta.sum())
        return 0.0

    def primal(self, w: Array, b: float) -> float:
        """P(w, b)."""
        z = self.problem.predict(w, b)
        losses = self.loss.value(self.problem.y, self.problem.cost, z)
        return self.regularizer(w, b) + float(losses.sum())

    def dual(self, beta: Array) -> float:
        """D(β), for a feasible β."""
        w, b = self.weights_of(beta)
        terms = self.loss.conjugate(self.problem.y, self.problem.cost, beta)
        return float(terms.sum()) - self.regularizer(w, b)


def _summed(
    objective: LinearObjective, point: PrimalDual, part: _core.CertificateSums
) -> Certificate:
    """Return the certificate from what the rows add to it; w_β = Σ β_i x_i."""
    w, b, beta, dual_w = point.w, point.b, point.beta, point.dual
    refuse_intercept(objective.intercept, b)
    dual_b, free = objective.intercept_of(beta), objective.intercept is Intercept.FREE
    slip, squares = rounding_slip(free, b, part.sum, part.size), _core.Squares(w, dual_w)
    distance = objective.regularized(squares.apart, b - dual_b)
    error = dual_error(objective, part.size * math.sqrt(objective.problem.longest), part.size)
    lost = slip + error * (math.sqrt(2.0 * distance) + 0.5 * error)
    gap = part.fenchel_young + distance + lost
    error_bound = rounding_bound(objective, part, math.sqrt(squares.own), b)
    primal = objective.regularized(squares.own, b) + part.losses
    if counts(error_bound, gap, primal) or part.fenchel_young + distance == 0.0:
        return _summed_exactly(objective, point, part)
    gap += error_bound
    dual_square = objective.regularized(squares.dual, dual_b)
    own = slip + error * (math.sqrt(2.0 * dual_square) + 0.5 * error)
    dual = max(part.conjugates - dual_square - own, lower_bound(objective.problem, primal, gap))
    return certificate_of_sums(part, (primal, dual, gap), squares.own, objective.negligible)


def _summed_exactly(
    objective: LinearObjective, point: PrimalDual, part: _core.CertificateSums
) -> Certificate:
    """Return the same from f to twice the digits."""
    w, b, beta, dual_w = point.w, point.b, point.beta, point.dual
    problem, loss, squares = objective.problem, objective.loss, _core.Squares(w, dual_w)
    dual_b, y = objective.intercept_of(beta), problem.y
    residual = exact_residuals(problem, w, b, loss.target_scale * y)
    losses, brackets, slack = exact_brackets(loss, y, problem.cost, beta, residual)
    primal = objective.regularized(squares.own, b) + float(losses.sum())
    distance = objective.regularized(squares.apart, b - dual_b)
    size = float(np.einsum("i,i->", np.abs(beta), np.sqrt(problem.squared_norms)))
    error = dual_error(objective, size, part.size)
    lost = error * (math.sqrt(2.0 * distance) + 0.5 * error)
    slip = rounding_slip(objective.intercept is Intercept.FREE, b, math.fsum(beta), part.size)
    length = math.sqrt(squares.own)
    lost += slip + value_error_bound(objective, part, row_error(problem, length, b), slack)
    lost = lost if lost > UNIT * primal else 0.0  # less than the last digit of P
    gap = float(brackets.sum()) + distance + lost
    dual_square = objective.regularized(squares.dual, dual_b)
    cancels = part.size * (problem.target_summary.max_abs + loss.epsilon) + dual_square > primal
    own = slip + error * (math.sqrt(2.0 * dual_square) + 0.5 * error)
    dual = lower_bound(problem, primal, gap)
    dual = dual if cancels else max(part.conjugates - dual_square - own, dual)
    return certificate_of_sums(part, (primal, dual, gap), squares.own, objective.negligible)
