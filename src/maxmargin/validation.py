"""User arrays in: dtype, order, labels, weights -> what a Problem holds."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import _check_sample_weight

import maxmargin._core as _core

Array: TypeAlias = NDArray[np.float64]
#: A C-ordered float32 or float64 array, or a CSR matrix or array of such values.
Matrix: TypeAlias = Any

MAX_ROWS = 2**31 - 1

#: Costs below it are as good as 0, and their inverses beyond double precision.
_TINY = 1e-300

#: Values of X that are looked at to say how its columns differ.
_ADVICE_VALUES = 2**20

#: About as many are looked at after every fit, to see whether some may differ by this factor.
_FEW_VALUES, _WILD = 2**12, 1e6

#: Share of non-zeros below which CSR rows are faster than dense ones.
SPARSE = 0.25


def check_one_label(estimator: object, y: Any) -> None:
    """Refuse several labels a sample, and say what takes them."""
    shape = y.shape if hasattr(y, "shape") else np.shape(np.asarray(y, dtype=object))
    if len(shape) == 2 and shape[1] > 1:
        raise ValueError(
            f"y should be a 1d array of labels, got one of shape {tuple(shape)}. For several labels"
            " a sample use sklearn.multioutput.MultiOutputClassifier"
            f"({type(estimator).__name__}())."
        )


_REAL = "X must hold real numbers: give real and imaginary parts as columns of their own."
_SHAPES = (
    ("inconsistent numbers of samples", "X must have a row, and y a label or target, a sample."),
    (
        "Found array with",
        "X must have two dimensions, a row for each sample and a column for each feature, and at"
        " least one of both.",
    ),
)


@contextmanager
def explaining(X: Any, y: Any = None) -> Iterator[None]:
    """Add to scikit-learn's errors about X and y which value is meant, and what would do."""
    try:
        yield
    except (ValueError, TypeError) as error:
        text, remedy = str(error), ""
        if text.startswith(("could not convert", "float() argument")):
            remedy = (
                "y must hold numbers; for labels there are the classifiers."
                if _numeric(X)
                else "X must hold numbers: encode words with sklearn.preprocessing.OneHotEncoder,"
                " texts with sklearn.feature_extraction.text.TfidfVectorizer; a number that is"
                " missing is np.nan."
            )
        elif "contains NaN" in text or "contains infinity" in text:
            remedy = _first_bad(y if "Input y" in text else X)
        elif text.startswith("Complex data"):
            text, remedy = text.splitlines()[0], _REAL  # what follows is all of X
        else:
            remedy = next((advice for words, advice in _SHAPES if words in text), "")
        if not remedy:
            raise
        raise type(error)(f"{text.rstrip()}\n{remedy}") from None


def real_targets(y: Any) -> Array:
    """Return the targets of a regression as the core reads them."""
    with explaining((), y):
        return np.require(y, np.float64, ("C", "A"))


def _numeric(X: Any) -> bool:
    try:
        np.asarray(X.tocsr().data if sparse.issparse(X) else X, dtype=np.float64)
    except (ValueError, TypeError):
        return False
    return True


def _first_bad(values: Any) -> str:
    """Say where the first value is that is not finite, and what to do about it."""
    if not _numeric(values):
        return ""
    stored: Any = values.tocsr() if sparse.issparse(values) else np.asarray(values, np.float64)
    flat = stored.data if sparse.issparse(values) else stored.ravel()
    bad = np.flatnonzero(~np.isfinite(flat))
    if len(bad) == 0:
        return ""
    first = int(bad[0])
    if sparse.issparse(values):
        row, column = np.searchsorted(stored.indptr, first, "right") - 1, stored.indices[first]
    else:
        row, column = divmod(first, max(1, stored.size // len(stored)))
    place = f"row {row}, column {column}" if stored.ndim == 2 else f"position {first}"
    remedy = (
        "fill in what is missing (sklearn.impute.SimpleImputer)"
        if np.isnan(flat[first])
        else "clip such values (numpy.clip)"
    )
    return (
        f"The first such value is {flat[first]} at {place} ({len(bad)} in all). Leave such samples"
        f" out, or {remedy}."
    )


def plain_rows(X: Any) -> bool:
    """Whether X is an array or a CSR matrix that can be read as it is."""
    dense = type(X) is np.ndarray and X.flags.c_contiguous
    stored = dense or (sparse.issparse(X) and X.format == "csr")
    return stored and X.ndim == 2 and min(X.shape) > 0 and X.dtype in (np.float64, np.float32)


def plain_targets(y: Any, n_samples: int) -> bool:
    """Whether y is an array of so many numbers."""
    if type(y) is not np.ndarray or y.shape != (n_samples,) or y.dtype.kind not in "fiub":
        return False
    return y.dtype.kind != "f" or bool(np.isfinite(y).all())


def view_rows(X: Matrix) -> tuple[Matrix, _core.Rows]:
    """X as the core reads it, in place if it can be, else a copy; and the view of it.

    A CSR matrix with unsorted or repeated columns is copied and put in order; one whose two index
    arrays differ in type, as some writers leave it, gets both in the wider one; parts that are
    views with gaps are copied.
    """
    if X.shape[0] > MAX_ROWS:
        raise ValueError(f"X has {X.shape[0]} rows; at most {MAX_ROWS} are supported.")
    if not sparse.issparse(X):
        X = np.require(X, requirements=("C", "A"))
        return X, _core.Rows(X)
    index = np.promote_types(np.promote_types(X.indices.dtype, X.indptr.dtype), np.int32)
    given, types = (X.data, X.indices, X.indptr), (X.dtype, index, index)
    parts = tuple(
        np.require(part, kind, ("C", "A")) for part, kind in zip(given, types, strict=True)
    )
    if any(part is not own for part, own in zip(parts, given, strict=True)):
        X = type(X)(parts, shape=X.shape, copy=False)
    try:  # not X.has_canonical_format: SciPy remembers it from before the arrays were exchanged
        return X, _core.Rows(X.data, X.indices, X.indptr, X.shape[1])
    except ValueError:
        X = type(X)((X.data, X.indices, X.indptr), shape=X.shape, copy=True)
        try:
            X.check_format(full_check=True)
        except ValueError as error:
            raise ValueError(
                f"X of shape {X.shape} is no sound CSR matrix: {error}. Make it anew from rows,"
                " columns and values (scipy.sparse.coo_array)."
            ) from None
        X.sum_duplicates()
        return X, _core.Rows(X.data, X.indices, X.indptr, X.shape[1])


def mostly_zero(X: Array) -> bool:
    """Whether few of the values of a dense X are not 0, by some of the rows."""
    some = X[:: max(1, X.shape[0] // 256)]
    return bool(np.count_nonzero(some) < SPARSE * some.size)


def check_positive(name: str, value: object, *, advice: str) -> float:
    """Return the number, or say which parameter is wrong, what it was and what would do."""
    if (
        isinstance(value, bool)
        or not isinstance(value, (float, numbers.Real))  # numbers alone takes long to ask
        or not 0.0 < float(value) < math.inf
    ):
        raise ValueError(f"{name} must be a positive finite number, got {value!r}. {advice}")
    return float(value)


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


def check_tube(epsilon: object) -> float:
    """Return the half width of the tube in which errors cost nothing."""
    if not isinstance(epsilon, numbers.Real) or not 0.0 <= float(epsilon) < np.inf:
        raise ValueError(f"epsilon must be a finite number, 0 or larger, got {epsilon!r}.")
    return float(epsilon)


def check_magnitudes(longest: float, extent: _core.Extent) -> None:
    """Refuse numbers whose products would leave the range of double precision."""
    limit = 1e200
    farthest, total = extent.reach, extent.total_cost
    most = max(total, 1.0)
    if not (longest * most * most < limit and farthest * farthest * most < limit):
        raise ValueError(
            f"X has rows of squared length {longest:.1e}, y reaches {farthest:.1e} and the costs"
            f" C_i sum to {total:.1e}: their products overflow. Scale X and y"
            " (sklearn.preprocessing.StandardScaler) or lower C."
        )


def check_choice(name: str, value: object, choices: Mapping[str, Any] | tuple[str, ...]) -> str:
    """Return the word, or list the words that would do."""
    if not isinstance(value, str) or value not in choices:
        options = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {options}, got {value!r}.")
    return value


def total_cost(C: object, lam: object, n_samples: float) -> float:
    """C, from either parameter: C = 1/(n lam)."""
    if lam is None:
        return check_positive("C", C, advice="Larger C fits the training data more closely.")
    lam = check_positive("lam", lam, advice="C = 1/(n_samples * lam).")
    return 1.0 / (n_samples * lam)


def sample_costs(X: Matrix, C: object, lam: object, sample_weight: object | None) -> Array:
    """C_i = C × sample weight; with lam, n counts the weights, so that repeating is weighting."""
    n_samples = X.shape[0]
    if sample_weight is None:
        return np.full(n_samples, _representable(total_cost(C, lam, n_samples)))
    try:
        weight: Array = _check_sample_weight(
            sample_weight, X, dtype=np.float64, allow_all_zero_weights=True
        )
    except (ValueError, TypeError) as error:
        raise type(error)(
            f"{str(error).rstrip()}\nsample_weight must be one finite number, 0 or larger, for each"
            f" of the {n_samples} samples; 0 leaves a sample out."
        ) from None
    if (weight < 0.0).any():
        worst = int(np.argmin(weight))
        raise ValueError(
            f"sample_weight must not be negative, got {weight[worst]:g} at position {worst}."
            " Give 0 to leave a sample out."
        )
    total = float(weight.sum())
    if total == 0.0:
        raise ValueError(
            "sample_weight is zero for every sample, so there is nothing to fit."
            " Give at least one sample a positive weight."
        )
    return _weighed(total_cost(C, lam, total), weight)


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
    weighted: Array = cost * factors[np.searchsorted(classes, y)]
    weighted[weighted < _TINY] = 0.0
    return weighted


def wild_scales(X: Matrix) -> str:
    """Say what scaling would do where columns differ so much that some count for nothing."""
    dense = not sparse.issparse(X)
    sizes = np.abs(X[:: max(1, X.size // _FEW_VALUES)] if dense else X.data[:_FEW_VALUES])
    largest = float(sizes.max(initial=0.0))
    if _WILD * float(sizes.min(where=sizes > 0.0, initial=largest)) >= largest:  # no column is wild
        return ""
    return scale_advice(X, _WILD)


def scale_advice(X: Matrix, factor: float = 1e3) -> str:
    """Say what scaling would do where sizes of columns differ by that factor, by some rows."""
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
