"""Parameters in: values that are refused, and advice on the scales of X."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

import maxmargin._core as _core
from maxmargin.data.arrays import Array, Matrix

#: Values of X from which the scales of its columns are estimated.
_ADVICE_VALUES = 2**20

#: Values of X that are checked after every fit, and the ratio of scales that deserves a warning.
_FEW_VALUES, _WILD = 2**12, 1e6

#: What an infinite C of a regression stands for: as good as a tube that all targets have to be in.
LARGEST_C = 1e10


class DataWarning(UserWarning):
    """The fit is proven, but the data or the parameters may make it meaningless."""


def check_one_label(estimator: object, y: Any) -> None:
    """Refuse several labels a sample, and name the remedy."""
    shape = y.shape if hasattr(y, "shape") else np.shape(np.asarray(y, dtype=object))
    if len(shape) == 2 and shape[1] > 1:
        raise ValueError(
            f"y should be a 1d array of labels, got one of shape {tuple(shape)}. For several labels"
            " a sample use sklearn.multioutput.MultiOutputClassifier"
            f"({type(estimator).__name__}())."
        )


def check_positive(name: str, value: object, *, advice: str) -> float:
    """Return the number, or say which parameter is wrong, what it was and what would do."""
    if (
        isinstance(value, bool)
        or not isinstance(value, (float, numbers.Real))  # isinstance of numbers.Real is slow
        or not 0.0 < float(value) < math.inf
    ):
        raise ValueError(f"{name} must be a positive finite number, got {value!r}. {advice}")
    return float(value)


def is_infinite(value: object) -> bool:
    """Whether the parameter is +∞."""
    return isinstance(value, numbers.Real) and float(value) == math.inf


def as_floats(settings: object, *names: str) -> None:
    """Turn numbers of a frozen dataclass into Python's: NumPy's narrow ones would narrow sums."""
    for name in names:
        value = getattr(settings, name)
        if isinstance(value, numbers.Real) and not isinstance(value, (bool, float)):
            object.__setattr__(settings, name, float(value))


def check_count(name: str, value: object, *, advice: str) -> int:
    """Return the whole number of at least 1, or say what would do."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}. {advice}")
    return int(value)


def check_flag(name: str, value: object) -> None:
    """Refuse what is neither True nor False: a word such as "none" would count as True."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, got {value!r}.")


def check_finite(name: str, value: object, *, least: float = -math.inf, advice: str = "") -> float:
    """Return the number, or say that it must be finite, and how large."""
    if not isinstance(value, numbers.Real) or not math.isfinite(value) or not float(value) >= least:
        size = "" if least == -math.inf else f", {least:g} or larger"
        raise ValueError(f"{name} must be a finite number{size}, got {value!r}.{advice}")
    return float(value)


def check_tube(epsilon: object) -> float:
    """Return the half width of the tube in which errors cost nothing."""
    return check_finite("epsilon", epsilon, least=0.0)


def check_magnitudes(
    longest: float, target_summary: _core.TargetSummary, scaling: float = 0.0
) -> None:
    """Refuse numbers whose products would leave the range of double precision.

    `scaling` is the constant feature of a penalised intercept. A step from 0 may bring f to ΣC‖x‖²,
    and a squared loss to ΣC f².
    """
    limit = 1e200
    farthest, total = target_summary.max_abs, target_summary.total_cost
    most, square = max(total, 1.0), scaling * scaling
    longest_of_all = longest + square
    f = longest_of_all * most
    if not (f * most < limit and farthest * farthest * most < limit and f * f * most < limit**1.5):
        constant = f" and intercept_scaling is {scaling:.1e}" if square > longest else ""
        remedy = ", lower intercept_scaling" if constant else ""
        raise ValueError(
            f"X has rows of squared length {longest:.1e}, y reaches {farthest:.1e}, the costs C_i"
            f" sum to {total:.1e}{constant}: their products overflow. Scale X and y"
            f" (sklearn.preprocessing.StandardScaler){remedy} or lower C."
        )


def check_total_cost(cost: Array) -> None:
    """Refuse costs of a kernel machine whose squares times its largest kernel values overflow."""
    total = float(cost.sum())
    if 1e130 <= total < np.inf:  # infinite ones are a hard margin
        raise ValueError(
            f"The costs C_i, C times sample_weight and class_weight, sum to {total:.1e}: their"
            " products overflow. Lower C, or divide sample_weight by a number."
        )


def check_choice(name: str, value: object, choices: Mapping[str, Any] | tuple[str, ...]) -> str:
    """Return the word, or list the words that would do."""
    if not isinstance(value, str) or value not in choices:
        options = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {options}, got {value!r}.")
    return value


def wild_scales(X: Matrix) -> str:
    """Advise scaling where columns differ so much that some have no effect."""
    dense = not sparse.issparse(X)
    sizes = np.abs(X[:: max(1, X.size // _FEW_VALUES)] if dense else X.data[:_FEW_VALUES])
    largest = float(sizes.max(initial=0.0))
    if _WILD * float(sizes.min(where=sizes > 0.0, initial=largest)) >= largest:  # no column is wild
        return ""
    return scale_advice(X, _WILD)


def scale_advice(X: Matrix, factor: float = 1e3) -> str:
    """Advise scaling where the scales of columns differ by that factor in some rows."""
    stored = X.nnz if sparse.issparse(X) else X.size
    some = X[:: max(1, stored // _ADVICE_VALUES)]
    if sparse.issparse(X):
        squares = np.bincount(some.indices, weights=some.data.astype(np.float64) ** 2)
    else:
        squares = np.einsum("ij,ij->j", some, some, dtype=np.float64)
    size = np.sqrt(squares / some.shape[0])
    used = np.flatnonzero(size)
    if len(used) == 0 or size[used].max() < factor * size[used].min():
        return ""
    large, small = used[np.argmax(size[used])], used[np.argmin(size[used])]
    return (
        f" The columns of X differ in size by a factor of {size[large] / size[small]:.0e}"
        f" (column {large} is about {size[large]:.1g}, column {small} about {size[small]:.1g}):"
        " after sklearn.preprocessing.StandardScaler, or MaxAbsScaler for sparse data, the small"
        " ones would count as much as the large ones and the fit would need far fewer iterations."
    )
