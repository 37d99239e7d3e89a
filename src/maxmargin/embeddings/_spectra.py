"""The ends of the spectrum of a symmetric matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from maxmargin.data.arrays import Array

#: Rows up to which all of the spectrum takes negligible time, and share of it from which on
#: an iteration for some vectors does not pay.
_SMALL, _FEW = 600, 0.1


def largest_eigenvectors(A: Any, k: int) -> tuple[Array, Array]:
    """Return the k largest eigenvalues, largest first, and their vectors."""
    n = A.shape[0]
    if n <= _SMALL or k > _FEW * n:
        values, vectors = linalg.eigh(
            A.toarray() if sparse.issparse(A) else A, subset_by_index=[n - k, n - 1]
        )
        return values[::-1], vectors[:, ::-1]
    try:
        values, vectors = eigsh(A, k=k, which="LA", v0=_start(n), ncv=min(n, 4 * k + 40))
    except ArpackNoConvergence:
        return _nearest(A, k, sigma=1.0 + 1e-5)
    return _sorted(values, vectors)


def smallest_eigenvectors(M: Any, k: int) -> tuple[Array, Array]:
    """Return the k smallest eigenvalues of a sparse positive semidefinite matrix, smallest first.

    The systems to solve are shifted just below 0, where the matrix is definite.
    """
    n = M.shape[0]
    if n <= _SMALL or k > _FEW * n:
        return linalg.eigh(M.toarray(), subset_by_index=[0, k - 1])  # type: ignore[no-any-return]
    values, vectors = _nearest(M, k, sigma=-1e-10 * float(M.diagonal().max()))
    return values[::-1], vectors[:, ::-1]


def _nearest(A: Any, k: int, sigma: float) -> tuple[Array, Array]:
    """Return the eigenvalues next to a number that is beyond them all."""
    n = A.shape[0]
    shifted = sparse.csc_matrix(A - sigma * sparse.identity(n, format="csr"))
    factor = sparse.linalg.splu(shifted)
    inverse = LinearOperator((n, n), matvec=factor.solve, dtype=np.float64)
    return _sorted(*eigsh(A, k=k, sigma=sigma, OPinv=inverse, v0=_start(n)))


def _sorted(values: Array, vectors: Array) -> tuple[Array, Array]:
    order = np.argsort(values)[::-1]
    return values[order], vectors[:, order]


def _start(n: int) -> Array:
    """Return a vector that is orthogonal to none that matters, the same each time."""
    return np.random.default_rng(0).uniform(-1.0, 1.0, n)
