"""What the rounding of a double does to a gap.

f(x_i) = <w, x_i> + b has an error of about u (‖x_i‖‖w‖ + |b|), u = 2⁻⁵³, and a loss multiplies it
by C_i: a gap that is no larger proves nothing. Where a bound of that counts beside the gap, the
residuals are computed to twice the digits, and the gap from them without cancellation.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

import numpy as np

import maxmargin._core as _core
from maxmargin.data.arrays import UNIT, Array
from maxmargin.data.problem import Problem
from maxmargin.losses import Loss
from maxmargin.objectives.base import Intercept, SumError
from maxmargin.objectives.scalar import ScalarObjective

if TYPE_CHECKING:
    from maxmargin.objectives.linear import LinearObjective

#: Share of a gap up to which rounding is allowed for by its bound, and share of P: a pass to twice
#: the digits is not worth while for less than any tol asks for.
SMALL, LEAST = 0.01, 1e-12


def sum_error(n_terms: int) -> float:
    """Return the error of a sum of so many products, made in lanes, relative to that of sizes.

    Those of many terms are taken for independent, and more than four standard deviations allowed.
    """
    return (4.0 + min(n_terms / 4.0, 2.0 * math.sqrt(n_terms))) * UNIT


def lower_bound(problem: Problem, primal: float, gap: float) -> float:
    """Return P − gap, less what the rounding of the sums in P may have added to it.

    Where there is no gap, P and D are one number.
    """
    rounding = sum_error(problem.n_samples) + sum_error(problem.n_features)
    return primal - (gap + rounding * primal if gap > 0.0 else 0.0)


def exact_products(problem: Problem, w: Array) -> tuple[Array, Array]:
    """Return <w, x_i> of every row as high + low."""
    high, low = np.zeros((2, problem.n_samples))
    if w.any():
        for begin, end in problem.blocks(2**22):
            _core.exact_products(problem.rows, w, begin, end, high, low)
    return high, low


def added(high: Array, low: Array, term: Array | float) -> tuple[Array, Array]:
    """Return high + low + term, as high + low."""
    total = high + term
    part = total - high
    return total, low + ((high - (total - part)) + (term - part))


def exact_residuals(problem: Problem, w: Array, b: float, target: Array) -> tuple[Array, Array]:
    """Return target − <w, x_i> − b of every row as high + low."""
    high, low = exact_products(problem, w)
    return added(*added(-high, -low, target), -b)


def exact_brackets(
    loss: Loss, y: Array, cost: Array, beta: Array, residual: tuple[Array, Array]
) -> tuple[Array, Array, Array]:
    """Return C_i ℓ(z_i), C_i ℓ(z_i) + z_i β_i − conjugate_i(β_i) for a feasible β, and the slacks.

    The residual is target − z as high + low. With the slack m = |residual| − ε on the costly side
    the bracket is (C − |β|) m or −|β| m, or C (m − |β|/2C)² for a squared loss.
    """
    high, low = residual
    towards = y if loss.one_sided else np.where(high + low < 0.0, -1.0, 1.0)
    miss_high, miss_low = added(towards * high, towards * low, -loss.epsilon)
    miss, size = miss_high + miss_low, np.abs(beta)
    slack = np.maximum(miss, 0.0)
    away = np.where(towards * beta < 0.0, 2.0 * size * (miss + loss.epsilon), 0.0)  # the wrong side
    if loss.bounded:
        parts = np.where(miss > 0.0, (cost - size) * miss, -size * miss)
        return cost * slack, np.maximum(parts, 0.0) + away, miss
    half = np.divide(size, 2.0 * cost, out=np.zeros_like(size), where=cost > 0.0)
    parts = np.where(miss > 0.0, cost * (miss - half) ** 2, cost * half**2 - size * miss)
    return cost * slack**2, np.maximum(parts, 0.0) + away, miss


def counts(error_bound: float, gap: float, primal: float) -> bool:
    """Whether rounding may add so much to the gap that f is to be computed to twice the digits."""
    return error_bound > max(SMALL * gap, LEAST * primal)


def rounding_bound(
    objective: ScalarObjective, part: _core.CertificateSums, length: float, b: float
) -> float:
    """Return how much the rounding of f(x_i), and of sums of β_i, may add to the gap at most.

    A bracket changes with f at the rate β_i + C_i ℓ'; `length` is ‖w‖.
    """
    problem, loss = objective.problem, objective.loss
    f = math.sqrt(problem.longest) * length + abs(b)
    error = sum_error(problem.most_stored) * f + row_error(problem, length, b)
    sums = UNIT * (part.losses + part.size * f)
    largest = problem.target_summary.max_abs + loss.epsilon + abs(b)
    targets = sum_error(problem.n_samples) * part.size * largest
    return value_error_bound(objective, part, error) + float(sums + targets)


def row_error(problem: Problem, length: float, b: float) -> float:
    """Bound the error of f − y that the choice of origins makes; `length` is ‖w‖."""
    rows, level = problem.origin, problem.level
    error = level.error + (0.0 if rows is None else rows.error * length)
    return error + (UNIT * abs(b) if rows is not None or level.height else 0.0)


class LossSums(Protocol):
    """What errors of values are weighed by."""

    @property
    def losses(self) -> float:
        """Σ of the losses."""

    @property
    def size(self) -> float:
        """Σ |β_i|."""


def value_error_bound(
    objective: ScalarObjective, part: LossSums, error: float, slack: Array | None = None
) -> float:
    """Return how much an error of every f(x_i) may add to the gap.

    With slacks given, samples that it cannot bring to the costly side have no loss.
    """
    cost = objective.problem.target_summary.total_cost
    if slack is not None:
        cost = float(objective.problem.cost.sum(where=slack > -error))
    if objective.loss.bounded:
        return float(error * (cost + part.size))
    rates = 2.0 * math.sqrt(cost * part.losses) + part.size
    return float(error * (rates + cost * error))


def dual_error(objective: LinearObjective, size: float, total: float) -> float:
    """Bound the error of the computed Σ β_i x_i; size is Σ |β_i|‖x_i‖, total Σ |β_i|."""
    problem = objective.problem
    if objective.intercept is Intercept.PENALIZED:
        size += total * objective.intercept_scaling
    rows = 0.0 if problem.origin is None else problem.origin.error * total
    return sum_error(problem.n_samples) * size + rows


def expansion_error(coef: Array, diagonal: Array, square: float, rounding: float) -> SumError:
    """Return the errors of sums Σ c_j k(x_j, x_i) in float64: the spread of the worst of them.

    `square` is ‖w‖², which bounds the sums, and `rounding` that of the values (`Kernel.rounding`).
    These errors, and those of partial sums, are taken for independent. With a column of
    coefficients for each class, the largest of a row counts.
    """
    size = np.abs(coef) if coef.ndim == 1 else np.abs(coef).max(axis=1)
    n, diagonal = int(np.count_nonzero(size)), np.maximum(diagonal, 0.0)
    values = float(np.einsum("i,i,i->", size, size, diagonal)) * (rounding**2 + n / 64.0)
    partial = max(0.0, square) * n / 1024.0
    return SumError(0.0, UNIT * math.sqrt(float(diagonal.max()) * (values + partial)))
