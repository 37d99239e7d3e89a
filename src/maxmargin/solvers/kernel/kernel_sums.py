"""Kβ for SMO: in float64, or from float32 rows with the error that a sample of them shows."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from maxmargin.data.arrays import Array
from maxmargin.objectives.base import SumError
from maxmargin.objectives.kernel import KernelObjective
from maxmargin.objectives.kernel_crammer_singer import KernelCrammerSingerObjective
from maxmargin.runtime.monitor import Monitor
from maxmargin.solvers.kernel.row_source import KernelSamples, affords_float64
from maxmargin.solvers.kernel.value_checks import refuse_huge_values

#: Samples at which sums of float32 kernel values are compared with float64.
_N_COMPARED = 128

#: Support vectors whose kernel values are computed at a time: with all at once, allocating memory
#: took three times as long as the sums.
_BLOCK = 1024

#: Values of a caller's kernel between two checks of the clock and of Ctrl-C.
_VALUES_PER_POLL = 2**16


class Precision(IntEnum):
    """Where Kβ is summed again in float64."""

    FLOAT32 = 0  # nowhere, unless that costs next to nothing
    KINKS = 1  # near the kinks of the loss, where an error counts most
    FLOAT64 = 2  # everywhere

    @property
    def higher(self) -> Precision:
        """The next one."""
        return Precision(min(self + 1, Precision.FLOAT64))


def kernel_matrix(objective: KernelObjective | KernelCrammerSingerObjective) -> Array:
    """Return K in float64, exactly symmetric."""
    K = objective.kernel(objective.problem.X, objective.problem.X)
    refuse_huge_values(K)
    return np.ascontiguousarray(0.5 * (K + K.T))


def values_at(
    objective: KernelObjective, samples: KernelSamples, beta: Array, monitor: Monitor
) -> Array | None:
    """Kβ; None if there is no time for it."""
    n = len(beta)
    if samples.formula is None or affords_float64(samples.X, n * int(np.count_nonzero(beta))):
        return exact_values(objective, beta, monitor)
    return samples.sums(np.arange(n), beta, monitor.stopped)


def exact_values(
    objective: KernelObjective | KernelCrammerSingerObjective, beta: Array, monitor: Monitor
) -> Array | None:
    """Kβ in float64; None if it is to stop first."""
    size = _VALUES_PER_POLL if objective.kernel.formula() is None else 16 * _VALUES_PER_POLL
    values = np.zeros_like(beta)
    for rows, block in objective.kernel_blocks(beta, size):
        values[rows] = block
        if rows.stop < len(beta) and monitor.stopped():
            return None
    return values


def values_with_error(
    objective: KernelObjective, beta: Array, z: Array, precision: Precision, monitor: Monitor
) -> tuple[Array, SumError | None]:
    """Return Kβ, and its error if it has one: z from float32 rows, unless float64 is cheap.

    With a higher precision it is summed in float64 near the kinks of the loss, or everywhere.
    """
    n_values = len(beta) * int(np.count_nonzero(beta))
    if precision is Precision.FLOAT64 or affords_float64(objective.problem.X, n_values):
        exact = exact_values(objective, beta, monitor)
        if exact is not None:
            return exact, None
    error = _error(objective, beta, z)
    if precision is Precision.FLOAT32:
        return z, error
    return _exact_near_kinks(objective, beta, z, error, monitor)


def _error(objective: KernelObjective, beta: Array, z: Array) -> SumError:
    """Mean and spread of the error of z, summed from float32 rows, by a sample in float64.

    The sample is of support vectors on the edge, where an error counts most, and of all samples.
    """
    edge = np.flatnonzero(objective.edge(beta))
    rows = np.append(_some(edge), _some(np.arange(len(beta))))
    errors = z[rows] - _exact_at(objective, beta, rows)
    return SumError(float(errors.mean()), float(errors.std()))


def _exact_at(objective: KernelObjective, beta: Array, rows: NDArray[np.intp]) -> Array:
    """Return Kβ at some samples, in float64."""
    X, support = objective.problem.X, np.flatnonzero(beta)
    some, values = X[rows], np.zeros(len(rows))
    for begin in range(0, len(support), _BLOCK):
        part = support[begin : begin + _BLOCK]
        values += objective.kernel(some, X[part]) @ beta[part]
    return values


def _exact_near_kinks(
    objective: KernelObjective, beta: Array, z: Array, error: SumError, monitor: Monitor
) -> tuple[Array, SumError]:
    """Compute the sums of the samples near a kink in float64: an error counts most there."""
    exact = objective.near_kinks(z, 4.0 * (abs(error.mean) + error.spread))
    near, z = np.flatnonzero(exact), z.copy()
    for begin in range(0, len(near), _BLOCK):
        some = near[begin : begin + _BLOCK]
        z[some] = _exact_at(objective, beta, some)
        if monitor.stopped():
            exact[near[begin + _BLOCK :]] = False
            break
    return z, error._replace(exact=exact)


def _some(index: NDArray[np.intp]) -> NDArray[np.intp]:
    return index[:: max(1, len(index) // _N_COMPARED)][:_N_COMPARED]
