"""Kernels of this package's models, from their parameters and data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.data.arrays import Array, Matrix
from maxmargin.kernels import (
    ChiSquared,
    Cosine,
    Gaussian,
    HistogramIntersection,
    Kernel,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
    as_kernel,
)
from maxmargin.kernels.pairwise import robust_origin
from maxmargin.objectives import Intercept
from maxmargin.theory.posed import Data

#: Samples from whose distances the rule "median" is computed.
_MEDIAN_SAMPLES = 1000


def intercept_of(model: Any) -> Intercept:
    """Return which intercept the model has."""
    if not getattr(model, "fit_intercept", True) or hasattr(model, "offset_"):
        return Intercept.NONE
    return Intercept.PENALIZED if getattr(model, "penalized_intercept", False) else Intercept.FREE


def kernel_of(model: Any, data: Data) -> Kernel:
    """Return the kernel of the parameters, every one of them a number."""
    given, weight = model.kernel, data.weight / data.weight.max()
    if callable(given) and not isinstance(given, Kernel) and getattr(model, "_function", False):
        return Precomputed(data.X)
    if callable(given):
        return as_kernel(given).fitted(data.X, weight)
    if given == "linear":
        free = intercept_of(model) is Intercept.FREE
        return Linear(robust_origin(data.X) if free else None)
    named: dict[str, Callable[[], Kernel]] = {
        "precomputed": lambda: Precomputed(data.X),
        "cosine": Cosine,
        "histogram_intersection": HistogramIntersection,
        "chi2": lambda: ChiSquared(1.0 if isinstance(model.gamma, str) else model.gamma),
        "poly": lambda: Polynomial(_gamma(model.gamma, data.X, weight), model.degree, model.coef0),
        "sigmoid": lambda: Sigmoid(_gamma(model.gamma, data.X, weight), model.coef0),
        "laplacian": lambda: Laplacian(_gamma(model.gamma, data.X, weight)),
        "rbf": lambda: Gaussian(_gamma(model.gamma, data.X, weight)),
    }
    return named[given]()


def _gamma(rule: float | str, X: Matrix, weight: Array) -> float:
    """Return 1/(d var X), 1/d or 1 over the median squared distance, or the number itself."""
    if not isinstance(rule, str):
        return float(rule)
    if rule == "auto":
        return 1.0 / int(X.shape[1])
    if rule == "scale":
        total = float(weight.sum()) * X.shape[1]
        mean = float((weight @ X).sum()) / total
        apart = _squares(X, mean)
        variance = float(weight @ apart) / total
        return 1.0 / (int(X.shape[1]) * variance) if variance > 0.0 else 1.0
    rows = np.flatnonzero(weight)
    rows = rows[np.linspace(0, len(rows) - 1, min(len(rows), _MEDIAN_SAMPLES)).astype(int)]
    some = (X[rows].toarray() if sparse.issparse(X) else X[rows]).astype(np.float64)
    apart = np.array([((some - row) ** 2).sum(axis=1) for row in some])
    median = float(np.median(apart[np.triu_indices(len(rows), 1)])) if len(rows) > 1 else 0.0
    return 1.0 / median if median > 0.0 else 1.0


def _squares(X: Matrix, mean: float) -> Array:
    """Σ_j (x_j − mean)² of each row."""
    if not sparse.issparse(X):
        return np.asarray(((X.astype(np.float64) - mean) ** 2).sum(axis=1))
    stored = sparse.csr_array(
        ((X.data.astype(np.float64) - mean) ** 2, X.indices, X.indptr), shape=X.shape
    )
    lacking = X.shape[1] - np.diff(X.indptr)
    return np.asarray(np.ravel(stored.sum(axis=1)) + lacking * mean**2)
