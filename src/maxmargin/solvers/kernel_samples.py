"""Samples and a kernel: rows of the kernel matrix for SMO, sums over it for prediction."""

from __future__ import annotations

import numpy as np
from scipy import sparse

import maxmargin._core as _core
from maxmargin.kernels import Gaussian, Kernel
from maxmargin.validation import Array, Matrix, view_rows

#: Kernel values whose computation in float64 is not felt.
EXACT_VALUES = 2**23

#: Values held at a time.
_VALUES_PER_BLOCK = 2**22


class KernelSamples:
    """Samples as the core's kernel tiles read them: float32, and centred for the Gaussian.

    Centring changes no distance, and saves the small ones from cancellation.
    """

    def __init__(self, kernel: Kernel | None, X: Matrix, n_threads: int = 1) -> None:
        assert kernel is not None
        self.n_threads = n_threads
        self.kernel, self.X, self.formula = kernel, X, kernel.formula()
        self.centre: Array | None = None
        if isinstance(kernel, Gaussian) and not sparse.issparse(X) and X.shape[0] > 0:
            self.centre = X.mean(axis=0, dtype=np.float64)

    def prepared(self, X: Matrix) -> tuple[Matrix, Array]:
        """Return the samples in float32 and their squared norms."""
        if sparse.issparse(X):
            X = X.astype(np.float32, copy=False)
            square = np.asarray(X.power(2).sum(axis=1), dtype=np.float32).ravel()
            return X, np.ascontiguousarray(square)
        X = X if self.centre is None else X - self.centre
        X = np.ascontiguousarray(X, dtype=np.float32)
        return X, np.einsum("ij,ij->i", X, X, dtype=np.float64).astype(np.float32)

    def rows(self) -> _core.KernelRows:
        """Return the source of kernel rows."""
        X = self.X
        if self.formula is None:
            return _core.KernelRows(self._block, X.shape[0])
        samples, square = self.prepared(X)
        width = (X.shape[1],) if sparse.issparse(X) else ()
        return _core.KernelRows(*_parts(samples), *width, square, self.formula, self.n_threads)

    def _block(self, index: Array) -> Array:
        return np.ascontiguousarray(self.kernel(self.X[index], self.X), dtype=np.float32)

    def predict(self, X: Matrix, coef: Array) -> Array:
        """Σ c_j k(x_j, x) of every row x of X and every row c of coef, in bounded memory.

        In float64 where that is not felt, else in float32 tiles, with X stored as the samples are.
        """
        values = np.zeros((X.shape[0], len(coef)))
        if self.X.shape[0] == 0:
            return values
        if self.formula is None or X.shape[0] * self.X.shape[0] <= EXACT_VALUES:
            for rows in _slices(X.shape[0], self.X.shape[0]):
                values[rows] = self.kernel(X[rows], self.X) @ coef.T
            return values
        source, coef = self.rows(), np.ascontiguousarray(coef)
        stored = X.nnz // X.shape[0] if sparse.issparse(self.X) and sparse.issparse(X) else 0
        for rows in _slices(X.shape[0], stored or X.shape[1]):
            samples, square = self.prepared(_stored_as(self.X, X[rows]))
            source.predict(*_parts(samples), square, coef, values[rows])
        return values


def _slices(count: int, width: int) -> list[slice]:
    """Cut `count` rows of that many values each into blocks."""
    step = max(1, _VALUES_PER_BLOCK // max(1, width))
    return [slice(begin, begin + step) for begin in range(0, count, step)]


def _stored_as(model: Matrix, X: Matrix) -> Matrix:
    """Return X dense or as CSR, whichever the model is."""
    if sparse.issparse(model):
        return view_rows(sparse.csr_array(X))[0]
    return X.toarray() if sparse.issparse(X) else X


def _parts(X: Matrix) -> tuple[Array, ...]:
    """Return the arrays that the core reads X from."""
    return (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
