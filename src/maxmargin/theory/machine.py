"""The problems of a fitted machine in the terms of the texts: y, α, C, K."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.data.arrays import Array, Matrix, view_rows
from maxmargin.estimators._sample_table import JointPart, Part
from maxmargin.estimators._samples import parts_of
from maxmargin.kernels import Kernel, Linear, Precomputed
from maxmargin.kernels.pairwise import robust_origin

#: Kernel values that are computed at a time.
VALUES_PER_BLOCK = 2**22

Indices = NDArray[np.intp]


_SINGLE = "Fit one of its problems: a class against the rest, or a pair."
_JOINT = (
    "multi_class='crammer_singer' is one problem of all classes, without a y f(x) of its own. Fit"
    " with multi_class='ovr', or 'ovo'."
)


@dataclass(frozen=True, eq=False)
class Machine:
    """One problem that a fitted machine solved, with its training samples.

    f = Σ β_j k(x_j, ·) + b; with a hinge β_j = y_j α_j; `constant` is what a penalised intercept
    adds to k; `everyone` has all samples of the model, X those of this problem. `curvature` is
    1/(2C) for a squared loss, else 0. A hard margin has the cost Σα: no α of it, nor of the same
    data without a sample, is larger, so the box leaves the optimum be.
    """

    part: Part
    b: float
    free: bool
    kernel: Kernel
    X: Matrix
    constant: float
    everyone: Matrix

    @classmethod
    def of(cls, model: Any, X: Any, y: Any, sample_weight: Any = None) -> Machine:
        """Return the machine of a fitted classifier of two classes, or say why it is none."""
        model, X = opened(model, X)
        refuse_regression(model)
        if len(model.classes_) > 2:
            raise ValueError(
                f"The model has {len(model.classes_)} classes, and this is about two. {_SINGLE}"
            )
        (machine,) = machines_of(model, X, y, sample_weight)
        return machine

    @cached_property
    def cost(self) -> Array:
        """C_i."""
        return self.part.finite_cost

    @property
    def y(self) -> Array:
        """±1, or the targets."""
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


def opened(model: Any, X: Any) -> tuple[Any, Any]:
    """Return the machine of an embedded model with its coordinates; any other as it is."""
    if hasattr(model, "svm_") and hasattr(model, "embedding_"):
        return model.svm_, model._coordinates(X)
    return model, X


def refuse_regression(model: Any) -> None:
    """Refuse what is no classifier of this package."""
    _refuse_others(model)
    if not hasattr(model, "classes_"):
        raise ValueError(
            f"{type(model).__name__} is no classifier, and this is about errors of one. Give a"
            " fitted SVC, LinearSVC, NuSVC or PegasosClassifier; theory.leave_one_out is for"
            " regression too."
        )


def _refuse_others(model: Any) -> None:
    """Refuse models of other libraries, and those whose f is no sum over samples."""
    if not hasattr(model, "samples"):
        raise TypeError(
            "The theory is about machines of maxmargin, got a"
            f" {type(model).__module__.split('.')[0]} {type(model).__name__}. Fit maxmargin's class"
            " of that name, or give the machine of a pipeline and the rows that reach it;"
            " certify(model, X, y) reads other libraries'."
        )
    if hasattr(model, "offset_"):
        raise ValueError(
            f"{type(model).__name__} has no labels to be wrong about. Give a classifier or a"
            " regression; theory.nu_property is for this one."
        )
    if getattr(model, "penalty", "l2") == "l1":
        raise ValueError(
            "penalty='l1' has no w = Σ α_i y_i x_i, and so no distances. Give penalty='l2'."
        )


def machines_of(model: Any, X: Any, y: Any, sample_weight: Any = None) -> list[Machine]:
    """Return the problems that a fitted model solved, or say why there is no theory of them."""
    model, X = opened(model, X)
    _refuse_others(model)
    parts = parts_of(model, X, y, sample_weight)
    kernel, rows = _kernel(model, X)
    penalized = model.fit_intercept and getattr(model, "penalized_intercept", False)
    constant = float(model.intercept_scaling) ** 2 if penalized else 0.0
    free = bool(model.fit_intercept) and not penalized
    found = []
    for part, b in zip(parts, model.intercept_, strict=False):  # all classes in one have several
        if isinstance(part, JointPart):
            raise ValueError(_JOINT)
        _refuse_problem(part)
        found.append(Machine(part, float(b), free, kernel, rows[part.rows], constant, rows))
    return found


def _refuse_problem(part: Part) -> None:
    """Refuse a problem without a regulariser, or without distances."""
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


def _kernel(model: Any, X: Any) -> tuple[Kernel, Any]:
    """Return the kernel of the problem that was solved, and the samples as it takes them."""
    if getattr(model, "_function", False):  # samples may be anything: their kernel values
        rows = model._rows_to_predict(X)
    else:
        rows, _ = view_rows(model._check_rows(X, reset=False))
    if getattr(model, "landmarks", None) is not None:
        Z = np.asarray(model._space.transform(rows), dtype=np.float64)
        return Linear(), Z
    if not hasattr(model, "dual_coef_"):
        centre = model.fit_intercept and not model.penalized_intercept
        return Linear(robust_origin(rows) if centre else None), rows
    if model._fitted_kernel is None:
        places = np.arange(rows.shape[0], dtype=np.float64)[:, np.newaxis]
        return Precomputed(np.asarray(rows)), places
    return model._fitted_kernel, rows
