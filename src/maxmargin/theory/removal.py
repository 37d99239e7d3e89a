"""What becomes of f(x_i) when sample i is removed: a start by linear algebra, refits, proofs.

Removing i is setting C_i = 0. Its β_i is handed to the free support vectors J in shares η with
Σ η = 1 (Σ β = 0 then stays), for which x_i is as near as can be to Σ η_j x_j: as long as no status
changes, that is the optimum without i. A few pair steps then correct what left its box. The sign of
f(x_i) is proven from the gap G of any such point (`proven`), so that most refits end early.
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
from maxmargin.runtime.memory import free_memory
from maxmargin.theory.machine import Indices, Machine

#: Of the mean k(x, x), added to the diagonal of K_JJ: η need not be exact, as ‖x_i − Σ η_j x_j‖² is
#: computed from it.
_RIDGE = 1e-10

#: Relative gap to which the machine itself is solved again, and the rounding of sums that counts.
_FINE, _ROUNDING = 1e-11, 1e-13

#: Values of f that are held at a time.
_VALUES = 2**23

#: By how much y f may fall short of 1 at a sample that is no column.
_VIOLATED = 1e-9

#: Most outer steps of the machine itself, and of a refit.
_STEPS, _REFIT_STEPS = 100_000, 1000

#: Samples beside the support vectors that may become some, at least.
_FEW = 20

#: Numbers of nearest free support vectors that are tried as shares.
_NEIGHBOURS = (1, 3, 10, 40)

#: How far from y f = 1 a free support vector may be for a proof to use it.
_NEAR_EDGE = 0.2


class Spans(NamedTuple):
    """Shares η, a column for each sample, over the free support vectors, and ‖x − Σ η_j x_j‖²."""

    shares: Array
    squares: Array


class Verdict(NamedTuple):
    """f(x_i) without sample i, for each of some samples, and whether its sign is proven."""

    values: Array
    proven: NDArray[np.bool_]


class Removals:
    """The exact solution of a machine, and those without one of its samples."""

    def __init__(self, machine: Machine, *, everyone: bool = False) -> None:
        self.machine = machine
        support = machine.support
        away = np.flatnonzero((machine.alpha == 0.0) & (machine.cost > 0.0))
        n_more = len(away) if everyone else len(support) // 2 + _FEW
        nearest = away[np.argsort((machine.y * machine.f)[away])[:n_more]]
        self._lay_out(np.concatenate([support, nearest]))
        self._solve()
        while len(missed := self._missed()):
            self._lay_out(np.append(self.columns, missed))
            self._solve()
        none, f, beta = np.zeros(0, dtype=np.intp), self.f[:, np.newaxis], self.beta[:, np.newaxis]
        self.gap = float(self._gaps(none, f, beta)[0])

    def _missed(self) -> Indices:
        """Return the samples that should be columns: their α = 0 is not the optimum."""
        machine = self.machine
        violated = (machine.y * self.f < 1.0 - _VIOLATED) & (machine.cost > 0.0)
        violated[self.columns] = False
        return np.flatnonzero(violated)

    def _lay_out(self, columns: Indices) -> None:
        """Compute the kernel values of these columns with all samples."""
        machine, self.columns = self.machine, columns
        needed = 8.0 * len(columns) * (machine.n + 2.0 * len(columns))
        if needed > free_memory():
            raise MemoryError(
                f"Leaving out each of {machine.n} samples with {len(machine.support)} support"
                f" vectors needs {needed / 1e9:.1f} GB. Use theory.xi_alpha, or fewer samples."
            )
        self.values = np.empty((machine.n, len(columns)))
        for rows in machine.blocks(len(columns)):
            self.values[rows] = machine.gram(rows, columns)
        self.cost, self.curvature = machine.cost[columns], machine.curvature[columns]
        self.y, K = machine.y[columns], self.values[columns]
        self.K = 0.5 * (K + K.T) + np.diag(self.curvature)

    def _solve(self) -> None:
        """Solve the machine to the last digits: samples that are no columns keep α = 0."""
        smo = self._smo(slice(None), self.y, self.lower, self.upper, 0.0)
        smo.start(self.machine.part.beta[self.columns][np.newaxis])
        smo.run(_FINE, 0.0, _STEPS, _never)
        self.beta = np.asarray(smo.beta).ravel()
        self.z = self.values @ self.beta
        found = self.z[self.columns] + self.curvature * self.beta
        inside = (self.beta > self.lower) & (self.beta < self.upper) & (self.beta != 0.0)
        self.free = np.flatnonzero(inside)
        miss = self.y - found
        self.b = float(self._intercepts(miss[:, np.newaxis], self.beta[:, np.newaxis])[0])
        self.f = self.z + self.b
        self.dual = float(self.y @ self.beta - 0.5 * self.beta @ found)

    def _smo(
        self, at: Indices | slice, target: Array, lower: Array, upper: Array, elsewhere: float
    ) -> _core.DenseSmo:
        K = self.K if isinstance(at, slice) else np.ascontiguousarray(self.K[np.ix_(at, at)])
        bounds = lower[np.newaxis], upper[np.newaxis]
        return _core.DenseSmo(K, target, *bounds, 0.0, self.machine.free, elsewhere)

    @cached_property
    def reach(self) -> Array:
        """The most that |β| may be; of a squared hinge more than it can be: ξ² ≤ Σ C / C."""
        if self.machine.part.loss.bounded:
            return np.asarray(self.cost)
        used = self.cost > 0.0
        return np.asarray(4.0 * used * np.sqrt(self.cost * self.machine.cost.sum()))

    @property
    def upper(self) -> Array:
        """Upper bounds of β."""
        return np.where(self.y > 0.0, self.reach, 0.0)

    @property
    def lower(self) -> Array:
        """Lower bounds of β."""
        return np.where(self.y < 0.0, -self.reach, 0.0)

    @cached_property
    def _inverse(self) -> Array:
        """Inverse of K_JJ, bordered by ones where the intercept is free."""
        J = self.free
        if len(J) == 0:
            return np.zeros((1, 1))
        system = self.K[np.ix_(J, J)]
        system[np.diag_indices_from(system)] += _RIDGE * max(float(np.trace(system)), 1e-300)
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
        proven = self._steps_up(samples, spans)
        left = np.flatnonzero(~proven)
        if not len(left) or not len(self.free):
            return proven
        near, room = self._neighbours(samples[left])
        for few, even in itertools.product(_NEIGHBOURS, (False, True)):
            still = np.flatnonzero(~proven[left])
            weight = (room[:few, still] > 0.0) if even else room[:few, still]
            weight = weight / np.maximum(weight.sum(axis=0), 1e-300)
            shares = np.zeros((len(self.free), len(still)))
            np.put_along_axis(shares, near[:few, still], weight, axis=0)
            some = samples[left[still]]
            proven[left[still]] = self._steps_up(some, self._spanned(some, shares))
        return proven

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

    def _steps_up(self, samples: Indices, spans: Spans) -> NDArray[np.bool_]:
        """Which samples are right without themselves, by one step from the solution.

        If f without i erred on i, the optimum without i, at most P − C_i ℓ_i, would be at least the
        dual value where i has the target 0 and β_i − s t instead of β_i, and J has s t η more, with
        s = y_i and any t ≥ α_i that the boxes allow: −α_i + t y_i f(x_i) − ½ t² S_i² more than D.
        """
        J, s, alpha = self.free, self.y[samples], np.abs(self.beta[samples])
        change = spans.shares * s
        room = np.where(change > 0.0, self.upper[J, None], self.lower[J, None])
        with np.errstate(divide="ignore", invalid="ignore"):
            most = np.where(change != 0.0, (room - self.beta[J, None]) / change, np.inf)
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
        return max(10.0 * _FINE * abs(self.dual), 2.0 * self.gap)

    def deciding_gap(self, samples: Indices, f: Array) -> Array:
        """Return a gap that is small enough for `_decides` if f(x_i) will be about that large."""
        K = self.K[:, samples]
        square = self.K[samples, samples] - 2.0 * K.mean(axis=0) + float(self.K.mean())
        size = np.clip(np.abs(f), 0.05, 1.0)
        return np.asarray(0.5 * size**2 / np.maximum(square, 1e-12 * float(np.abs(K).max())))

    def refit(self, samples: Indices, spans: Spans, target: Array, wide: int) -> Verdict:
        """Solve without each sample, to a gap of about `target`, among `wide` columns.

        The other columns keep their β; the gap counts all samples.
        """
        distance = np.abs(1.0 - self.y * self.f[self.columns])
        distance[self.free] = -1.0
        among = np.sort(np.argsort(distance, kind="stable")[: max(wide, len(self.free))])
        step, parts = max(1, _VALUES // self.machine.n), []
        for begin in range(0, len(samples), step):
            some = slice(begin, begin + step)
            shares = spans.shares[:, some]
            beta = self._solved_without(samples[some], shares, target[some], among)
            parts.append(self._judged(samples[some], beta, among))
        return Verdict(*(np.concatenate(values) for values in zip(*parts, strict=True)))

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
            smo = _core.DenseSmo(K, aim, *bounds, 0.0, self.machine.free, scale)
            smo.start(point[np.newaxis])
            smo.run(0.0, float(gap), _REFIT_STEPS, _never)
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

    def _judged(
        self, samples: Indices, beta: Array, among: Indices
    ) -> tuple[Array, NDArray[np.bool_]]:
        """Return f(x_i) of each point, and whether its sign is that of the optimum without i."""
        machine, rows = self.machine, np.arange(len(samples))
        change = beta - self.beta[among, np.newaxis]
        z = self.values[:, among] @ change + self.z[:, np.newaxis]
        outside = np.flatnonzero(~np.isin(samples, among))
        z[:, outside] -= self.values[:, samples[outside]] * self.beta[samples[outside]]
        whole = np.repeat(self.beta[:, np.newaxis], len(samples), axis=1)
        whole[among], whole[samples, rows] = beta, 0.0
        lower, upper = self.lower[:, np.newaxis], self.upper[:, np.newaxis]
        inside = (whole > lower) & (whole < upper) & (whole != 0.0)
        own = z[self.columns] + self.curvature[:, np.newaxis] * whole
        miss = self.y[:, np.newaxis] - own
        b = self._intercepts(miss, whole)
        z += b
        f = z[self.columns[samples], rows]
        gap = self._gaps(samples, z, whole)
        if machine.free:  # Σ β = 0, or there is no bound
            gap[np.abs(whole.sum(axis=0)) > 1e-9 * np.abs(whole).sum(axis=0)] = np.inf
        return f, self._decides(samples, f, gap, whole, np.where(inside, miss - b, np.inf))

    def _intercepts(self, miss: Array, beta: Array) -> Array:
        """Return b of each column: the mean of y − Kβ on the edge, or amid what is allowed."""
        if not self.machine.free:
            return np.zeros(beta.shape[1])
        lower, upper = self.lower[:, np.newaxis], self.upper[:, np.newaxis]
        inside = (beta > lower) & (beta < upper) & (beta != 0.0)
        least = np.where(beta < upper, miss, -np.inf).max(axis=0)
        most = np.where(beta > lower, miss, np.inf).min(axis=0)
        least, most = (
            np.where(np.isfinite(least), least, most),
            np.where(np.isfinite(most), most, least),
        )
        count = inside.sum(axis=0)
        mean = (miss * inside).sum(axis=0) / np.maximum(count, 1)
        return np.asarray(np.where(count > 0, mean, 0.5 * (least + most)))

    def _gaps(self, samples: Indices, f: Array, beta: Array) -> Array:
        """P − D of each point, without its sample if there is one: Fenchel-Young gaps."""
        machine, cost = self.machine, self.machine.cost
        slack = np.maximum(0.0, 1.0 - machine.y[:, np.newaxis] * f)
        loss = slack if machine.part.loss.bounded else slack**2
        values = cost @ loss
        if len(samples):
            at = self.columns[samples]
            values -= cost[at] * loss[at, np.arange(f.shape[1])]
        pull = beta * (self.y[:, np.newaxis] - f[self.columns])
        pull -= 0.5 * self.curvature[:, np.newaxis] * beta**2
        sizes = values + np.abs(pull).sum(axis=0)
        return np.asarray(np.maximum(values - pull.sum(axis=0), 0.0) + _ROUNDING * sizes)

    def _decides(
        self, samples: Indices, f: Array, gap: Array, beta: Array, edge: Array
    ) -> NDArray[np.bool_]:
        """Whether the sign of f(x_i) is that of the exact optimum without i.

        If it were not, P* would be at least the dual value where x_i joins with the target 0 and
        −s μ, and free support vectors take s μ η_j, with s = sign f(x_i), Σ η = 1 and any μ ≥ 0
        that the boxes allow: D + μ (|f(x_i)| + s Σ η_j (y_j − f(x_j))) − ½ μ² ‖x_i − Σ η_j x_j‖²;
        but P* ≤ D + G. Here η is in proportion to the room.
        """
        s = np.sign(f)
        square = self.K[samples, samples] - self.curvature[samples]
        if not self.machine.free:
            return np.asarray(f**2 > 2.0 * gap * square)
        near = np.abs(edge) < _NEAR_EDGE
        room = np.where(s > 0.0, self.upper[:, np.newaxis] - beta, beta - self.lower[:, np.newaxis])
        room = np.where(near, room, 0.0)
        used = np.flatnonzero(room.any(axis=1))
        total = room.sum(axis=0)
        shares = room[used] / np.maximum(total, 1e-300)
        K = self.K[np.ix_(used, used)]
        square += np.einsum("ji,ji->i", shares, K @ shares)
        square -= 2.0 * np.einsum("ji,ji->i", shares, self.K[np.ix_(used, samples)])
        pull = np.abs(f) + s * (shares * np.where(near, edge, 0.0)[used]).sum(axis=0)
        square = np.maximum(square, 1e-300)
        mu = np.minimum(total, np.maximum(pull, 0.0) / square)
        return np.asarray(mu * pull - 0.5 * mu**2 * square > gap)


def _never() -> bool:
    """Refits are short; Ctrl-C is heard as this is called."""
    return False
