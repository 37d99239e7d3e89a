"""scikit-learn's checks of X and y, with warnings that point to the caller's own line."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import assert_all_finite, check_consistent_length
from sklearn.utils.validation import _num_samples, column_or_1d, validate_data

from maxmargin.data.arrays import Array, explaining
from maxmargin.data.checks import check_count, check_flag, check_positive
from maxmargin.data.targets import class_labels
from maxmargin.estimators._warn import warn
from maxmargin.kernels.custom import writable
from maxmargin.kernels.named import check_numbers
from maxmargin.kernels.pairwise import plain
from maxmargin.solvers.kernel.value_checks import refuse_huge_values

#: Samples from which on too many labels may mean that they are numbers; scikit-learn's choice.
_FEW_SAMPLES = 20


def labels_of(y: NDArray[Any]) -> NDArray[Any]:
    """Return the distinct labels; warn where they are as many as the values of a regression."""
    classes = class_labels(y)
    if len(y) > _FEW_SAMPLES and len(classes) > round(0.5 * len(y)):
        warn(
            "The number of unique classes is greater than 50% of the number of samples. `y` could"
            " represent a regression problem, not a classification problem.",
            UserWarning,
        )
    return classes


def check_dual(dual: object) -> None:
    """Refuse what scikit-learn does not take either; the solvers do not depend on it."""
    if not isinstance(dual, (bool, np.bool_)) and dual != "auto":
        raise ValueError(f"dual must be 'auto', True or False, got {dual!r}.")


#: Parameters of which some estimators have some.
_SWITCHES = ("fit_intercept", "penalized_intercept", "warm_start", "shrinking", "break_ties")


def check_parameters(model: Any) -> None:
    """Refuse what a parameter must never be, whether the fit needs it or not.

    A word such as "no" for a switch would count as on.
    """
    for name in _SWITCHES:
        check_flag(name, getattr(model, name, False))
    probability = getattr(model, "probability", "deprecated")
    if not isinstance(probability, str) or probability != "deprecated":
        check_flag("probability", probability)
    verbose = model.verbose
    if not isinstance(verbose, (bool, np.bool_, numbers.Integral)) or verbose < 0:
        raise ValueError(
            f"verbose must be a whole number, 0 or larger, or True or False, got {verbose!r}."
        )
    scaling = getattr(model, "intercept_scaling", 1.0)
    check_positive("intercept_scaling", scaling, advice="1.0 is LIBLINEAR's.")
    if (cache_size := getattr(model, "cache_size", None)) is not None:
        check_positive("cache_size", cache_size, advice="It is in megabytes.")
    if (max_support := getattr(model, "max_support", None)) is not None:
        check_count("max_support", max_support, advice="None keeps all.")
    if hasattr(model, "kernel"):
        check_numbers(model)


def warn_of_probability(model: Any) -> None:
    """Warn as scikit-learn does where the parameter is given."""
    if isinstance(model.probability, str) and model.probability == "deprecated":
        return
    name = type(model).__name__
    warn(
        "The `probability` parameter was deprecated in scikit-learn 1.9. Leave it out:"
        f" predict_proba of {name} needs no flag.",
        FutureWarning,
    )


def without_names(model: Any) -> Any:
    """Return the model, without names of columns, for rows whose names were checked before."""
    if "feature_names_in_" not in vars(model):
        return model
    twin = object.__new__(type(model))  # not copy(), which leaves out what a pickle does not need
    twin.__dict__ = {key: vars(model)[key] for key in vars(model) if key != "feature_names_in_"}
    return twin


def no_platt(name: str) -> Array:
    """Return no numbers, with scikit-learn's warning for this attribute."""
    warn(
        f"Attribute `{name}` was deprecated in version 1.9 and will be removed in 1.11.",
        FutureWarning,
    )
    return np.empty(0)


def function_values(kernel: Callable[[Any, Any], Any], rows: Any, columns: Any) -> Array:
    """Return what the function says of all these samples, one array."""
    arrays = (rows, columns)
    given = (writable(A) if _is_block(A) else A for A in arrays)
    values = np.asarray(plain(kernel(*given)))
    shape = _num_samples(rows), _num_samples(columns)
    if values.shape != shape:
        raise ValueError(
            f"The kernel returned an array of shape {values.shape} for {shape[0]} and {shape[1]}"
            f" samples; it must be {shape}."
        )
    if values.dtype not in (np.float64, np.float32):
        values = values.astype(np.float64)
    if not np.isfinite(values).all():
        raise ValueError("The kernel returned NaN or infinity.")
    refuse_huge_values(values)
    return np.ascontiguousarray(values)


def _is_block(A: Any) -> bool:
    """Whether these samples are an array or a sparse matrix, which may be read-only."""
    return isinstance(A, np.ndarray) or getattr(A, "format", None) == "csr"


def checked_targets(y: Any, n_samples: int, *, y_numeric: bool = False) -> NDArray[Any]:
    """Return labels or targets as a vector of as many entries as there are samples."""
    with explaining((), y):
        checked = column_or_1d(flat_targets(y), dtype=np.float64 if y_numeric else None)
        assert_all_finite(checked, input_name="y")
        check_consistent_length(range(n_samples), checked)
    return np.asarray(checked)


def flat_targets(y: Any) -> Any:
    """Return y, as a vector if it is a column, which is warned of."""
    try:
        shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
    except (TypeError, ValueError):  # rows of several lengths: refused later
        return y
    if len(shape) != 2 or shape[1] != 1 or sparse.issparse(y):
        return y
    warn(
        "A column-vector y was passed when a 1d array was expected. Please change the shape of y to"
        " (n_samples, ), for example using ravel().",
        DataConversionWarning,
    )
    return column_or_1d(y)


def named_alike(model: Any, X: Any) -> Any:
    """Return the model; if X or it has names of features alone, warn, and return one like X."""
    probe = object.__new__(type(model))
    vars(probe).update(model.get_params(deep=False))
    validate_data(probe, X, reset=True, skip_check_array=True)
    named = hasattr(probe, "feature_names_in_")
    if named == hasattr(model, "feature_names_in_"):
        return model
    name = type(model).__name__
    warn(
        f"X has feature names, but {name} was fitted without feature names"
        if named
        else f"X does not have valid feature names, but {name} was fitted with feature names",
        UserWarning,
    )
    probe.n_features_in_ = model.n_features_in_
    return probe
