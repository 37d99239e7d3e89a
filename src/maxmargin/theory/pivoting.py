"""Optima without one sample each, many at a time, by exchange of free and fixed variables.

With J free and all others fixed, a quadratic problem is a linear system. Its tableau says how the
coefficients of J and the residuals of the others answer to a change of either: removing a sample,
fixing a variable of J at its bound and freeing another are changes of few entries, so that each
exchange costs a small system and a few rows of the tableau.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from maxmargin.data.arrays import Array

Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]

#: Of the mean diagonal of K_JJ, added to it; of the largest diagonal in small systems.
_RIDGE, _SMALL_RIDGE = 1e-11, 1e-12

#: Share of the largest k(x, x) at which a free variable counts as spanned by others; the residual
#: at which such a one is freed all the same.
_SPANNED, _DEPENDENT = 1e-9, 1e-8

#: Most exchanges; those that still change then are left.
_EXCHANGES = 40

#: Exchanges from which on only the worst violation changes, since all at once may go in circles.
_CAREFUL = 8

#: Shares of the reach and of the size of residuals that count as no violation.
_SLIGHT = 1e-11

#: Systems that are solved at a time, of about the same size.
_AT_A_TIME = 64

#: The most variables that may have changed sides.
_MOST_CHANGED = 200


class Variables(NamedTuple):
    """Boxes, values, and residuals minus those that a free variable has."""

    lower: Array
    upper: Array
    beta: Array
    residual: Array


class Tableau:
    """How free values and other residuals answer to fixed values and residuals.

    With the free variables J first: (−Δβ_J, Δr_N) = T (Δr_J, Δβ_N).
    """

    def __init__(self, K: Array, free: Indices, v: Variables, *, balanced: bool) -> None:
        free = _independent(K, free)
        m, n_free = len(K), len(free)
        self.n_free, self.v, others = n_free, v, np.ones(m, dtype=bool)
        others[free] = False
        self.order = np.concatenate([free, np.flatnonzero(others)])
        self.place = np.argsort(self.order)
        self.solvable = n_free > 0 or not balanced  # else no value makes up for a removed one
        if not self.solvable:
            return
        system, right = K[np.ix_(free, free)], K[np.ix_(free, self.order[n_free:])]
        system[np.diag_indices(n_free)] += _RIDGE * float(np.trace(system)) / max(1, n_free)
        if balanced:
            system = np.pad(system, (0, 1), constant_values=1.0)
            system[-1, -1] = 0.0
            right = np.vstack([right, np.ones(m - n_free)])
        inverse = linalg.inv(system)
        shares = inverse @ right
        self.T = np.empty((m, m))
        self.T[:n_free, :n_free] = inverse[:n_free, :n_free]
        self.T[:n_free, n_free:] = shares[:n_free]
        self.T[n_free:, :n_free] = shares[:n_free].T
        self.T[n_free:, n_free:] = right.T @ shares - K[np.ix_(others, others)]
        # T is positive on J, negative elsewhere, and may be singular on either
        self.ridge = np.full(m, -_SMALL_RIDGE * float(np.diag(K).max()))
        self.ridge[:n_free] = _SMALL_RIDGE * float(np.diag(inverse)[:n_free].max(initial=1e-300))

    def without(self, samples: Indices) -> tuple[Array, Flags]:
        """Return the optimum without each sample, a column each, and whether it was reached."""
        if not self.solvable:
            return np.repeat(self.v.beta[:, None], len(samples), axis=1), np.zeros(
                len(samples), bool
            )
        state = _State(self, self.place[samples])
        for count in range(_EXCHANGES):
            if not len(state.active):
                break
            state.solve()
            state.exchange(careful=count >= _CAREFUL, last=count == _EXCHANGES - 1)
        found = np.empty((len(self.order), len(samples)))
        found[self.order] = np.clip(state.beta, state.lower, state.upper).T
        found[samples, np.arange(len(samples))] = 0.0
        return found, state.done


def _independent(K: Array, free: Indices) -> Indices:
    """Return free variables whose kernel values are not spanned by those of the others."""
    system = K[np.ix_(free, free)]
    if not len(free):
        return free
    tolerance = max(_SPANNED * float(np.diag(system).max()), 1e-300)
    _, order, rank, _ = linalg.lapack.dpstrf(system, tol=tolerance, lower=1)
    return np.sort(free[order[:rank] - 1])


class _State:
    """Which variables have changed sides without each of some samples: a row each.

    Of J those that are fixed, of the others those that are free: these are the unknowns, the first
    by their residuals, the others by their values. `moved` says by how much a fixed variable is not
    where it began.
    """

    def __init__(self, tableau: Tableau, removed: Indices) -> None:
        v, order, n_free = tableau.v, tableau.order, tableau.n_free
        self.T, self.n_free, self.removed = tableau.T, n_free, removed
        self.ridge = tableau.ridge
        self.lower, self.upper, self.start, self.rest = (part[order] for part in v)
        self.slight = _SLIGHT * (self.upper - self.lower)
        self.threshold = _SLIGHT * (1.0 + np.abs(self.rest))
        # free ones that the others span stay where they are while their residuals are near 0
        self.inner = (self.start > self.lower) & (self.start < self.upper)
        self.threshold[self.inner] = _DEPENDENT
        # where a fixed variable began: at its lower bound it rises with its residual
        self.side = np.where(self.start <= self.lower, 1.0, -1.0)
        self.active = np.arange(len(removed))
        self.changed = np.zeros((len(removed), len(order)), dtype=bool)
        self.moved = np.zeros(self.changed.shape)
        self.moved[self.active, removed] = -self.start[removed]
        own = removed < n_free
        self.changed[self.active[own], removed[own]] = True
        self.beta, self.done = np.empty(self.changed.shape), np.zeros(len(removed), dtype=bool)

    def solve(self) -> None:
        """Solve for the unknowns, and see how all others answer."""
        changed, moved = self.changed[self.active], self.moved[self.active]
        rows, places = np.nonzero(changed)
        self.rows, self.places = rows, places
        goal = np.where(places < self.n_free, -moved[rows, places], -self.rest[places])
        moved[rows, places] = 0.0
        self.answers = sparse.csr_array(moved) @ self.T
        self.found = self._unknowns(rows, places, goal - self.answers[rows, places])
        steps = sparse.csr_array((self.found, (rows, places)), shape=changed.shape)
        self.answers += steps @ self.T

    def _unknowns(self, rows: Indices, places: Indices, goal: Array) -> Array:
        """Solve T_UU x = goal for the unknowns U of each row; of about as many at a time."""
        sizes = np.bincount(rows, minlength=len(self.active))
        begins, found = np.cumsum(sizes) - sizes, np.zeros_like(goal)
        order = np.argsort(sizes, kind="stable")
        order = order[sizes[order] > 0]
        for begin in range(0, len(order), _AT_A_TIME):
            some = order[begin : begin + _AT_A_TIME]
            own = np.arange(sizes[some[-1]])
            real = own < sizes[some, np.newaxis]
            at = np.where(real, begins[some, np.newaxis] + own, 0)
            which = places[at]
            system = self.T[which[:, :, np.newaxis], which[:, np.newaxis, :]]
            system *= real[:, :, np.newaxis] & real[:, np.newaxis, :]
            system[:, own, own] += np.where(real, self.ridge[which], 1.0)
            right = np.where(real, goal[at], 0.0)
            found[at[real]] = np.linalg.solve(system, right[:, :, np.newaxis])[:, :, 0][real]
        return found

    def exchange(self, *, careful: bool, last: bool) -> None:
        """Fix what left its box, free what pulls away from its bound; rows without any are done."""
        n_free, home = self.n_free, slice(self.n_free)
        values = self.start[home] - self.answers[:, home]
        beyond = np.maximum(self.lower[home] - values, values - self.upper[home])
        beyond -= self.slight[home]
        pull = self.answers[:, n_free:] + self.rest[n_free:]
        pull *= self.side[n_free:]
        inner = self.inner[n_free:]
        pull[:, inner] = np.abs(pull[:, inner])
        pull -= self.threshold[n_free:]
        changed, moved = self.changed[self.active], self.moved[self.active]
        over, place = np.nonzero(moved[:, n_free:])  # fixed, and not where they began
        pull[over, place] = -pull[over, place] - 2.0 * self.threshold[place + n_free]
        miss = np.concatenate([beyond, pull], axis=1)
        miss[self.rows, self.places] = self._of_unknowns(moved)
        miss[np.arange(len(self.active)), self.removed[self.active]] = 0.0
        wrong = miss > 0.0
        if careful:
            wrong &= miss == miss.max(axis=1, keepdims=True)
        goes_on = wrong.any(axis=1) & (changed.sum(axis=1) <= _MOST_CHANGED) & (not last)
        self._keep(~goes_on, changed, moved, values)
        self.done[self.active] = ~wrong.any(axis=1)
        self._flip(wrong, changed, moved, values)
        self.active = self.active[goes_on]

    def _of_unknowns(self, moved: Array) -> Array:
        """By how much fixed variables of J pull away from their bounds, and others left theirs."""
        at, x = self.places, self.found
        node = self.start[at] + moved[self.rows, at]
        side = np.where(node <= self.lower[at], 1.0, -1.0)
        pull = side * x - self.threshold[at]
        value = self.start[at] + x
        beyond = np.maximum(self.lower[at] - value, value - self.upper[at]) - self.slight[at]
        return np.asarray(np.where(at < self.n_free, pull, beyond))

    def _keep(self, done: Flags, changed: Flags, moved: Array, values: Array) -> None:
        """Keep the coefficients of these rows."""
        n_free, beta = self.n_free, self.start + moved
        beta[:, :n_free] = np.where(changed[:, :n_free], beta[:, :n_free], values)
        others = self.places >= n_free
        rows, places = self.rows[others], self.places[others]
        beta[rows, places] = self.start[places] + self.found[others]
        self.beta[self.active[done]] = beta[done]

    def _flip(self, wrong: Flags, changed: Flags, moved: Array, values: Array) -> None:
        """Fix the wrong ones that were free at the bound that they passed, free the others."""
        n_free = self.n_free
        rows, places = np.nonzero(wrong)
        free = changed[rows, places] == (places >= n_free)
        x = np.zeros(changed.shape)
        x[self.rows, self.places] = self.found
        now, home = self.start[places] + x[rows, places], places < n_free
        now[home] = values[rows[home], places[home]]
        bound = np.where(now < self.lower[places], self.lower[places], self.upper[places])
        moved[rows, places] = np.where(free, bound - self.start[places], 0.0)
        changed[rows, places] ^= True
        self.changed[self.active], self.moved[self.active] = changed, moved
