"""Kernels by the names that estimators take."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

from maxmargin.data.arrays import Array, Matrix
from maxmargin.data.checks import check_choice, check_finite
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


def check_numbers(model: Any) -> None:
    """Refuse a γ, degree or coef0 that no kernel takes, whether this one has it or not.

    That is what scikit-learn does: a kernel that has them may ask for more.
    """
    degree = model.degree
    if not isinstance(degree, numbers.Integral) or degree < 0:
        raise ValueError(f"degree must be a whole number, 0 or larger, got {degree!r}. 3 is usual.")
    check_finite("coef0", model.coef0)
    if not isinstance(model.gamma, str) or model.gamma not in GAMMA_RULES:
        check_finite("gamma", model.gamma, least=0.0, advice=' Or "scale", "auto" or "median".')


def fitted_kernel(model: Any, X: Matrix, weight: Array | None) -> Kernel:
    """Return the kernel that `kernel`, `gamma`, `degree` and `coef0` of an estimator mean for X.

    Every parameter is a number then; a weight counts like a repetition of the row.
    """
    check_numbers(model)
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
