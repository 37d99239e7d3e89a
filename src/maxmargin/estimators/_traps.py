"""Fits that are proven and mean little: what a warning says of them, with the remedy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from maxmargin.data.arrays import Array, Matrix
from maxmargin.kernels import Gaussian, Kernel, Laplacian, Linear, Polynomial, Sigmoid
from maxmargin.runtime.blas_threads import blas_threads_for
from maxmargin.solution import Solution

#: Ratio of the widths of columns from which on the narrow ones have no effect in a kernel.
_WILD = 1e3

#: Values from which the widths of columns are estimated, and rows whose labels are predicted.
_VALUES, _ROWS = 2**18, 64

#: Rows and columns of the kernel values that are checked, and the size below which they vanish.
_CENTRES, _OTHERS, _VANISHED = 10, 500, 1e-3

#: Where targets count as far: mean distance from where the fit began over C, the share of the loss
#: that it leaves, and how much more the loss fell in the mean than at the end.
_FAR, _LEFT, _STEADY = 10.0, 0.9, 1.5


def wild_columns(kernel: Kernel, X: Matrix) -> str:
    """Say which columns hide which from the kernel."""
    scaled = isinstance(kernel, (Gaussian, Laplacian, Polynomial, Sigmoid, Linear))
    if sparse.issparse(X) or not scaled:
        return ""
    some = X[:: max(1, X.size // _VALUES)]
    width = some.max(axis=0) - some.min(axis=0)
    wide = int(width.argmax())
    if width[wide] == 0.0:
        return ""
    width[width == 0.0] = np.inf
    narrow = int(width.argmin())
    if not width[wide] >= _WILD * width[narrow]:
        return ""
    return (
        f"column {wide} of X is {width[wide] / width[narrow]:.0e} times as wide as column {narrow}"
        " and hides it from the kernel: scale X (sklearn.preprocessing.StandardScaler)."
    )


def vanishing_kernel(kernel: Kernel, X: Matrix) -> str:
    """Say that no sample is near another, where γ is so large."""
    n = X.shape[0]
    if not isinstance(kernel, (Gaussian, Laplacian)) or n < _CENTRES:
        return ""
    centres = X[:: n // _CENTRES][:_CENTRES]
    for step in sorted({max(1, n // _OTHERS), 1}, reverse=True):
        others = X[::step]
        with blas_threads_for(_CENTRES * others.size):
            values = kernel(centres, others)
        differ = values < 1.0 - 1e-9
        if values.max(where=differ, initial=0.0) >= _VANISHED:
            return ""
    if not differ.any():
        return ""
    return (
        f"gamma={kernel.gamma:g} is so large that the kernel of two different samples is below"
        f" {_VANISHED:g}, so that nothing is learnt but the samples themselves: lower it, or give"
        " gamma='scale'."
    )


def poor_regression(solution: Solution, y: Array, C: float, *, centre: float, norm: float) -> str:
    """Say why little of the targets was learnt: C or ε is not of their size.

    `centre` is the constant from which the fit goes up to ‖w‖ = `norm`: b, or 0 where an intercept
    is penalised or missing. Targets are out of reach where the loss falls along w as steeply at the
    end as at the beginning, so that a larger C would go on; noise is not, as w = 0 is best there.
    """
    loss, slack = solution.loss, solution.certificate.slack_sum
    if not loss.bounded or (spread := float(np.ptp(y))) == 0.0:
        return ""
    distance = np.abs(y - centre)
    if norm == 0.0 and distance.max() <= loss.epsilon:
        return (
            f"epsilon={loss.epsilon:g} is wider than the targets, which spread over {spread:.2g},"
            " so that the same is predicted for every sample: lower epsilon, or scale y"
            " (sklearn.compose.TransformedTargetRegressor)."
        )
    mean, before = float(distance.mean()), float(np.maximum(0.0, distance - loss.epsilon).sum())
    if mean < _FAR * C or slack < _LEFT * before or C * (before - slack) > _STEADY * norm**2:
        return ""
    return (
        f"the targets lie {mean:.2g} from {'0' if centre == 0.0 else 'the intercept'} in the mean,"
        f" out of the reach of C={C:g}: scale y (sklearn.compose.TransformedTargetRegressor), or"
        " raise C."
    )


def one_class_only(labels_of: Callable[[Matrix], NDArray[Any]], X: Matrix) -> str:
    """Say that all samples get one label; few rows are enough to see that they do not."""
    for step in sorted({max(1, X.shape[0] // _ROWS), 1}, reverse=True):
        labels = labels_of(X[np.arange(0, X.shape[0], step)] if step > 1 else X)
        if (labels != labels[0]).any():
            return ""
    return (
        f"it predicts {labels.tolist()[0]!r} for every sample: scale X, raise C, or give"
        " class_weight='balanced'."
    )
