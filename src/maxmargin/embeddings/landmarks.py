"""Landmarks: which rows of a large kernel matrix to keep."""

from __future__ import annotations

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from maxmargin.data.arrays import Array, Matrix
from maxmargin.embeddings._known import KnownRows
from maxmargin.kernels import Kernel

#: Rows drawn between two updates of the distances, and rows among which landmarks are sought for
#: each landmark: more change little and cost as many kernel values.
_BLOCK, _CANDIDATES = 64, 50

#: A residual below this share of the largest diagonal entry is rounding.
_SPENT = 1e-12


def draw_landmarks(
    rule: str, kernel: Kernel, X: Matrix, weight: Array, m: int, random: RandomState
) -> NDArray[np.intp]:
    """Return at most m rows of X with a positive weight, in ascending order.

    "uniform" is free. "kmeans++" draws a row with the probability of its squared distance from the
    landmarks before, in the space of the kernel. "rpcholesky" (Chen, Epperly, Tropp and Webber,
    2025) draws it by what the landmarks before leave of k(x, x).
    """
    rows = np.flatnonzero(weight)
    if m >= len(rows):
        return _distinct(X, rows)
    if rule == "uniform":
        share = weight[rows] / weight[rows].sum()
        even = weight[rows].min() == weight[rows].max()
        return np.sort(random.choice(rows, m, replace=False, p=None if even else share))
    if len(rows) > _CANDIDATES * m:
        rows = np.sort(random.choice(rows, _CANDIDATES * m, replace=False))
    draw = {"kmeans++": _by_distance, "rpcholesky": _by_residual}[rule]
    found = draw(kernel, X[rows], weight[rows], m, random)
    return np.sort(rows[found]) if len(found) else rows[:1]  # all images are 0


def _distinct(X: Matrix, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the first of each set of equal rows; samples that are no numbers as they are."""
    if X.dtype.kind != "f":
        return rows
    some = X[rows]
    return rows[np.unique(KnownRows(some).first)]


def _by_distance(
    kernel: Kernel, X: Matrix, weight: Array, m: int, random: RandomState
) -> NDArray[np.intp]:
    """Draw by k-means++ in blocks: distances are updated after each block."""
    diagonal = kernel.diagonal(X)
    found = random.choice(len(weight), 1, p=weight / weight.sum())
    nearest = np.full(len(weight), np.inf)
    new = found
    while len(found) < m:
        to_new = diagonal[:, np.newaxis] + diagonal[new] - 2.0 * kernel(X, X[new])
        nearest = np.minimum(nearest, np.maximum(to_new, 0.0).min(axis=1))
        nearest[found] = 0.0
        mass = weight * nearest
        size = min(_BLOCK, len(found), m - len(found), int(np.count_nonzero(mass)))
        if size == 0:
            break  # what is left is equal to a landmark
        new = random.choice(len(mass), size, replace=False, p=mass / mass.sum())
        found = np.concatenate([found, new])
    return found


def _by_residual(
    kernel: Kernel, X: Matrix, weight: Array, m: int, random: RandomState
) -> NDArray[np.intp]:
    """Draw by randomly pivoted Cholesky, a block of proposals at a time with rejection."""
    left = np.maximum(kernel.diagonal(X), 0.0)
    spent = _SPENT * float(left.max(initial=0.0))
    factor, found = np.zeros((len(left), m)), np.empty(0, dtype=np.intp)
    while len(found) < m:
        left[left <= spent] = 0.0
        mass = weight * left
        if not mass.any():
            break  # the landmarks span all samples
        used = factor[:, : len(found)]
        proposed = random.choice(len(mass), min(_BLOCK, m), p=mass / mass.sum())
        residual = kernel(X[proposed], X[proposed]) - used[proposed] @ used[proposed].T
        accepted, root = _rejection_cholesky(residual, random, m - len(found))
        new = proposed[accepted]
        columns = kernel(X, X[new]) - used @ used[new].T
        columns = solve_triangular(root, columns.T, lower=True).T
        factor[:, len(found) : len(found) + len(new)] = columns
        left = np.maximum(left - np.einsum("ij,ij->i", columns, columns), 0.0)
        left[new] = 0.0
        found = np.concatenate([found, new])
    return found


def _rejection_cholesky(H: Array, random: RandomState, most: int) -> tuple[NDArray[np.intp], Array]:
    """Accept each proposal with the share of its residual that those before it leave.

    Returned are the accepted ones and the Cholesky factor of their part of H.
    """
    H, first, accepted = H.copy(), np.diag(H).copy(), list[int]()
    factor = np.zeros_like(H)
    for i in range(len(H)):
        if len(accepted) < most and random.uniform() * first[i] < H[i, i]:
            column = H[:, i] / np.sqrt(H[i, i])
            factor[:, len(accepted)] = column
            H -= np.outer(column, column)
            accepted.append(i)
    at = np.array(accepted, dtype=np.intp)
    return at, factor[at, : len(at)]
