"""f(x_i) of a machine without sample i, for every i: known at once, or by a refit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from maxmargin.data.arrays import Array, Matrix
from maxmargin.theory.machine import Indices, Machine
from maxmargin.theory.removal import Removals, Verdict

Flags = NDArray[np.bool_]

#: Gaps to which pair steps go where exchanges did not settle it, beside what is expected to decide;
#: and the columns among which they are made, beside the free support vectors.
_ROUNDS = ((1e-2, 2.5), (1e-5, math.inf))

#: The same of those that are left, among all samples.
_LAST = (1e-5, 1e-9)

#: How often samples that turn out to matter join the columns.
_WIDENED = 3

#: Samples up to which all may be columns of the last round.
_MOST = 5000

#: The least margin of a training error that is believed without a refit.
_CLEAR = 1e-6

#: Share of the range of f to which values are bounded, where not only the sign counts.
_PRECISE = 1e-5


@dataclass(frozen=True, eq=False)
class LeftOut:
    """f(x_i) without sample i, and between which numbers that of the exact optimum lies.

    Attributes
    ----------
    f, low, high : array
        Of every sample. Where only the sign was sought, f may be that with the sample, if its sign
        is proven to be the same.
    support : array of int
        The support vectors.
    n_refits : int
        How many of these were refitted.
    everywhere : array
        f of all samples of the model with all samples of this problem, where it lacks some.
    doubt : float
        How far that of the exact optimum may lie from it.
    """

    f: Array
    low: Array
    high: Array
    support: Indices
    n_refits: int
    everywhere: Array | float = 0.0
    doubt: float = 0.0


def signs_left_out(machine: Machine) -> LeftOut:
    """Return values that are exact in sign, of a machine with labels ±1."""
    removals = Removals(machine)
    found = _Found(machine, removals)
    support = np.flatnonzero(removals.beta)
    return _settled(removals, found, support[~found.still_wrong(support)])


def not_proven_right(machine: Machine, samples: Flags) -> Flags:
    """Which of some samples with labels ±1 are not proven right without themselves."""
    removals = Removals(machine)
    found = _Found(machine, removals)
    support = np.flatnonzero(removals.beta)
    left = _settled(removals, found, support[samples[removals.columns[support]]])
    right = np.where(machine.y > 0.0, left.low > 0.0, left.high < 0.0)
    return np.asarray(samples & ~right & (machine.cost > 0.0))


def _settled(removals: Removals, found: _Found, open_: Indices) -> LeftOut:
    """Prove the signs of these support vectors without themselves: by a step, else by a refit."""
    right = removals.proven_right(open_, removals.spans(open_))
    found.still_right(open_[right])
    return found.refitted(removals.columns[open_[~right]], _signs)


def values_left_out(machine: Machine) -> LeftOut:
    """Return values that are exact up to a small share of their range."""
    removals = Removals(machine)
    found = _Found(machine, removals)
    used = machine.cost > 0.0
    width = _PRECISE * max(float(np.ptp(removals.f[used])), 1e-300)

    def precise(verdict: Verdict) -> Flags:
        return np.asarray(verdict.below + verdict.above <= width)

    support = removals.columns[np.flatnonzero(removals.beta)]
    return found.refitted(support, precise)


def _signs(verdict: Verdict) -> Flags:
    return verdict.signs


class _Found:
    """What is known so far of f without each sample."""

    def __init__(self, machine: Machine, removals: Removals) -> None:
        self.machine, self.removals = machine, removals
        self.doubt = 2.0 * math.sqrt(2.0 * removals.gap * removals.longest)
        self.f = removals.f.copy()
        self.low, self.high = self.f - self.doubt, self.f + self.doubt
        lone = np.zeros(machine.n, dtype=bool)
        if machine.free and removals.signed:  # without it there is one class
            lone = (_n_alike(machine) == 1) & (machine.cost > 0.0)
        self.lone = lone
        for part in (self.f, self.low, self.high):
            part[lone] = -math.inf * machine.y[lone]

    def still_wrong(self, places: Indices) -> Flags:
        """Note which of some support vectors are wrong, and so wrong without themselves too."""
        samples = self.removals.columns[places]
        y, clear = self.machine.y[samples], max(_CLEAR, self.doubt)
        wrong = (y * self.f[samples] < -clear) | self.lone[samples]
        some = samples[wrong]
        up = self.machine.y[some] > 0.0
        self.low[some[up]], self.high[some[~up]] = -math.inf, math.inf
        return np.asarray(wrong)

    def still_right(self, places: Indices) -> None:
        """Note that these are right without themselves."""
        samples = self.removals.columns[places]
        up = self.machine.y[samples] > 0.0
        tiny = np.nextafter(0.0, 1.0)
        self.low[samples[up]], self.high[samples[~up]] = tiny, -tiny

    def refitted(self, left: Indices, settled: Callable[[Verdict], Flags]) -> LeftOut:
        """Go on with these samples until what is known of them is enough."""
        left = left[~self.lone[left]]
        n_refits = len(left)
        self.low[left], self.high[left] = -math.inf, math.inf
        if len(left) and (len(self.removals.free) or not self.machine.free):
            left = self._exchanged(left, settled)
        for effort in _ROUNDS:
            left = self._tried(self.removals, left, settled, effort)
        if len(left) and np.count_nonzero(self.machine.cost) <= _MOST:
            everyone = Removals(self.machine, everyone=True)
            for tightness in _LAST:
                left = self._tried(everyone, left, settled, (tightness, math.inf))
        removals = self.removals
        support = removals.columns[np.flatnonzero(removals.beta)]
        everywhere = removals.everywhere()
        return LeftOut(self.f, self.low, self.high, support, n_refits, everywhere, self.doubt)

    def _exchanged(self, left: Indices, settled: Callable[[Verdict], Flags]) -> Indices:
        """Refit by exchanges: among few samples first, then among all that turned out to matter."""
        removals, stuck = self.removals, []
        for wide in (False, *[True] * _WIDENED):
            verdict, ended, missed = removals.without(removals.places(left), wide=wide)
            open_ = self._noted(left, verdict, settled)
            stuck.append(np.setdiff1d(open_, left[ended]))
            left = np.intersect1d(open_, left[ended])
            if not len(left) or (wide and not len(missed)):
                break
            removals.widen(missed)
        return np.concatenate([*stuck, left])

    def _noted(
        self, left: Indices, verdict: Verdict, settled: Callable[[Verdict], Flags]
    ) -> Indices:
        """Keep values and what bounds them; return the samples for which it is not enough."""
        low, high = verdict.values - verdict.below, verdict.values + verdict.above
        nearer = high - low <= self.high[left] - self.low[left]
        self.f[left[nearer]] = verdict.values[nearer]
        self.low[left] = np.maximum(self.low[left], low)
        self.high[left] = np.minimum(self.high[left], high)
        return left[~settled(verdict)]

    def _tried(
        self,
        removals: Removals,
        left: Indices,
        settled: Callable[[Verdict], Flags],
        effort: tuple[float, float],
    ) -> Indices:
        """Refit without each of these samples by pair steps."""
        if not len(left):
            return left
        tightness, width = effort
        places = removals.places(left)
        spans = removals.spans(places)
        target = tightness * removals.deciding_gap(places, removals.f[left])
        wide = int(min(width * (len(removals.free) + 20), len(removals.columns)))
        return self._noted(left, removals.refit(places, spans, target, wide), settled)


def _n_alike(machine: Machine) -> NDArray[np.intp]:
    """Return how many samples have the label of each."""
    up = (machine.y > 0.0) & (machine.cost > 0.0)
    down = (machine.y < 0.0) & (machine.cost > 0.0)
    return np.asarray(np.where(up, np.count_nonzero(up), np.count_nonzero(down)))


def span_values(machine: Machine) -> Array:
    """f(x_i) without i if no other sample changes its status: f(x_i) − β_i S_i²."""
    removals = Removals(machine)
    support = np.flatnonzero(removals.beta)
    samples = removals.columns[support]
    f = removals.f.copy()
    f[samples] -= removals.beta[support] * removals.spans(support).squares
    return f


def doubtful(machine: Machine) -> Flags:
    """Which samples one dual step does not prove right without themselves."""
    removals = Removals(machine)
    support = np.flatnonzero(removals.beta)
    wrong = ~removals.proven_right(support, removals.spans(support))
    found = machine.y * removals.f <= 0.0
    found[removals.columns[support[wrong]]] = True
    return np.asarray(found & (machine.cost > 0.0))


def squares_left_out(machine: Machine) -> Array:
    """f(x_i) without i of least squares, in closed form: residuals are r_i / (1 − h_i)."""
    used = machine.cost > 0.0
    linear = machine.X[used]
    if linear.shape[1] < linear.shape[0]:
        left = _by_features(machine, linear, used)
    else:
        left = _by_samples(machine, used)
    f = machine.f.copy()
    f[used] = machine.y[used] - left
    return f


def _by_features(machine: Machine, X: Matrix, used: Flags) -> Array:
    """Return the residuals from the leverages h_i = 2 C_i z_i' H⁻¹ z_i with z = (x, 1)."""
    rows = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    y, cost, d = machine.y[used], 2.0 * machine.cost[used], rows.shape[1]
    system = np.eye(d)
    if machine.free:  # seen from their middle the columns lose no digits to the intercept
        rows = np.column_stack([rows - rows.mean(axis=0), np.ones(len(rows))])
        system = np.diag(np.append(np.ones(d), 0.0))
    elif machine.constant:
        rows = np.column_stack([rows, np.full(len(rows), math.sqrt(machine.constant))])
        system = np.eye(d + 1)
    factor = linalg.cho_factor(system + (rows.T * cost) @ rows)
    solved = linalg.cho_solve(factor, rows.T)
    level = float(cost @ y) / float(cost.sum()) if machine.free else 0.0
    residual = y - level - rows @ (solved @ (cost * (y - level)))
    leverage = cost * np.einsum("ij,ji->i", rows, solved)
    return np.asarray(residual / np.maximum(1.0 - leverage, np.finfo(np.float64).eps))


def _by_samples(machine: Machine, used: Flags) -> Array:
    """Return the residuals β_i / M_ii, with M the inverse of K + 1/(2C), bordered by ones."""
    rows = np.flatnonzero(used)
    y, K = machine.y[rows], machine.gram(rows, rows)
    K[np.diag_indices_from(K)] += machine.curvature[rows]
    if machine.free:
        K = np.pad(K, (0, 1), constant_values=1.0)
        K[-1, -1] = 0.0
    inverse = linalg.inv(K)[: len(rows), : len(rows)]
    centre = float(y.mean()) if machine.free else 0.0
    return np.asarray(inverse @ (y - centre) / np.diag(inverse))
