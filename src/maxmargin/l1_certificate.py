"""The certificate of the squared hinge with a penalty of ‖w‖₁."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from maxmargin.certificate import Certificate, refuse_intercept, relative
from maxmargin.data.arrays import Array
from maxmargin.objectives.l1 import L1Objective
from maxmargin.objectives.objective import Intercept
from maxmargin.objectives.rounding import (
    UNIT,
    counts,
    dual_error,
    exact_residuals,
    sum_error,
    value_doubt,
)


class L1Pair(NamedTuple):
    """A certificate, and the dual point that was judged with Σ β_i x_i."""

    certificate: Certificate
    beta: Array
    columns: Array


class _Dual(NamedTuple):
    """α scaled into the ball, c = Σ β_i x_i, and how far rounding may have put c and Σ β_i off."""

    alpha: Array
    columns: Array
    error: float
    left: float


class _Losses(NamedTuple):
    """Σ C_i ξ_i² and Σ α_i, by which errors of f count."""

    losses: float
    size: float


def certify_l1(objective: L1Objective, w: Array, b: float, beta: Array) -> L1Pair:
    """Judge (w, b) by the multiple of β whose dual value is largest.

    β is given its signs first, and balanced for a free intercept. With c = Σ β_i x_i, m_i = y_i f_i
    and ξ_i = max(0, 1 − m_i), the gap is a sum of parts that are not negative:

        P − D = Σ_j (|w_j| − w_j c_j) + (|b|/s − b Σ β_i, if b is penalised)
                + Σ C_i (ξ_i − α_i / 2C_i)² + Σ α_i max(0, m_i − 1).
    """
    beta = objective.signed(beta)
    return certify_l1_products(objective, w, b, beta, *objective.problem.products(w, beta))


def certify_l1_products(
    objective: L1Objective, w: Array, b: float, beta: Array, z: Array, columns: Array
) -> L1Pair:
    """Judge the same where Xw and Σ β_i x_i are known, and β has its signs and balance."""
    refuse_intercept(objective.intercept, b)
    problem = objective.problem
    dual = _scaled(objective, beta, columns)
    length = math.sqrt(float(np.einsum("i,i->", w, w)))
    error = sum_error(problem.most_stored + 1) * (math.sqrt(problem.longest) * length + abs(b))
    rest = 1.0 - problem.y * (z + b)
    losses, brackets = _sample_parts(objective, dual.alpha, rest)
    doubt = value_doubt(objective, losses, error)  # type: ignore[arg-type]
    size = objective.regularizer(w, b)
    apart = _column_parts(objective, w, b, dual)
    if counts(doubt, apart + brackets, size + losses.losses):
        high, low = exact_residuals(problem, w, b, problem.y)
        rest = problem.y * (high + low)
        losses, brackets = _sample_parts(objective, dual.alpha, rest)
        doubt = value_doubt(objective, losses, UNIT * (abs(b) + 1.0) if b or length else 0.0)  # type: ignore[arg-type]
        doubt = doubt if doubt > UNIT * (size + losses.losses) else 0.0
    primal, gap = size + losses.losses, apart + brackets + doubt
    value = losses.size - _curved(objective, dual.alpha)
    value -= sum_error(problem.n_samples) * losses.size + 2.0 * abs(dual.left)
    certificate = Certificate(
        primal=primal,
        dual=max(value, primal - gap),
        gap=gap,
        relative_gap=relative(gap, max(value, primal - gap), objective.negligible),
        kkt_violation=_violation(objective, w, dual, rest),
        n_support_free=int(np.count_nonzero(dual.alpha)),
        n_support_bounded=0,
        margin=1.0 / length if length > 0.0 else math.inf,
        slack_sum=float(np.maximum(0.0, rest).sum(where=problem.cost > 0.0)),
    )
    return L1Pair(certificate, problem.y * dual.alpha, dual.columns)


def _scaled(objective: L1Objective, beta: Array, columns: Array) -> _Dual:
    """Scale β so that every column keeps its bound, rounding allowed for, and D is largest.

    D(θβ) = θA − θ²B with A = Σ α_i and B = Σ α_i² / 4C_i.
    """
    problem = objective.problem
    alpha, left = np.abs(beta), math.fsum(beta)
    mass = float(alpha.sum())
    lengths = float(np.einsum("i,i->", alpha, np.sqrt(problem.squared_norms)))
    error = dual_error(objective, lengths, mass)  # type: ignore[arg-type]
    largest = float(np.abs(columns).max(initial=0.0))
    if objective.intercept is Intercept.PENALIZED:
        largest = max(largest, objective.intercept_scaling * abs(left))
    elif objective.intercept is Intercept.FREE:
        error += abs(left) * math.sqrt(problem.longest)
    square = _curved(objective, alpha)
    if not square > 0.0:
        return _Dual(np.zeros_like(alpha), np.zeros_like(columns), 0.0, 0.0)
    scale = min(0.5 * mass / square, 1.0 if largest + error <= 1.0 else math.inf)
    if scale * (largest + error) > 1.0:
        scale = (1.0 - 8.0 * UNIT) / (largest + error)
    return _Dual(scale * alpha, scale * columns, scale * error, scale * left)


def _curved(objective: L1Objective, alpha: Array) -> float:
    """Σ α_i² / 4C_i."""
    cost = objective.problem.cost
    parts = np.divide(0.25 * alpha, cost, out=np.zeros_like(alpha), where=cost > 0.0) * alpha
    return float(parts.sum())


def _column_parts(objective: L1Objective, w: Array, b: float, dual: _Dual) -> float:
    """Σ_j (|w_j| − w_j c_j), with the intercept's share and the rounding of c."""
    size, used = objective.regularizer(w, b), w != 0.0
    parts = np.abs(w[used]) * (1.0 - np.sign(w[used]) * dual.columns[used])
    total = float(np.maximum(0.0, parts).sum()) + size * dual.error
    if objective.intercept is Intercept.PENALIZED:
        return total + max(0.0, abs(b) / objective.intercept_scaling - b * dual.left)
    if objective.intercept is Intercept.FREE:
        return total + abs(dual.left) * (abs(b) + 1.0)
    return total


def _sample_parts(objective: L1Objective, alpha: Array, rest: Array) -> tuple[_Losses, float]:
    """Return what the losses sum to, and the rows' share of the gap; rest = 1 − y f."""
    cost = objective.problem.cost
    slack = np.maximum(0.0, rest)
    half = np.divide(0.5 * alpha, cost, out=np.zeros_like(alpha), where=cost > 0.0)
    losses = _Losses(float((cost * slack**2).sum()), float(alpha.sum()))
    brackets = cost * (slack - half) ** 2 + alpha * np.maximum(0.0, -rest)
    return losses, float(brackets.sum())


def _violation(objective: L1Objective, w: Array, dual: _Dual, rest: Array) -> float:
    """Return the worst violation of ξ_i = α_i / 2C_i and of c_j = sign w_j."""
    cost, used = objective.problem.cost, w != 0.0
    half = np.divide(0.5 * dual.alpha, cost, out=np.zeros_like(rest), where=cost > 0.0)
    apart = np.abs(np.maximum(0.0, rest) - half).max(where=cost > 0.0, initial=0.0)
    beyond = np.maximum(0.0, -rest).max(where=dual.alpha > 0.0, initial=0.0)
    columns = 1.0 - np.sign(w[used]) * dual.columns[used]
    return float(max(apart, beyond, columns.max(initial=0.0)))
