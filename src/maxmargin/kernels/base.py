"""What a kernel is, and kernels made of kernels."""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

import maxmargin._core as _core
from maxmargin.data.arrays import Array, Matrix
from maxmargin.data.checks import as_floats, check_positive


class Kernel(ABC):
    """A kernel with its parameters.

    `mercer` tells whether it is positive semidefinite whatever the samples; None: unknown.
    """

    mercer: bool | None = True

    @property
    def unit(self) -> float:
        """By what the samples are multiplied for `formula`."""
        return 1.0

    @abstractmethod
    def __call__(self, A: Matrix, B: Matrix) -> Array:
        """k(a, b) for every row a of A and b of B, in float64."""

    def eps(self, X: Matrix) -> float:
        """Return the relative rounding of the type in which its values on such samples come."""
        del X
        return float(np.finfo(np.float64).eps)

    def rounding(self, X: Matrix) -> float:
        """Return the rounding of its values k(x, z), beside √(k(x, x) k(z, z)) 2⁻⁵³.

        It grows with the square root of the terms of an inner product or a distance.
        """
        return 1.0 + 0.25 * math.sqrt(terms_of_a_row(X))

    def diagonal(self, A: Matrix) -> Array:
        """k(a, a) for every row a of A."""
        blocks = [A[begin : begin + 16] for begin in range(0, A.shape[0], 16)]
        return np.concatenate([np.diag(self(block, block)) for block in blocks])

    def formula(self) -> _core.KernelFormula | None:
        """Return what the core computes the same by, of samples times `unit`; None if it cannot."""
        return None

    def errors_in_float32(self, rows: Array, samples: Array) -> tuple[Array, Array]:
        """Bound the rounding errors of `formula` in float32, from squared norms of its samples.

        That of k(x, z) is about u(x) + v(z) times the relative rounding of an inner product;
        returned are u and v. Infinity: float32 is not for these rows.
        """
        del rows, samples
        raise TypeError(f"{type(self).__name__} is not computed in float32.")

    def fitted(self, X: Matrix, weight: Array | None = None) -> Kernel:
        """Return the kernel with every parameter a number: rules such as "scale" depend on X.

        A weight counts like a repetition of the row.
        """
        del X, weight
        return self

    def __add__(self, other: object) -> Kernel:
        if not isinstance(other, Kernel):
            raise _not_a_kernel("added to", other)
        return Sum(self, other)

    def __radd__(self, other: object) -> Kernel:
        """Begin `sum`, which adds the first kernel to 0."""
        return self if isinstance(other, int) and other == 0 else self + other

    def __mul__(self, other: object) -> Kernel:
        if isinstance(other, Kernel):
            return Product(self, other)
        if not isinstance(other, numbers.Real):
            raise _not_a_kernel("multiplied by", other)
        return Scaled(float(other), self)

    __rmul__ = __mul__


@dataclass(frozen=True)
class _Pair(Kernel):
    """Two kernels, combined value by value; certain to be a kernel if both are."""

    first: Kernel
    second: Kernel

    @staticmethod
    @abstractmethod
    def _combined(first: Array, second: Array) -> Array:
        """Combine the values of both."""

    @property
    def mercer(self) -> bool | None:  # type: ignore[override]
        """Sums are by definition, products by Schur's theorem."""
        return True if self.first.mercer and self.second.mercer else None

    def __call__(self, A: Matrix, B: Matrix) -> Array:
        return self._combined(self.first(A, B), self.second(A, B))

    def eps(self, X: Matrix) -> float:
        return max(self.first.eps(X), self.second.eps(X))

    def rounding(self, X: Matrix) -> float:
        return self.first.rounding(X) + self.second.rounding(X)

    def diagonal(self, A: Matrix) -> Array:
        return self._combined(self.first.diagonal(A), self.second.diagonal(A))

    def fitted(self, X: Matrix, weight: Array | None = None) -> Kernel:
        return replace(
            self, first=self.first.fitted(X, weight), second=self.second.fitted(X, weight)
        )


class Sum(_Pair):
    """k₁ + k₂."""

    @staticmethod
    def _combined(first: Array, second: Array) -> Array:
        return first + second


class Product(_Pair):
    """k₁ k₂."""

    @staticmethod
    def _combined(first: Array, second: Array) -> Array:
        return first * second


@dataclass(frozen=True)
class Scaled(Kernel):
    """factor × k."""

    factor: float
    kernel: Kernel

    def __post_init__(self) -> None:
        as_floats(self, "factor")
        check_positive("factor", self.factor, advice="A negative multiple is not a kernel.")

    @property
    def mercer(self) -> bool | None:  # type: ignore[override]
        """As certain as of the kernel itself."""
        return self.kernel.mercer

    def __call__(self, A: Matrix, B: Matrix) -> Array:
        return self.factor * self.kernel(A, B)

    def eps(self, X: Matrix) -> float:
        return self.kernel.eps(X)

    def rounding(self, X: Matrix) -> float:
        return 1.0 + self.kernel.rounding(X)

    def diagonal(self, A: Matrix) -> Array:
        return self.factor * self.kernel.diagonal(A)

    def fitted(self, X: Matrix, weight: Array | None = None) -> Kernel:
        return Scaled(self.factor, self.kernel.fitted(X, weight))


def terms_of_a_row(X: Matrix) -> int:
    """Return the number of values stored of the longest row."""
    if sparse.issparse(X):
        return int(np.diff(X.tocsr().indptr).max(initial=0))
    return int(X.shape[1])


def _not_a_kernel(how: str, other: object) -> TypeError:
    return TypeError(
        f"A kernel cannot be {how} {other!r}. Sums and products are of kernels: wrap a function as"
        " maxmargin.kernels.User(function). A multiple is a positive number times a kernel."
    )
