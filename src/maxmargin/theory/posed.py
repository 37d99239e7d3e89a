"""The problems that a fitted model answers, in plain arrays, whatever library fitted it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from maxmargin.data.arrays import Array, Matrix, view_rows
from maxmargin.data.problem import Problem
from maxmargin.estimators._checks import function_values
from maxmargin.kernels import Kernel, Precomputed
from maxmargin.losses import Loss
from maxmargin.objectives import (
    HardMarginObjective,
    Intercept,
    KernelObjective,
    L1Objective,
    LinearObjective,
    NuObjective,
    ScalarObjective,
)


@dataclass(frozen=True, eq=False)
class Posed:
    """One convex problem with the point that a model took for its answer.

    Attributes
    ----------
    X, y, cost : arrays
        Rows (of a kernel matrix: positions, as a column), labels ±1 or targets, and C_i.
    loss : Loss
        With the margin ρ or the tube ε at which the point is meant.
    w, b : array, float
        Weights; with a kernel the coefficient of each row.
    beta : array or None
        The dual point that the model has, if it has one.
    intercept, scaling, kernel, nu_sum
        As of an `Objective`.
    name : str
        Which problem it is, where there are several.
    rows : array or None
        Which rows of the data it has, if not all.
    flipped : bool
        Whether f is the negative of the model's decision values.
    shift : float
        By how much the model's intercept differs from b, which is relative to a kernel's origin.
    """

    X: Matrix
    y: Array
    cost: Array
    loss: Loss
    w: Array
    b: float
    beta: Array | None = None
    intercept: Intercept = Intercept.FREE
    scaling: float = 1.0
    kernel: Kernel | None = None
    nu_sum: float | None = None
    name: str = ""
    rows: NDArray[np.intp] | None = None
    flipped: bool = False
    shift: float = 0.0

    @property
    def bound(self) -> Array:
        """The most that |β_i| may be."""
        return self.cost if self.loss.bounded else np.where(self.cost > 0.0, np.inf, 0.0)

    def objective(self, problem: Problem) -> ScalarObjective:
        """Return the objective whose certificate judges the point."""
        if self.kernel is None:
            return LinearObjective(problem, self.loss, self.intercept, self.scaling)
        if self.nu_sum is None:
            return KernelObjective(problem, self.loss, self.intercept, self.kernel)
        return NuObjective(problem, self.loss, self.intercept, self.kernel, self.nu_sum)

    def hard_margin(self, **changes: Any) -> PosedHardMargin:
        """Return the hard margin on the same samples."""
        return PosedHardMargin(**(vars(self) | changes))

    def penalized(self, penalty: str) -> Posed:
        """Return the problem with the penalty ‖w‖₁ in place of ½‖w‖² if that is "l1"."""
        return PosedAbsolute(**vars(self)) if penalty == "l1" else self


@dataclass(frozen=True, eq=False)
class PosedHardMargin(Posed):
    """½‖w‖² subject to y_i f(x_i) ≥ 1 of every sample whose C_i is not 0; it has a kernel."""

    @property
    def bound(self) -> Array:
        """None, but for samples without weight."""
        return np.where(self.cost > 0.0, np.inf, 0.0)

    def objective(self, problem: Problem) -> ScalarObjective:
        """Return the objective whose certificate judges the point."""
        assert self.kernel is not None
        return HardMarginObjective(problem, self.loss, self.intercept, self.kernel)


@dataclass(frozen=True, eq=False)
class PosedAbsolute(Posed):
    """‖w‖₁ + Σ C_i max(0, 1 − y_i f(x_i))²."""

    def objective(self, problem: Problem) -> ScalarObjective:
        """Return the objective whose certificate judges the point."""
        return L1Objective(problem, self.loss, self.intercept, self.scaling)


@dataclass(frozen=True, eq=False)
class PosedJoint:
    """The one problem of K classes, as Crammer and Singer pose it; y numbers the classes.

    w has a row of weights for each class, with a kernel of coefficients; beta a column. `shift` is
    the largest of the classes'.
    """

    X: Matrix
    y: Array
    cost: Array
    w: Array
    b: Array
    beta: Array | None = None
    intercept: Intercept = Intercept.FREE
    scaling: float = 1.0
    kernel: Kernel | None = None
    name: str = ""
    shift: float = 0.0

    @property
    def bound(self) -> Array:
        """The most that the β of a sample's own class may be."""
        return self.cost


@dataclass(frozen=True, eq=False)
class Data:
    """Rows, labels or targets, and weights, as they were given to a fit."""

    X: Matrix
    y: NDArray[Any]
    weight: Array

    @classmethod
    def checked(cls, X: Any, y: Any, sample_weight: Any) -> Data:
        """Return them as arrays, or say what is wrong with them."""
        X = check_array(
            X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", input_name="X"
        )
        X, _ = view_rows(X)
        n = X.shape[0]
        y = np.ones(n) if y is None else column_or_1d(y)
        weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, np.float64)
        check_consistent_length(X, y, weight)
        if weight.shape != (n,) or not (np.isfinite(weight).all() and (weight >= 0.0).all()):
            raise ValueError(
                "sample_weight must be one finite number, 0 or larger, for each sample, as it was"
                " given to fit."
            )
        return cls(X, y, weight)

    @property
    def targets(self) -> Array:
        """The targets of a regression."""
        return np.asarray(self.y, dtype=np.float64)

    def samples(self, kernel: Kernel | None) -> Matrix:
        """Return the rows, or their positions in a kernel matrix."""
        if isinstance(kernel, Precomputed):
            return np.arange(self.X.shape[0], dtype=np.float64)[:, np.newaxis]
        return self.X

    def class_costs(self, cost: Array, factors: dict[Any, float]) -> Array:
        """C_i × the factor of the class."""
        for label, factor in factors.items():
            cost = np.where(self.y == label, cost * factor, cost)
        return cost

    def against_rest(self, classes: NDArray[Any]) -> Iterator[tuple[Array, str]]:
        """Yield the labels ±1 of each problem and its name: one for two classes, for the second."""
        if len(classes) == 2:
            yield np.where(self.y == classes[1], 1.0, -1.0), ""
            return
        for label in classes:
            yield np.where(self.y == label, 1.0, -1.0), f"{label} against the rest"

    def members(self, classes: NDArray[Any]) -> list[NDArray[np.intp]]:
        """Return the rows of each class."""
        return [np.flatnonzero(self.y == label) for label in classes]


def rows_of(model: Any, X: Any) -> Any:
    """Return the rows of X; of a machine whose kernel is a plain function its values.

    What such a function takes for samples may be anything: texts, graphs.
    """
    kernel = getattr(model, "kernel", None)
    if callable(kernel) and not isinstance(kernel, Kernel) and hasattr(model, "support_"):
        return function_values(kernel, X, X)
    return X


def check_features(model: Any, data: Data, n_features: int | None = None) -> None:
    """Refuse rows of another length than those of the fit."""
    if callable(getattr(model, "kernel", None)) and not isinstance(model.kernel, Kernel):
        n_features = int(model.shape_fit_[0])  # of values of the kernel
    wanted = getattr(model, "n_features_in_", None) if n_features is None else n_features
    if wanted is not None and data.X.shape[1] != wanted:
        raise ValueError(
            f"X has {data.X.shape[1]} features, and {type(model).__name__} was fitted to {wanted}."
            " Give the rows of the fit."
        )


def check_labels(data: Data, classes: NDArray[Any]) -> None:
    """Refuse labels that the model does not know."""
    unknown = np.setdiff1d(data.y, classes)
    if len(unknown):
        raise ValueError(
            f"y has the label {unknown.tolist()[0]!r}, which the model does not know:"
            f" {classes.tolist()}. Give the labels of the fit."
        )


def check_places(support: NDArray[Any], n_samples: int) -> None:
    """Refuse data that lack samples which are support vectors."""
    if len(support) and int(support.max()) >= n_samples:
        raise ValueError(
            f"The model's support vectors go up to sample {int(support.max())}, and there are"
            f" {n_samples} samples with a weight. Give the samples of the fit, in their order."
        )


def by_pairs(
    dual_coef: Array, support: NDArray[Any], n_support: NDArray[Any], n_samples: int
) -> list[Array]:
    """Return the coefficients of all samples for each pair of classes, from LIBSVM's layout.

    There a support vector has one coefficient against each rival of its class, in their order.
    """
    ends = np.cumsum(n_support)
    own = [slice(end - size, end) for end, size in zip(ends, n_support, strict=True)]
    found = []
    for first, second in combinations(range(len(n_support)), 2):
        coef = np.zeros(n_samples)
        coef[support[own[first]]] = dual_coef[second - 1, own[first]]
        coef[support[own[second]]] = dual_coef[first, own[second]]
        found.append(coef)
    return found
