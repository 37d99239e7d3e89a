"""Samples as the lecture has them: dense rows and labels ±1."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.data.arrays import Array


def checked(X: Any, y: Any) -> tuple[Array, Array]:
    """Return X and y as float64 arrays; the larger of two labels is +1."""
    X = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
    labels, numbers = np.unique(np.asarray(y), return_inverse=True)
    if X.ndim != 2 or len(X) != len(numbers):
        raise ValueError(
            f"X must have a row for each label, got the shapes {X.shape} and {numbers.shape}."
        )
    if not np.isfinite(X).all():
        raise ValueError("X must be finite. Remove or replace NaN and infinity.")
    if len(labels) != 2:
        raise ValueError(f"y must have two labels, got {len(labels)}: {labels[:5].tolist()}.")
    return np.asarray(X), np.where(numbers == 1, 1.0, -1.0)
