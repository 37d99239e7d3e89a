"""Predictions of linear models."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from maxmargin.data.arrays import Array, view_rows
from maxmargin.data.problem import Problem
from maxmargin.estimators._l1 import dense_coef
from maxmargin.estimators._linear import LinearModel


class LinearClassifier(ClassifierMixin):
    """Labels from the decision values of a LinearModel."""

    def decision_function(self, X: Any) -> Array:
        """f(x): one column for each class, or one number for two classes."""
        check_is_fitted(self)
        return decision_values(self, X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label with the largest decision value."""
        scores = self.decision_function(X)
        winners = (scores > 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[winners])


def decision_values(model: LinearModel, X: Any) -> Array:
    """Xw + b without a copy of X; a matrix if the model has several rows of weights."""
    X, rows = view_rows(model._check_rows(X, reset=False))
    nothing = np.zeros(X.shape[0])
    problem = Problem(X, nothing, nothing, rows)
    columns = [
        problem.predict(np.ascontiguousarray(w, dtype=np.float64), float(b))
        for w, b in zip(dense_coef(model.coef_), model.intercept_, strict=True)
    ]
    return columns[0] if len(columns) == 1 else np.stack(columns, axis=1)
