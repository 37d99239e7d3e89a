"""A start for SMO where few samples matter: solve for some, look at all, solve for those that do.

Kernel rows among a part of the samples are short, and what the others see of the solution is summed
tile by tile, without a row being kept.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin.solvers.base import Monitor
from maxmargin.solvers.dual_form import DualForm
from maxmargin.solvers.kernel_samples import KernelSamples
from maxmargin.validation import Array

Index = NDArray[np.intp]

#: Samples from which on the first look is at a part of them, and by how much parts grow.
_MANY, _GROWTH = 8192, 4

#: Share of support vectors in the first part beyond which whole rows are as good.
_FEW = 0.1

#: Relative gap to which a part that is not all is solved.
_ROUGHLY = 0.05

#: Rounds on all samples; what is left then is little.
_ROUNDS = 4


class Screening:
    """A dual point β that grows from part to part, with z = Kβ where it was looked at."""

    def __init__(
        self,
        form: DualForm,
        samples: KernelSamples,
        engine: Callable[[Index], _core.Smo],
        monitor: Monitor,
    ) -> None:
        n = len(form.target)
        self.form, self.samples, self.engine, self.monitor = form, samples, engine, monitor
        self.beta, self.z, self.threshold, self.n_iter = np.zeros(n), np.zeros(n), 0.0, 0

    @staticmethod
    def applies(form: DualForm, samples: KernelSamples) -> bool:
        """Whether the problem is of the kind and of the size."""
        plain = samples.formula is not None and not form.doubled and not form.begin.any()
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

    def _round(self, part: Index) -> Index | None:
        """Solve for those of the part that matter; tell the others, and return them."""
        gain = self._gain(part)
        missing = gain[gain > 0.0]
        reach = np.sqrt((missing**2).sum() / max(1, len(missing))) if self.beta.any() else np.inf
        active, others = part[gain > -reach], part[gain <= -reach]
        if len(active) == 0:  # no sample gains, or none has a cost
            return others
        smo, form, before = self.engine(active), self.form, self.beta.copy()
        residual, value = form.state(before, self.z)
        smo.go_on(before[active], residual[active], value)
        whole = len(part) == len(before)
        smo.run(
            0.5 * self.monitor.tol if whole else _ROUGHLY,
            form.negligible,
            self.monitor.iterations_left(self.n_iter, 1000),
            self.monitor.stopped,
        )
        self.n_iter += smo.outer_steps
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
