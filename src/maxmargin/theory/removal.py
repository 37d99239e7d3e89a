"""What becomes of f(x_i) when sample i is removed: linear algebra, refits, proofs.

Removing i is setting C_i = 0. Its β_i is handed to the free support vectors J in shares η with
Σ η = 1 (Σ β = 0 then stays), for which x_i is as near as can be to Σ η_j x_j: as long as no status
changes, that is the optimum without i. Where some change, free and fixed samples are exchanged
(`Tableau`), and what that does not settle takes pair steps. f(x_i) at the exact optimum is bounded
from the gap G of any such point.
"""

from __future__ import annotations

import itertools
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

import maxmargin._core as _core
from maxmargin.data.arrays import Array
from maxmargin.theory.machine import Indices
from maxmargin.theory.optimum import FINE, VIOLATED, Optimum, never
from maxmargin.theory.pivoting import Tableau, Variables

#: Of the mean k(x, x), added to the diagonal of K_JJ: η need not be exact, as ‖x_i − Σ η_j x_j‖² is
#: computed from it.
_RIDGE = 1e-10

#: Values of f that are held at a time.
_VALUES = 2**23

#: Most outer steps of a refit.
_REFIT_STEPS = 1000

#: Samples near their edge among which exchanges are made, beside twice the free support vectors.
_MORE_NEAR = 100

#: Numbers of nearest free support vectors that are tried as shares.
_NEIGHBOURS = (1, 3, 10, 40)

#: How far from its edge a free support vector may be for a proof to use it.
_NEAR_EDGE = 0.2


class Spans(NamedTuple):
    """Shares η, a column for each sample, over the free support vectors, and ‖x − Σ η_j x_j‖²."""

    shares: Array
    squares: Array


class Verdict(NamedTuple):
    """f(x_i) without sample i, for each of some samples, and how far the exact one may be off.

    That lies from f − below to f + above.
    """

    values: Array
    below: Array
    above: Array

    @property
    def signs(self) -> NDArray[np.bool_]:
        """Whether the sign of f(x_i) is that of the exact optimum without i."""
        return np.asarray((self.values > self.below) | (-self.values > self.above))


class Removals(Optimum):
    """The exact solution of a machine, and those without one of its samples."""

    @cached_property
    def _inverse(self) -> Array:
        """Inverse of K_JJ, bordered by ones where the intercept is free."""
        J = self.free
        if len(J) == 0:
            return np.zeros((1, 1) if self.machine.free else (0, 0))
        system = self.K[np.ix_(J, J)]
        system[np.diag_indices_from(system)] += _RIDGE * float(np.trace(system)) or 1.0
        if self.machine.free:
            system = np.pad(system, (0, 1), constant_values=1.0)
            system[-1, -1] = 0.0
        return np.asarray(linalg.inv(system))

    def places(self, samples: Indices) -> Indices:
        """Return the places of some samples among the columns."""
        place = np.full(self.machine.n, -1)
        place[self.columns] = np.arange(len(self.columns))
        return place[samples]

    def spans(self, samples: Indices) -> Spans:
        """Return η for samples by their place among the columns; J without the sample itself."""
        J, inverse = self.free, self._inverse
        right = self.K[np.ix_(J, samples)]
        if self.machine.free:
            right = np.vstack([right, np.ones(len(samples))])
        shares = (inverse @ right)[: len(J)]
        own = np.isin(samples, J)
        if own.any():
            place = np.searchsorted(J, samples[own])
            shares[:, own] = -inverse[: len(J), place] / inverse[place, place]
            shares[place, np.flatnonzero(own)] = 0.0
        if self.machine.free:
            sums = shares.sum(axis=0)
            shares /= np.where(np.abs(sums) > 0.1, sums, 1.0)
        return self._spanned(samples, shares)

    def _spanned(self, samples: Indices, shares: Array) -> Spans:
        """Return the shares with ‖x − Σ η_j x_j‖², infinite where they are none."""
        J = self.free
        K = self.K[np.ix_(J, J)]
        cross = 2.0 * np.einsum("ji,ji->i", shares, self.K[np.ix_(J, samples)])
        own = self.K[samples, samples] - self.curvature[samples]
        squares = own - cross + np.einsum("ji,ji->i", shares, K @ shares)
        valid = np.abs(shares.sum(axis=0) - 1.0) < 1e-9 if self.machine.free else True
        return Spans(shares, np.where(valid, np.maximum(squares, 0.0), np.inf))

    def proven_right(self, samples: Indices, spans: Spans) -> NDArray[np.bool_]:
        """Which samples are right without themselves, by a step with some of many shares."""
        proven = self._steps_up(samples, self.free[:, np.newaxis], spans)
        left = np.flatnonzero(~proven)
        if not len(left) or not len(self.free):
            return proven
        near, room = self._neighbours(samples[left])
        for few, even in itertools.product(_NEIGHBOURS, (False, True)):
            still = np.flatnonzero(~proven[left])
            weight = (room[:few, still] > 0.0) if even else room[:few, still]
            weight = weight / np.maximum(weight.sum(axis=0), 1e-300)
            some, at = samples[left[still]], self.free[near[:few, still]]
            squares = self._squares(some, at, weight)
            proven[left[still]] = self._steps_up(some, at, Spans(weight, squares))
        return proven

    def _squares(self, samples: Indices, at: Indices, shares: Array) -> Array:
        """Return ‖x − Σ η_j x_j‖² for shares over few columns, others for each sample."""
        own = self.K[samples, samples] - self.curvature[samples]
        cross = (shares * self.K[at, samples]).sum(axis=0)
        among = np.einsum("ai,bi,abi->i", shares, shares, self.K[at[:, np.newaxis], at])
        squares = own - 2.0 * cross + among
        valid = np.abs(shares.sum(axis=0) - 1.0) < 1e-9 if self.machine.free else True
        return np.where(valid, np.maximum(squares, 0.0), np.inf)

    def _neighbours(self, samples: Indices) -> tuple[Indices, Array]:
        """Return the places in J of the nearest free support vectors that have room, and that."""
        J, s = self.free, self.y[samples]
        beta, lower, upper = (v[J, np.newaxis] for v in (self.beta, self.lower, self.upper))
        room = np.where(s > 0.0, upper - beta, beta - lower)
        room[samples == J[:, np.newaxis]] = 0.0
        near = self.K[np.ix_(J, samples)] - 0.5 * self.K[J, J][:, np.newaxis]
        near[room <= 0.0] = -np.inf
        order = np.argsort(-near, axis=0)[: max(_NEIGHBOURS)]
        return order, np.take_along_axis(room, order, axis=0)

    def _steps_up(self, samples: Indices, at: Indices, spans: Spans) -> NDArray[np.bool_]:
        """Which samples are right without themselves, by one step from the solution.

        `at` has the columns of the shares, for each sample or for all.

        If f without i erred on i, the optimum without i, at most P − C_i ℓ_i, would be at least the
        dual value where i has the target 0 and β_i − s t instead of β_i, and J has s t η more, with
        s = y_i and any t ≥ α_i that the boxes allow: −α_i + t y_i f(x_i) − ½ t² S_i² more than D.
        """
        s, alpha = self.y[samples], np.abs(self.beta[samples])
        change = spans.shares * s
        room = np.where(change > 0.0, (self.upper - self.beta)[at], (self.lower - self.beta)[at])
        with np.errstate(divide="ignore", invalid="ignore"):
            most = np.where(change != 0.0, room / change, np.inf)
        longest = most.min(axis=0, initial=np.inf)
        margin = s * self.f[self.columns[samples]]
        with np.errstate(divide="ignore", invalid="ignore"):
            best = np.minimum(longest, np.maximum(alpha, margin / spans.squares))
        slack = np.maximum(0.0, 1.0 - margin)
        loss = self.cost[samples] * (slack if self.machine.part.loss.bounded else slack**2)
        lost = alpha - 0.5 * self.curvature[samples] * alpha**2
        with np.errstate(over="ignore", invalid="ignore"):
            gain = best * margin - 0.5 * best**2 * spans.squares
            enough = gain - lost + loss > self._doubt
        return np.asarray(enough & (longest >= alpha))

    @property
    def _doubt(self) -> float:
        """What the gap of the solution, and rounding, may make of a comparison of values."""
        return max(10.0 * FINE * abs(self.dual), 2.0 * self.gap)

    def deciding_gap(self, samples: Indices, f: Array) -> Array:
        """Return a gap that is small enough for `_decides` if f(x_i) will be about that large."""
        K = self.K[:, samples]
        square = self.K[samples, samples] - 2.0 * K.mean(axis=0) + float(self.K.mean())
        size = np.clip(np.abs(f), 0.05, 1.0)
        return np.asarray(
            0.5 * size**2 / np.maximum(square, max(1e-12 * float(np.abs(K).max()), 1e-300))
        )

    def without(
        self, samples: Indices, *, wide: bool = False
    ) -> tuple[Verdict, NDArray[np.bool_], Indices]:
        """Return f(x_i) without each sample, by exchanges of free and fixed samples.

        And which of them ended, and the samples that should have been columns of these. Those that
        are far from their edge keep their β, unless it is `wide`.
        """
        among = np.arange(len(self.columns))
        if not wide:
            near = np.abs(self.miss - self.epsilon * self._side)
            near[self.free] = near[samples] = -1.0
            count = int(np.count_nonzero(near < 0.0) + len(self.free) + _MORE_NEAR)
            among = np.sort(np.argsort(near, kind="stable")[:count])
        place = np.full(len(self.columns), -1)
        place[among] = np.arange(len(among))
        K = self.K if wide else self.K[np.ix_(among, among)]
        variables = Variables(*(part[among] for part in self._variables))
        tableau = Tableau(K, place[self.free], variables, balanced=self.machine.free)
        parts, ended, missed = [], [], [np.zeros(0, dtype=np.intp)]
        for some in self._portions(samples):
            beta, reached = tableau.without(place[some])
            verdict, f = self._judged(some, beta, among)
            parts.append(verdict)
            ended.append(reached)
            missed.append(self._missing(f[:, reached]))
        return _joined(parts), np.concatenate(ended), np.unique(np.concatenate(missed))

    @property
    def _side(self) -> Array:
        """Which side of the tube a sample is on, or nearer to."""
        return np.where(self.beta != 0.0, np.sign(self.beta), np.where(self.miss >= 0.0, 1.0, -1.0))

    @property
    def _variables(self) -> Variables:
        """Return the columns as variables: of a tube the piece of the loss on their side."""
        side, lower, upper = self._side, self.lower, self.upper
        if self.epsilon > 0.0:
            lower, upper = np.where(side > 0.0, 0.0, lower), np.where(side > 0.0, upper, 0.0)
        return Variables(lower, upper, self.beta, self.miss - self.epsilon * side)

    def _portions(self, samples: Indices) -> list[Indices]:
        """Return the samples in parts, so that not too many values of f are held at a time."""
        step = max(1, _VALUES // self.machine.n)
        return [samples[begin : begin + step] for begin in range(0, len(samples), step)]

    def refit(self, samples: Indices, spans: Spans, target: Array, wide: int) -> Verdict:
        """Solve without each sample, to a gap of about `target`, among `wide` columns.

        The other columns keep their β; the gap counts all samples.
        """
        distance = np.abs(self.miss - self.epsilon * np.sign(self.miss))
        distance[self.free] = -1.0
        among = np.sort(np.argsort(distance, kind="stable")[: max(wide, len(self.free))])
        parts, begin = [], 0
        for some in self._portions(samples):
            own = slice(begin, begin + len(some))
            beta = self._solved_without(some, spans.shares[:, own], target[own], among)
            parts.append(self._judged(some, beta, among)[0])
            begin += len(some)
        return _joined(parts)

    def _solved_without(
        self, samples: Indices, shares: Array, target: Array, among: Indices
    ) -> Array:
        """Return β of those columns without each sample."""
        points = np.ascontiguousarray(self._started(samples, shares, among).T)
        K = np.ascontiguousarray(self.K[np.ix_(among, among)])
        at_rest = self.z[self.columns[among]] + self.curvature[among] * self.beta[among]
        at_rest = self.y[among] - (at_rest - K @ self.beta[among])
        place = np.full(len(self.columns), -1)
        place[among] = np.arange(len(among))
        boxes, scale = (self.lower[among], self.upper[among]), 1.0 + abs(self.dual)
        for point, i, gap in zip(points, samples, target, strict=True):
            lower, upper, aim = boxes[0].copy(), boxes[1].copy(), at_rest
            if place[i] >= 0:
                lower[place[i]] = upper[place[i]] = 0.0
            else:
                aim = at_rest + self.K[among, i] * self.beta[i]
            bounds = lower[np.newaxis], upper[np.newaxis]
            smo = _core.DenseSmo(K, aim, *bounds, self.epsilon, self.machine.free, scale)
            smo.start(point[np.newaxis])
            smo.run(0.0, float(gap), _REFIT_STEPS, never)
            point[:] = smo.beta
        return points.T

    def _started(self, samples: Indices, shares: Array, among: Indices) -> Array:
        """Return where refits begin: β_i in the shares, what leaves a box as there is room."""
        whole = np.repeat(self.beta[:, np.newaxis], len(samples), axis=1)
        whole[self.free] += shares * self.beta[samples]
        start = whole[among]
        lower = np.repeat(self.lower[among, np.newaxis], len(samples), axis=1)
        upper = np.repeat(self.upper[among, np.newaxis], len(samples), axis=1)
        rows, columns = np.nonzero(among[:, np.newaxis] == samples)
        start[rows, columns] = lower[rows, columns] = upper[rows, columns] = 0.0
        np.clip(start, lower, upper, out=start)
        if self.machine.free:
            inside = np.zeros(len(samples), dtype=bool)
            inside[columns] = True
            due = self.beta[among].sum() - np.where(inside, 0.0, -self.beta[samples])
            excess = start.sum(axis=0) - due
            room = np.where(excess > 0.0, start - lower, upper - start)
            total = np.maximum(room.sum(axis=0), 1e-300)
            start -= room * np.clip(excess / total, -1.0, 1.0)
        return start

    def _judged(self, samples: Indices, beta: Array, among: Indices) -> tuple[Verdict, Array]:
        """Return f(x_i) of each point, and how far that of the optimum without i may be off.

        And f of all samples.
        """
        machine, rows = self.machine, np.arange(len(samples))
        change = beta - self.beta[among, np.newaxis]
        moved = change.any(axis=1)
        z = self.values[:, among[moved]] @ change[moved] + self.z[:, np.newaxis]
        outside = np.flatnonzero(~np.isin(samples, among))
        z[:, outside] -= self.values[:, samples[outside]] * self.beta[samples[outside]]
        whole = np.repeat(self.beta[:, np.newaxis], len(samples), axis=1)
        whole[among], whole[samples, rows] = beta, 0.0
        miss = self.y[:, np.newaxis] - z[self.columns] - self.curvature[:, np.newaxis] * whole
        b = self.intercepts(miss, whole, samples)
        z += b
        f = z[self.columns[samples], rows]
        gap = self.gaps(samples, z, whole)
        if machine.free:  # Σ β = 0, or there is no bound
            gap[np.abs(whole.sum(axis=0)) > 1e-9 * np.abs(whole).sum(axis=0)] = np.inf
        return self._bounded(samples, f, gap, whole, miss - b), z

    def _missing(self, f: Array) -> Indices:
        """Return the samples that have slacks at any column of f, and are no columns."""
        others = np.ones(self.machine.n, dtype=bool)
        others[self.columns] = False
        others &= self.machine.cost > 0.0
        rows = np.flatnonzero(others)
        return rows[(self.slacks(f)[rows] > VIOLATED).any(axis=1)]

    def _bounded(self, samples: Indices, f: Array, gap: Array, beta: Array, miss: Array) -> Verdict:
        """Bound how far f(x_i) of the exact optimum without i may lie from that of a point.

        If it were f(x_i) − s δ or beyond, s = ±1, P* would be at least the dual value where x_i
        joins with the target f(x_i) − s δ and −s μ, and free support vectors take s μ η_j, with
        Σ η = 1 and any μ > 0 that the boxes allow: D + μ (δ + s Σ η_j e_j) − ½ μ² S², where e_j is
        by how much x_j misses its edge and S = ‖x_i − Σ η_j x_j‖. But P* ≤ D + G, so that
        δ ≤ G/μ + ½ μ S² − s Σ η_j e_j. Here η is in proportion to the room. Where rounding makes
        Σ β = ν other than 0, these samples take −ν η_j too, for which μ ≥ |ν| must leave room: G is
        then more by |ν Σ η_j e_j|, and S by ‖Σ η_j x_j‖ |ν|/μ.
        """
        square = self.K[samples, samples] - self.curvature[samples]
        if not self.machine.free:
            off = np.sqrt(2.0 * gap * np.maximum(square, 0.0))
            return Verdict(f, off, off)
        inside = self.inside(beta)
        used = np.flatnonzero(inside.any(axis=1))
        point = beta[used]
        edge = miss[used] - self.epsilon * np.sign(point)
        near = inside[used] & (np.abs(edge) < _NEAR_EDGE)
        low, high = self.lower[used, np.newaxis], self.upper[used, np.newaxis]
        if self.epsilon > 0.0:  # there the loss has a kink at β = 0
            low, high = np.where(point > 0.0, 0.0, low), np.where(point < 0.0, 0.0, high)
        offs, excess = [], np.abs(beta.sum(axis=0))
        for s, room in ((1.0, high - point), (-1.0, point - low)):
            total = (room := room * near).sum(axis=0)
            shares = room / np.maximum(total, 1e-300)
            length = np.einsum("ji,ji->i", shares, self.K[np.ix_(used, used)] @ shares)
            apart = square + length
            apart -= 2.0 * np.einsum("ji,ji->i", shares, self.K[np.ix_(used, samples)])
            apart = np.maximum(apart, 1e-300)
            mu = np.minimum(total - excess, np.sqrt(2.0 * gap / apart))
            missed = (shares * edge).sum(axis=0)
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                far = np.sqrt(apart) + np.sqrt(np.maximum(length, 0.0)) * excess / mu
                off = (gap + excess * np.abs(missed)) / mu + 0.5 * mu * far**2 - s * missed
            offs.append(np.where((mu > 0.0) & (mu >= excess), off, np.inf))
        return Verdict(f, *offs)


def _joined(parts: list[Verdict]) -> Verdict:
    return Verdict(*(np.concatenate(values) for values in zip(*parts, strict=True)))
