"""The origin of dense rows, and of targets, that lie far from 0.

With a free intercept the problem does not depend on it: <w, x> + b = <w, x − c> + (b + <w, c>).
Rows x − c keep the digits of their differences, and coordinate descent needs far fewer epochs.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

import maxmargin._core as _core
from maxmargin.data.arrays import Array

#: Rows from which medians are taken, and values subtracted at a time.
_SAMPLE, _VALUES_PER_BLOCK = 65, 2**18


class Origin(NamedTuple):
    """What was subtracted from every row, and the longest rounding error of a row."""

    centre: Array
    error: float

    def product(self, w: Array) -> tuple[float, float]:
        """Return <w, c> as high + low."""
        high, low = np.zeros((2, 1))
        w = np.ascontiguousarray(w, dtype=np.float64)
        _core.exact_products(_core.Rows(self.centre[np.newaxis]), w, 0, 1, high, low)
        return float(high[0]), float(low[0])


class Level(NamedTuple):
    """What was subtracted from every target, and the largest rounding error of one."""

    height: float = 0.0
    error: float = 0.0


#: Targets as they are.
UNMOVED = Level()


def levelled(y: Array) -> tuple[Array, Level]:
    """Return the targets less about where they are, if that is far from 0 beside their spread.

    A free intercept takes it up; with it in the targets, digits of their differences would be lost.
    """
    few = np.sort(y[:: max(1, len(y) // 16)])
    middle, width = float(few[len(few) // 2]), float(few[3 * len(few) // 4] - few[len(few) // 4])
    if abs(middle) <= 1e3 * width:
        return y, UNMOVED
    targets = y - middle
    return targets, Level(middle, float(_lost(y, middle, targets).max()))


def far_centre(X: Array, ratio: float) -> Array | None:
    """Return the medians of the columns if they are as far from 0 as `ratio` times the spread."""
    sample = X[:: max(1, len(X) // _SAMPLE)].astype(np.float64)
    centre = np.sort(sample, axis=0)[len(sample) // 2]
    sample -= centre
    squares = np.sort(np.einsum("ij,ij->i", sample, sample))
    far = np.einsum("i,i->", centre, centre) > ratio**2 * squares[len(squares) // 2]
    return centre if far else None


def centred(X: Array, centre: Array) -> tuple[Array, Origin]:
    """Return the rows x − c in float64, and their origin.

    A difference is exact if x lies between c/2 and 2c (Sterbenz); what others lose is measured.
    """
    rows, error = np.empty(X.shape), 0.0
    step = max(1, _VALUES_PER_BLOCK // max(1, X.shape[1]))
    for begin in range(0, len(X), step):
        x, difference = X[begin : begin + step].astype(np.float64), rows[begin : begin + step]
        np.subtract(x, centre, out=difference)
        lost = _lost(x, centre, difference)
        error = max(error, float(np.einsum("ij,ij->i", lost, lost).max()))
    return rows, Origin(centre, math.sqrt(error))


def _lost(x: Array, centre: Array | float, difference: Array) -> Array:
    """Return the rounding errors of difference = x − centre."""
    back = difference - x
    return np.asarray(np.abs((x - (difference - back)) - (centre + back)))
