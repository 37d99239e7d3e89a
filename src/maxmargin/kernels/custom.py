"""Kernels of the caller: a matrix of values, or a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.data.arrays import Array, Matrix
from maxmargin.kernels.base import Kernel
from maxmargin.kernels.pairwise import plain


@dataclass(frozen=True, eq=False)
class Precomputed(Kernel):
    """A matrix of values; a sample is its position, as a block of one column."""

    matrix: Matrix
    mercer: bool | None = None
    rounded: float = 1.0  # by how much; 1 for values that are themselves the problem

    def __call__(self, A: Matrix, B: Matrix) -> Array:
        rows, columns = A[:, 0].astype(np.intp), B[:, 0].astype(np.intp)
        return np.asarray(self.matrix[rows[:, np.newaxis], columns], dtype=np.float64)

    def eps(self, X: Matrix) -> float:
        del X
        return _eps(self.matrix)

    def rounding(self, X: Matrix) -> float:
        del X
        return self.rounded

    def diagonal(self, A: Matrix) -> Array:
        rows = A[:, 0].astype(np.intp)
        return np.asarray(self.matrix[rows, rows], dtype=np.float64)


@dataclass(frozen=True)
class User(Kernel):
    """Any function of two blocks of samples that returns the matrix of values."""

    function: Callable[[Any, Any], Any]
    mercer = None

    def __call__(self, A: Matrix, B: Matrix) -> Array:
        values = np.asarray(plain(self.function(writable(A), writable(B))), dtype=np.float64)
        if values.shape != (A.shape[0], B.shape[0]):
            raise ValueError(
                f"The kernel returned an array of shape {values.shape} for blocks of {A.shape[0]}"
                f" and {B.shape[0]} samples; it must be ({A.shape[0]}, {B.shape[0]})."
            )
        if not np.isfinite(values).all():
            raise ValueError("The kernel returned NaN or infinity.")
        return values

    def rounding(self, X: Matrix) -> float:
        """Return 1: what the function returns is the problem."""
        del X
        return 1.0

    def eps(self, X: Matrix) -> float:
        return _eps(self.function(writable(X[:1]), writable(X[:1])))


def writable(A: Matrix) -> Matrix:
    """Return the block, a copy if it is read-only: many compiled functions take no such buffer."""
    parts = (A.data, A.indices, A.indptr) if sparse.issparse(A) else (A,)
    return A if all(part.flags.writeable for part in parts) else A.copy()


def as_kernel(given: object) -> Kernel:
    """Return the kernel that an object or a function means."""
    if isinstance(given, Kernel):
        return given
    if isinstance(given, type) and issubclass(given, Kernel):
        raise ValueError(f"kernel must be an instance: write kernel={given.__name__}().")
    if not callable(given):
        raise ValueError(
            "kernel must be a Kernel of maxmargin.kernels, Gaussian() for example, or a function"
            f" of two blocks of samples, got {given!r}."
        )
    return User(given)


def _eps(values: Any) -> float:
    """Return the rounding of the type that the values have; whole numbers become float64."""
    dtype = np.asarray(plain(values)).dtype
    return float(np.finfo(dtype if dtype.kind == "f" else np.float64).eps)
