"""What the fit of a kernel machine takes beside that of its parts: kernel rows, kept or not."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import is_classifier

from maxmargin.data.arrays import Matrix
from maxmargin.data.checks import scale_advice
from maxmargin.estimators._cost import CostEstimate, Growth, Part, Sampled, memory_of_parts
from maxmargin.kernels import Kernel, Linear
from maxmargin.multiclass.kernel_problems import table_bytes
from maxmargin.runtime.memory import free_memory
from maxmargin.runtime.threads import n_threads
from maxmargin.solvers.kernel.row_cache import row_capacities, row_capacity
from maxmargin.solvers.kernel.row_source import KernelSamples
from maxmargin.solvers.kernel.smo import SMO
from maxmargin.solvers.qp import QP

#: Samples of the piece on which kernel values are timed, and the rows asked for.
_PIECE, _ROWS = 2000, 48

#: Seconds, samples and bytes from which on an approximation of the kernel is advised, and landmarks
#: to begin with.
_LONG, _MANY, _LARGE, _LANDMARKS = 600.0, 200_000, 2**34, 1000

#: Rows in an outer step that were given up before, of those that no longer fit.
_NEW_ROWS = 64

#: Arrays of n doubles in the state of solver and certificate.
_STATE = 16

#: Bytes for each value of K with QP: half of them, sparse, as they are and in its units, in
#: Clarabel's copy, in its system and in the factor of that.
_QP_BYTES = 36


def with_kernel_rows(
    model: Any, cost: CostEstimate, data: Sampled, parts: list[Part]
) -> CostEstimate:
    """Return the estimate with the memory for kernel rows, and the time for those not kept.

    Where rows give way to others, half of a working set is new in each outer step.
    """
    last, n = parts[-1], data.n_samples
    largest, kernel = largest_problem(model, n, data.y), last.model._fitted_kernel
    if isinstance(model._kernel_solver(1, 1), QP):
        together = _together(last.model)
        found = replace(cost, memory_bytes=_QP_BYTES * largest**2 * together, cache_rows=largest)
        return _advised(model, found, data.X, kernel, largest, largest)
    if getattr(model, "_function", False):
        return replace(cost, memory_bytes=memory_of_parts(data, parts, (1.0, 2.0)))
    growth = Growth(parts, n)
    rows = min(largest, round(growth.of(_rows, (0.5, 1.0))))
    steps = growth.of(lambda part: float(np.sum(part.model.n_iter_)), (0.5, 1.0))
    most, first = _capacities(model, data.X, largest, last.model)
    if rows > most:
        again = steps * (1.0 - most / rows) * 0.5 * SMO.working_set * largest
        extra = again * _seconds_per_value(kernel, data.X, n_threads(model.n_jobs))
        seconds = cost.seconds + extra * last.seconds / last.cpu_seconds
        cost = replace(cost, seconds=seconds, cpu_seconds=cost.cpu_seconds + extra)
    held = min(rows, _held(rows, first, most, _NEW_ROWS * steps))
    values = held * largest * model._variables_per_sample * _together(last.model)
    memory = _memory(data.X, values + _shared_values(model, data, rows / largest))
    memory += 12 * data.n_features * cost.n_support  # support vectors, and what predicts from them
    if len(last.model.solutions_) > 1 and largest <= SMO.small:  # one table is theirs
        memory += table_bytes(n, model.cache_size)
    found = replace(cost, memory_bytes=memory, cache_rows=most)
    return _advised(model, found, data.X, kernel, rows, largest)


def largest_problem(model: Any, n_samples: int, y: NDArray[Any] | None) -> int:
    """Count the samples of the largest problem: with pairs of classes, of the two largest."""
    if y is None or not is_classifier(model) or model.multi_class != "ovo":
        return n_samples
    return int(np.sort(np.unique(y, return_counts=True)[1])[-2:].sum())


def beyond_small(model: Any, data: Sampled) -> int:
    """Count the samples from which on the largest problem has working sets, if that of all has."""
    largest = largest_problem(model, data.n_samples, data.y)
    if isinstance(model._kernel_solver(1, 1), QP) or largest <= SMO.small:
        return 0
    return 1 + (SMO.small + SMO.working_set) * data.n_samples // largest


def _together(model: Any) -> int:
    """Count the problems that are solved at a time, in threads."""
    together: int = min(len(model.solutions_), n_threads(model.n_jobs))
    return together


def _rows(part: Part) -> float:
    """Count the kernel rows of the largest problem.

    Small problems need none; larger ones need those of the support vectors at least.
    """
    counts = [
        max(found.info.rows, np.count_nonzero(np.atleast_2d(found.w).any(axis=0)))
        for found in part.model.solutions_
    ]
    return float(max(1, *counts))


def _shared_values(model: Any, data: Sampled, share: float) -> float:
    """Count the values in rows within a class, which pairs of classes share."""
    if data.y is None or not is_classifier(model) or model.multi_class != "ovo":
        return 0.0
    counts = np.unique(data.y, return_counts=True)[1].astype(np.float64)
    few = len(counts) < 3 or data.n_samples <= 2 * SMO.small
    return 0.0 if few else share * float(counts @ counts)


def _capacities(model: Any, X: Matrix, n: int, fitted: Any) -> tuple[int, int]:
    """Return the kernel rows of n values that a problem may keep, and those it begins with."""
    solver = model._kernel_solver(len(fitted.solutions_), n_threads(model.n_jobs))
    if fitted._fitted_kernel is None:
        most = row_capacity(n, solver.cache_size, SMO.working_set)
        return most, most
    samples = KernelSamples(fitted._fitted_kernel, X[:_PIECE])
    return row_capacities(samples, n, solver.cache_size, SMO.working_set)


def _held(rows: int, first: int, most: int, asked: float) -> int:
    """Return how many rows the cache grows to: twice as many whenever so many came again."""
    held, again = first, asked
    while held < min(rows, most):
        again -= held / (1.0 - held / rows)
        if again < 0.0:
            break
        held = min(2 * held, most)
    return held


def _seconds_per_value(kernel: Kernel | None, X: Matrix, n_threads: int) -> float:
    """Time rows of the kernel on a piece of the data; a kernel matrix costs nothing more."""
    if kernel is None:
        return 0.0
    piece = X[:_PIECE]
    index = np.arange(min(_ROWS, piece.shape[0]), dtype=np.int32)
    out = np.empty((len(index), piece.shape[0]), dtype=np.float32)
    source = KernelSamples(kernel, piece, n_threads).rows()
    begin = time.process_time()
    source.rows(index, out)
    return (time.process_time() - begin) / out.size


def _memory(X: Matrix, kernel_values: float) -> int:
    """Values in kernel rows, X in float32 and as its tiles read it, the solver's state."""
    samples = 16 * X.nnz if sparse.issparse(X) else 8 * X.size
    block = SMO.working_set**2
    return int(4 * kernel_values + samples + 8 * _STATE * X.shape[0] + 4 * block)


def _advised(
    model: Any, cost: CostEstimate, X: Matrix, kernel: Kernel | None, rows: int, largest: int
) -> CostEstimate:
    return replace(cost, advice=(*cost.advice, *_advice(model, cost, X, kernel, rows, largest)))


def _advice(
    model: Any, cost: CostEstimate, X: Matrix, kernel: Kernel | None, rows: int, largest: int
) -> Iterator[str]:
    if rows > cost.cache_rows:
        yield (
            f"The cache holds {cost.cache_rows:,} of about {rows:,} kernel rows that are needed, so"
            f" they are computed again and again: cache_size={4e-6 * rows * largest:.0f}"
            f" (megabytes) would hold them; {free_memory() / 1e6:.0f} are free."
        )
    if kernel is not None and (scaling := scale_advice(X)):
        yield scaling.strip()
    if isinstance(kernel, Linear):
        yield "The kernel is linear: LinearSVC and LinearSVR solve such problems much faster."
    elif cost.seconds > _LONG or cost.n_samples > _MANY or cost.memory_bytes > _LARGE:
        yield (
            f"{cost.n_samples:,} samples are many for a kernel machine: consider"
            f" {_approximation(model)}, or a first try with fewer samples."
        )


def _approximation(model: Any) -> str:
    """Return the call that approximates the problem."""
    if "landmarks" in model.get_params(deep=False):
        return (
            f"{type(model).__name__}(landmarks={_LANDMARKS}), whose exact_certificate tells how far"
            " it is from the exact problem"
        )
    return "maxmargin.embeddings.Nystroem followed by LinearSVC or LinearSVR"
