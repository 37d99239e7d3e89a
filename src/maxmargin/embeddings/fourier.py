"""FourierFeatures: a random embedding in which inner products are near the Gaussian kernel."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from maxmargin.data.arrays import Array
from maxmargin.data.checks import check_count
from maxmargin.embeddings._base import Embedding, check_weights, in_blocks
from maxmargin.kernels import Gaussian
from maxmargin.kernels.pairwise import centred, robust_origin
from maxmargin.kernels.standard import gamma_of


class FourierFeatures(Embedding):
    """Cosines and sines of random projections (Rahimi and Recht, 2007), for the Gaussian kernel.

    ⟨embedding of x, embedding of z⟩ is exp(−γ‖x − z‖²) up to an error of about 1/√n_components. All
    that is learnt from X is its number of columns, and γ where that is a rule: the first batch of a
    stream decides. `Nystroem` is more precise with as many components.

    Parameters
    ----------
    n_components : int, default=100
        Coordinates: half cosines, half sines; of an odd number, one cosine more.
    gamma : float or {"scale", "auto", "median"}, default="scale"
        As in `maxmargin.SVC`.
    random_state : int, RandomState or None, default=None
        Seeds the draw of the frequencies.
    n_jobs : int or None, default=None
        Threads of `transform`.

    Attributes
    ----------
    kernel_ : Gaussian
        The kernel, γ a number.
    frequencies_ : ndarray of shape (n_features, n_components / 2)
        The projections.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.embeddings import FourierFeatures
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> embedding = FourierFeatures(n_components=10_000, gamma=0.1, random_state=0).fit(X)
    >>> Z = embedding.transform(X)
    >>> bool(np.abs(Z @ Z.T - embedding.kernel_(X, X)).max() < 0.05)
    True
    """

    def __init__(
        self,
        n_components: int = 100,
        *,
        gamma: float | str = "scale",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.gamma = gamma
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> FourierFeatures:
        """Draw the frequencies; a weight counts like a repetition of the row."""
        del y
        count = check_count("n_components", self.n_components, advice="100 to 10,000 are usual.")
        X = self._rows(X, reset=True)
        weight = check_weights(sample_weight, X.shape[0])
        gamma = gamma_of(self.gamma, X, weight / weight.max())
        self.kernel_, self._origin = Gaussian(gamma), robust_origin(X)
        random = check_random_state(self.random_state)
        spread = math.sqrt(2.0 * gamma)
        self.frequencies_ = spread * random.standard_normal((X.shape[1], (count + 1) // 2))
        self._n_features_out = count
        return self

    def partial_fit(self, X: Any, y: Any = None) -> FourierFeatures:
        """Draw the frequencies at the first batch; later ones are only checked."""
        if not hasattr(self, "frequencies_"):
            return self.fit(X, y)
        self._rows(X, reset=False)
        return self

    def transform(self, X: Any) -> Array:
        """Return the coordinates of each row."""
        X = self._new_rows(X)
        count, frequencies = self._n_features_out, self.frequencies_.astype(X.dtype)
        out = np.empty((X.shape[0], count), dtype=X.dtype)
        origin = self._origin  # seen from there, angles lose no digits in float32
        phase = np.remainder(origin @ self.frequencies_, 2.0 * math.pi).astype(X.dtype)

        def block(rows: slice) -> Array:
            near = centred(X[rows], origin).astype(X.dtype, copy=False)
            return _waves(np.asarray(near @ frequencies) + phase, count)

        return in_blocks(block, out, count, self.n_jobs)


def _waves(angles: Array, count: int) -> Array:
    scale = angles.dtype.type(math.sqrt(2.0 / count))
    return np.asarray(scale * np.hstack([np.cos(angles), np.sin(angles[:, : count // 2])]))
