"""Labels, targets and weights in: what a Problem holds as y and cost."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

import maxmargin._core as _core
from maxmargin.data.arrays import Array, Matrix, explaining
from maxmargin.data.checks import check_positive

#: What scikit-learn says where weights leave one class.
ONE_LEFT = "Invalid input - all samples with positive weights belong to the same class"

#: Costs below it are as good as 0, and their inverses beyond double precision.
_TINY = 1e-300

#: Largest weight from which on, and inverse of that below which, products of weights may not be
#: represented.
_FAR = 1e100


def real_targets(y: Any) -> Array:
    """Return the targets of a regression as the core reads them."""
    with explaining((), y):
        return np.require(y, np.float64, ("C", "A"))


def total_cost(C: object, lam: object, n_samples: float) -> float:
    """C, from either parameter: C = 1/(n lam)."""
    if lam is None:
        return check_positive("C", C, advice="Larger C fits the training data more closely.")
    if C is not None and C != 1.0:
        raise ValueError(
            f"lam={lam!r} is given instead of C, and C={C!r} too. Give one: lam is 1/(n_samples *"
            " C), and goes with the default C=1.0."
        )
    lam = check_positive("lam", lam, advice="C = 1/(n_samples * lam).")
    return 1.0 / (n_samples * lam)


def sample_costs(X: Matrix, C: object, lam: object, sample_weight: object | None) -> Array:
    """C_i = C × sample weight; with lam, n counts the weights, so that repeating is weighting.

    A weight below 0 leaves a sample out, as 0 does.
    """
    n_samples = X.shape[0]
    if sample_weight is None:
        return np.full(n_samples, _representable(total_cost(C, lam, n_samples)))
    try:
        weight: Array = _check_sample_weight(
            sample_weight, X, dtype=np.float64, allow_all_zero_weights=True
        )
        weight = np.maximum(weight, 0.0)
    except (ValueError, TypeError) as error:
        raise type(error)(
            f"{str(error).rstrip()}\nsample_weight must be one finite number for each of the"
            f" {n_samples} samples; 0 or less leaves a sample out."
        ) from None
    total = float(weight.sum())
    if total == 0.0:
        raise ValueError(
            "Invalid input - all samples have zero or negative weights. sample_weight must be"
            " positive for some."
        )
    return _weighed(total_cost(C, lam, total), weight)


def relative_costs(X: Matrix, sample_weight: object | None) -> Array:
    """Return the weights as the costs of a problem whose answer depends on their ratios only.

    They are divided by the largest where products of them would leave double precision.
    """
    cost = sample_costs(X, 1.0, None, sample_weight)
    largest = float(cost.max())
    return cost if 1.0 / _FAR < largest < _FAR else cost / largest


def _weighed(C: float, weight: Array) -> Array:
    """C × weight; what double precision cannot divide by counts as 0."""
    cost = C * weight
    _representable(float(cost.max()))
    cost[cost < _TINY] = 0.0
    return cost


def _representable(cost: float) -> float:
    """Return the largest C_i, or say that it is too small."""
    if not cost >= _TINY:
        raise ValueError(
            f"C_i is at most {cost:g}, too small for double precision. Raise C or the weights, or"
            " lower lam."
        )
    return cost


def class_factors(cost: Array, class_weight: Any, classes: NDArray[Any], y: NDArray[Any]) -> Array:
    """Return the weight of each class."""
    if class_weight is None:
        return np.ones(len(classes))
    some = cost > 0.0  # who has no weight is not counted, nor a class of such
    present = (
        np.isin(classes, y[some]) if isinstance(class_weight, str) else np.full(len(classes), True)
    )
    weights: Array = np.ones(len(classes))
    try:
        weights[present] = compute_class_weight(
            class_weight, classes=classes[present], y=y[some], sample_weight=cost[some] / cost.max()
        )
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"class_weight must be None, 'balanced' or a dict with a weight for each class that"
            f" differs from 1, got {class_weight!r}: {error}"
        ) from None
    if not (np.isfinite(weights).all() and (weights >= 0.0).all() and weights.any()):
        raise ValueError(
            "class_weight must give every class a finite weight, 0 or larger, and one a positive"
            f" one, got {class_weight!r}."
        )
    return weights


def class_costs(cost: Array, class_weight: Any, classes: NDArray[Any], y: NDArray[Any]) -> Array:
    """C_i × the weight of the sample's class."""
    if class_weight is None:
        return cost
    factors = class_factors(cost, class_weight, classes, y)
    weighted: Array = cost * factors[class_numbers(classes, y)]
    weighted[weighted < _TINY] = 0.0
    return weighted


def costs_against_rest(
    cost: Array, class_weight: Any, classes: NDArray[Any], y: NDArray[Any]
) -> list[Array]:
    """C_i of each class against the rest, which has no class weight: as in LIBLINEAR."""
    if class_weight is None:
        return [cost] * len(classes)
    factors = class_factors(cost, class_weight, classes, y)
    weighted = [
        np.where(y == label, cost * factor, cost)
        for label, factor in zip(classes, factors, strict=True)
    ]
    return [np.where(each < _TINY, 0.0, each) for each in weighted]


def class_labels(y: NDArray[Any]) -> NDArray[Any]:
    """Return the distinct labels, or refuse what is none; whole numbers are labels."""
    kind = y.dtype.kind
    if kind == "O":
        check_classification_targets(np.repeat(y, 2))  # what cannot be sorted
    other = _second_label(y)
    classes = np.sort(y[[0, other]]) if other else np.unique(y)
    whole = kind in "biu" or (kind == "f" and all(float(c).is_integer() for c in classes.tolist()))
    if not whole:  # twice each: no warning that there are many
        check_classification_targets(np.repeat(classes, 2))
    return classes


def _second_label(y: NDArray[Any]) -> int:
    """Return the first index of a label other than the first, if y is known to have two; else 0."""
    kind, size = y.dtype.kind, y.dtype.itemsize
    if kind in "biu":
        y = y.view(f"u{size}")  # equal if the bits are
    elif kind != "f" or size not in (4, 8) or not y.dtype.isnative:
        return 0
    return int(_core.second_label(np.require(y, requirements=("C", "A"))))


def check_several_classes(
    classes: NDArray[Any], y: NDArray[Any], cost: Array, *, one_left: str = ONE_LEFT
) -> None:
    """Refuse labels of one class; `one_left` is the message where weights leave one."""
    if len(classes) == 1:
        raise ValueError(
            "The number of classes has to be greater than one; got 1 class:"
            f" {classes.tolist()[0]!r} is the label of all samples."
        )
    if cost.all():
        return
    weighted = y[cost > 0.0]
    if len(weighted) == 0:
        raise ValueError(
            "Invalid input - all samples have zero or negative weights: sample_weight times"
            " class_weight. Give some samples of two classes a positive weight in both."
        )
    if (weighted == weighted[0]).all():
        raise ValueError(
            f"{one_left}: {weighted.tolist()[0]!r}. Give samples of another class weight."
        )


def class_members(y: NDArray[Any], classes: NDArray[Any]) -> list[NDArray[np.intp]]:
    """Return the rows of each class."""
    return [np.flatnonzero(y == label) for label in classes]


def class_numbers(classes: NDArray[Any], y: NDArray[Any]) -> NDArray[np.intp]:
    """Return the index of each label among the classes."""
    if len(classes) == 2:  # five times as fast as a search
        return np.asarray(y == classes[1]).astype(np.intp)
    return np.searchsorted(classes, y)


def side_costs(y: Array, cost: Array, what: str) -> tuple[float, float]:
    """Return the costs of both labels; refuse that one has none, where that leaves no problem."""
    sides = float(cost[y > 0.0].sum()), float(cost[y < 0.0].sum())
    if min(sides) == 0.0:
        raise ValueError(
            f"{what} needs samples of positive weight in every class, and one has none. Leave its"
            " samples out, or give them weight."
        )
    return sides
