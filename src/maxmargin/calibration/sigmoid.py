"""The probability of a label from a decision value: increasing, and one half at 0.

P(y = 1 | s) = 1/(1 + exp(−z(s))), where z is odd in shape but not in size: on either side of 0 it
is a mixture, with weights ≥ 0 of its own, of a straight, a saturating and a convex function of |s|.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin.data.arrays import Array

#: Strength that holds the two sides together, in samples, and that which holds weights near 0.
_TOGETHER, _SMALL = 0.5, 1e-3

#: Into how many groups of neighbours many scores are put.
_GROUPS = 200


@dataclass(frozen=True, eq=False)
class Sigmoid:
    """A fitted map; `above` and `below` are the weights of the three functions on either side."""

    unit: float
    above: Array
    below: Array

    def log_odds(self, scores: Array) -> Array:
        """Return z(s)."""
        size = _functions(np.abs(scores) / self.unit)
        return np.where(scores > 0.0, size @ self.above, -(size @ self.below))


def fit_sigmoid(
    scores: Array, right: NDArray[np.bool_], weight: Array, *, odd: bool = False
) -> Sigmoid:
    """Fit to scores of samples that have the label (`right`) or not, by weighted likelihood.

    Weights count samples. A sample is taken to have its label with the probabilities of Platt
    (1999), so that z stays finite where scores separate the labels. An `odd` map has the same
    weights on both sides.
    """
    if not weight.any():
        # nothing to fit: the logistic function
        return Sigmoid(1.0, np.eye(3)[0], np.eye(3)[0])
    target = np.where(right, _smoothed(weight[right]), 1.0 - _smoothed(weight[~right]))
    scores, target, weight = _grouped(scores, target, weight)
    above = scores > 0.0
    unit = float(np.float32(weight @ np.abs(scores) / weight.sum())) or 1.0
    size = _functions(np.abs(scores) / unit)
    target = np.where(above, target, 1.0 - target)
    common = _fit_side(size, target, weight, np.zeros(3), _SMALL)
    if odd:
        return Sigmoid(unit, rounded(common), rounded(common))
    sides = (
        _fit_side(size[rows], target[rows], weight[rows], common, _TOGETHER)
        for rows in (above, ~above)
    )
    return Sigmoid(unit, *map(rounded, sides))


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
    order = np.argsort(scores, kind="stable")
    begins = np.arange(0, n, n // _GROUPS)
    first_above = int(np.searchsorted(scores[order], 0.0, side="right"))
    begins = np.unique(np.append(begins, first_above))
    begins = begins[begins < n]
    own = weight[order]
    sums = np.add.reduceat(own, begins)
    means = (np.add.reduceat(own * values[order], begins) for values in (scores, target))
    score, aim = (mean[sums > 0.0] / sums[sums > 0.0] for mean in means)
    return score, aim, sums[sums > 0.0]


def _smoothed(weight: Array) -> float:
    total = float(weight.sum())
    return (total + 1.0) / (total + 2.0)


def _functions(u: Array) -> Array:
    u = np.minimum(u, 1e100)  # their squares stay finite
    convex = u * (1.0 - 1.0 / (1.0 + u * u))  # all but flat at 0
    return np.stack([u, np.tanh(2.0 * u), convex], axis=-1)


def _fit_side(size: Array, target: Array, weight: Array, centre: Array, ridge: float) -> Array:
    """Minimise Σ w (log(1 + exp(z)) − t z) + ½ ridge ‖a − centre‖², z = size a, over a ≥ 0."""
    a = np.empty(3)
    _core.fit_map_weights(size, target, weight, centre, ridge, a)
    return a
