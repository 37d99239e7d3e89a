"""Laplacian eigenmaps and locally linear embedding, with images for new rows."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from maxmargin.data.arrays import Array, Matrix
from maxmargin.data.checks import check_count, check_positive
from maxmargin.embeddings._base import in_blocks, signs_of
from maxmargin.embeddings._graph import (
    as_affinities,
    barycentric_weights,
    equals_in,
    nearest_stored,
    neighbours,
    no_distance,
    pieces_of,
    refuse_extreme,
    refuse_few,
    refuse_negative,
    refuse_negative_distances,
    sets_of_equals,
    warn_of_isolated,
)
from maxmargin.embeddings._known import KnownRows, Manifold
from maxmargin.embeddings._spectra import normalized_eigenvectors, smallest_of_reconstruction
from maxmargin.kernels import Gaussian, Kernel, as_kernel
from maxmargin.kernels.pairwise import plain

#: Eigenvalues of a matrix of norm 1 that are rounding: nothing may be divided by them.
_ROUNDING = 1e-12

_GRAPHS = ("nearest_neighbors", "precomputed_nearest_neighbors")
_AFFINITIES = ("rbf", "precomputed", *_GRAPHS)


class LaplacianEigenmaps(Manifold):
    """Laplacian eigenmaps (Belkin and Niyogi, 2003) of training rows, and of new ones.

    With affinities W, their sums d_i = Σ_j W_ij and the eigenvectors v_k of D^(−½) W D^(−½), the
    coordinates are v_ki / √d_i, as `sklearn.manifold.SpectralEmbedding` has them, which has no
    `transform`. A new row has those of Bengio et al. (2003),

        e_k(x) = (1/λ_k) Σ_i W(x, x_i) e_k(x_i) / Σ_i W(x, x_i),

    which at the training rows, whose affinity to themselves does not count, are the coordinates
    themselves; where λ_k is 0, the formula says nothing and e_k(x) is 0. Equal training rows have
    the mean of their coordinates. A row without neighbours has coordinates of 0. Signs are fixed:
    the largest coordinate of the training rows is positive.

    Parameters
    ----------
    n_components : int, default=2
        Coordinates.
    affinity : str, Kernel or callable, default="nearest_neighbors"
        "nearest_neighbors": W is the mean of the 0/1 graph of neighbours and its transpose. "rbf":
        exp(−γ‖x − z‖²). A Kernel or a function with values of at least 0. "precomputed": X is W,
        and for new rows their affinities to the training rows. "precomputed_nearest_neighbors": X
        is a sparse graph of distances, as `sklearn.neighbors.KNeighborsTransformer` and wrappers
        of other libraries make it.
    gamma : float or None, default=None
        Of "rbf"; None: 1/n_features.
    n_neighbors : int or None, default=None
        Each row counts itself; None: n_samples/10, at least 2.
    n_jobs : int or None, default=None
        Threads of the search for neighbours, and of kernel values with new rows.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The coordinates of the training rows.
    eigenvalues_ : ndarray
        The λ_k, largest first; those of the Laplacian are 1 − λ_k.
    n_neighbors_ : int
        Neighbours of each row, where the affinity is made of neighbours.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from maxmargin.embeddings import LaplacianEigenmaps
    >>> X, y = make_moons(600, noise=0.05, random_state=0)
    >>> embedding = LaplacianEigenmaps(n_neighbors=20).fit(X[:300])
    >>> embedding.transform(X[300:]).shape
    (300, 2)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        affinity: Any = "nearest_neighbors",
        gamma: float | None = None,
        n_neighbors: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.affinity = affinity
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = str(self.affinity).startswith("precomputed")
        return tags

    def fit(self, X: Any, y: Any = None) -> LaplacianEigenmaps:
        """Embed the rows of X."""
        del y
        k = check_count("n_components", self.n_components, advice="2 is enough for a picture.")
        X = self._rows(X, reset=True)
        n = X.shape[0]
        if n < 3:
            raise ValueError(f"n_samples = {n}: a graph to embed needs 3 samples at least.")
        W = _without_diagonal(self._training_affinities(X))
        linked = np.flatnonzero(W.sum(axis=1))
        self._isolated = ~np.isin(np.arange(n), linked)
        if len(linked) == 0:
            raise ValueError(
                "No row has an affinity to another. Raise n_neighbors, or use a wider kernel."
            )
        if len(linked) < n:
            warn_of_isolated(n - len(linked), stacklevel=2)
            W = W[linked][:, linked]
        coordinates = np.zeros((n, min(k, len(linked) - 1)))
        coordinates[linked] = self._eigenvectors(W, pieces_of(W, k), coordinates.shape[1])
        if self.affinity == "precomputed_nearest_neighbors":
            self._no_distance = no_distance(X)
            self._keep(coordinates, sets_of_equals(X, self._no_distance))
        else:
            self._known = KnownRows(X)
            self._keep(coordinates, self._known.first)
        self._sparse = sparse.issparse(X)
        return self

    def _training_affinities(self, X: Matrix) -> Any:
        """Return W of the training rows, and keep what makes that of new ones."""
        n = X.shape[0]
        if self.affinity == "precomputed":
            return as_affinities(X)
        if self.affinity in _GRAPHS:
            count = max(n // 10, 2) if self.n_neighbors is None else self.n_neighbors
            self.n_neighbors_ = check_count("n_neighbors", count, advice="10 is usual.")
            if self.n_neighbors_ > n:
                raise ValueError(
                    f"n_neighbors={count} (each row counts itself), but n_samples = {n}. Lower it."
                )
            graph = self._training_graph(X)
            return sparse.csr_matrix(0.5 * (graph + graph.T))
        self.kernel_, self._training_rows = self._affinity_kernel(X), X.copy()
        return as_affinities(self.kernel_(X, X))

    def _training_graph(self, X: Matrix) -> Any:
        """Return the 0/1 graph of the neighbours of each row."""
        if self.affinity == "nearest_neighbors":
            self._search = neighbours(X.copy(), self.n_neighbors_, self.n_jobs)
            return self._search.kneighbors_graph(X)
        graph = _distances(X)
        if graph.shape[0] != graph.shape[1]:
            raise ValueError(f"The graph of the training rows must be square, got {graph.shape}.")
        refuse_few(graph, self.n_neighbors_)
        return nearest_stored(graph, self.n_neighbors_)

    def _affinity_kernel(self, X: Matrix) -> Kernel:
        if callable(self.affinity):
            return as_kernel(self.affinity).fitted(X)
        if self.affinity != "rbf":
            raise ValueError(
                f"affinity must be one of {', '.join(map(repr, _AFFINITIES))}, a Kernel or a"
                f" function of two blocks of samples, got {self.affinity!r}."
            )
        gamma = 1.0 / X.shape[1] if self.gamma is None else self.gamma
        return Gaussian(check_positive("gamma", gamma, advice="None: 1/n_features.")).fitted(X)

    def _eigenvectors(self, W: Any, pieces: NDArray[np.int32], k: int) -> Array:
        """Return coordinates from the eigenvectors that follow the constant one."""
        values, vectors = normalized_eigenvectors(W, pieces, k + 1)
        coordinates = vectors / np.sqrt(np.asarray(W.sum(axis=1)).reshape(-1, 1))
        self.eigenvalues_ = values[1:]
        return np.asarray((coordinates * signs_of(coordinates))[:, 1:])

    def _find(self, X: Matrix) -> NDArray[np.intp]:
        if self.affinity == "precomputed_nearest_neighbors":
            return equals_in(_distances(X), self._no_distance)
        known = super()._find(X)
        return np.where(self._isolated[known], -1, known)

    def _extended(self, X: Matrix) -> Array:
        known = np.abs(self.eigenvalues_) > _ROUNDING
        divisor = np.where(known, self.eigenvalues_, np.inf)
        weighted = np.hstack([self.embedding_ / divisor, np.ones((len(self.embedding_), 1))])

        def block(rows: slice) -> Array:
            return np.asarray(self._affinities(X[rows]) @ weighted)

        if (
            self.affinity in _GRAPHS
        ):  # few neighbours of each row, and the search has its own blocks
            sums = block(slice(None))
        else:
            sums = in_blocks(block, np.empty((X.shape[0], weighted.shape[1])), len(weighted), 1)
        degree = sums[:, -1:]
        isolated = degree[:, 0] == 0.0
        if isolated.any():
            warn_of_isolated(int(isolated.sum()), stacklevel=3)
        return np.asarray(sums[:, :-1] / np.where(degree == 0.0, 1.0, degree))

    def _affinities(self, X: Matrix) -> Any:
        """Return W of new rows and the training rows."""
        if self.affinity == "precomputed":
            return refuse_negative(X)
        others = max(1, getattr(self, "n_neighbors_", 1) - 1)  # besides the row itself
        if self.affinity == "nearest_neighbors":
            refuse_extreme(X)
            return self._search.kneighbors_graph(X, n_neighbors=others)
        if self.affinity == "precomputed_nearest_neighbors":
            return nearest_stored(_distances(X), others)
        return refuse_negative(self.kernel_(X, self._training_rows))


class LocallyLinearEmbedding(Manifold):
    """Locally linear embedding (Roweis and Saul, 2000) of training rows, and of new ones.

    Each row is made up of its neighbours with barycentric weights, which sum to 1; the coordinates
    are those that the same weights make up best. A new row has the coordinates that its weights
    make of those of its neighbours (Saul and Roweis, 2003); a training row has its own, equal ones
    the mean of theirs.

    Parameters
    ----------
    n_components : int, default=2
        Coordinates.
    n_neighbors : int, default=5
        Neighbours, besides the row itself; fewer than there are samples.
    reg : float, default=1e-3
        Share of the trace that is added to the diagonal of each local Gram matrix.
    n_jobs : int or None, default=None
        Threads.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The coordinates of the training rows.
    reconstruction_error_ : float
        Σ_i ‖z_i − Σ_j w_ij z_j‖² over the coordinates z.

    Examples
    --------
    >>> from sklearn.datasets import make_swiss_roll
    >>> from maxmargin.embeddings import LocallyLinearEmbedding
    >>> X, _ = make_swiss_roll(500, random_state=0)
    >>> LocallyLinearEmbedding(n_neighbors=10).fit(X[:300]).transform(X[300:]).shape
    (200, 2)
    """

    _search: NearestNeighbors
    _training_rows: Matrix

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int = 5,
        reg: float = 1e-3,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.reg = reg
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> LocallyLinearEmbedding:
        """Embed the rows of X."""
        del y
        k = check_count("n_components", self.n_components, advice="2 is enough for a picture.")
        count = check_count("n_neighbors", self.n_neighbors, advice="5 to 20 are usual.")
        if not isinstance(self.reg, numbers.Real) or not 0.0 < float(self.reg) < np.inf:
            raise ValueError(f"reg must be a positive finite number, got {self.reg!r}.")
        X = self._rows(X, reset=True)
        n = X.shape[0]
        if count >= n or k >= n:
            raise ValueError(
                f"n_samples = {n}, but n_neighbors={count} and n_components={k} ask for more: both"
                " must be less than the number of samples."
            )
        X = X.copy()  # which the caller may change
        self._search, self._known = neighbours(X, count, self.n_jobs), KnownRows(X)
        self._training_rows = X
        index = self._search.kneighbors(return_distance=False)
        weights = self._weights(X, index)
        graph = _weight_graph(weights, index, n)
        apart = (sparse.identity(n, format="csr") - graph).tocsr()
        values, vectors = smallest_of_reconstruction(
            (apart.T @ apart).tocsr(), pieces_of(graph, k), k + 1
        )
        self._keep((vectors * signs_of(vectors))[:, 1:], self._known.first)
        self._sparse = sparse.issparse(X)
        self.reconstruction_error_ = float(values[1:].sum())
        return self

    def _extended(self, X: Matrix) -> Array:
        refuse_extreme(X)
        index = self._search.kneighbors(X, return_distance=False)
        weights = self._weights(X, index)
        return np.asarray((weights[:, np.newaxis] @ self.embedding_[index])[:, 0])

    def _weights(self, X: Matrix, index: NDArray[np.intp]) -> Array:
        """Return the barycentric weights of each row on its neighbours."""
        training, reg = self._training_rows, float(self.reg)

        def block(rows: slice) -> Array:
            return barycentric_weights(
                np.asarray(plain(training[index[rows].ravel()]), dtype=np.float64),
                np.asarray(plain(X[rows]), dtype=np.float64),
                index[rows].shape[1],
                reg,
            )

        width = index.shape[1] * (X.shape[1] + index.shape[1])
        return in_blocks(block, np.empty(index.shape), width, self.n_jobs)


def _distances(X: Matrix) -> Any:
    """Return a graph of distances, or say that X is none."""
    if not sparse.issparse(X):
        raise ValueError(
            "affinity='precomputed_nearest_neighbors' needs a sparse matrix of distances, as"
            " sklearn.neighbors.KNeighborsTransformer(mode='distance') makes it."
        )
    return refuse_negative_distances(X)


def _without_diagonal(W: Any) -> Any:
    """Return W with zeros on the diagonal."""
    if sparse.issparse(W):
        W = W.tocsr(copy=True)
        W.setdiag(0.0)
        W.eliminate_zeros()
        return W
    W = np.array(W)
    np.fill_diagonal(W, 0.0)
    return W


def _weight_graph(weights: Array, index: NDArray[np.intp], n: int) -> Any:
    offsets = np.arange(0, index.size + 1, index.shape[1])
    return sparse.csr_matrix((weights.ravel(), index.ravel(), offsets), shape=(len(index), n))
