"""Probabilities of two or more classes whose largest is that of the predicted class."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum, auto

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from maxmargin.calibration.sigmoid import Sigmoid, fit_sigmoid, rounded
from maxmargin.data.arrays import Array

#: By how much the predicted class is ahead of others that would have the same probability or more,
#: and the least probability, so that logarithms are finite.
_AHEAD, _LEAST = 1e-12, 1e-300

#: Strength, in samples, that holds the slopes of classes together and their shifts at 0: coupled
#: pairs have one slope for all and no shifts.
_HOLD_CLASSES, _HOLD_PAIRS = 5.0, 1e6

#: Newton steps at most, halvings of one, and the share of the loss below which one is not made.
_STEPS, _HALVINGS, _PRECISE = 50, 30, 1e-5

#: What is added to a curvature of 1 in every parameter: huge scores hide the strengths above.
_RIDGE = 1e-12

#: Numbers of a prediction at a time.
_VALUES_PER_BLOCK = 2**21


class Decision(Enum):
    """What decision values are of: pairs, classes against the rest, or all classes together."""

    PAIRS = auto()
    CLASSES = auto()
    JOINT = auto()


@dataclass(frozen=True, eq=False)
class ProbabilityMap:
    """The fitted maps: one of two classes, or one for each pair of classes, or for each class.

    Of classes that one problem decides there are none: only differences of values mean something.
    The values, the log-odds of each class, or the logarithms of what pairs are coupled to, are
    multiplied by `slopes` and shifted before probabilities are made of them.
    """

    n_classes: int
    sigmoids: tuple[Sigmoid, ...]
    by_pairs: bool
    slopes: Array | float = 1.0
    shifts: Array | float = 0.0

    def __call__(self, values: Array, winners: NDArray[np.intp]) -> Array:
        """Return the probabilities of rows with these decision values and predicted classes."""
        L = self.logits(values)
        if self.n_classes == 2:
            P = expit(np.hstack([-L, L]))
        else:
            P = np.asarray(softmax(L * self.slopes + self.shifts, axis=1))
        P = np.maximum(P, _LEAST)
        return with_winners_ahead(P / P.sum(axis=1, keepdims=True), winners)

    def logits(self, values: Array) -> Array:
        """Return log-odds of the second of two classes, else a number for each class."""
        if not self.sigmoids:
            return values
        odds = [one.log_odds(values[:, k]) for k, one in enumerate(self.sigmoids)]
        z = np.stack(odds, axis=1)
        return np.log(coupled(expit(z), self.n_classes)) if self.by_pairs else z


def fit_map(
    scores: Array, numbers: NDArray[np.intp], weight: Array, n_classes: int, kind: Decision
) -> ProbabilityMap:
    """Fit to scores of samples, a column for each problem, and the numbers of their classes.

    Weights count samples.
    """
    scores = rounded(np.clip(scores, -1e30, 1e30))
    sides = list(_sides(numbers, n_classes, kind))
    by_pairs = kind is Decision.PAIRS and n_classes > 2
    sigmoids = tuple(
        fit_sigmoid(scores[some, column], is_first[some], weight[some], odd=by_pairs)
        for column, (is_first, some) in enumerate(sides)
    )
    rough = ProbabilityMap(n_classes, sigmoids, by_pairs)
    if n_classes == 2:
        return rough
    hold = _HOLD_PAIRS if by_pairs else _HOLD_CLASSES
    slopes, shifts = _joined(rough.logits(scores), numbers, weight, hold)
    return replace(rough, slopes=slopes, shifts=shifts)


def _sides(
    numbers: NDArray[np.intp], n_classes: int, kind: Decision
) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    """Yield who belongs to the positive class of each problem that has a 0, and who is in it."""
    everyone = np.ones(len(numbers), dtype=bool)
    if n_classes == 2:
        yield numbers == 1, everyone
    elif kind is Decision.PAIRS:
        for one, other in itertools.combinations(range(n_classes), 2):
            yield numbers == one, (numbers == one) | (numbers == other)
    elif kind is Decision.CLASSES:
        for one in range(n_classes):
            yield numbers == one, everyone


def _joined(L: Array, numbers: NDArray[np.intp], weight: Array, hold: float) -> tuple[Array, Array]:
    """Fit softmax(t (1 + a_k) L_k + b_k) by likelihood; `hold` draws a and b to 0.

    Newton steps with Fisher's information, inside bounds for log t and a, with halving.
    """
    joint = _Joint(L, numbers, weight, hold)
    K = L.shape[1]
    lower = np.concatenate([[-5.0], np.full(K, -0.9), np.full(K, -np.inf)])
    upper = np.concatenate([[5.0], np.full(2 * K, np.inf)])
    p = np.zeros(2 * K + 1)
    value, P = joint.loss(p)
    for _ in range(_STEPS):
        gradient, curvature = joint.slope(p, P)
        held = ((p <= lower) & (gradient > 0.0)) | ((p >= upper) & (gradient < 0.0))
        gradient[held], curvature[held], curvature[:, held] = 0.0, 0.0, 0.0
        curvature[held, held] = 1.0
        unit = 1.0 / np.sqrt(np.diag(curvature))
        scaled = curvature * np.outer(unit, unit) + _RIDGE * np.eye(len(unit))
        step = unit * np.linalg.solve(scaled, unit * gradient)
        if gradient @ step <= _PRECISE * value:
            break
        for halving in range(_HALVINGS):
            trial = np.clip(p - 0.5**halving * step, lower, upper)
            reached, at_trial = joint.loss(trial)
            if reached < value:
                break
        else:
            break
        p, value, P = trial, reached, at_trial
    return rounded(math.exp(p[0]) * (1.0 + p[1 : K + 1])), rounded(p[K + 1 :])


class _Joint:
    """The likelihood of (log t, a, b)."""

    def __init__(self, L: Array, numbers: NDArray[np.intp], weight: Array, hold: float) -> None:
        self.L, self.numbers, self.weight = L, numbers, weight
        self.rows = np.arange(len(L))
        self.ridge = np.full(2 * L.shape[1] + 1, hold)
        self.ridge[0] = 1.0

    def loss(self, p: Array) -> tuple[float, Array]:
        """Return the value, and the probabilities of all classes."""
        K = self.L.shape[1]
        z = self.L * (math.exp(p[0]) * (1.0 + p[1 : K + 1])) + p[K + 1 :]
        z -= z.max(axis=1, keepdims=True)
        P = np.exp(z)
        total = P.sum(axis=1)
        P /= total[:, np.newaxis]
        value = self.weight @ (np.log(total) - z[self.rows, self.numbers])
        return float(value + 0.5 * self.ridge @ p**2), P

    def slope(self, p: Array, P: Array) -> tuple[Array, Array]:
        """Return the gradient and the information, to which the ridge is added."""
        K, t = self.L.shape[1], math.exp(p[0])
        rest = P * self.weight[:, np.newaxis]
        both = np.hstack([P * self.L, P])
        inner = -(both.T * self.weight) @ both  # of the factors of L and the shifts
        own, mixed = (
            np.einsum("ij,ij,ij->j", rest, self.L, self.L),
            np.einsum("ij,ij->j", rest, self.L),
        )
        every = np.arange(K)
        inner[every, every] += own
        inner[every, every + K] += mixed
        inner[every + K, every] += mixed
        inner[every + K, every + K] += rest.sum(axis=0)
        rest[self.rows, self.numbers] -= self.weight
        outer = np.zeros((2 * K, 2 * K + 1))  # of these by the parameters
        outer[:K, 0] = t * (1.0 + p[1 : K + 1])
        outer[every, every + 1] = t
        outer[every + K, every + K + 1] = 1.0
        slopes = np.concatenate([np.einsum("ij,ij->j", rest, self.L), rest.sum(axis=0)])
        return slopes @ outer + self.ridge * p, outer.T @ inner @ outer + np.diag(self.ridge)


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
    return np.asarray(np.maximum(P[:, :-1, 0], _LEAST))


def with_winners_ahead(P: Array, winners: NDArray[np.intp]) -> Array:
    """Return the nearest probabilities whose largest is that of the winner, in every row.

    Where it is not, the winner and the classes above it share their sum, the winner ahead by a
    rounding.
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
