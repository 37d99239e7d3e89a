"""Equal rows with equal labels as one row, whose cost is the sum of theirs.

The problem is the same: f is, and so are its value and that of a dual point, of which each row has
the share of its cost. There are fewer variables and fewer kernel values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from maxmargin.certificate import Certificate
from maxmargin.data.arrays import Array, Matrix
from maxmargin.data.targets import class_members
from maxmargin.estimators._posed import Posed
from maxmargin.multiclass.decomposition import pair_targets
from maxmargin.solution import Solution

#: Samples from which on equal rows are sought, and share of distinct ones up to which that pays.
_WORTH, _SHARE = 2_000, 0.9


@dataclass(frozen=True)
class Groups:
    """Which rows are equal: the first row of each group, and the group of each row."""

    first: NDArray[np.intp]
    group: NDArray[np.intp]
    cost: Array

    @property
    def costs(self) -> Array:
        """The cost of each group."""
        return np.asarray(np.bincount(self.group, self.cost, len(self.first)), dtype=np.float64)

    def merged(self, posed: Posed) -> Posed:
        """Return the samples with one row for each group."""
        first = self.first
        members = [np.flatnonzero(np.isin(first, rows)) for rows in posed.members]
        return posed._replace(
            X=posed.X[first], y=posed.y[first], samples=posed.samples[first], members=members
        )

    def spread(self, solution: Solution, rows: NDArray[np.intp], own: NDArray[np.intp]) -> Solution:
        """Return the solution for `rows` of all, where that of groups is for the groups `own`."""
        place, total = np.zeros(len(self.first), dtype=np.intp), self.costs[self.group[rows]]
        place[own] = np.arange(len(own))
        at, cost = place[self.group[rows]], self.cost[rows]

        def share(values: Array) -> Array:
            filled = np.divide(values[at], total, out=np.zeros(len(rows)), where=total > 0.0)
            return np.asarray(filled * cost)  # what is at the bound stays there exactly

        w, beta = share(solution.w), share(solution.beta)
        certificate = _of_rows(solution.certificate, np.abs(beta), cost)
        return replace(
            solution,
            w=w,
            beta=beta,
            mean_cost=float(cost.mean()),
            distinct_rows=len(own),
            certificate=certificate,
        )


def _of_rows(certificate: Certificate, alpha: Array, cost: Array) -> Certificate:
    """Return the certificate with counts and the sum of slacks of all rows.

    The sum is what the loss is over C; with costs that differ it is not known without f.
    """
    bounded = int(np.count_nonzero((alpha >= cost) & (cost > 0.0)))
    used, slack_sum = cost[cost > 0.0], math.nan
    if certificate.margin > 0.0 and len(used) and used.min() == used.max():
        loss = certificate.primal - 0.5 / certificate.margin**2
        slack_sum = max(0.0, loss / float(used[0]))
    return replace(
        certificate,
        n_support_free=int(np.count_nonzero(alpha)) - bounded,
        n_support_bounded=bounded,
        slack_sum=slack_sum,
    )


def groups_of(model: Any, posed: Posed, cost: Array) -> Groups | None:
    """Return the groups of equal rows that a model may fit as one, if that saves work."""
    joint = model.multi_class == "crammer_singer"
    whole = joint or model._hard() or model._precomputed or model.warm_start
    if whole or posed.samples.dtype.kind != "f" or len(cost) < _WORTH:
        return None
    label = np.unique(posed.y, return_inverse=True)[1]
    return equal_rows(posed.samples, label, cost, int(_SHARE * len(cost)))


def spread_over(model: Any, groups: Groups, y: NDArray[Any]) -> None:
    """Share each solution of groups among their rows, numbered as they were given."""
    n, count = len(groups.group), len(model.solutions_)
    rows, own = [np.arange(n)] * count, [np.arange(len(groups.first))] * count
    if model.multi_class == "ovo" and len(model.classes_) > 2:
        rows = pair_targets(class_members(y, model.classes_))[0]
        own = pair_targets(class_members(y[groups.first], model.classes_))[0]
    model.solutions_ = tuple(map(groups.spread, model.solutions_, rows, own))
    model.support_ = groups.first[model.support_].astype(np.int32)
    model.shape_fit_ = (n, model.shape_fit_[1])


def equal_rows(X: Matrix, label: NDArray[np.intp], cost: Array, most: int) -> Groups | None:
    """Return the groups of equal rows with equal labels, if these are so many at most."""
    n = X.shape[0]
    direction = np.sin(np.arange(1.0, X.shape[1] + 1.0))  # independent over the rational numbers
    with np.errstate(over="ignore", invalid="ignore"):
        key = np.asarray(X @ direction, dtype=np.float64)
        near = 1e-12 * np.abs(key).max()  # the last digits depend on where a row lies in memory
        if n - np.count_nonzero(np.diff(np.sort(key)) <= near) > most:
            return None
        order = np.lexsort((key, label))
        alike = (np.diff(key[order]) <= near) & (np.diff(label[order]) == 0)
    later = np.flatnonzero(alike) + 1
    same = _are_equal(X, order[later - 1], order[later])
    begins = np.ones(n, dtype=bool)
    begins[later[same]] = False
    number = np.cumsum(begins) - 1
    group = np.empty(n, dtype=np.intp)
    group[order] = number
    if number[-1] + 1 > most:
        return None
    first = np.full(number[-1] + 1, n, dtype=np.intp)
    np.minimum.at(first, group, np.arange(n))
    rank = np.argsort(np.argsort(first))  # groups in the order of their first rows
    return Groups(np.sort(first), rank[group], cost)


def _are_equal(X: Matrix, one: NDArray[np.intp], two: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Whether each row of one is that of the other."""
    if sparse.issparse(X):
        differing = np.asarray((X[one] != X[two]).sum(axis=1)).ravel()
        return np.asarray(differing == 0)
    same = np.empty(len(one), dtype=bool)
    for begin in range(0, len(one), 2**14):
        some = slice(begin, begin + 2**14)
        same[some] = (X[one[some]] == X[two[some]]).all(axis=1)
    return same
