"""Probabilities of two or more classes whose largest is that of the predicted class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from maxmargin.calibration.sigmoid import Sigmoid
from maxmargin.data.arrays import Array

#: By how much the predicted class is ahead of others that would have the same probability or more,
#: and the least probability, so that logarithms are finite.
_AHEAD, _LEAST = 1e-12, 1e-300

#: Numbers of a prediction at a time.
_VALUES_PER_BLOCK = 2**21


@dataclass(frozen=True, eq=False)
class ProbabilityMap:
    """The fitted maps: one of two classes, or one for each pair of classes, or for each class."""

    n_classes: int
    sigmoids: tuple[Sigmoid, ...]
    by_pairs: bool

    def __call__(self, values: Array, winners: NDArray[np.intp]) -> Array:
        """Return the probabilities of rows with these decision values and predicted classes."""
        odds = [one.log_odds(values[:, k]) for k, one in enumerate(self.sigmoids)]
        z = np.stack(odds, axis=1)
        if self.n_classes == 2:
            P = expit(np.hstack([-z, z]))
        elif self.by_pairs:
            P = coupled(expit(z), self.n_classes)
        else:
            P = expit(z)
        P = np.maximum(P, _LEAST)
        return settled(P / P.sum(axis=1, keepdims=True), winners)


def coupled(R: Array, n_classes: int) -> Array:
    """Couple the probabilities of the first class of each pair (Wu, Lin and Weng, JMLR 2004).

    Minimises Σ_{j<k} (r_kj p_j − r_jk p_k)² over Σ p = 1: their second method.
    """
    step = max(1, _VALUES_PER_BLOCK // (n_classes + 1) ** 2)
    blocks = (R[begin : begin + step] for begin in range(0, len(R), step))
    return np.concatenate([_coupled(block, n_classes) for block in blocks])


def _coupled(R: Array, n_classes: int) -> Array:
    first, second = np.triu_indices(n_classes, 1)
    against = np.zeros((len(R), n_classes, n_classes))
    R = np.clip(R, 1e-7, 1.0 - 1e-7)  # as LIBSVM does: no class is ruled out by one pair
    against[:, first, second], against[:, second, first] = R, 1.0 - R
    system = np.ones((len(R), n_classes + 1, n_classes + 1))
    system[:, -1, -1] = 0.0
    system[:, :-1, :-1] = -against * against.transpose(0, 2, 1)
    diagonal = np.arange(n_classes)
    system[:, diagonal, diagonal] = (against**2).sum(axis=1)
    right = np.zeros((n_classes + 1, 1))
    right[-1] = 1.0
    P = np.linalg.solve(system, np.broadcast_to(right, (len(R), n_classes + 1, 1)))
    return np.maximum(P[:, :-1, 0], _LEAST)


def settled(P: Array, winners: NDArray[np.intp]) -> Array:
    """Return the nearest probabilities whose largest is that of the winner, in every row.

    Where it is not, the winner and the classes above what it gets share what they have, it being
    ahead by next to nothing.
    """
    rows = np.arange(len(P))
    own = P[rows, winners]
    P[rows, winners] = -1.0
    disputed = own <= P.max(axis=1) * (1.0 + _AHEAD)
    P[rows, winners] = own
    for row in np.flatnonzero(disputed):
        P[row] = _shared(P[row], int(winners[row]))
    return P


def _shared(p: Array, winner: int) -> Array:
    """Pool the winner with the largest others, as many as are above their mean."""
    others = np.argsort(-p, kind="stable")
    others = others[others != winner]
    sums = p[winner] + np.concatenate([[0.0], np.cumsum(p[others])])
    means = sums / np.arange(1, len(p) + 1)
    above = means[:-1] <= p[others] * (1.0 + _AHEAD)  # the next one would be ahead
    count = len(others) if above.all() else int(np.argmin(above))
    p = p.copy()
    p[others[:count]] = means[count] * (1.0 - _AHEAD)
    p[winner] = means[count] * (1.0 + _AHEAD * count)
    return p
