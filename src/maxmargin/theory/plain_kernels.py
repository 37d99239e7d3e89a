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

#: Error of γ‖a − b‖² from which on it is summed from differences.
_MOST_LOST = 1e-13

_BITS = np.finfo(np.longdouble).nmant + 1
EXTENDED = Arithmetic(f"long double ({_BITS} bits of mantissa)", _extended, True)
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
    plain = not np.any(getattr(kernel, "origin", None)) or isinstance(kernel, Gaussian)
    products = isinstance(kernel, _OF_PRODUCTS) and plain
    if products and sparse.issparse(A) and arithmetic is EXTENDED:
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
        return np.asarray(np.exp(-gamma * np.maximum(of_A[:, None] + of_B - 2 * inner, 0)))
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
        return np.asarray(_unit(A) @ _unit(B).T)
    gamma = arithmetic.lift(kernel.gamma)  # type: ignore[attr-defined]
    if isinstance(kernel, Polynomial | Sigmoid):
        inner = gamma * (A @ B.T) + arithmetic.lift(kernel.coef0)
        return np.asarray(
            inner**kernel.degree if isinstance(kernel, Polynomial) else np.tanh(inner)
        )
    apart = _squared_distances(A, B, gamma) if isinstance(kernel, Gaussian) else None
    if apart is None:
        apart = _by_rows(A, lambda a: _DISTANCES[type(kernel)](a, B).sum(axis=1))
    return np.asarray(np.exp(-gamma * apart))


def _squared_distances(A: Numbers, B: Numbers, gamma: Numbers) -> Numbers | None:
    """‖a‖² + ‖b‖² − 2⟨a, b⟩ from an origin amid b: several times faster than differences.

    None where too many digits would cancel.
    """
    middle = B.mean(axis=0)
    A, B = A - middle, B - middle
    of_A, of_B = ((M * M).sum(axis=1) for M in (A, B))
    if gamma * max(of_A.max(), of_B.max()) * np.finfo(np.longdouble).eps > _MOST_LOST:
        return None
    return np.asarray(np.maximum(of_A[:, None] + of_B - 2 * (A @ B.T), 0))


#: What the terms of a distance are.
_DISTANCES: dict[type, Callable[[Numbers, Numbers], Numbers]] = {
    Gaussian: lambda a, B: (a - B) ** 2,
    Laplacian: lambda a, B: np.abs(a - B),
    ChiSquared: lambda a, B: (a - B) ** 2 / np.where(a + B > 0, a + B, 1),  # 0/0 is 0
}


def _unit(M: Numbers) -> Numbers:
    """Return the rows divided by their lengths; 0 stays 0."""
    lengths = np.sqrt((M * M).sum(axis=1))
    return np.asarray(M / np.where(lengths > 0, lengths, 1)[:, None])


def _by_rows(A: Numbers, value: Callable[[Numbers], Numbers]) -> Numbers:
    return np.array([value(a) for a in A])
