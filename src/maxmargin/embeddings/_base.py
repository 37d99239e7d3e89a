"""What the embeddings share: rows in, blocks of rows in threads, signs, weights."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from maxmargin.data.arrays import Array, Matrix, explaining
from maxmargin.runtime.blas_threads import one_blas_thread
from maxmargin.runtime.interrupt import interruptible
from maxmargin.runtime.threads import in_threads, n_threads

#: Values held at a time by one thread, few enough to stay in its cache; rows at least, as products
#: of fewer with a large matrix are slow.
_VALUES_PER_BLOCK, _LEAST_ROWS = 2**18, 256


class Embedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A transformer that is fitted on training rows only and embeds any other row by itself."""

    n_features_in_: int
    _takes_sparse = True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse
        return tags

    def _rows(self, X: Any, *, reset: bool) -> Matrix:
        """Return X as finite numbers, float32 or float64, dense or CSR."""
        with explaining(X):
            checked: Matrix = validate_data(
                self,
                X,
                reset=reset,
                accept_sparse="csr" if self._takes_sparse else False,
                dtype=[np.float64, np.float32],
                order="C",
            )
        return checked

    def _new_rows(self, X: Any) -> Matrix:
        """Return the rows to embed."""
        check_is_fitted(self)
        return self._rows(X, reset=False)


def in_blocks(
    function: Callable[[slice], Array],
    out: Array,
    width: int,
    n_jobs: int | None,
    until: float = math.inf,
) -> Array:
    """Fill `out` with function(rows), some rows at a time, each with `width` values on the way.

    Between blocks Ctrl-C is heard, and the clock: blocks left at `until` are a TimeoutError.
    """
    n, step = len(out), max(_LEAST_ROWS, _VALUES_PER_BLOCK // max(1, width))
    pieces = [slice(begin, min(n, begin + step)) for begin in range(0, n, step)]
    late = False

    def fill(rows: slice) -> None:
        nonlocal late
        late = late or time.perf_counter() > until
        if not (late or interrupt.pressed):
            out[rows] = function(rows)

    with interruptible() as interrupt:
        with one_blas_thread():  # blocks are small: those of BLAS would mostly wait for each other
            in_threads(fill, pieces, n_threads(n_jobs))
        if interrupt.pressed:
            raise KeyboardInterrupt
    if late:
        raise TimeoutError
    return out


def signs_of(vectors: Array) -> Array:
    """Return ±1 for each column, by which its largest entry becomes positive."""
    largest = np.abs(vectors).argmax(axis=0)
    return np.where(vectors[largest, np.arange(vectors.shape[1])] < 0.0, -1.0, 1.0)


def check_weights(sample_weight: Any, n: int) -> Array:
    """Return a weight of at least 0 for each of n rows; one below 0 leaves a row out, as 0 does."""
    if sample_weight is None:
        return np.ones(n)
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n,) or not np.isfinite(weight).all():
        raise ValueError(f"sample_weight must be {n} finite numbers, one for each row.")
    if weight.max() <= 0.0:
        raise ValueError(
            "sample_weight is zero or less for every row: give at least one a positive one."
        )
    return np.maximum(weight, 0.0)
