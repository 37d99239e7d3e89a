"""Dual points of K classes with free intercepts: every column of β sums to 0."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maxmargin.data.arrays import Array


def balance(
    beta: Array,
    own: tuple[NDArray[np.intp], NDArray[np.int32]],
    cost: Array,
    scores: Array,
) -> None:
    """Make every column of β sum to 0, in place, by moves within rows that keep it feasible.

    With α_ij = C_i 1[j = y_i] − β_ij ≥ 0, columns whose α is too heavy give to those too light:
    first where the loss of the dual, score_ik − score_ij, is least; what a few rounds leave over is
    taken from all entries in proportion. The moves are added to β itself: α of a large C has no
    digits left for a small β.
    """
    negligible = 1e-15 * float(np.abs(beta).sum())
    for _ in range(10):
        excess, alpha = beta.sum(axis=0), _room(beta, own, cost)
        light, heavy = excess > negligible, excess < -negligible
        if not (light.any() and heavy.any()):
            return
        to = np.where(light, scores, -np.inf).argmax(axis=1)
        rows, givers = np.nonzero((alpha > 0.0) & heavy)
        order = np.argsort(scores[rows, givers] - scores[rows, to[rows]], kind="stable")
        rows, givers = rows[order], givers[order]
        takers = to[rows]
        amounts = _rationed(alpha[rows, givers], givers, -excess)
        amounts = _rationed(amounts, takers, excess)
        np.add.at(beta, (rows, givers), amounts)
        np.subtract.at(beta, (rows, takers), amounts)
    excess, alpha = beta.sum(axis=0), _room(beta, own, cost)
    surplus, need = np.maximum(-excess, 0.0), np.maximum(excess, 0.0)
    if not need.any():
        return
    totals = alpha.sum(axis=0)
    taken = alpha * np.divide(surplus, totals, out=np.zeros_like(totals), where=totals > 0.0)
    beta += taken - np.outer(taken.sum(axis=1), need / need.sum())


def _room(beta: Array, own: tuple[NDArray[np.intp], NDArray[np.int32]], cost: Array) -> Array:
    """Return α: by how much each β_ij may rise."""
    alpha = -beta
    alpha[own] += cost
    return np.asarray(np.maximum(alpha, 0.0))


def _rationed(amounts: Array, group: NDArray[np.intp], limits: Array) -> Array:
    """Cut the amounts, first come first served, to keep each group's sum within its limit."""
    order = np.argsort(group, kind="stable")
    sorted_amounts, sorted_group = amounts[order], group[order]
    before = np.cumsum(sorted_amounts) - sorted_amounts
    first = np.searchsorted(sorted_group, np.arange(len(limits)))
    left = limits[sorted_group] - (before - before[first[sorted_group]])
    cut = np.empty_like(amounts)
    cut[order] = np.minimum(np.maximum(left, 0.0), sorted_amounts)
    return cut
