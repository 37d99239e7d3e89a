"""Several classes from binary problems: one against the rest, one against one, votes."""

from __future__ import annotations

import itertools
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from maxmargin.data.arrays import Array


def binary_targets(y: NDArray[Any], classes: NDArray[Any]) -> list[Array]:
    """Return ±1 for each problem: one for two labels, else one for each label."""
    positives = classes[1:] if len(classes) == 2 else classes
    return [_signs(y == positive) for positive in positives]


def _signs(is_positive: NDArray[np.bool_]) -> Array:
    """Return ±1; np.where takes several times as long."""
    signs: Array = np.multiply(is_positive, 2.0)
    signs -= 1.0
    return signs


def pair_targets(
    members: list[NDArray[np.intp]],
) -> tuple[list[NDArray[np.intp]], list[Array]]:
    """Return the rows of each pair of classes, and +1 for the first, −1 for the second of it."""
    signs = [(np.ones(len(rows)), np.full(len(rows), -1.0)) for rows in members]
    targets = [np.concatenate([one[0], two[1]]) for one, two in itertools.combinations(signs, 2)]
    return [np.concatenate(pair) for pair in itertools.combinations(members, 2)], targets


def class_pairs(n_classes: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first and the second class of each pair, in the order of `pair_targets`."""
    classes = np.arange(n_classes)
    first, second = np.nonzero(classes[:, np.newaxis] < classes)
    return first, second


def collapsed(coef: Array, b: Array) -> tuple[Array, Array]:
    """Return the weights by class as an estimator has them: for two classes the difference."""
    return (coef[1:] - coef[:1], b[1:] - b[:1]) if len(coef) == 2 else (coef, b)


def votes(values: Array, n_classes: int) -> Array:
    """Votes for each class, plus its summed values squeezed below a third of a vote.

    With two candidates in a tie the one of larger values is ahead, and nothing but a tie is decided
    by them.
    """
    signs = _pair_signs(n_classes)
    wins, sums = (signs @ (values > 0.0).T.astype(np.float64)).T, (signs @ values.T).T
    return np.asarray(wins + np.arange(n_classes) + sums / (3.0 * (np.abs(sums) + 1.0)))


@lru_cache(maxsize=4)
def _pair_signs(n_classes: int) -> sparse.csr_array:
    """Return +1 where a class is the first of a pair, −1 where it is the second.

    CSR: the product of a dense one is n_classes / 2 times the work, and wakes BLAS threads.
    """
    first, second = class_pairs(n_classes)
    signs, ends = np.tile([1.0, -1.0], len(first)), np.arange(0, 2 * len(first) + 1, 2)
    by_pair = sparse.csr_array((signs, np.stack([first, second], axis=1).ravel(), ends))
    return by_pair.T.tocsr()
