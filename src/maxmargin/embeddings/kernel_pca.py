"""KernelPCA: the directions in which the images of the samples vary most."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from maxmargin.data.arrays import Array, Matrix
from maxmargin.data.checks import check_count
from maxmargin.embeddings._base import in_blocks, signs_of
from maxmargin.embeddings._samples import KernelEmbedding, refuse_indefinite
from maxmargin.embeddings._spectra import largest_eigenvectors
from maxmargin.embeddings.nystroem import Nystroem
from maxmargin.runtime.blas_threads import blas_threads_for

#: Samples whose kernel matrix is made, and landmarks of more.
_WHOLE, _LANDMARKS = 5_000, 1_000

#: Eigenvalues below this share of the largest are rounding: their coordinate is 0.
_ROUNDING = 1e-12


class KernelPCA(KernelEmbedding):
    """Principal components in the feature space of a kernel (Schölkopf, Smola and Müller, 1998).

    Coordinate k of x is its centred image projected on the k-th principal direction: exact for new
    samples too. All directions of 5,000 samples at most are in the span of all of them, those of
    more in the span of 1,000 landmarks, whose images `Nystroem` spans.

    Parameters
    ----------
    n_components : int, default=2
        Coordinates; at most one for each sample.
    kernel : str, Kernel or callable, default="rbf"
        As in `maxmargin.embeddings.Nystroem`.
    gamma : float or {"scale", "auto", "median"}, default="scale"
        1/(d var X), 1/d, or 1 over the median squared distance, as in `maxmargin.SVC`.
    degree : int, default=3
        Of the kernel "poly".
    coef0 : float, default=0.0
        Of the kernels "poly" and "sigmoid".
    n_landmarks : int or None, default=None
        Directions are sought in the span of so many samples. None: as said above.
    random_state : int, RandomState or None, default=None
        Seeds the draw of landmarks.
    n_jobs : int or None, default=None
        Threads of `transform`.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel, with a number for every parameter.
    eigenvalues_ : ndarray
        Of the centred kernel matrix, largest first.
    basis_ : ndarray or CSR matrix
        The samples in whose span the directions lie.
    coefficients_ : ndarray of shape (n_basis, n_components)
        The directions: Σ_j coefficients_[j, k] φ(basis_[j]), of length 1.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from maxmargin.embeddings import KernelPCA
    >>> X, y = make_circles(200, factor=0.3, random_state=0)
    >>> KernelPCA(gamma=2.0).fit_transform(X).shape
    (200, 2)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: Any = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        n_landmarks: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_landmarks = n_landmarks
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> KernelPCA:
        """Find the principal directions of the rows of X."""
        del y
        k = check_count("n_components", self.n_components, advice="2 is enough for a picture.")
        m = self.n_landmarks
        if m is not None:
            check_count("n_landmarks", m, advice="None chooses by the number of samples.")
        X, _ = self._fit_kernel(X, None)
        if m is None and X.shape[0] > _WHOLE:
            m = _LANDMARKS
        if m is None or m >= X.shape[0]:
            self._fit_whole(X, min(k, X.shape[0]))
        else:
            self._fit_landmarks(X, k, m)
        return self

    def _fit_whole(self, X: Matrix, k: int) -> None:
        with blas_threads_for(X.shape[0] * math.prod(X.shape)):
            K = self.kernel_(X, X)
        means = K.mean(axis=0)
        centred = K - means - means[:, np.newaxis] + means.mean()
        values, vectors = largest_eigenvectors(0.5 * (centred + centred.T), k)
        refuse_indefinite(K, self.kernel_, float(values[0]))
        values, vectors = _without_rounding(values, vectors, float(np.trace(K)))
        self.eigenvalues_, self.basis_ = values, X.copy()  # which the caller may change
        roots = np.sqrt(np.where(values > 0.0, values, 1.0))
        coef = vectors * signs_of(vectors) / roots
        self.coefficients_ = coef - coef.mean(axis=0)
        self._shift = means @ self.coefficients_

    def _fit_landmarks(self, X: Matrix, k: int, m: int) -> None:
        """Take the principal components of the coordinates in the span of landmarks."""
        space = Nystroem(
            self.kernel_, n_components=m, random_state=self.random_state, n_jobs=self.n_jobs
        ).fit(X)
        G = space.transform(X).astype(np.float64, copy=False)
        size, mean = float(np.vdot(G, G)), G.mean(axis=0)
        G -= mean
        gram = G.T @ G
        k = min(k, len(gram))
        values, vectors = _without_rounding(*largest_eigenvectors(gram, k), size)
        directions = vectors * signs_of(G @ vectors)
        self.eigenvalues_, self.basis_ = values, space.basis_
        self.coefficients_ = space.normalization_ @ directions
        self._shift = mean @ directions

    def transform(self, X: Any) -> Array:
        """Return the coordinates of each row."""
        X = self._new_rows(X)
        out = np.empty((X.shape[0], self._n_features_out))

        def block(rows: slice) -> Array:
            return np.asarray(self.kernel_(X[rows], self.basis_) @ self.coefficients_ - self._shift)

        return in_blocks(block, out, self.basis_.shape[0], self.n_jobs)

    def expansion(self, w: Array, b: float) -> tuple[Array, float]:
        """Return f(x) = ⟨w, embedding of x⟩ + b as Σ c_j k(basis_j, x) + b': c and b'."""
        w = np.asarray(w, dtype=np.float64)
        return np.asarray(self.coefficients_ @ w), b - float(self._shift @ w)

    @property
    def _n_features_out(self) -> int:
        return int(self.coefficients_.shape[1])


def _without_rounding(values: Array, vectors: Array, size: float) -> tuple[Array, Array]:
    """Return both, 0 where an eigenvalue is no larger than its rounding.

    `size` is the trace of the matrix before it was centred, of which rounding is a share.
    """
    most = max(_ROUNDING * float(values[0]), 4.0 * float(np.finfo(np.float64).eps) * size)
    used = values > most
    return np.where(used, values, 0.0), np.where(used, vectors, 0.0)
