"""The certificate of K classes at once."""

from __future__ import annotations

import math
from functools import reduce
from operator import add

import numpy as np

import maxmargin._core as _core
from maxmargin.certificate import Certificate, refuse_intercept, tallied
from maxmargin.data.arrays import Array
from maxmargin.objectives.crammer_singer import JointExpansion, JointObjective
from maxmargin.objectives.objective import Intercept
from maxmargin.objectives.rounding import (
    UNIT,
    added,
    counts,
    exact_products,
    expansion_error,
    row_error,
    sum_error,
)


def certify_joint(objective: JointObjective, W: Array, b: Array, beta: Array) -> Certificate:
    """Judge the weights of K classes, laid out, and their intercepts by a feasible β.

    P(W, b) − D(β) = ½‖W − W_β‖² + Σ of brackets that are not negative
    (core/objective/multiclass_certificate.hpp).
    The KKT violation is the worst bracket in units of the margin.
    """
    refuse_intercept(objective.intercept, b)
    problem = objective.problem
    dual_W = np.zeros_like(W)
    parts = [
        objective.classes.tally(problem.rows, W, b, beta, begin, end, dual_W)
        for begin, end in problem.blocks()
    ]
    part, dual_b, slip = reduce(add, parts), objective.intercept_of(beta), _slip(objective, b, beta)
    apart, square = objective.regularizer(W - dual_W, b - dual_b), float(np.einsum("ij,ij->", W, W))
    lost = slip + _dual_rounding(objective, part.conjugates, apart)
    largest = float(np.abs(b).max())
    lost += _rates(objective, part) * row_error(problem, math.sqrt(square), largest)
    losses, brackets = part.losses, part.brackets
    doubt = _doubt(objective, part, math.sqrt(square), b)
    primal, gap = objective.regularizer(W, b) + losses, brackets + apart + lost + doubt
    dual_square = objective.regularizer(dual_W, dual_b)
    own = slip + _dual_rounding(objective, part.conjugates, dual_square)
    dual = max(part.conjugates - dual_square - own, primal - gap)
    if counts(doubt, gap - doubt, primal):
        losses, brackets = _exact_brackets(objective, W, b, beta)
        primal = objective.regularizer(W, b) + losses
        gap = brackets + apart + (lost if lost > UNIT * primal else 0.0)
        dual = primal - gap
    return tallied(part, (primal, dual, gap), square, objective.negligible)


def _doubt(objective: JointObjective, part: _core.Tally, length: float, b: Array) -> float:
    """Return how much the rounding of f_j(x_i) may add to the gap at most; `length` is ‖W‖."""
    problem = objective.problem
    largest = float(np.abs(b).max())
    f = math.sqrt(problem.longest) * length + largest
    sums = sum_error(problem.n_samples) * part.conjugates * (1.0 + largest)
    rounding = sum_error(problem.most_stored) * f * _rates(objective, part)
    return float(rounding + UNIT * part.losses + sums)


def _rates(objective: JointObjective, part: _core.Tally) -> float:
    """Return how fast the gap may change with an error of every f_j(x_i)."""
    return 2.0 * float(objective.problem.extent.total_cost + part.conjugates)


def _dual_rounding(objective: JointObjective, mass: float, square: float) -> float:
    """Return what the rounding of β'X may add to the gap; mass is Σ β_iy, square ½‖W − W_β‖²."""
    problem = objective.problem
    length = math.sqrt(problem.longest)
    if objective.intercept is Intercept.PENALIZED:
        length += objective.intercept_scaling
    rows = 0.0 if problem.origin is None else problem.origin.error
    error = 2.0 * mass * (sum_error(problem.n_samples) * length + rows)
    return error * (math.sqrt(2.0 * square) + 0.5 * error)


def _exact_brackets(
    objective: JointObjective, W: Array, b: Array, beta: Array
) -> tuple[float, float]:
    """Return the sums of losses and brackets from f_j(x_i) to twice the digits."""
    problem, own = objective.problem, objective.own
    high, low = np.empty((2, *beta.shape))
    for j, w in enumerate(objective.coef(W)):
        high[:, j], low[:, j] = added(*exact_products(problem, w), float(b[j]))
    pulls, rest = added(high, low, -high[own][:, np.newaxis])
    pulls, rest = added(pulls, rest - low[own][:, np.newaxis], 1.0)
    pulls += rest
    pulls[own] = 0.0
    slack, chosen, cost = pulls.max(axis=1), beta[own], problem.cost
    shares = beta * (pulls - slack[:, np.newaxis])
    shares[own] = np.maximum(0.0, cost - chosen) * slack
    return float(cost @ slack), float(shares.sum())


def certify_joint_expansion(
    objective: JointExpansion,
    beta: Array,
    b: Array,
    z: Array | None = None,
    error: tuple[Array, float] | None = None,
) -> Certificate:
    """Judge f_j = Σ_i β_ij k(x_i, ·) + b_j of K classes by the feasible β itself; z = Kβ if known.

    If z has errors, they are allowed for in the gap.
    """
    refuse_intercept(objective.intercept, b)
    z = objective.kernel_values(beta) if z is None else z
    square = float(np.einsum("ij,ij->", beta, z))
    part = objective.classes.tally_values(z + b, beta)
    if error is None:
        known = objective.diagonal, square, objective.value_rounding
        error = np.zeros(objective.n_classes), expansion_error(beta, *known).spread
    lost = objective.doubt(z + b, beta, error)
    lost += _slip(objective, b, beta)
    dual, gap = part.conjugates - 0.5 * square - lost, part.brackets + lost
    primal, convex = 0.5 * square + part.losses, objective.convex
    return tallied(part, (primal, dual, gap), square, objective.negligible, convex=convex)


def _slip(objective: JointObjective, b: Array, beta: Array) -> float:
    """Return what rounding leaves of Σ_i β_ij = 0 weakens the bound by; more than that voids it."""
    if objective.intercept is not Intercept.FREE:
        return 0.0
    left = np.abs(beta.sum(axis=0))
    balanced = float(left.max()) <= 1e-9 * float(np.abs(beta).sum())
    return float(np.abs(b - b.mean()) @ left) if balanced else math.inf
