"""SMO in float64 on an active set of samples: where float32 rows are too coarse for the proof.

Samples far from the margin keep their β. The rest, the active set, has a kernel matrix of its own
in float64, so its size, not that of the data, decides what the proof costs.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin.certificate import Status
from maxmargin.data.arrays import Array
from maxmargin.objectives.base import PrimalDual
from maxmargin.objectives.kernel import KernelObjective
from maxmargin.objectives.standard_form import StandardForm
from maxmargin.runtime.memory import free_memory
from maxmargin.runtime.monitor import Monitor
from maxmargin.runtime.stall import StallDetector
from maxmargin.solvers.kernel.dense_smo import PATIENCE, STEPS_PER_CHECK_OF_GAP

Index = NDArray[np.intp]

#: Largest kernel matrix of an active set where no cache_size is given, in bytes, and the size that
#: is allowed with any cache_size.
_MAX_BYTES, _MIN_BYTES = 2**30, 2**26

#: Smallest active set.
_MIN_ACTIVE = 128

#: Kernel values computed between two checks of the clock.
_VALUES_PER_POLL = 2**21

#: Kernel values that are summed even after a stop, so that the last steps are not lost.
_SUMMED_AFTER_STOP = 2**25

#: Share of the tolerance that is left to the active set: the other samples add a little.
_TOL_SHARE = 0.8


class Refined(NamedTuple):
    """The result of a refinement; RUNNING if memory did not allow it to end."""

    status: Status = Status.RUNNING
    n_iter: int = 0
    steps: int = 0
    violation: float = math.nan


def affordable(cache_size: float | None) -> int:
    """Return how many samples may be active: those whose kernel matrix fits into the memory."""
    size = min(_MAX_BYTES, 0.5 * free_memory()) if cache_size is None else 1e6 * cache_size
    return math.isqrt(int(max(size, _MIN_BYTES)) // 8)


class ActiveSet:
    """A dual point, a row of variables for each group, z = Kβ, and the samples that may change."""

    def __init__(
        self, objective: KernelObjective, form: StandardForm, variables: Array, z: Array, most: int
    ) -> None:
        self.objective, self.form, self.most = objective, form, most
        self.kernel = objective.kernel
        self.variables, self.z = form.by_group(variables).copy(), z.copy()
        self.lower, self.upper = form.by_group(form.lower), form.by_group(form.upper)
        self.target = form.target[: len(z)]
        self.active: Index = np.zeros(0, dtype=np.intp)

    @property
    def beta(self) -> Array:
        """The coefficients of f."""
        return np.asarray(self.variables.sum(axis=0))

    @property
    def flat(self) -> Array:
        """The variables as SMO has them."""
        return self.variables.ravel() if self.form.doubled else self.beta

    def gains(self) -> Array:
        """Return the violation of each sample: its steeper feasible slope, below 0 if optimal.

        Free variables have their distance from the margin, which is not below 0 either.
        """
        residual, v, epsilon = self.target - self.z, self.variables, self.form.epsilon
        up = np.where(v < self.upper, residual - np.where(v >= 0.0, epsilon, -epsilon), -np.inf)
        down = np.where(v > self.lower, -residual - np.where(v <= 0.0, epsilon, -epsilon), -np.inf)
        if self.form.balanced:
            threshold = np.array(
                [_middle(-fall.max(), rise.max()) for rise, fall in zip(up, down, strict=True)]
            )[:, np.newaxis]
            up, down = up - threshold, down + threshold
        return np.asarray(np.maximum(up, down).max(axis=0))

    def grow(self) -> bool:
        """Add the samples that violate optimality, and as many near that; whether there is room.

        None leaves, so that the set stops growing.
        """
        gain, before = self.gains(), len(self.active)
        gain[self.active] = np.inf
        joining = int(np.count_nonzero(gain >= 0.0)) - before
        if before + joining > self.most:
            return False
        size = min(len(gain), self.most, max(_MIN_ACTIVE, before + 2 * joining))
        self.active = np.sort(np.argpartition(-gain, size - 1)[:size])
        return True

    def joining(self) -> bool:
        """Whether samples that are not active violate optimality."""
        gain = self.gains()
        gain[self.active] = -np.inf
        return bool((gain > 0.0).any())

    def matrix(self, monitor: Monitor) -> Array | None:
        """Return the kernel matrix of the active samples; None if it is to stop first."""
        X = self.objective.problem.X[self.active]
        n = len(self.active)
        K, step = np.empty((n, n)), max(1, _VALUES_PER_POLL // n)
        for begin in range(0, n, step):
            K[begin : begin + step] = self.kernel(X[begin : begin + step], X)
            if monitor.stopped():
                return None
        return K if self.kernel.mercer is not None else 0.5 * (K + K.T)

    def engine(self, K: Array) -> _core.DenseSmo:
        """Return the core's solver for the active samples; the others are part of its target."""
        at, form = self.active, self.form
        own = np.ascontiguousarray(self.variables[:, at])
        target = self.target[at] - self.z[at] + K @ own.sum(axis=0)
        residual = np.broadcast_to(self.target - self.z, self.variables.shape)
        value = _value(self.variables, self.target + residual, form.epsilon)
        active = _value(own, target + residual[:, at], form.epsilon)
        lower, upper = (np.ascontiguousarray(bound[:, at]) for bound in (self.lower, self.upper))
        smo = _core.DenseSmo(K, target, lower, upper, form.epsilon, form.balanced, value - active)
        smo.start(own)
        return smo

    def take(self, smo: _core.DenseSmo, monitor: Monitor) -> bool:
        """Take over the solution and update z of all samples; False if it is to stop first."""
        at, before = self.active, self.beta
        variables = self.variables.copy()
        variables[:, at] = smo.variables.reshape(len(variables), -1)
        change, z = variables.sum(axis=0) - before, self.z.copy()
        long = len(z) * int(np.count_nonzero(change)) > _SUMMED_AFTER_STOP
        for rows, block in self.objective.kernel_blocks(change, _VALUES_PER_POLL):
            z[rows] += block
            if long and monitor.stopped():
                return False
        self.variables, self.z = variables, z
        return True


def solve_active(point: ActiveSet, monitor: Monitor, before: int) -> Refined:
    """Solve for the active samples, and add others, until no sample violates optimality.

    `before` counts the iterations made so far.
    """
    n_iter = steps = 0
    stall = StallDetector(PATIENCE)
    while True:
        K = point.matrix(monitor)
        if K is None:
            return Refined(monitor.halted(before), n_iter, steps)
        smo = point.engine(K)
        status = _until_others_violate(smo, point, monitor, before + n_iter, stall)
        n_iter, steps = n_iter + smo.outer_steps, steps + smo.steps
        if status is not Status.RUNNING or not point.grow():
            return Refined(status, n_iter, steps, smo.violation)


def _until_others_violate(
    smo: _core.DenseSmo, point: ActiveSet, monitor: Monitor, before: int, stall: StallDetector
) -> Status:
    """Make outer steps until the gap of all samples is proven, or inactive samples violate it."""
    tol = _TOL_SHARE * monitor.tol
    while True:
        left = monitor.iterations_left(before + smo.outer_steps, STEPS_PER_CHECK_OF_GAP)
        satisfied = smo.run(tol, point.form.negligible, left, monitor.stopped)
        n_iter = before + smo.outer_steps
        if not point.take(smo, monitor):
            return monitor.halted(n_iter)
        status = monitor.judge(PrimalDual(None, 0.0, point.beta, point.z), n_iter)
        if status is not Status.RUNNING or point.joining():
            return status
        if satisfied:
            tol *= 0.5
            if stall.count(stall.lowers_gap(monitor.history[-1].gap)):
                return Status.STALLED


class Refinement:
    """The change from float32 to float64: the active set is solved for with its kernel matrix."""

    def __init__(self, objective: KernelObjective, form: StandardForm) -> None:
        self.objective, self.form, self.result = objective, form, Refined()
        self.variables = self.z = np.zeros(0)

    def run(
        self, smo: _core.Smo, monitor: Monitor, z: Array | None, most: int, n_iter: int
    ) -> Status:
        """Go on from the point of SMO with at most so many active samples, if that is possible.

        z is None if there was no time to sum it. The cached kernel rows of SMO are freed first.
        """
        if z is None:
            return monitor.halted(n_iter)
        point = ActiveSet(self.objective, self.form, smo.beta, z, most)
        if point.grow():
            smo.forget_rows()
            self.result = solve_active(point, monitor, n_iter)
        self.variables, self.z = point.flat, point.z
        return self.result.status

    def violation(self, smo: _core.Smo) -> float:
        """Return LIBSVM's m - M of the point that was found."""
        ended = self.result.status is not Status.RUNNING
        return self.result.violation if ended else float(smo.violation)


def _middle(low: float, high: float) -> float:
    """Return the middle of an interval that may be open to one side."""
    if math.isinf(low):
        return 0.0 if math.isinf(high) else high
    return low if math.isinf(high) else 0.5 * (low + high)


def _value(variables: Array, slope: Array, epsilon: float) -> float:
    """Return the objective; `slope` is target plus residual."""
    return 0.5 * float((variables * slope).sum()) - epsilon * float(np.abs(variables).sum())
