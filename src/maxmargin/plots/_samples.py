"""What the pictures say of each sample: its dual variable and its slack."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from maxmargin.data.arrays import Array
from maxmargin.theory.model_certificate import read
from maxmargin.theory.models.wrapped import inner
from maxmargin.theory.posed import Data, Posed, PosedJoint, rows_of


class Roles(NamedTuple):
    """Which samples are support vectors inside their box, and at its end."""

    free: NDArray[np.bool_]
    bounded: NDArray[np.bool_]


def roles(model: Any, X: Any, y: Any, sample_weight: Any = None) -> Roles:
    """Return the role of each sample: of several problems, bounded before free.

    A model without dual variables has no support vectors to show.
    """
    free, bounded = np.zeros((2, _num_samples(X)), dtype=bool)
    posed: list[Posed | PosedJoint] = []
    for machine in inner(model, X, y, sample_weight):
        data = Data.checked(rows_of(machine.model, machine.X), machine.y, machine.weight)
        if len(data.y) < len(free):
            raise ValueError(
                f"{type(model).__name__} has machines of some of the samples each. Draw"
                " SVC(multi_class='ovo'), or OneVsRestClassifier."
            )
        posed += read(machine.model, data, None, {})[0]
    for problem in posed:
        if problem.beta is None:
            continue
        size = _sizes(problem)
        at_end = (size >= problem.bound * (1.0 - 1e-9)) & (size > 0.0)
        rows = getattr(problem, "rows", None)
        rows = np.arange(len(free)) if rows is None else rows
        bounded[rows] |= at_end
        free[rows] |= (size > 0.0) & ~at_end
    return Roles(free & ~bounded, bounded)


def _sizes(posed: Posed | PosedJoint) -> Array:
    """Return |β_i|; of all classes that of the sample's own."""
    assert posed.beta is not None
    if isinstance(posed, PosedJoint):
        return np.asarray(posed.beta[np.arange(len(posed.y)), posed.y.astype(int)])
    return np.asarray(np.abs(posed.beta))


def signs(model: Any, y: Any) -> Array:
    """Return ±1, +1 for the second class."""
    return np.where(np.asarray(y) == model.classes_[1], 1.0, -1.0)


def margins(model: Any, X: Any, y: Any) -> Array:
    """Return y f(x), or f_y(x) − max f_j(x) of the other classes."""
    values = model.decision_function(X)
    if values.ndim == 1:
        return np.asarray(signs(model, y) * values)
    own = np.arange(len(values)), np.searchsorted(model.classes_, y)
    rivals = values.copy()
    rivals[own] = -np.inf
    return np.asarray(values[own] - rivals.max(axis=1))
