"""scikit-learn's checks of X and y, with warnings that point to the caller's own line."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import column_or_1d, validate_data

from maxmargin.data.targets import class_labels
from maxmargin.estimators._warn import warn

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
