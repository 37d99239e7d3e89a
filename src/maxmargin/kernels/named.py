"""Kernels by the names that estimators take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from maxmargin.data.arrays import Array, Matrix
from maxmargin.data.checks import check_choice
from maxmargin.kernels.base import Kernel
from maxmargin.kernels.custom import Precomputed, as_kernel
from maxmargin.kernels.standard import (
    GAMMA_RULES,
    ChiSquared,
    Cosine,
    Gaussian,
    HistogramIntersection,
    Laplacian,
    Linear,
    Polynomial,
    Sigmoid,
)

NAMES = (
    "linear",
    "poly",
    "rbf",
    "sigmoid",
    "laplacian",
    "cosine",
    "chi2",
    "histogram_intersection",
    "precomputed",
)


def fitted_kernel(model: Any, X: Matrix, weight: Array | None) -> Kernel:
    """Return the kernel that `kernel`, `gamma`, `degree` and `coef0` of an estimator mean for X.

    Every parameter is a number then; a weight counts like a repetition of the row.
    """
    given, gamma = model.kernel, model.gamma
    if callable(given):
        return as_kernel(given).fitted(X, weight)
    named: dict[str, Callable[[], Kernel]] = {
        "linear": Linear,
        "poly": lambda: Polynomial(gamma, model.degree, model.coef0),
        "rbf": lambda: Gaussian(gamma),
        "sigmoid": lambda: Sigmoid(gamma, model.coef0),
        "laplacian": lambda: Laplacian(gamma),
        "cosine": Cosine,
        "chi2": lambda: ChiSquared() if gamma in GAMMA_RULES else ChiSquared(gamma),
        "histogram_intersection": HistogramIntersection,
        "precomputed": lambda: Precomputed(X),
    }
    return named[check_choice("kernel", given, NAMES)]().fitted(X, weight)
