"""Models around a machine: pipelines, searches, embeddings, one binary machine for each class."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

_NOT_ONE = {
    "CalibratedClassifierCV": (
        "has machines that were fitted to parts of the data, and a map of their values. Certify the"
        " machines, calibrated_classifiers_[k].estimator, on the rows of their folds"
    ),
    "VotingClassifier": "has several machines. Certify each of estimators_",
    "StackingClassifier": "has several machines. Certify each of estimators_",
    "BaggingClassifier": (
        "has machines that were fitted to drawn samples. Certify each of estimators_ on its"
        " estimators_samples_"
    ),
}


class Inner(NamedTuple):
    """A machine within another model, with the data that reached it, and its name.

    `space` says in which space its problem is posed, where that is not the kernel's.
    """

    model: Any
    X: Any
    y: Any
    weight: Any
    name: str = ""
    space: str = ""


def inner(model: Any, X: Any, y: Any, weight: Any) -> list[Inner]:
    """Return the machines in a model; a machine is its own."""
    shell = _unwrapped(model, X, y)
    if shell is not None:
        return inner(*shell, weight)
    if _is(model, "sklearn.multiclass", "OneVsRestClassifier"):
        return list(_against_rest(model, X, y, weight))
    if _is(model, "sklearn.multiclass", "OneVsOneClassifier"):
        return list(_pairs(model, X, y, weight))
    if hasattr(model, "svm_") and hasattr(model, "embedding_"):
        found = inner(model.svm_, model._coordinates(X), y, weight)
        return [one._replace(space="this embedding") for one in found]
    _refuse_several(model)
    return [Inner(model, X, y, weight)]


def _unwrapped(model: Any, X: Any, y: Any) -> tuple[Any, Any, Any] | None:
    """Return the one model within a model, with the X and y that reached it."""
    if _is(model, "sklearn.pipeline", "Pipeline"):
        check_is_fitted(model)
        return model[-1], model[:-1].transform(X) if len(model) > 1 else X, y
    if hasattr(model, "best_estimator_"):
        return model.best_estimator_, X, y
    if _is(model, "sklearn.frozen", "FrozenEstimator"):
        return model.estimator, X, y
    if _is(model, "sklearn.compose", "TransformedTargetRegressor"):
        check_is_fitted(model)
        targets = np.asarray(y, dtype=np.float64)[:, np.newaxis]
        return model.regressor_, X, model.transformer_.transform(targets).ravel()
    return None


def _is(model: Any, module: str, kind: str) -> bool:
    """Whether it is of that class of scikit-learn, without an import of it."""
    return any(
        base.__name__ == kind and base.__module__.startswith(module) for base in type(model).__mro__
    )


def _refuse_several(model: Any) -> None:
    for base in type(model).__mro__:
        if base.__module__.startswith("sklearn.") and base.__name__ in _NOT_ONE:
            raise TypeError(f"A {base.__name__} {_NOT_ONE[base.__name__]}.")


def _against_rest(model: Any, X: Any, y: Any, weight: Any) -> Iterator[Inner]:
    """Yield the machine of each class; of two classes there is one, for the second."""
    check_is_fitted(model)
    if model.multilabel_:
        raise ValueError(
            "A OneVsRestClassifier of several labels a sample has no one y. Certify each of"
            " estimators_ with its column of labels."
        )
    labels = np.asarray(y)
    classes = model.classes_[1:] if len(model.classes_) == 2 else model.classes_
    for label, machine in zip(classes, model.estimators_, strict=True):
        own = (labels == label).astype(int)
        for one in inner(machine, X, own, weight):
            yield one._replace(name=f"{label} against the rest")


def _pairs(model: Any, X: Any, y: Any, weight: Any) -> Iterator[Inner]:
    """Yield the machine of each pair of classes with the rows of these."""
    check_is_fitted(model)
    labels = np.asarray(y)
    X = X if hasattr(X, "shape") else np.asarray(X)
    pairs = combinations(model.classes_, 2)
    columns = model.pairwise_indices_ or [None] * len(model.estimators_)
    for (first, second), machine, chosen in zip(pairs, model.estimators_, columns, strict=True):
        rows = np.flatnonzero((labels == first) | (labels == second))
        part = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
        part = part if chosen is None else part[:, chosen]
        own = None if weight is None else np.asarray(weight)[rows]
        for one in inner(machine, part, (labels[rows] == second).astype(int), own):
            yield one._replace(name=f"{first} against {second}")
