"""Fits that are proven and mean little: what a warning says of them, with the remedy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from maxmargin.certificate import Certificate
from maxmargin.data.arrays import Array, Matrix
from maxmargin.kernels import Gaussian, Kernel, Laplacian, Linear, Polynomial, Sigmoid

#: Ratio of the widths of columns from which on the narrow ones have no effect in a kernel.
_WILD = 1e3

#: Values from which the widths of columns are estimated, and rows whose labels are predicted.
_VALUES, _ROWS = 2**18, 64

#: Rows and columns of the kernel values that are checked, and the size below which they vanish.
_CENTRES, _OTHERS, _VANISHED = 10, 500, 1e-3

#: Where targets count as far: mean distance from their median over C, and the shares of samples at
#: their bounds and of that distance that the fit leaves.
_FAR, _BOUNDED, _LEFT = 10.0, 0.9, 0.9


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
        values = kernel(centres, X[::step])
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


def far_targets(certificate: Certificate, target: Array, C: float) -> str:
    """Say that the targets are too far for this C."""
    distance = float(np.abs(target - np.median(target)).mean())
    n = len(target)
    if distance < _FAR * C or certificate.n_support_bounded < _BOUNDED * n:
        return ""
    if certificate.slack_sum < _LEFT * n * distance:
        return ""
    return (
        f"the targets lie {distance:.2g} from their median in the mean, out of the reach of"
        f" C={C:g}: scale y (sklearn.compose.TransformedTargetRegressor), or raise C."
    )


def one_class_only(labels_of: Callable[[Matrix], NDArray[Any]], X: Matrix) -> str:
    """Say that all samples get one label; few rows are enough to see that they do not."""
    for step in sorted({max(1, X.shape[0] // _ROWS), 1}, reverse=True):
        labels = labels_of(X[::step])
        if (labels != labels[0]).any():
            return ""
    return (
        f"it predicts {labels.tolist()[0]!r} for every sample: scale X, raise C, or give"
        " class_weight='balanced'."
    )
