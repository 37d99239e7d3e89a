"""Nystroem: the space that the images of some samples span."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from maxmargin.data.arrays import Array, Matrix
from maxmargin.data.checks import check_choice, check_count
from maxmargin.embeddings._base import in_blocks
from maxmargin.embeddings._samples import (
    KernelEmbedding,
    inverse_root,
    is_triangular,
    times_triangular,
)
from maxmargin.embeddings.landmarks import draw_landmarks

_RULES = ("uniform", "kmeans++", "rpcholesky")

#: Eigenvalues of the landmarks' kernel matrix below this share of the largest are dropped: the
#: coordinates that they belong to would be made of rounding, the more so in float32.
_CUTOFF = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 1e-7}


class Nystroem(KernelEmbedding):
    """Coordinates in the space spanned by the images of some samples, the landmarks.

    ⟨embedding of x, embedding of z⟩ is k(x, z) as seen from there: exact for landmarks, and nowhere
    larger than the kernel in the sense of positive semidefinite matrices. A linear machine on the
    embedding is a kernel machine whose f lies in the span of the landmarks.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
        As in `maxmargin.SVC`, without "precomputed". A Kernel or a function may take samples of any
        kind, strings for example.
    n_components : int, default=100
        Landmarks; with fewer samples, all of them. Fewer coordinates come out where the landmarks'
        images are linearly dependent.
    gamma : float or {"scale", "auto", "median"}, default="scale"
        1/(d var X), 1/d, or 1 over the median squared distance, as in `maxmargin.SVC`.
    degree : int, default=3
        Of the kernel "poly".
    coef0 : float, default=0.0
        Of the kernels "poly" and "sigmoid".
    landmarks : {"uniform", "kmeans++", "rpcholesky"}, default="uniform"
        How they are drawn: at random, far from each other, or by what those before leave over. The
        last two ask for kernel values of 50 samples for each landmark.
    dtype : dtype or None, default=None
        Of the coordinates, np.float32 or np.float64; None: that of X.
    random_state : int, RandomState or None, default=None
        Seeds the draw.
    n_jobs : int or None, default=None
        Threads of `transform`.

    Attributes
    ----------
    landmark_indices_ : ndarray
        Rows of X that are landmarks.
    basis_ : ndarray or CSR matrix
        The landmarks.
    kernel_ : Kernel
        The kernel, with a number for every parameter.
    normalization_ : ndarray of shape (n_landmarks, n_coordinates)
        By which kernel values with the landmarks become coordinates.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.embeddings import Nystroem
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> embedding = Nystroem(n_components=50, gamma=0.1).fit(X)
    >>> Z = embedding.transform(X)
    >>> bool(np.allclose(Z @ Z.T, embedding.kernel_(X, X)))
    True
    """

    _triangular = False  # principal axes do not depend on the order of the landmarks

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        n_components: int = 100,
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        landmarks: str = "uniform",
        dtype: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.landmarks = landmarks
        self.dtype = dtype
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Nystroem:
        """Draw the landmarks from the rows of X; a weight counts like a repetition of the row."""
        del y
        rule = check_choice("landmarks", self.landmarks, _RULES)
        m = check_count("n_components", self.n_components, advice="It counts landmarks.")
        X, weight = self._fit_kernel(X, sample_weight)
        random = check_random_state(self.random_state)
        self.landmark_indices_ = draw_landmarks(rule, self.kernel_, X, weight, m, random)
        self.basis_ = X[self.landmark_indices_]
        K = self.kernel_(self.basis_, self.basis_)
        cutoff = _CUTOFF[self._type(X)]
        self.normalization_ = inverse_root(K, self.kernel_, cutoff, triangular=self._triangular)
        return self

    def transform(self, X: Any) -> Array:
        """Return the coordinates of each row."""
        return self._coordinates(self._new_rows(X))

    def _coordinates(self, X: Matrix, until: float = math.inf) -> Array:
        """Return the coordinates of rows that were checked, a block at a time, by that time."""
        out = np.empty((X.shape[0], self._n_features_out), dtype=self._type(X))
        normalization = self.normalization_.astype(out.dtype)
        times = times_triangular if is_triangular(normalization) else np.matmul

        def block(rows: slice) -> Array:
            values = self.kernel_(X[rows], self.basis_).astype(out.dtype, copy=False)
            return np.asarray(times(values, normalization))

        return in_blocks(block, out, self.basis_.shape[0], self.n_jobs, until)

    def expansion(self, w: Array, b: float) -> tuple[Array, float]:
        """Return f(x) = ⟨w, embedding of x⟩ + b as Σ c_j k(basis_j, x) + b': c and b'."""
        return np.asarray(self.normalization_ @ np.asarray(w, dtype=np.float64)), b

    @property
    def _n_features_out(self) -> int:
        return int(self.normalization_.shape[1])

    def _type(self, X: Matrix) -> np.dtype[Any]:
        """Return the type of the coordinates."""
        if self.dtype is None:
            own = X.dtype if sparse.issparse(X) else np.asarray(X).dtype
            return np.dtype(np.float32 if own == np.float32 else np.float64)
        given: np.dtype[Any] = np.dtype(self.dtype)
        if given not in _CUTOFF:
            raise ValueError(f"dtype must be np.float32, np.float64 or None, got {self.dtype!r}.")
        return given
