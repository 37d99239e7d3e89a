"""Fits that are proven and mean little: what a warning says of them, with the remedy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from maxmargin.data.arrays import Array, Matrix
from maxmargin.kernels import Gaussian, Kernel, Laplacian, Linear, Polynomial, Sigmoid
from maxmargin.objectives.base import Intercept
from maxmargin.runtime.blas_threads import blas_threads_for
from maxmargin.solution import Solution

#: Ratio of the widths of columns from which on the narrow ones have no effect in a kernel, and the
#: share of sparse rows that store a value of a column from which on it counts.
_WILD, _OFTEN = 1e3, 0.01

#: Values from which the widths of columns are estimated, and rows whose labels are predicted.
_VALUES, _ROWS = 2**18, 64

#: Rows and columns of the kernel values that are checked, the size below which they vanish, their
#: distance from 1 below which they are alike, and the variation of f, in units of its scale, below
#: which it is flat.
_CENTRES, _OTHERS, _VANISHED, _ALIKE, _FLAT = 10, 500, 1e-3, 1e-6, 1e-3

#: Where targets count as far: mean distance from where the fit began over C, the share of the loss
#: that it leaves, and how much more the loss fell in the mean than at the end.
_FAR, _LEFT, _STEADY = 10.0, 0.9, 1.5

#: Loss of a fit over that of the mean target from which on it is worse.
_WORSE = 1.2


def wild_columns(kernel: Kernel, X: Matrix) -> str:
    """Say which columns hide which from the kernel."""
    if not isinstance(kernel, (Gaussian, Laplacian, Polynomial, Sigmoid, Linear)):
        return ""
    width = _stored_widths(X) if sparse.issparse(X) else _widths(X)
    wide = int(width.argmax())
    if width[wide] == 0.0:
        return ""
    width[width == 0.0] = np.inf
    narrow = int(width.argmin())
    if not width[wide] >= _WILD * width[narrow]:
        return ""
    return (
        f"column {wide} of X is {width[wide] / width[narrow]:.0e} times as wide as column {narrow}"
        " and hides it from the kernel: scale X"
        f" (sklearn.preprocessing.{'MaxAbsScaler' if sparse.issparse(X) else 'StandardScaler'})."
    )


def _widths(X: Matrix) -> Array:
    """Return the distance of the largest from the smallest value of each column, of some rows.

    What is constant up to rounding has none.
    """
    some = X[:: max(1, X.size // _VALUES)]
    ends = (some.max(axis=0), some.min(axis=0))
    high, low = (np.ravel(end.toarray() if sparse.issparse(end) else end) for end in ends)
    rounding = 1e-12 if X.dtype == np.float64 else 1e-6
    apart = high - low > rounding * np.maximum(np.abs(high), np.abs(low))
    return np.where(apart, high - low, 0.0)


def _stored_widths(X: Matrix) -> Array:
    """Return the standard deviations of columns over the root of the share of rows that store them.

    So a rare word counts as much as a frequent one. Columns that few rows have are told by chance,
    and count as 0.
    """
    some = X[:: max(1, X.nnz // _VALUES)]
    n, values = some.shape[0], some.data.astype(np.float64)
    stored, total, squares = (
        np.bincount(some.indices, weights, X.shape[1]) / n
        for weights in (np.ones_like(values), values, values**2)
    )
    variance = squares - total**2
    often = (stored >= _OFTEN) & (variance > 1e-12 * squares)
    ratio = np.divide(variance, stored, out=np.zeros_like(variance), where=often)
    return np.asarray(np.sqrt(ratio))


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
    rule = ", or give gamma='scale'" if isinstance(kernel, Gaussian) else ""
    return (
        f"gamma={kernel.gamma:g} is so large that the kernel of two different samples is below"
        f" {_VANISHED:g}, so that nothing is learnt but the samples themselves: lower it{rule}."
    )


def blind_kernel(kernel: Kernel, X: Matrix, values_of: Callable[[Matrix], Array]) -> str:
    """Say that all samples are alike, where γ is so small; `values_of` tells f in units of 1."""
    if not isinstance(kernel, (Gaussian, Laplacian)):
        return ""
    some = X[:: max(1, X.shape[0] // _OTHERS)]
    with blas_threads_for(_CENTRES * some.size):
        values = kernel(some[:_CENTRES], some)
    told_apart = values.min() < 1.0 - _ALIKE or np.ptp(values_of(some)) > _FLAT
    if told_apart or not _widths(some).any():
        return ""
    return (
        f"gamma={kernel.gamma:g} is so small that the kernel of any two samples is 1, to {_ALIKE:g}"
        " and less, so that all of them are alike to it: scale X"
        " (sklearn.preprocessing.StandardScaler), or raise gamma."
    )


def poor_regression(
    solution: Solution, y: Array, cost: Array, *, kind: Intercept, centre: float, norm: float
) -> str:
    """Say why little of the targets was learnt: C, ε or the intercept is not of their size.

    `centre` is the constant from which the fit goes up to ‖w‖ = `norm`: b, or 0 where an intercept
    is penalised or missing.
    """
    if np.ptp(y) == 0.0:
        return ""
    found = _out_of_reach(solution, y, float(cost.max()), centre, norm)
    return found or _off_centre(solution, y, cost, kind, norm)


def _out_of_reach(solution: Solution, y: Array, C: float, centre: float, norm: float) -> str:
    """Say that C or ε is not of the size of the targets.

    Targets are out of reach where the loss falls along w as steeply at the
    end as at the beginning, so that a larger C would go on; noise is not, as w = 0 is best there.
    """
    loss, slack = solution.loss, solution.certificate.slack_sum
    if not loss.bounded:
        return ""
    distance = np.abs(y - centre)
    if norm == 0.0 and distance.max() <= loss.epsilon:
        return (
            f"epsilon={loss.epsilon:g} is wider than the targets, which spread over"
            f" {np.ptp(y):.2g}, so that the same is predicted for every sample: lower epsilon, or"
            " scale y (sklearn.compose.TransformedTargetRegressor)."
        )
    mean, before = float(distance.mean()), float(np.maximum(0.0, distance - loss.epsilon).sum())
    if mean < _FAR * C or slack < _LEFT * before or C * (before - slack) > _STEADY * norm**2:
        return ""
    return (
        f"the targets lie {mean:.2g} from {'0' if centre == 0.0 else 'the intercept'} in the mean,"
        f" out of the reach of C={C:g}: scale y (sklearn.compose.TransformedTargetRegressor), or"
        " raise C."
    )


def _off_centre(solution: Solution, y: Array, cost: Array, kind: Intercept, norm: float) -> str:
    """Say that the mean target alone is better than the fit: the intercept does not get there.

    A free one does.
    """
    loss, mean = solution.loss, float(np.average(y, weights=cost / cost.max()))
    left = solution.certificate.primal - 0.5 * norm**2
    alone = float(loss.value(y, cost, np.full_like(y, mean)).sum())
    if kind is Intercept.FREE or not left > _WORSE * alone:
        return ""
    remedy = (
        "free the intercept (penalized_intercept=False), or raise intercept_scaling or C"
        if kind is Intercept.PENALIZED
        else "give fit_intercept=True"
    )
    return (
        f"to predict the mean target, {mean:.3g}, for every sample would leave {alone / left:.1g}"
        f" of its loss: centre y (sklearn.compose.TransformedTargetRegressor), {remedy}."
    )


def one_class_only(
    labels_of: Callable[[Matrix], NDArray[Any]], X: Matrix, *, weigh_more: str = "raise C"
) -> str:
    """Say that all samples get one label; few rows are enough to see that they do not.

    `weigh_more` says how the losses get more weight.
    """
    for step in sorted({max(1, X.shape[0] // _ROWS), 1}, reverse=True):
        labels = labels_of(X[np.arange(0, X.shape[0], step)] if step > 1 else X)
        if (labels != labels[0]).any():
            return ""
    return (
        f"it predicts {labels.tolist()[0]!r} for every sample: scale X, {weigh_more}, or give"
        " class_weight='balanced'."
    )
