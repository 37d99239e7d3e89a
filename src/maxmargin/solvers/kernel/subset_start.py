"""SMO on subsets: of growing size at the start, of the samples that are not shrunk at the end.

Kernel rows among a subset of the samples are short. The values of f at the other samples are summed
tile by tile, without keeping a row.
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

#: Samples from which on a fit starts from a subset, and the factor by which subsets grow.
_MIN_SAMPLES, _GROWTH = 8192, 4

#: Share of support vectors in the first subset beyond which steps on all samples are as fast.
_MAX_SUPPORT = 0.1

#: Relative gap to which a proper subset is solved.
_SUBSET_TOL = 0.05

#: Most rounds on all samples; little is left after them.
_ROUNDS = 4

#: Relative gap from which on samples are shrunk, how far from a violation these must be, in units
#: of the root mean square violation, and the largest active share that is worth it.
NEAR, _FAR, _SHARE = 0.02, 3.0, 0.5

#: Kernel values that are summed even after a stop.
_SUMMED_AFTER_STOP = 2**27

#: Share of the tolerance that is left to a subset: the other samples add a little.
_TOL_SHARE = 0.8


class Screening:
    """A dual point β that is extended from subset to subset, with z = Kβ where it was summed."""

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
        self.n_iter = self.steps = 0  # outer steps on subsets, and the pairs in them
        self.rows = 0.0  # computed for subsets, in rows of all samples
        self.before = 0  # outer steps on all samples

    def applies(self) -> bool:
        """Whether the problem is large enough, and of a kind that starts from β = 0."""
        form = self.form
        plain = self.samples.formula is not None and not form.doubled and not form.begin.any()
        return plain and len(form.target) >= _MIN_SAMPLES

    def run(self) -> bool:
        """Solve subset after subset; False if it is to stop, or if support vectors are many."""
        n = len(self.beta)
        order = np.random.default_rng(0).permutation(n)
        summed, size = 0, n // _GROWTH**2
        while True:
            if not self._update(order[summed:size], self.beta):
                return False
            subset = np.sort(order[:size])
            for _ in range(_ROUNDS if size == n else 1):
                others = self._round(subset)
                if others is None:
                    return False
                if not (self._violation(others) > 0.0).any():
                    break
            if size == n:
                return True
            if np.count_nonzero(self.beta) > _MAX_SUPPORT * size:
                return False
            summed, size = size, n if size == n // _GROWTH else n // _GROWTH

    def shrink(self, smo: _core.Smo) -> bool:
        """Shrink the samples far from a violation, and solve for the others; whether it did.

        The engine of all samples frees its rows, and goes on from the solution.
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
        """Solve for the active samples until none of the others violates optimality.

        The last round before a stop by time is kept if z of the others can be updated quickly.
        """
        everyone = np.arange(len(self.beta))
        for _ in range(_ROUNDS):
            beta, z, n_iter = self.beta.copy(), self.z.copy(), self.n_iter
            if self._round(everyone, _FAR) is None:
                change = self.beta - beta
                self.beta, self.z = beta, z
                if np.count_nonzero(change) * len(beta) <= _SUMMED_AFTER_STOP:
                    self.z += self._sums(everyone, change)
                    self.beta += change
                return
            if self._proven(self.monitor.tol) or self.n_iter == n_iter:
                return

    def _proven(self, tol: float) -> bool:
        """Whether the gap at the present residuals is so small."""
        form, beta = self.form, self.beta
        gradient = form.target - self.z - self.threshold
        above, below = (
            np.maximum(gradient - form.epsilon, 0.0),
            np.minimum(gradient + form.epsilon, 0.0),
        )
        most = form.upper * above + form.lower * below
        gap = float((most - gradient * beta + form.epsilon * np.abs(beta)).sum())
        return gap <= tol * abs(form.state(beta, self.z)[1])

    def values(self) -> Array:
        """Return Kβ, summed even if it is to stop."""
        return self._sums(np.arange(len(self.beta)), self.beta)

    def _sums(self, some: Index, change: Array) -> Array:
        values = self.samples.sums(some, change, lambda: False)
        assert values is not None
        return values

    def _split(self, subset: Index, far: float) -> tuple[Index, Index]:
        """Return the samples that violate optimality or are not `far` from it, and the others."""
        violation = self._violation(subset)
        violations = violation[violation > 0.0]
        typical = (
            np.sqrt((violations**2).sum() / max(1, len(violations))) if self.beta.any() else np.inf
        )
        return subset[violation > -far * typical], subset[violation <= -far * typical]

    def _round(self, subset: Index, far: float = 1.0) -> Index | None:
        """Solve for the active samples of a subset, update z of the others, and return these."""
        active, others = self._split(subset, far)
        if len(active) == 0:  # no sample violates optimality, or none has a cost
            return others
        smo, form, before = self.engine(active), self.form, self.beta.copy()
        residual, value = form.state(before, self.z)
        smo.go_on(before[active], residual[active], value)
        done = self.before + self.n_iter
        self.monitor.follow(lambda: (done + smo.outer_steps, smo.dual))
        everyone = len(subset) == len(before)
        smo.run(
            _TOL_SHARE * self.monitor.tol if everyone else _SUBSET_TOL,
            form.negligible,
            self.monitor.iterations_left(done, 1000),
            self.monitor.stopped,
        )
        self.n_iter += smo.outer_steps
        self.steps += smo.steps
        self.rows += smo.rows_computed * len(active) / len(before)
        self.beta[active], self.threshold = smo.beta, float(smo.thresholds[0])
        self.z[active] = form.target[active] - smo.residual
        return others if self._update(others, self.beta - before) else None

    def _update(self, some: Index, change: Array) -> bool:
        """Update z of some samples; False if it is to stop first."""
        values = self.samples.sums(some, change, self.monitor.stopped)
        if values is not None:
            self.z[some] += values
        return values is not None and not self.monitor.stopped()

    def _violation(self, some: Index) -> Array:
        """Return the violation of each sample: its steeper feasible slope, below 0 if optimal."""
        form, beta = self.form, self.beta[some]
        gradient = form.target[some] - self.z[some] - self.threshold
        epsilon = form.epsilon
        up = gradient - np.where(beta >= 0.0, epsilon, -epsilon)
        down = -gradient - np.where(beta <= 0.0, epsilon, -epsilon)
        return np.maximum(
            np.where(beta < form.upper[some], up, -np.inf),
            np.where(beta > form.lower[some], down, -np.inf),
        )
