"""Neighbour graphs: from rows, from any neighbour library, or as affinities."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.neighbors import NearestNeighbors

from maxmargin.data.arrays import Array, Matrix

#: Share of the sums of two rows below which their affinity is lost in them, among 10⁴ rows too.
_LOST = 1e-20

#: Difference of a graph from its transpose, beside its largest value, that is not rounding.
_SKEW = 1e-10

#: Distances that are rounding, as a share of the median of those to the farthest stored neighbours:
#: a row's distance from itself is no more where it comes from products of rows.
_NO_DISTANCE = 1e-6

#: Values whose squares, and a share of these, are numbers of double precision.
_LEAST, _LARGEST = 1e-140, 1e140


def neighbours(X: Matrix, count: int, n_jobs: int | None) -> NearestNeighbors:
    """Return the search for neighbours among the rows."""
    refuse_extreme(X, least=_LEAST)
    return NearestNeighbors(n_neighbors=count, n_jobs=n_jobs).fit(X)


def refuse_extreme(X: Matrix, least: float = 0.0) -> None:
    """Refuse rows with squares beyond double precision: they have no distances."""
    largest = max(float(X.max()), -float(X.min()))
    if largest > _LARGEST or 0.0 < largest < least:
        raise ValueError(
            f"The values of X are of size {largest:.0e}: their squares, and so distances, are"
            " beyond double precision. Scale X."
        )


def as_affinities(W: Any) -> Any:
    """Return a square matrix of affinities, symmetric and finite, float64, dense or CSR."""
    if W.shape[0] != W.shape[1]:
        raise ValueError(f"Affinities of the training rows must be square, got shape {W.shape}.")
    W = refuse_negative(W).astype(np.float64)
    transposed = W.T.tocsr() if sparse.issparse(W) else W.T
    skew, largest = float(abs(W - transposed).max()), float(abs(W).max())
    if skew > _SKEW * largest:
        warnings.warn(
            f"The affinities are not symmetric: some differ by {skew:.2g} from those of the other"
            " direction. Their means are used.",
            UserWarning,
            stacklevel=4,
        )
    return 0.5 * (W + transposed)


def refuse_negative_distances(graph: Any) -> Any:
    """Return distances that are all at least 0."""
    if graph.nnz and graph.data.min() < 0.0:
        raise ValueError(
            f"Distances must not be negative, got {graph.data.min():.3g}. Affinities go with"
            " affinity='precomputed'."
        )
    return graph


def refuse_negative(W: Any) -> Any:
    """Return affinities that are all at least 0."""
    least = float(W.min())
    if least < 0.0:
        raise ValueError(
            f"Affinities must not be negative, got {least:.3g}. Use a kernel with values of at"
            " least 0 (Gaussian, Laplacian, histogram intersection), or clip them (numpy.clip)."
        )
    return W


def pieces_of(W: Any, n_components: int) -> NDArray[np.int32]:
    """Return the number of the connected piece of each row, and say what several pieces do."""
    pieces, label = connected_components(_links(W), directed=False)
    if pieces > 1:
        warnings.warn(
            f"The graph of the samples has {pieces} pieces that are not connected: the first"
            f" {min(pieces - 1, n_components)} coordinates tell pieces apart, and distances between"
            " pieces mean nothing. Raise n_neighbors, or use a wider kernel.",
            UserWarning,
            stacklevel=3,
        )
    return np.asarray(label)


def _links(W: Any) -> Any:
    """Return what connects rows; of a dense matrix, what is more than rounding of the sums."""
    if sparse.issparse(W):
        return W
    root = np.sqrt(W.sum(axis=1))
    return sparse.csr_matrix(_LOST * root * root[:, np.newaxis] < W)


def warn_of_isolated(count: int, stacklevel: int) -> None:
    """Say what becomes of rows without neighbours; `stacklevel` is that of the caller."""
    warnings.warn(
        f"{count} rows have no neighbour among the training rows; their coordinates are 0, the"
        " centre of the embedding.",
        UserWarning,
        stacklevel=stacklevel + 1,
    )


def nearest_stored(graph: Any, count: int) -> Any:
    """Return the pattern of the nearest stored distances of each row, as CSR ones.

    This is scikit-learn's protocol of `KNeighborsTransformer`: what is not stored is no neighbour,
    and a distance of 0 is stored.
    """
    graph = graph.tocsr()
    order = np.lexsort((graph.data, np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))))
    place = np.arange(graph.nnz) - np.repeat(graph.indptr[:-1], np.diff(graph.indptr))
    kept = order[place < count]
    rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))[place < count]
    pattern = (np.ones(len(kept)), (rows, graph.indices[kept]))
    return sparse.csr_matrix(pattern, shape=graph.shape)


def refuse_few(graph: Any, count: int) -> None:
    """Refuse a training graph with fewer neighbours stored than asked for."""
    stored = np.diff(graph.indptr)
    if len(stored) and stored.min() < count:
        row = int(stored.argmin())
        raise ValueError(
            f"n_neighbors={count} (each row counts itself), but row {row} of the graph has"
            f" {stored[row]} stored distances. Store more, or lower n_neighbors."
        )


def no_distance(graph: Any) -> float:
    """Return up to what a distance of the training graph is that of equal rows."""
    farthest = np.maximum.reduceat(graph.data, graph.indptr[:-1])
    return _NO_DISTANCE * float(np.median(farthest))


def equals_in(graph: Any, most: float) -> NDArray[np.intp]:
    """Return for each row of a distance graph a training row at no distance; −1: there is none."""
    graph = graph.tocsr()
    at = np.flatnonzero(graph.data <= most)
    rows = np.searchsorted(graph.indptr, at, side="right") - 1
    found = np.full(graph.shape[0], -1, dtype=np.intp)
    found[rows[::-1]] = graph.indices[at[::-1]]
    return found


def sets_of_equals(graph: Any, most: float) -> NDArray[np.intp]:
    """Return the number of the set of equal rows that each row of a square distance graph is in."""
    rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    at = graph.data <= most
    equal = sparse.csr_matrix((np.ones(at.sum()), (rows[at], graph.indices[at])), graph.shape)
    return np.asarray(connected_components(equal, directed=False)[1], dtype=np.intp)


def barycentric_weights(near: Array, rows: Array, count: int, reg: float) -> Array:
    """Return the weights with which neighbours best make up each row; they sum to 1.

    `near` has the `count` neighbours of each row, one row after the other. These are the weights of
    Saul and Roweis (2003): G w = 1 with the Gram matrix G of the differences, and reg × trace G on
    its diagonal.
    """
    apart = near.reshape(len(rows), count, -1) - rows[:, np.newaxis]
    gram = apart @ apart.transpose(0, 2, 1)
    trace = np.trace(gram, axis1=1, axis2=2)
    places = np.arange(count)
    gram[:, places, places] += np.where(trace > 0.0, reg * trace, reg)[:, np.newaxis]
    try:
        weights = np.linalg.solve(gram, np.ones((len(rows), count, 1)))[..., 0]
    except np.linalg.LinAlgError:
        raise ValueError(
            f"reg={reg:g} leaves the neighbours of a row without weights: the Gram matrix of their"
            " differences is singular. Raise reg."
        ) from None
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
