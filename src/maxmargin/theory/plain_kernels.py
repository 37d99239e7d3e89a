"""Kernel values by their textbook formulas, in any arithmetic: slow, short, and on their own."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from maxmargin.data.arrays import Matrix
from maxmargin.kernels import (
    ChiSquared,
    Cosine,
    Gaussian,
    HistogramIntersection,
    Kernel,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Product,
    Scaled,
    Sigmoid,
    Sum,
)

#: Numbers of an arithmetic of our choice.
Numbers = NDArray[Any]


class Arithmetic(NamedTuple):
    """How numbers are held: `lift` makes them of doubles, without error."""

    name: str
    lift: Callable[[Any], Numbers]
    transcendental: bool  # has square roots and exponentials


def _extended(values: Any) -> Numbers:
    return np.asarray(values, dtype=np.longdouble)


def _rational(values: Any) -> Numbers:
    return np.asarray(np.frompyfunc(Fraction, 1, 1)(np.asarray(values, dtype=np.float64)))


#: Kernels of ⟨x, z⟩, ‖x‖² and ‖z‖².
_OF_PRODUCTS = (Linear, Gaussian, Polynomial, Sigmoid)

EXTENDED = Arithmetic(f"{np.finfo(np.longdouble).nmant + 1}-bit floating point", _extended, True)
RATIONAL = Arithmetic("exact rational numbers", _rational, False)


def lifted_rows(X: Matrix, rows: Any, arithmetic: Arithmetic) -> Numbers:
    """Return some rows of X."""
    some = X[rows]
    return arithmetic.lift(some.toarray() if sparse.issparse(some) else some)


def kernel_values(kernel: Kernel, A: Matrix, B: Matrix, arithmetic: Arithmetic) -> Numbers:
    """k(a, b) for every row a of A and b of B."""
    combined: dict[type, Callable[[Numbers, Numbers], Numbers]] = {
        Sum: np.add,
        Product: np.multiply,
    }
    if isinstance(kernel, Sum | Product):
        parts = [kernel_values(part, A, B, arithmetic) for part in (kernel.first, kernel.second)]
        return combined[type(kernel)](*parts)
    if isinstance(kernel, Scaled):
        factor = arithmetic.lift(kernel.factor)
        return np.asarray(factor * kernel_values(kernel.kernel, A, B, arithmetic))
    rational = isinstance(kernel, Linear | Polynomial | HistogramIntersection)
    if not (rational or _named(kernel)):  # a table, or a function of the caller's: its values count
        return arithmetic.lift(kernel(A, B))
    if not (rational or arithmetic.transcendental):
        raise ValueError(
            f"{type(kernel).__name__} has exponentials or roots, which are not rational. Leave"
            " exact=False, or verify a linear or polynomial machine."
        )
    if sparse.issparse(A) and arithmetic is EXTENDED and isinstance(kernel, _OF_PRODUCTS):
        return _of_products(kernel, A, B)
    rows, columns = (lifted_rows(M, slice(None), arithmetic) for M in (A, B))
    return _formula(kernel, rows, columns, arithmetic)


def _of_products(kernel: Kernel, A: Matrix, B: Matrix) -> Numbers:
    """Return values from the inner products of sparse rows, most of which are not stored."""
    A, B = (sparse.csr_array(M, dtype=np.longdouble) for M in (A, B))
    inner = (A @ B.T).toarray()
    if isinstance(kernel, Linear):
        return np.asarray(inner)
    gamma = _extended(kernel.gamma)  # type: ignore[attr-defined]
    if isinstance(kernel, Gaussian):
        of_A, of_B = ((M * M).sum(axis=1) for M in (A, B))
        return np.exp(-gamma * np.maximum(of_A[:, None] + of_B - 2 * inner, 0))
    inner = gamma * inner + _extended(kernel.coef0)  # type: ignore[attr-defined]
    return np.asarray(inner**kernel.degree if isinstance(kernel, Polynomial) else np.tanh(inner))


def _named(kernel: Kernel) -> bool:
    return isinstance(kernel, Gaussian | Laplacian | ChiSquared | Sigmoid | Cosine)


def _formula(kernel: Kernel, A: Numbers, B: Numbers, arithmetic: Arithmetic) -> Numbers:
    if isinstance(kernel, Linear):
        origin = arithmetic.lift(0.0 if kernel.origin is None else kernel.origin)
        return np.asarray((A - origin) @ (B - origin).T)
    if isinstance(kernel, HistogramIntersection):
        return _by_rows(A, lambda a: np.minimum(a, B).sum(axis=1))
    if isinstance(kernel, Cosine):
        lengths = [np.sqrt((M * M).sum(axis=1)) for M in (A, B)]
        A, B = (M / np.where(r > 0, r, 1)[:, None] for M, r in zip((A, B), lengths, strict=True))
        return np.asarray(A @ B.T)
    gamma = arithmetic.lift(getattr(kernel, "gamma", 1.0))
    if isinstance(kernel, Polynomial):
        return np.asarray((gamma * (A @ B.T) + arithmetic.lift(kernel.coef0)) ** kernel.degree)
    if isinstance(kernel, Sigmoid):
        return np.asarray(np.tanh(gamma * (A @ B.T) + arithmetic.lift(kernel.coef0)))
    if isinstance(kernel, Gaussian):
        return np.exp(-gamma * _by_rows(A, lambda a: ((a - B) ** 2).sum(axis=1)))
    if isinstance(kernel, Laplacian):
        return np.exp(-gamma * _by_rows(A, lambda a: np.abs(a - B).sum(axis=1)))
    return np.exp(-gamma * _by_rows(A, lambda a: _chi_squared(a, B)))


def _by_rows(A: Numbers, value: Callable[[Numbers], Numbers]) -> Numbers:
    return np.array([value(a) for a in A])


def _chi_squared(a: Numbers, B: Numbers) -> Numbers:
    """Σ (a_j − b_j)² / (a_j + b_j), where 0/0 is 0."""
    total = a + B
    return np.asarray(((a - B) ** 2 / np.where(total > 0, total, 1)).sum(axis=1))
