"""Training rows keep their own coordinates: which row is a training row, and where it lies."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.extmath import row_norms

from maxmargin.data.arrays import Array, Matrix
from maxmargin.embeddings._base import Embedding
from maxmargin.runtime.blas_threads import blas_threads_for

#: Directions along which rows are compared, and the distance of rows that are the same one, in
#: units of the rounding of the narrower type where types differ.
_DIRECTIONS, _ROUNDING = 4, 4.0


class KnownRows:
    """Finds rows that are among those of X, up to the rounding of their types.

    Rows are compared by their products with a few random directions, on which two rows do not agree
    by chance: of X nothing else is kept, and dense and sparse rows are alike.
    """

    def __init__(self, X: Matrix) -> None:
        directions = np.random.default_rng(0).normal(size=(X.shape[1], _DIRECTIONS))
        self._directions = directions / np.linalg.norm(directions, axis=0)
        self._dtype = X.dtype
        products, reach = self._products(X)
        order = np.argsort(products[:, 0], kind="stable")
        apart = np.append(np.inf, np.abs(np.diff(products[order], axis=0)).max(axis=1))
        begins = np.flatnonzero(apart > reach[order])
        sizes = np.diff(np.append(begins, len(order)))
        #: The first row that equals each row of X.
        self.first = np.empty(len(order), dtype=np.intp)
        self.first[order] = np.repeat(np.minimum.reduceat(order, begins), sizes)
        distinct = order[apart > 0.0]
        self._known, self._places = products[distinct], self.first[distinct]

    def _products(self, X: Matrix) -> tuple[Array, Array]:
        """Return those of each row, and by how much rounding may change them."""
        coarser = np.float64 if X.dtype == self._dtype else np.float32
        X = X.astype(np.float64, copy=False)
        with blas_threads_for(X.shape[0] * self._directions.size), np.errstate(over="ignore"):
            products = np.asarray(X @ self._directions)
            eps = _ROUNDING * np.finfo(coarser).eps + X.shape[1] * np.finfo(np.float64).eps
            reach = eps * row_norms(X)
        return products, np.where(np.isfinite(reach), reach, 0.0)

    def find(self, X: Matrix) -> NDArray[np.intp]:
        """Return the place of each row, the first of equal ones, and −1 where there is none."""
        products, nearest = self._products(X)
        begin = np.searchsorted(self._known[:, 0], products[:, 0] - nearest)
        end = np.searchsorted(self._known[:, 0], products[:, 0] + nearest, side="right")
        found = np.full(X.shape[0], -1, dtype=np.intp)
        for step in range(int((end - begin).max(initial=0))):
            rows = np.flatnonzero(begin + step < end)
            at = begin[rows] + step
            apart = np.abs(products[rows] - self._known[at]).max(axis=1)
            nearer = apart <= nearest[rows]
            found[rows[nearer]], nearest[rows[nearer]] = self._places[at[nearer]], apart[nearer]
        return found


class Manifold(Embedding):
    """An embedding found for the training rows, which each keep their coordinates."""

    embedding_: Array
    _known: KnownRows
    _sparse: bool  # whether the training rows were

    def _keep(self, coordinates: Array, same: NDArray[np.intp]) -> None:
        """Keep the coordinates; rows with the same number are equal and get their mean."""
        _, number, count = np.unique(same, return_inverse=True, return_counts=True)
        sums = np.zeros((len(count), coordinates.shape[1]))
        np.add.at(sums, number, coordinates)
        self.embedding_ = (sums / count[:, np.newaxis])[number]

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Embed the rows of X and return their coordinates."""
        return np.asarray(self.fit(X, y).embedding_.copy())

    def transform(self, X: Any) -> Array:
        """Return the coordinates of each row; those of a training row are its own.

        Of a row without neighbours they are 0, with a warning.
        """
        X = self._new_rows(X)
        if sparse.issparse(X) != self._sparse:
            X = X.toarray() if sparse.issparse(X) else sparse.csr_matrix(X)
        known = self._find(X)
        out, new = self.embedding_[known], np.flatnonzero(known < 0)
        if len(new):
            out[new] = self._extended(X[new])
        return np.asarray(out)

    def _find(self, X: Matrix) -> NDArray[np.intp]:
        """Return which training row each row is, −1 for none."""
        return self._known.find(X)

    def _extended(self, X: Matrix) -> Array:
        """Return the coordinates of rows that are not among the training rows."""
        raise NotImplementedError

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])
