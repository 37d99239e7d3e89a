"""The probability of a label from a decision value: increasing, and one half at 0.

P(y = 1 | s) = 1/(1 + exp(−z(s))), where z is odd in shape but not in size: on either side of 0 it
is a mixture, with weights ≥ 0 of its own, of a straight, a saturating and a convex function of |s|
and of a hinge, 0 up to where Platt's line (1999) is: what is as likely as not may lie off s = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin.data.arrays import Array

#: Strength, in samples, that holds weights to those of Platt's line, and that which holds to 0.
_TO_LINE, _TO_ZERO = 0.1, 1e-3

#: Into how many groups of neighbours many scores are put.
_GROUPS = 200


@dataclass(frozen=True, eq=False)
class Sigmoid:
    """A fitted map; `above` and `below` are the weights of the four functions on either side.

    They are of |s| in units; `knot` is where the hinge begins.
    """

    unit: float
    knot: float
    above: Array
    below: Array

    def log_odds(self, scores: Array) -> Array:
        """Return z(s)."""
        size = _functions(np.abs(scores) / self.unit, self.knot)
        return np.where(scores > 0.0, size @ self.above, -(size @ self.below))


def fit_sigmoid(
    scores: Array, right: NDArray[np.bool_], weight: Array, *, odd: bool = False
) -> Sigmoid:
    """Fit to scores of samples that have the label (`right`) or not, by weighted likelihood.

    Weights count samples. A sample is taken to have its label with the probabilities of Platt
    (1999), so that z stays finite where scores separate the labels. The weights of the functions
    are held to those of his line, cut off where it contradicts the sign of the score. An `odd` map
    has the same on both sides, held to 0.
    """
    if not weight.any():
        # nothing to fit: the logistic function
        return Sigmoid(1.0, 0.0, np.eye(4)[0], np.eye(4)[0])
    target = np.where(right, _smoothed(weight[right]), 1.0 - _smoothed(weight[~right]))
    scores, target, weight = _grouped(scores, target, weight)
    above = scores > 0.0
    unit = float(np.float32(weight @ np.abs(scores) / weight.sum())) or 1.0
    slope, shift = _line(scores / unit, target, weight)
    knot = abs(shift) / slope if slope > 0.0 else 0.0
    size = _functions(np.abs(scores) / unit, knot)
    target = np.where(above, target, 1.0 - target)
    if odd:
        both = rounded(_weights(size, target, weight, np.zeros(4), _TO_ZERO))
        return Sigmoid(unit, knot, both, both)
    late, early = np.array([0.0, 0.0, 0.0, slope]), np.array([slope, abs(shift), 0.0, 0.0])
    sides = (early, late) if shift > 0.0 else (late, early)
    weights = (
        rounded(_weights(size[rows], target[rows], weight[rows], centre, _TO_LINE))
        for rows, centre in zip((above, ~above), sides, strict=True)
    )
    return Sigmoid(unit, knot, *weights)


def rounded(values: Array) -> Array:
    """Return the values to the digits of float32.

    The last digits of what BLAS sums depend on where arrays lie in memory: without them a map is
    the same, to the bit, whichever thread fits it.
    """
    return values.astype(np.float32).astype(np.float64)


def _grouped(scores: Array, target: Array, weight: Array) -> tuple[Array, Array, Array]:
    """Return the weighted means of neighbouring scores of one sign, and of their targets.

    The likelihood depends on targets by their means alone, and z is as good as straight within a
    group.
    """
    n = len(scores)
    if n <= 2 * _GROUPS:
        return scores, target, weight
    order = np.argsort(scores)
    first = np.zeros(n + 1, dtype=bool)
    first[: n : n // _GROUPS] = True
    first[np.count_nonzero(scores <= 0.0)] = True
    begins = np.flatnonzero(first[:n])
    own = weight[order]
    sums = np.add.reduceat(own, begins)
    score, aim = (
        np.asarray(np.add.reduceat(own * values[order], begins) / sums)
        for values in (scores, target)
    )
    return score, aim, sums


def _smoothed(weight: Array) -> float:
    total = float(weight.sum())
    return (total + 1.0) / (total + 2.0)


def _line(scores: Array, target: Array, weight: Array) -> tuple[float, float]:
    """Return slope ≥ 0 and shift of the straight log-odds of the targets."""
    ones = np.ones(len(scores))
    parts = np.stack([scores, ones, -ones, 0.0 * ones], axis=-1)  # the shift may have either sign
    a = rounded(_weights(parts, target, weight, np.zeros(4), _TO_ZERO))
    return float(a[0]), float(a[1] - a[2])


def _functions(u: Array, knot: float) -> Array:
    u = np.minimum(u, 1e100)  # their squares stay finite
    convex = u * (1.0 - 1.0 / (1.0 + u * u))  # all but flat at 0
    return np.stack([u, np.tanh(2.0 * u), convex, np.maximum(u - knot, 0.0)], axis=-1)


def _weights(size: Array, target: Array, weight: Array, centre: Array, ridge: float) -> Array:
    """Minimise Σ w (log(1 + exp(z)) − t z) + ½ ridge ‖a − centre‖², z = size a, over a ≥ 0."""
    a = np.empty(4)
    _core.fit_map_weights(size, target, weight, centre, ridge, a)
    return a
