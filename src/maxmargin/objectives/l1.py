"""The squared hinge with a penalty of ‖w‖₁ instead of ½‖w‖²."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from maxmargin.certificate import Certificate, relative
from maxmargin.data.arrays import UNIT, Array
from maxmargin.losses import SQUARED_HINGE, Loss
from maxmargin.objectives.base import (
    NEGLIGIBLE,
    Intercept,
    Judged,
    PrimalDual,
    refuse_intercept,
    rounding_slip,
)
from maxmargin.objectives.linear import LinearObjective
from maxmargin.objectives.rounding import (
    counts,
    dual_error,
    exact_residuals,
    lower_bound,
    sum_error,
    value_error_bound,
)


@dataclass(frozen=True, eq=False)
class L1Objective(LinearObjective):
    """P(w, b) = ‖w‖₁ + Σ C_i max(0, 1 − y_i (<w, x_i> + b))², to be minimised.

    A penalised intercept is the weight of a further feature of constant value s =
    `intercept_scaling`, so that |b|/s joins ‖w‖₁. With α_i = y_i β_i the dual is

        D(β) = Σ α_i − Σ α_i² / (4 C_i),   α_i ≥ 0,   |Σ β_i x_ij| ≤ 1 for every column j,

    and |s Σ β_i| ≤ 1 for a penalised intercept, Σ β_i = 0 for a free one. The constraints do not
    contain C: a dual point of one C is one of any other. β is unique at the optimum, w need not be.
    """

    loss: Loss = SQUARED_HINGE

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.loss != SQUARED_HINGE:
            raise ValueError(
                f"A penalty of ‖w‖₁ goes with the squared hinge, got loss={self.loss.name!r}."
            )

    @cached_property
    def negligible(self) -> float:
        """A value of the objective that counts as zero; see `ScalarObjective.negligible`."""
        longest = self._longest
        needed = 1.0 / math.sqrt(longest) if longest > 0.0 else math.inf
        return NEGLIGIBLE * min(self.constant_cost or self.at_zero, needed)

    @cached_property
    def divisor(self) -> Array:
        """2C_i, any other number at cost 0: α_i over that is the slack that belongs to α_i."""
        return np.where(self.problem.cost > 0.0, 2.0 * self.problem.cost, 1.0)

    @cached_property
    def lengths(self) -> Array:
        """‖x_i‖ of every row."""
        return np.asarray(np.sqrt(self.problem.squared_norms))

    def regularizer(self, w: Array, b: float) -> float:
        """‖w‖₁, and the intercept's share if it is penalised."""
        size = float(np.abs(w).sum())
        if self.intercept is Intercept.PENALIZED:
            size += abs(b) / self.intercept_scaling
        return size

    def dual(self, beta: Array) -> float:
        """D(β), for a feasible β."""
        return float(self.loss.conjugate(self.problem.y, self.problem.cost, beta).sum())

    def dual_of(self, f: Array) -> Array:
        """Return the β that belongs to values f, which need not be those of any w.

        β_i = 2 y_i C_i max(0, 1 − y_i f_i), for a free intercept after the shift of f that makes
        it sum to 0. The columns may exceed their bounds.
        """
        y, cost = self.problem.y, self.problem.cost
        if self.intercept is Intercept.FREE:
            f = f + self.best_intercept(f)
        return self.signed(2.0 * y * cost * np.maximum(0.0, 1.0 - y * f))

    def signed(self, beta: Array) -> Array:
        """Return β with the signs of y, 0 at cost 0 and, for a free intercept, balanced.

        What is too heavy of one label is scaled down; what rounding leaves is taken from the
        largest entry.
        """
        y, cost = self.problem.y, self.problem.cost
        beta = np.where((y * beta > 0.0) & (cost > 0.0), beta, 0.0)
        if self.intercept is not Intercept.FREE:
            return beta
        above, below = float(beta.sum(where=y > 0.0)), -float(beta.sum(where=y < 0.0))
        if min(above, below) <= 0.0:
            return np.zeros_like(beta)
        beta[y > 0.0 if above > below else y < 0.0] *= min(above, below) / max(above, below)
        largest = int(np.abs(beta).argmax())
        moved = beta[largest] - _exact_sum(beta)
        if moved * beta[largest] > 0.0:
            beta[largest] = moved
        return beta

    def feasible(self, beta: Array) -> Array:
        """Return the multiple of β, with its signs and balance, whose dual value is largest."""
        beta = self.signed(beta)
        return _scaled(self, beta, self.problem.combine(beta)).beta

    def judge(self, point: PrimalDual) -> Judged:
        """Complete the point and certify it; one that comes with its products is complete."""
        point = self.completed(point) if point.z is None else point
        return Judged(point, self.certify(point), self.loss)

    def completed(self, point: PrimalDual) -> PrimalDual:
        """Return the point with its products, the best multiple of β and the best free intercept.

        Without β, that which belongs to f is taken.
        """
        problem, w, b = self.problem, point.w, point.b
        if point.beta is None:
            beta = self.dual_of(problem.predict(w, b))
        else:
            beta = self.signed(point.beta)
        z, columns = problem.products(w, beta)
        if self.intercept is Intercept.FREE:
            b = problem.representable(w, self.best_intercept(z, b))
        dual = _scaled(self, beta, columns)
        return PrimalDual(w, b, dual.beta, z, dual.columns)

    def certify(self, point: PrimalDual) -> Certificate:
        """Judge (w, b) by a β of the right signs and balance, shortened where it is too long.

        With c = Σ β_i x_i, m_i = y_i f(x_i) and ξ_i = max(0, 1 − m_i), the gap is a sum of parts
        that are not negative:

            P − D = Σ_j (|w_j| − w_j c_j) + (|b|/s − b Σ β_i, if b is penalised)
                    + Σ C_i (ξ_i − α_i / 2C_i)² + Σ α_i max(0, m_i − 1).
        """
        refuse_intercept(self.intercept, point.b)
        z, columns = point.z, point.dual
        if z is None or columns is None:
            z, columns = self.problem.products(point.w, point.beta)
        return _certified(self, point.w, point.b, _scaled(self, point.beta, columns, 1.0), z)


class _Dual(NamedTuple):
    """A feasible β with c = Σ β_i x_i, how far rounding may have put c off, and Σ β_i."""

    beta: Array
    columns: Array
    error: float
    left: float


class _Losses(NamedTuple):
    """Σ C_i ξ_i², Σ α_i and the rows' share of the gap."""

    losses: float
    size: float
    fenchel_young: float


def _scaled(objective: L1Objective, beta: Array, columns: Array, most: float = math.inf) -> _Dual:
    """Scale β, up to `most` times, so that every column keeps its bound and D is largest.

    What rounding may have done to the columns is allowed for.

    D(θβ) = θA − θ²B with A = Σ α_i and B = Σ α_i² / 4C_i.
    """
    problem, alpha = objective.problem, np.abs(beta)
    free = objective.intercept is Intercept.FREE
    left = _exact_sum(beta) if free else float(beta.sum())
    total, square = float(alpha.sum()), _curved(objective, alpha)
    if not square > 0.0:
        return _Dual(np.zeros_like(beta), np.zeros_like(columns), 0.0, 0.0)
    lengths = float(np.einsum("i,i->", alpha, objective.lengths))
    error = dual_error(objective, lengths, total)
    largest = float(np.abs(columns).max(initial=0.0))
    if objective.intercept is Intercept.PENALIZED:
        largest = max(largest, objective.intercept_scaling * abs(left))
    elif free:
        error += abs(left) * math.sqrt(problem.longest)
    scale = min(most, 0.5 * total / square)
    if scale * (largest + error) > 1.0:
        scale = (1.0 - 8.0 * UNIT) / (largest + error)
    return _Dual(scale * beta, scale * columns, scale * error, scale * left)


def _exact_sum(beta: Array) -> float:
    """Σ β_i, rounded once."""
    return math.fsum(beta[beta != 0.0].tolist())


def _curved(objective: L1Objective, alpha: Array) -> float:
    """Σ α_i² / 4C_i."""
    return 0.5 * float((alpha * (alpha / objective.divisor)).sum())


def _certified(objective: L1Objective, w: Array, b: float, dual: _Dual, z: Array) -> Certificate:
    """Return the certificate of (w, b) and a feasible β, where Xw is known."""
    problem, alpha = objective.problem, np.abs(dual.beta)
    length = math.sqrt(float(np.einsum("i,i->", w, w)))
    size, columns_gap = objective.regularizer(w, b), _column_parts(objective, w, b, dual)
    rest, rows = 1.0 - problem.y * (z + b), math.sqrt(problem.longest)
    sums = _row_parts(objective, alpha, rest)
    error_bound = _error_bound(
        objective, sums, sum_error(problem.most_stored + 1) * (rows * length + abs(b))
    )
    if counts(error_bound, columns_gap + sums.fenchel_young, size + sums.losses):
        high, low = exact_residuals(problem, w, b, problem.y)
        rest = problem.y * (high + low)
        sums, error_bound = _row_parts(objective, alpha, rest), 0.0
    primal, gap = size + sums.losses, columns_gap + sums.fenchel_young + error_bound
    lost = sum_error(problem.n_samples) * sums.size + _slip(objective, 2.0, dual)
    value = max(sums.size - _curved(objective, alpha) - lost, lower_bound(problem, primal, gap))
    return Certificate(
        primal=primal,
        dual=value,
        gap=gap,
        relative_gap=relative(gap, value, objective.negligible),
        kkt_violation=_violation(objective, w, dual, rest),
        n_support_free=int(np.count_nonzero(alpha)),
        n_support_bounded=0,
        margin=1.0 / length if length > 0.0 else math.inf,
        slack_sum=float(np.maximum(0.0, rest).sum(where=problem.cost > 0.0)),
    )


def _column_parts(objective: L1Objective, w: Array, b: float, dual: _Dual) -> float:
    """Σ_j (|w_j| − w_j c_j), with the intercept's share and the rounding of c."""
    used = w != 0.0
    parts = np.abs(w[used]) * (1.0 - np.sign(w[used]) * dual.columns[used])
    total = float(np.maximum(0.0, parts).sum()) + objective.regularizer(w, b) * dual.error
    if objective.intercept is Intercept.PENALIZED:
        return total + max(0.0, abs(b) / objective.intercept_scaling - b * dual.left)
    if objective.intercept is Intercept.FREE:
        return total + _slip(objective, abs(b) + 1.0, dual)
    return total


def _slip(objective: L1Objective, b: float, dual: _Dual) -> float:
    """Return what rounding leaves of Σ β = 0 weakens the bound by; more than that voids it."""
    free = objective.intercept is Intercept.FREE
    return rounding_slip(free, b, dual.left, float(np.abs(dual.beta).sum()))


def _row_parts(objective: L1Objective, alpha: Array, rest: Array) -> _Losses:
    """Return the rows' sums from rest = 1 − y f."""
    cost, slack = objective.problem.cost, np.maximum(0.0, rest)
    gaps = cost * (slack - alpha / objective.divisor) ** 2 + alpha * np.maximum(0.0, -rest)
    return _Losses(float((cost * slack**2).sum()), float(alpha.sum()), float(gaps.sum()))


def _error_bound(objective: L1Objective, sums: _Losses, error: float) -> float:
    """Return how much that error of every f(x_i) may add to the gap, and the rounding of sums."""
    return value_error_bound(objective, sums, error) + UNIT * sums.losses if error > 0.0 else 0.0


def _violation(objective: L1Objective, w: Array, dual: _Dual, rest: Array) -> float:
    """Return the worst violation of α_i = 2 C_i ξ_i, of α_i (m_i − 1) ≤ 0, of w_j c_j = |w_j|."""
    alpha, used, cost = np.abs(dual.beta), w != 0.0, objective.problem.cost
    rows = np.abs(np.maximum(0.0, rest) - alpha / objective.divisor)
    beyond = np.maximum(0.0, -rest)
    columns = 1.0 - np.sign(w[used]) * dual.columns[used]
    return float(
        max(
            rows.max(where=cost > 0.0, initial=0.0),
            beyond.max(where=alpha > 0.0, initial=0.0),
            columns.max(initial=0.0),
        )
    )
