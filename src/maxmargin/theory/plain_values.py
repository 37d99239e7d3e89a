"""Primal and dual values by their textbook formulas, in any arithmetic.

Nothing here is shared with the solvers or with `maxmargin.certificate`, whose gap is a sum of
brackets in compiled double precision: P and D are computed each on its own and subtracted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np

from maxmargin.objectives import Intercept
from maxmargin.theory.plain_kernels import Arithmetic, Numbers, kernel_values, lifted_rows
from maxmargin.theory.posed import Posed, PosedAbsolute, PosedHardMargin, PosedJoint

#: Values of a block of rows or of kernel values.
_BLOCK = 2**20

#: Multiplications beyond which exact rationals take too long.
_MOST_EXACT = 500_000

_ROUNDING = 1e-12

#: Some roundings of a double.
_UNIT = 8.0 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Values:
    """What was computed of one problem: plain numbers, rounded to double at the very end.

    Attributes
    ----------
    primal, dual, gap : float
        P, D and P − D.
    square : float
        ‖w‖².
    slacks : float
        Σ ξ_i of the samples that have a weight.
    free, bounded, nearly : int
        Support vectors inside their box and at its end up to rounding, and how many of the latter
        are not there exactly.
    outside : float
        By how much β misses its constraints, beside its size.
    scale : float
        Size of the largest of the sums that P and D are made of.
    error, square_error, sensitivity : float
        What rounding in double precision may do to f, ‖w‖² and P.
    f : array
        f(x_i), or f_j(x_i).
    """

    primal: float
    dual: float
    gap: float
    square: float
    slacks: float
    free: int
    bounded: int
    nearly: int
    outside: float
    scale: float
    error: float
    square_error: float
    sensitivity: float
    f: Any


def values_of(posed: Posed | PosedJoint, arithmetic: Arithmetic) -> Values:
    """Compute P, D and what belongs to them."""
    with np.errstate(over="ignore", invalid="ignore"):
        return _values(posed, arithmetic)


@singledispatch
def _values(posed: Any, a: Arithmetic) -> Values:
    """Do so by the formulas of that kind of problem."""
    del a
    raise TypeError(f"There is no formula for a {type(posed).__name__}.")


@dataclass(frozen=True, eq=False)
class _Products:
    """f without its intercept, and the squared lengths of w and of w_β = Σ β_i x_i."""

    f: Numbers
    square: Any
    dual_square: Any
    reach: float  # the size of the terms of f


def _products(posed: Posed | PosedJoint, w: Numbers, beta: Numbers, a: Arithmetic) -> _Products:
    """Compute them for columns w and β: one, or one for each class."""
    n = posed.X.shape[0]
    support = np.flatnonzero(((w != 0) if posed.kernel else (beta != 0)).any(axis=1))
    if posed.kernel is not None:
        support = np.union1d(support, np.flatnonzero((beta != 0).any(axis=1)))
    width = max(1, len(support) if posed.kernel else posed.X.shape[1])
    if not a.transcendental and n * width * (posed.X.shape[1] if posed.kernel else 1) > _MOST_EXACT:
        raise ValueError(f"{n} samples are too many for exact rationals here. Leave exact=False.")
    if posed.kernel is None:
        return _linear_products(posed, w, beta, a)
    f, dual_f, reach = np.zeros_like(w), np.zeros_like(beta), 0.0
    if not len(support):
        return _Products(f, (w * f).sum(), (beta * dual_f).sum(), reach)
    basis = posed.X[support]
    for rows in _blocks(n, width):
        K = kernel_values(posed.kernel, posed.X[rows], basis, a)
        f[rows], dual_f[rows] = K @ w[support], K @ beta[support]
        reach = max(reach, float(np.abs(K).max(initial=0)) * float(np.abs(w).sum()))
    return _Products(f, (w * f).sum(), (beta * dual_f).sum(), reach)


def _linear_products(
    posed: Posed | PosedJoint, w: Numbers, beta: Numbers, a: Arithmetic
) -> _Products:
    n, d = posed.X.shape
    f, dual_w, reach = np.zeros((n, w.shape[1]), dtype=w.dtype), np.zeros_like(w), 0.0
    for rows in _blocks(n, d):
        X = lifted_rows(posed.X, rows, a)
        f[rows] = X @ w
        dual_w = dual_w + X.T @ beta[rows]
        reach = max(reach, float((np.abs(X) @ np.abs(w)).max(initial=0)))
    return _Products(f, (w * w).sum(), (dual_w * dual_w).sum(), reach)


def _blocks(n: int, width: int) -> Iterator[slice]:
    step = max(1, _BLOCK // width)
    return (slice(begin, begin + step) for begin in range(0, n, step))


@_values.register
def _of_one(posed: Posed, a: Arithmetic) -> Values:
    loss, lift = posed.loss, a.lift
    y, cost, b = lift(posed.y), lift(posed.cost), lift(posed.b)
    w, beta = lift(posed.w), lift(posed.beta)
    products = _products(posed, w[:, None], beta[:, None], a)
    f, used = products.f[:, 0] + b, posed.cost > 0.0
    asked, epsilon = lift(loss.target_scale), lift(loss.epsilon)
    miss = asked - y * f if loss.one_sided else np.abs(y - f) - epsilon
    slack = np.maximum(miss, 0)
    losses = (cost * (slack if loss.bounded else slack * slack)).sum()
    half, dual_half = products.square / 2, products.dual_square / 2
    if posed.intercept is Intercept.PENALIZED:
        unit = lift(posed.scaling)
        half, dual_half = half + (b / unit) ** 2 / 2, dual_half + (unit * beta.sum()) ** 2 / 2
    if not loss.regularized:
        half, dual_half = 0 * half, 0 * dual_half
    terms = (asked * y * beta - epsilon * np.abs(beta)).sum()
    if not loss.bounded:
        terms = terms - (beta[used] ** 2 / (4 * cost[used])).sum()
    number = lift(0.0)
    if posed.nu_sum is not None:  # the margin ρ, or the tube ε, is a variable as well
        nu_sum = lift(posed.nu_sum)
        number = -nu_sum * asked if loss.one_sided else nu_sum * epsilon
        terms = (y * beta).sum() - (np.abs(beta).sum() if loss.one_sided else 0)
    primal, dual = half + losses + number, terms - dual_half
    if posed.intercept is Intercept.FREE:
        dual = dual - abs(b * beta.sum())
    sizes = (half, losses, abs(number), np.abs(y * beta).sum(), dual_half)
    return _rounded(posed, (primal, dual), products, slack[used].sum(), max(map(float, sizes)), f)


@_values.register
def _of_absolute(posed: PosedAbsolute, a: Arithmetic) -> Values:
    """‖w‖₁ + Σ C_i ξ_i², and Σ α_i − Σ α_i² / 4C_i, where |Σ β_i x_ij| ≤ 1 for every column."""
    y, cost, b = a.lift(posed.y), a.lift(posed.cost), a.lift(posed.b)
    w, beta = a.lift(posed.w), a.lift(posed.beta)
    products = _products(posed, w[:, None], beta[:, None], a)
    f, used = products.f[:, 0] + b, posed.cost > 0.0
    slack = np.maximum(1 - y * f, 0)
    size, losses = np.abs(w).sum(), (cost * slack * slack).sum()
    if posed.intercept is Intercept.PENALIZED:
        size = size + abs(b) / a.lift(posed.scaling)
    alpha = np.abs(beta)
    primal, dual = size + losses, alpha.sum() - (beta[used] ** 2 / (4 * cost[used])).sum()
    if posed.intercept is Intercept.FREE:
        dual = dual - abs(b * beta.sum())
    scale = max(map(float, (size, losses, alpha.sum())))
    found = _rounded(posed, (primal, dual), products, slack[used].sum(), scale, f)
    longest = _longest_column(posed, beta, a)
    return replace(found, outside=max(found.outside, longest - 1.0))


def _longest_column(posed: Posed, beta: Numbers, a: Arithmetic) -> float:
    """Return the largest |Σ β_i x_ij|, with a penalised intercept also |s Σ β_i|."""
    columns = np.zeros(posed.X.shape[1], dtype=beta.dtype)
    for rows in _blocks(*posed.X.shape):
        columns = columns + lifted_rows(posed.X, rows, a).T @ beta[rows]
    longest = float(np.abs(columns).max(initial=0))
    if posed.intercept is Intercept.PENALIZED:
        longest = max(longest, abs(float(a.lift(posed.scaling) * beta.sum())))
    return longest


def _rounded(
    posed: Posed, pair: tuple[Any, Any], products: _Products, slacks: Any, scale: float, f: Numbers
) -> Values:
    beta, cost = posed.beta, posed.cost
    assert beta is not None
    size, bound = np.abs(beta[beta != 0.0]), cost[beta != 0.0]
    exactly, bounded = (
        int(np.count_nonzero(at_bound)) if posed.loss.bounded else 0
        for at_bound in (size == bound, size >= (1.0 - _ROUNDING) * bound)
    )
    rate = 1.0 if posed.loss.bounded else 1.0 + 2.0 * math.sqrt(abs(float(pair[0])) + 1.0)
    error = _UNIT * (products.reach + abs(posed.b) + abs(posed.shift))
    return Values(
        primal=float(pair[0]),
        dual=float(pair[1]),
        gap=float(pair[0] - pair[1]),
        square=float(products.square),
        slacks=float(slacks),
        free=len(size) - bounded,
        bounded=bounded,
        nearly=bounded - exactly,
        outside=_outside(posed),
        scale=scale,
        error=error,
        square_error=_UNIT * products.reach * float(np.abs(posed.w).sum()),
        sensitivity=rate * float(cost.sum()) * error,
        f=np.asarray(f, dtype=np.float64),
    )


def _outside(posed: Posed) -> float:
    """Return by how much β misses its box and its sums, beside its size."""
    beta, cost = posed.beta, posed.cost
    assert beta is not None
    size = float(np.abs(beta).sum())
    if size == 0.0:
        return 0.0
    missed = [float(np.abs(beta[cost == 0.0]).sum())]
    if posed.loss.one_sided:
        missed.append(float(np.maximum(0.0, -posed.y * beta).sum()))
    missed.append(float(np.maximum(0.0, np.abs(beta) - posed.bound)[cost > 0.0].sum()))
    if posed.intercept is Intercept.FREE:
        missed.append(abs(math.fsum(beta)))
    if posed.nu_sum is not None:
        lacking = size - posed.nu_sum
        missed.append(abs(lacking) if posed.loss.one_sided else max(0.0, lacking))
    return max(missed) / size


@_values.register
def _of_hard(posed: PosedHardMargin, a: Arithmetic) -> Values:
    """½‖w‖² with f scaled to a least margin of 1, and ½ (Σ|β|)² / ‖w_β‖², the best multiple β."""
    w, beta, b = a.lift(posed.w), a.lift(posed.beta), a.lift(posed.b)
    products = _products(posed, w[:, None], beta[:, None], a)
    f, used = products.f[:, 0] + b, posed.cost > 0.0
    least, size = (a.lift(posed.y) * f)[used].min(), np.abs(beta).sum()
    separated = least > 0
    square = products.square / (least * least) if separated else math.inf
    dual = size * size / (2 * products.dual_square) if products.dual_square > 0 else math.inf
    primal, dual = square / 2, dual if size > 0 else 0
    slacks = 0.0 if separated else math.inf
    scale = next((float(abs(part)) for part in (primal, dual) if part < math.inf), 1.0)
    found = _rounded(posed, (primal, dual), products, slacks, scale, f)
    change = 2.0 * found.error / float(least) if separated else 0.0  # of 1/least², in shares of it
    own = {
        "gap": found.gap if separated else math.inf,
        "square": float(square),
        "free": int(np.count_nonzero(beta)),
        "bounded": 0,
        "nearly": 0,
        "sensitivity": change * scale,
        "square_error": found.square_error + 2.0 * change * scale,
    }
    return Values(**(vars(found) | own))


@_values.register
def _of_joint(posed: PosedJoint, a: Arithmetic) -> Values:
    """½‖W‖² + Σ C_i max_j (1[j ≠ y] + f_j − f_y), and Σ β_iy − ½‖W_β‖²."""
    lift, n = a.lift, posed.X.shape[0]
    own = np.arange(n), posed.y.astype(int)
    W, b, beta, cost = lift(posed.w).T, lift(posed.b), lift(posed.beta), lift(posed.cost)
    products = _products(posed, W, beta, a)
    f, used = products.f + b, posed.cost > 0.0
    scores = f - f[own][:, None] + 1
    scores[own] = 0
    slack = scores.max(axis=1)
    half, dual_half = products.square / 2, products.dual_square / 2
    if posed.intercept is Intercept.PENALIZED:
        unit, sums = lift(posed.scaling), beta.sum(axis=0)
        half = half + ((b / unit) ** 2).sum() / 2
        dual_half = dual_half + ((unit * sums) ** 2).sum() / 2
    losses, terms = (cost * slack).sum(), beta[own].sum()
    primal, dual = half + losses, terms - dual_half
    if posed.intercept is Intercept.FREE:
        dual = dual - np.abs((b - b.mean()) * beta.sum(axis=0)).sum()
    error = 2.0 * _UNIT * (products.reach + float(np.abs(b).max()) + posed.shift)
    return Values(
        primal=float(primal),
        dual=float(dual),
        gap=float(primal - dual),
        square=float(products.square),
        slacks=float(slack[used].sum()),
        free=-1,
        bounded=-1,
        nearly=0,
        outside=_outside_simplices(posed, own),
        scale=max(map(float, (half, losses, terms, dual_half))),
        error=error,
        square_error=_UNIT * products.reach * float(np.abs(posed.w).sum()),
        sensitivity=float(cost.sum()) * error,
        f=np.asarray(f, dtype=np.float64),
    )


def _outside_simplices(posed: PosedJoint, own: Any) -> float:
    """Return by how much β misses β_ij ≤ C_i 1[j = y_i], Σ_j β_ij = 0 and a free Σ_i β_ij = 0."""
    beta = posed.beta
    assert beta is not None
    size = float(np.abs(beta).sum())
    if size == 0.0:
        return 0.0
    most = np.zeros_like(beta)
    most[own] = posed.cost
    missed = [float(np.maximum(0.0, beta - most).sum()), float(np.abs(beta.sum(axis=1)).sum())]
    if posed.intercept is Intercept.FREE:
        missed.append(float(np.abs(beta.sum(axis=0)).max()))
    return max(missed) / size
