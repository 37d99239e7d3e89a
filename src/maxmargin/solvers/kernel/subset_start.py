"""Parts of SMO's problem, at the start and at the end: solve for some samples, then look at all.

Kernel rows among a part of the samples are short, and what the others see of the solution is summed
tile by tile, without a row being kept.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin.data.arrays import Array
from maxmargin.objectives.standard_form import StandardForm
from maxmargin.runtime.monitor import Monitor
from maxmargin.solvers.kernel.row_source import KernelSamples

Index = NDArray[np.intp]

#: Samples from which on the first look is at a part of them, and by how much parts grow.
_MANY, _GROWTH = 8192, 4

#: Share of support vectors in the first part beyond which whole rows are as good.
_FEW = 0.1

#: Relative gap to which a part that is not all is solved.
_ROUGHLY = 0.05

#: Rounds on all samples; what is left then is little.
_ROUNDS = 4

#: Relative gap at which it shows which samples will matter, how far from it (by what the others
#: lack) the rest must be, and the largest share of all for which leaving them out is worth it.
NEAR, _FAR, _SHARE = 0.02, 3.0, 0.5

#: Kernel values that are summed after a stop.
_MOMENT = 2**27

#: Of the relative gap asked for: the others add a little to that of a part.
_AMPLE = 0.8


class Screening:
    """A dual point β that grows from part to part, with z = Kβ where it was looked at."""

    def __init__(
        self,
        form: StandardForm,
        samples: KernelSamples,
        engine: Callable[[Index], _core.Smo],
        monitor: Monitor,
    ) -> None:
        n = len(form.target)
        self.form, self.samples, self.engine, self.monitor = form, samples, engine, monitor
        self.beta, self.z, self.threshold = np.zeros(n), np.zeros(n), 0.0
        self.n_iter = self.steps = 0  # outer steps on parts, and the pairs in them
        self.rows = 0.0  # computed for parts, in rows of all samples
        self.before = 0  # outer steps on all samples

    def applies(self) -> bool:
        """Whether the problem is of the kind and of the size."""
        form = self.form
        plain = self.samples.formula is not None and not form.doubled and not form.begin.any()
        return plain and len(form.target) >= _MANY

    def run(self) -> bool:
        """Go from part to part; False if it is to stop, or if too many samples matter."""
        n = len(self.beta)
        order = np.random.default_rng(0).permutation(n)
        seen, size = 0, n // _GROWTH**2
        while True:
            if not self._tell(order[seen:size], self.beta):
                return False
            part = np.sort(order[:size])
            for _ in range(_ROUNDS if size == n else 1):
                others = self._round(part)
                if others is None:
                    return False
                if not (self._gain(others) > 0.0).any():
                    break
            if size == n:
                return True
            if np.count_nonzero(self.beta) > _FEW * size:
                return False
            seen, size = size, n if size == n // _GROWTH else n // _GROWTH

    def shrink(self, smo: _core.Smo) -> bool:
        """Go on from near the optimum without most samples, if they no longer matter; whether.

        The engine of all samples gives its rows back, and is left at what was found.
        """
        self.beta, self.z = smo.beta, self.form.target - smo.residual
        self.threshold, self.before = float(smo.thresholds[0]), smo.outer_steps
        active, others = self._split(np.arange(len(self.beta)), _FAR)
        if len(active) > _SHARE * (len(active) + len(others)) or not self._proven(NEAR):
            return False
        smo.forget_rows()
        self._finish()
        smo.go_on(self.beta, *self.form.state(self.beta, self.z))
        return True

    def _finish(self) -> None:
        """Solve for those that matter until all are seen to be served, or it is to stop.

        What a round found before a stop is kept if the others can be told of it in a moment.
        """
        everyone = np.arange(len(self.beta))
        for _ in range(_ROUNDS):
            beta, z, n_iter = self.beta.copy(), self.z.copy(), self.n_iter
            if self._round(everyone, _FAR) is None:
                change = self.beta - beta
                self.beta, self.z = beta, z
                if np.count_nonzero(change) * len(beta) <= _MOMENT:
                    self.z += self._sums(everyone, change)
                    self.beta += change
                return
            if self._proven(self.monitor.tol) or self.n_iter == n_iter:
                return

    def _proven(self, tol: float) -> bool:
        """Whether the gap, what all could still gain at the present residuals, is so small."""
        form, beta = self.form, self.beta
        pull = form.target - self.z - self.threshold
        above, below = np.maximum(pull - form.epsilon, 0.0), np.minimum(pull + form.epsilon, 0.0)
        most = form.upper * above + form.lower * below
        gap = float((most - pull * beta + form.epsilon * np.abs(beta)).sum())
        return gap <= tol * abs(form.state(beta, self.z)[1])

    def values(self) -> Array:
        """Kβ again, whatever the clock says."""
        return self._sums(np.arange(len(self.beta)), self.beta)

    def _sums(self, some: Index, change: Array) -> Array:
        values = self.samples.sums(some, change, lambda: False)
        assert values is not None
        return values

    def _split(self, part: Index, far: float) -> tuple[Index, Index]:
        """Return those that gain, or are not `far` from it by what others lack, and the rest."""
        gain = self._gain(part)
        missing = gain[gain > 0.0]
        reach = np.sqrt((missing**2).sum() / max(1, len(missing))) if self.beta.any() else np.inf
        return part[gain > -far * reach], part[gain <= -far * reach]

    def _round(self, part: Index, far: float = 1.0) -> Index | None:
        """Solve for those of the part that matter; tell the others, and return them."""
        active, others = self._split(part, far)
        if len(active) == 0:  # no sample gains, or none has a cost
            return others
        smo, form, before = self.engine(active), self.form, self.beta.copy()
        residual, value = form.state(before, self.z)
        smo.go_on(before[active], residual[active], value)
        done = self.before + self.n_iter
        self.monitor.follow(lambda: (done + smo.outer_steps, smo.dual))
        whole = len(part) == len(before)
        smo.run(
            _AMPLE * self.monitor.tol if whole else _ROUGHLY,
            form.negligible,
            self.monitor.iterations_left(done, 1000),
            self.monitor.stopped,
        )
        self.n_iter += smo.outer_steps
        self.steps += smo.steps
        self.rows += smo.rows_computed * len(active) / len(before)
        self.beta[active], self.threshold = smo.beta, float(smo.thresholds[0])
        self.z[active] = form.target[active] - smo.residual
        return others if self._tell(others, self.beta - before) else None

    def _tell(self, some: Index, change: Array) -> bool:
        """Bring z of some samples up to date; False if it is to stop first."""
        values = self.samples.sums(some, change, self.monitor.stopped)
        if values is not None:
            self.z[some] += values
        return values is not None and not self.monitor.stopped()

    def _gain(self, some: Index) -> Array:
        """Return what β of each sample gains per unit by its better move; below 0 if none gains."""
        form, beta = self.form, self.beta[some]
        pull = form.target[some] - self.z[some] - self.threshold
        epsilon = form.epsilon
        up = pull - np.where(beta >= 0.0, epsilon, -epsilon)
        down = -pull - np.where(beta <= 0.0, epsilon, -epsilon)
        return np.maximum(
            np.where(beta < form.upper[some], up, -np.inf),
            np.where(beta > form.lower[some], down, -np.inf),
        )
