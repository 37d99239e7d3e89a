"""Inner products and distances of samples, dense or sparse, in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise

import maxmargin._core as _core
from maxmargin.data.arrays import Array, Matrix, view_rows

#: Values of sparse rows that may be laid out densely.
_DENSE = 2**22

#: Rows by which an origin is chosen.
_SAMPLED = 256


def dots(A: Matrix, B: Matrix) -> Array:
    """Return ⟨a, b⟩ of every pair, in float64."""
    if sparse.issparse(A) and sparse.issparse(B):
        if B.shape[0] * B.shape[1] > _DENSE:
            out = np.empty((A.shape[0], B.shape[0]))
            _core.sparse_products(_sparse_rows(A), _sparse_rows(B), out)
            return out
        B = B.toarray()  # rows of A times a dense matrix are faster where that is small
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused
        return np.asarray(plain(double(A) @ double(B).T))


def squares(A: Matrix) -> Array:
    """‖a‖² of every row, in float64."""
    if sparse.issparse(A):
        norms = np.empty(A.shape[0])
        _sparse_rows(A).squared_norms(0, len(norms), norms)
        return norms
    return np.asarray(np.einsum("ij,ij->i", A, A, dtype=np.float64))


def _sparse_rows(A: Matrix) -> _core.Rows:
    """Return the core's view of a sparse matrix of any kind."""
    A = A.tocsr()
    return view_rows(A if A.dtype in (np.float32, np.float64) else A.astype(np.float64))[1]


def squared_distances(A: Matrix, B: Matrix) -> Array:
    """Return ‖a − b‖² of every pair, at least 0."""
    origin = robust_origin(B)
    A, B = centred(A, origin), centred(B, origin)
    distances = squares(A)[:, None] + squares(B)[None, :] - 2.0 * dots(A, B)
    return np.maximum(distances, 0.0, out=distances)


def squared_differences(A: Matrix, B: Matrix) -> Array:
    """Return the same as sums of squared differences: slower, and no digits cancel."""
    if sparse.issparse(A) and sparse.issparse(B):
        out = np.empty((A.shape[0], B.shape[0]))
        _core.sparse_distances(_sparse_rows(A), _sparse_rows(B), out)
        return out
    return np.asarray(cdist(plain(double(A)), plain(double(B)), "sqeuclidean"))


def robust_origin(X: Matrix) -> Array:
    """Return a point amid the samples that outliers cannot move far: the median of each column.

    That of some rows is enough. Of CSR rows only columns count that most rows have a value in:
    to shift the others would fill them.
    """
    n, d = X.shape
    origin, some = np.zeros(d), X[:: max(1, -(-n // _SAMPLED))]
    if n == 0:
        return origin
    if not sparse.issparse(some):
        return np.asarray(np.partition(some, len(some) // 2, axis=0)[len(some) // 2], np.float64)
    some = some.tocsr()
    stored = np.bincount(some.indices[some.data != 0], minlength=d)
    columns = np.flatnonzero(2 * stored > some.shape[0])
    origin[columns] = np.median(some[:, columns].toarray(), axis=0)
    return origin


def centred(A: Matrix, origin: Array) -> Matrix:
    """Return A − origin in float64; CSR rows get values only in the columns where it is not 0."""
    if not sparse.issparse(A):
        return double(A) - origin
    columns = np.flatnonzero(origin)
    if len(columns) == 0:
        return A
    n, index = A.shape[0], A.indices.dtype
    values, places = np.tile(origin[columns], n), np.tile(columns.astype(index), n)
    offsets = np.arange(0, len(values) + 1, len(columns), dtype=index)
    shift = type(A)((values, places, offsets), shape=A.shape)
    return (double(A) - shift).tocsr()


def manhattan(A: Matrix, B: Matrix) -> Array:
    """Return ‖a − b‖₁ of every pair, in float64."""
    A, B = _short_indices(double(A)), _short_indices(double(B))
    return np.asarray(pairwise.manhattan_distances(A, B))


def _short_indices(A: Matrix) -> Matrix:
    """Return CSR rows with 32-bit indices if they fit: scikit-learn's distances take no others.

    They are in order before: it would sort them in place, and with them the values of A.
    """
    if not sparse.issparse(A) or max(A.nnz, A.shape[1]) > np.iinfo(np.int32).max:
        return A
    A, _ = view_rows(A.tocsr())
    indices, offsets = (part.astype(np.int32, copy=False) for part in (A.indices, A.indptr))
    return type(A)((A.data, indices, offsets), shape=A.shape)


def largest(A: Matrix) -> Array:
    """Return max_j |a_j| of every row, in float64."""
    if not sparse.issparse(A):
        return np.asarray(np.abs(A).max(axis=1, initial=0.0), dtype=np.float64)
    A, most = A.tocsr(), np.zeros(A.shape[0])
    filled = np.flatnonzero(np.diff(A.indptr))
    most[filled] = np.maximum.reduceat(np.abs(A.data), A.indptr[filled])
    return most


def normalized(A: Matrix) -> Matrix:
    """Return the rows divided by their norms, in float64; zero rows as they are.

    They are divided by their largest values first, so that no square leaves the range of numbers.
    """
    for size in (largest, lambda rows: np.sqrt(squares(rows))):
        by = size(A)
        by[by == 0.0] = 1.0
        A = scaled(A, by)
    return A


def scaled(A: Matrix, by: Array) -> Matrix:
    """Return every row divided by its number."""
    if not sparse.issparse(A):
        return double(A) / by[:, np.newaxis]
    A = A.tocsr()
    values = double(A.data) / np.repeat(by, np.diff(A.indptr))
    return type(A)((values, A.indices, A.indptr), shape=A.shape)


def totals(A: Matrix) -> Array:
    """Return Σ a_j of every row, in float64."""
    return np.asarray(double(A).sum(axis=1)).ravel()


def double(A: Matrix) -> Matrix:
    """Return the samples in float64, copied only if they are not."""
    return A.astype(np.float64, copy=False)


def plain(values: Any) -> Any:
    """Return a dense array of what may be sparse."""
    return values.toarray() if sparse.issparse(values) else values


def dense(A: Matrix) -> Array:
    """Return a dense copy, which scikit-learn may write to even where A is read-only."""
    return np.array(plain(A), dtype=np.float64)


def blocks(A: Matrix) -> list[slice]:
    """Cut the rows into as many at a time as may be laid out densely."""
    step = max(1, _DENSE // max(1, A.shape[1]))
    return [slice(begin, begin + step) for begin in range(0, A.shape[0], step)]
