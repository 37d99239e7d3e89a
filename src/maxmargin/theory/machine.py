"""A fitted classifier of two classes in the terms of the texts: y, α, C, K."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.data.arrays import Array, Matrix, view_rows
from maxmargin.estimators._sample_table import Part
from maxmargin.estimators._samples import parts_of
from maxmargin.kernels import Kernel, Linear, Precomputed
from maxmargin.kernels.pairwise import robust_origin

#: Kernel values that are computed at a time.
VALUES_PER_BLOCK = 2**22

Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Machine:
    """A hinge or squared hinge machine with its training samples.

    f = Σ β_j k(x_j, ·) + b with β_j = y_j α_j; `constant` is what a penalised intercept adds to k.
    `curvature` is 1/(2C) for the squared hinge, else 0. A hard margin has the cost Σα: no
    α of it, nor of the same data without a sample, is larger, so the box leaves the optimum be.
    """

    part: Part
    b: float
    free: bool
    kernel: Kernel
    X: Matrix
    constant: float

    @classmethod
    def of(cls, model: Any, X: Any, y: Any, sample_weight: Any = None) -> Machine:
        """Return the machine of a fitted model, or say why it is none."""
        if not hasattr(model, "samples"):
            raise TypeError(
                "The theory is about classifiers of maxmargin, got a"
                f" {type(model).__module__.split('.')[0]} {type(model).__name__}. Fit"
                " maxmargin's class of that name; certify(model, X, y) reads other libraries'."
            )
        if not hasattr(model, "classes_"):
            raise ValueError(
                f"{type(model).__name__} is no classifier, and this is about errors of one. Give a"
                " fitted SVC, LinearSVC, NuSVC or PegasosClassifier."
            )
        if len(model.classes_) > 2:
            raise ValueError(
                f"The model has {len(model.classes_)} classes, and this is about two. Fit one of"
                " its problems: a class against the rest, or a pair."
            )
        (part,) = parts_of(model, X, y, sample_weight)
        if not part.loss.regularized:
            raise ValueError(
                "loss='perceptron' has no dual variables. Give a model with loss='hinge', or see"
                " theory.novikoff."
            )
        if not part.solution.certificate.convex:
            raise ValueError(
                "The kernel is not positive semidefinite, and the theory needs distances. Use a"
                " Mercer kernel (see maxmargin.kernels.mercer_check)."
            )
        rows, _ = view_rows(model._check_rows(X, reset=False))
        penalized = model.fit_intercept and getattr(model, "penalized_intercept", False)
        constant = float(model.intercept_scaling) ** 2 if penalized else 0.0
        kernel, samples = _kernel(model, rows)
        free = bool(model.fit_intercept) and not penalized
        return cls(part, float(model.intercept_[0]), free, kernel, samples, constant)

    @cached_property
    def cost(self) -> Array:
        """C_i."""
        if self.part.hard:
            return np.where(self.part.cost > 0.0, float(self.alpha.sum()), 0.0)
        return self.part.cost

    @property
    def y(self) -> Array:
        """±1."""
        return self.part.y

    @property
    def f(self) -> Array:
        """f(x_i)."""
        return self.part.f

    @property
    def n(self) -> int:
        """Number of samples."""
        return len(self.part.y)

    @cached_property
    def alpha(self) -> Array:
        """α_i."""
        return np.abs(self.part.beta)

    @cached_property
    def slack(self) -> Array:
        """ξ_i."""
        return self.part.slack

    @cached_property
    def curvature(self) -> Array:
        """1/(2 C_i) for the squared hinge, else 0."""
        return self.part.loss.curvature(self.part.cost)

    @property
    def support(self) -> Indices:
        """The support vectors."""
        return np.flatnonzero(self.alpha)

    @property
    def norm(self) -> float:
        """‖w‖."""
        return 1.0 / self.part.scale if self.part.scale > 0.0 else math.inf

    @cached_property
    def diagonal(self) -> Array:
        """k(x_i, x_i)."""
        return np.asarray(self.kernel.diagonal(self.X) + self.constant)

    def gram(self, rows: Indices | slice, columns: Indices) -> Array:
        """Return the kernel values of some samples with others."""
        return np.asarray(self.kernel(self.X[rows], self.X[columns]) + self.constant)

    def blocks(self, width: int) -> list[slice]:
        """Return row ranges of so many that `width` values of each are not too many."""
        step = max(1, VALUES_PER_BLOCK // max(1, width))
        return [slice(begin, begin + step) for begin in range(0, self.n, step)]


def _kernel(model: Any, X: Matrix) -> tuple[Kernel, Matrix]:
    """Return the model's kernel, and the samples as it takes them."""
    if not hasattr(model, "dual_coef_"):
        centre = model.fit_intercept and not model.penalized_intercept
        return Linear(robust_origin(X) if centre else None), X
    if model._fitted_kernel is None:
        return Precomputed(np.asarray(X)), np.arange(X.shape[0], dtype=np.float64)[:, np.newaxis]
    return model._fitted_kernel, X
