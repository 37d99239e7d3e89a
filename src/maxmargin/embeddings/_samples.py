"""Embeddings made of kernel values: the kernel by name or object, and samples of any kind."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
from scipy import linalg, sparse

from maxmargin.data.arrays import Array, Matrix
from maxmargin.embeddings._base import Embedding, check_weights, signs_of
from maxmargin.kernels import Kernel, fitted_kernel
from maxmargin.runtime.blas_threads import one_blas_thread

#: Negative eigenvalues beyond this share of the largest are not rounding.
_INDEFINITE = 1e-6

#: Samples on which a negative eigenvalue is sought, if the matrix is large.
_SAMPLED = 500

#: Rows up to which threads gain an eigenvalue problem less than they lose where cores are busy.
_ONE_THREAD = 3_000

#: Columns of a triangular matrix that are multiplied together.
_TOGETHER = 64


class KernelEmbedding(Embedding):
    """An embedding in the feature space of a kernel.

    Subclasses have the parameters `kernel`, `gamma`, `degree` and `coef0`. `kernel_` is the kernel
    with a number for every parameter and `basis_` the samples whose images span the embedding.
    """

    kernel_: Kernel
    basis_: Matrix
    kernel: Any

    def _rows(self, X: Any, *, reset: bool) -> Matrix:
        """Return X as numbers; for a Kernel or a function, samples that are none as objects."""
        if callable(self.kernel) and (objects := _objects(X)) is not None:
            if reset:
                self.n_features_in_ = 1
            return objects
        return super()._rows(X, reset=reset)

    def _fit_kernel(self, X: Any, sample_weight: Any) -> tuple[Matrix, Array]:
        """Return the rows and their weights, and keep the kernel."""
        if isinstance(self.kernel, str) and self.kernel == "precomputed":
            raise ValueError(
                f"kernel='precomputed' has no samples for {type(self).__name__} to keep. Give the"
                " kernel itself: an object of maxmargin.kernels, or a function of two blocks."
            )
        X = self._rows(X, reset=True)
        weight = check_weights(sample_weight, X.shape[0])
        self.kernel_ = fitted_kernel(self, X, weight / weight.max())
        return X, weight

    def expansion(self, w: Array, b: float) -> tuple[Array, float]:
        """Return f(x) = ⟨w, embedding of x⟩ + b as Σ c_j k(basis_j, x) + b': c and b'."""
        raise NotImplementedError


def inverse_root(K: Array, kernel: Kernel, cutoff: float, *, triangular: bool) -> Array:
    """Return N with N'KN = 1 and a column for each eigenvalue of K above the cutoff, or one of 0.

    The cutoff is relative to the largest. If asked for, N is upper triangular where all eigenvalues
    are above it; it depends on the order of the samples then.
    A kernel that is not positive semidefinite is refused.
    """
    K = 0.5 * (K + K.T)
    with one_blas_thread() if len(K) <= _ONE_THREAD else nullcontext():
        values, vectors = np.linalg.eigh(K)
        largest = max(float(values[-1]), 0.0)
        _refuse_negative(float(values[0]), largest, kernel)
        if triangular and values[0] > cutoff * largest:
            try:
                root = linalg.cholesky(K)
            except linalg.LinAlgError:  # rounding has the last word
                pass
            else:
                return np.asarray(linalg.solve_triangular(root, np.eye(len(K))))
    used = np.flatnonzero(values > cutoff * largest)[::-1]
    if len(used) == 0:  # every image is 0
        return np.zeros((len(K), 1))
    vectors = vectors[:, used]
    return np.asarray(vectors * signs_of(vectors) / np.sqrt(values[used]))


def is_triangular(U: Array) -> bool:
    """Whether a square matrix has only zeros below its diagonal."""
    return U.shape[0] == U.shape[1] and not np.tril(U, -1).any()


def times_triangular(A: Array, U: Array) -> Array:
    """Return A U for an upper triangular U: what is 0 is not multiplied."""
    out = np.empty((len(A), len(U)), dtype=A.dtype)
    for begin in range(0, len(U), _TOGETHER):
        end = min(len(U), begin + _TOGETHER)
        np.matmul(A[:, :end], U[:end, begin:end], out=out[:, begin:end])
    return out


def refuse_indefinite(K: Array, kernel: Kernel, largest: float) -> None:
    """Refuse a kernel whose matrix on some of the samples has a negative eigenvalue."""
    if not kernel.mercer:
        some = slice(None, None, max(1, len(K) // _SAMPLED))
        with one_blas_thread():
            least = float(np.linalg.eigvalsh(0.5 * (K[some, some] + K[some, some].T))[0])
        _refuse_negative(least, largest, kernel)


def _refuse_negative(least: float, largest: float, kernel: Kernel) -> None:
    if least < -_INDEFINITE * max(largest, -least):
        raise ValueError(
            f"{kernel!r} is not positive semidefinite: its matrix has the eigenvalue {least:.3g}"
            f" beside {largest:.3g}, so these samples have no Euclidean embedding. Use a Mercer"
            " kernel (see maxmargin.kernels.mercer_check)."
        )


def _objects(X: Any) -> Any:
    """Return samples that are not rows of numbers, strings or graphs, as a column; else None."""
    if sparse.issparse(X) or hasattr(X, "iloc"):
        return None
    if isinstance(X, np.ndarray):
        return X if X.dtype.kind in "OUS" and X.ndim == 1 else None
    if not isinstance(X, (list, tuple)) or not X or np.ndim(X[0]) > 0:
        return None
    if isinstance(X[0], (int, float, complex)):
        return None
    samples = np.empty(len(X), dtype=object)
    samples[:] = X
    return samples
