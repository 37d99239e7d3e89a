"""The ends of the spectrum of a symmetric matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from maxmargin.data.arrays import Array
from maxmargin.runtime.blas_threads import blas_threads_for, one_blas_thread

#: Rows up to which all of the spectrum takes negligible time, and share of it from which on
#: an iteration for some vectors does not pay.
_SMALL, _FEW = 600, 0.1

#: Vectors sought besides those asked for: an iteration for few eigenvalues that nearly agree takes
#: long, and may stop before it found all of them.
_MORE = 8


def largest_eigenvectors(A: Any, k: int) -> tuple[Array, Array]:
    """Return the k largest eigenvalues, largest first, and their vectors.

    Those of a sparse matrix are at most 1.
    """
    n = A.shape[0]
    if n <= _SMALL or k > _FEW * n:
        return _of_the_whole(A.toarray() if sparse.issparse(A) else A, k)
    sought = k + _MORE
    basis = min(n, 4 * sought + 40)
    try:
        with one_blas_thread() if sparse.issparse(A) else blas_threads_for(n * n * basis):
            found = eigsh(A, k=sought, which="LA", v0=_start(n), ncv=basis)
    except ArpackNoConvergence:
        if not sparse.issparse(A):
            return _of_the_whole(A, k)
        found = _nearest(A, k, sigma=1.0 + 1e-5)
    values, vectors = _sorted(*found)
    return values[:k], vectors[:, :k]


def _of_the_whole(A: Array, k: int) -> tuple[Array, Array]:
    n = len(A)
    with blas_threads_for(n**3):
        values, vectors = linalg.eigh(A, subset_by_index=[n - k, n - 1])
    return values[::-1], vectors[:, ::-1]


def normalized_eigenvectors(W: Any, pieces: NDArray[np.int32], k: int) -> tuple[Array, Array]:
    """Return the k largest eigenvalues of D^(−½) W D^(−½), largest first, and their vectors.

    `pieces` has the number of the connected piece of each row of the affinities W. Each piece has
    the eigenvalue 1 and its vector √d there. A row with no affinity counts with d = 1.
    """
    degree = np.asarray(W.sum(axis=1)).ravel()
    root = np.sqrt(np.where(degree == 0.0, 1.0, degree))

    def scaled(rows: NDArray[np.intp]) -> Any:
        return _scaled(_square(W, rows), root[rows])

    constants = _constants(root, pieces, k)
    more = k - constants.shape[1]
    values, vectors = _by_pieces(scaled, root, pieces, more, largest=True)
    return np.append(np.ones(k - len(values)), values), np.hstack([constants, vectors])


def smallest_of_reconstruction(M: Any, pieces: NDArray[np.int32], k: int) -> tuple[Array, Array]:
    """Return the k smallest eigenvalues of (I − W)ᵀ(I − W), smallest first, and their vectors.

    The rows of W sum to 1, so that each piece has the eigenvalue 0 and a constant vector there.
    """
    ones = np.ones(M.shape[0])
    constants = _constants(ones, pieces, k)
    more = k - constants.shape[1]

    def square(rows: NDArray[np.intp]) -> Any:
        return _square(M, rows)

    values, vectors = _by_pieces(square, ones, pieces, more, largest=False)
    return np.append(np.zeros(k - len(values)), values), np.hstack([constants, vectors])


def _by_pieces(
    matrix: Callable[[NDArray[np.intp]], Any],
    root: Array,
    pieces: NDArray[np.int32],
    more: int,
    *,
    largest: bool,
) -> tuple[Array, Array]:
    """Return so many eigenvalues, and their vectors, besides the multiples of `root`.

    An iteration finds but some copies of an eigenvalue that is repeated, and slowly, so that the
    matrix of each piece is solved by itself. The multiple of `root` may be any of the vectors
    found, or mixed with others where eigenvalues nearly agree.
    """
    solve, sign = (largest_eigenvectors, -1.0) if largest else (smallest_eigenvectors, 1.0)
    found: list[tuple[float, NDArray[np.intp], Array]] = []
    for piece in np.flatnonzero(np.bincount(pieces) > 1) if more > 0 else ():
        rows = np.flatnonzero(pieces == piece)
        A = matrix(rows)
        _, span = solve(A, min(more + 1, len(rows)))
        known = root[rows] / np.linalg.norm(root[rows])
        with blas_threads_for(span.size * (len(rows) + span.shape[1])):
            basis = linalg.svd(span - np.outer(known, known @ span), full_matrices=False)[0][:, :-1]
            own, turn = linalg.eigh(basis.T @ (A @ basis))
            found += [(own[i], rows, basis @ turn[:, i]) for i in range(len(own))]
    found = sorted(found, key=lambda one: sign * one[0])[: max(more, 0)]
    vectors = np.zeros((len(root), len(found)))
    for place, (_, rows, vector) in enumerate(found):
        vectors[rows, place] = vector
    return np.array([value for value, _, _ in found]), vectors


def _square(W: Any, rows: NDArray[np.intp]) -> Any:
    return W if len(rows) == W.shape[0] else W[rows][:, rows]


def _scaled(W: Any, root: Array) -> Any:
    if sparse.issparse(W):
        scale = sparse.diags(1.0 / root)
        return (scale @ W @ scale).tocsr()
    return W / root / root[:, np.newaxis]


def _constants(root: Array, pieces: NDArray[np.int32], most: int) -> Array:
    """Return orthonormal vectors that are a multiple of `root` on each piece: `root` itself first.

    The others set one piece after the other, the largest first, apart from those that are left.
    """
    mass = np.bincount(pieces, root**2)
    chosen = np.argsort(-np.bincount(pieces), kind="stable")[: min(most, len(mass)) - 1]
    columns, left = [root / np.sqrt(mass.sum())], np.ones(len(mass), dtype=bool)
    for piece in chosen:
        left[piece] = False
        rest = float(mass.sum(where=left))
        one, other, both = np.sqrt([mass[piece], rest, mass[piece] + rest])
        level = np.where(left, -one / other / both, 0.0)
        level[piece] = other / one / both
        columns.append(root * level[pieces])
    return np.stack(columns, axis=1)


def smallest_eigenvectors(M: Any, k: int) -> tuple[Array, Array]:
    """Return the k smallest eigenvalues of a sparse positive semidefinite matrix, smallest first.

    The systems to solve are shifted just below 0, where the matrix is definite.
    """
    n = M.shape[0]
    if n <= _SMALL or k > _FEW * n:
        with blas_threads_for(n**3):
            return linalg.eigh(M.toarray(), subset_by_index=[0, k - 1])  # type: ignore[no-any-return]
    values, vectors = _nearest(M, k, sigma=-1e-10 * float(M.diagonal().max()))
    return values[::-1], vectors[:, ::-1]


def _nearest(A: Any, k: int, sigma: float) -> tuple[Array, Array]:
    """Return the eigenvalues next to a number that is beyond them all."""
    n = A.shape[0]
    shifted = sparse.csc_matrix(A - sigma * sparse.identity(n, format="csr"))
    with one_blas_thread():
        factor = sparse.linalg.splu(shifted)
        inverse = LinearOperator((n, n), matvec=factor.solve, dtype=np.float64)
        return _sorted(*eigsh(A, k=k, sigma=sigma, OPinv=inverse, v0=_start(n)))


def _sorted(values: Array, vectors: Array) -> tuple[Array, Array]:
    order = np.argsort(values)[::-1]
    return values[order], vectors[:, order]


def _start(n: int) -> Array:
    """Return a vector that is orthogonal to none that matters, the same each time."""
    return np.random.default_rng(0).uniform(-1.0, 1.0, n)
