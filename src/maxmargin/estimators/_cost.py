"""What a fit of a kernel machine will take: parts of the data are fitted, the rest is growth."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning

from maxmargin.certificate import Status
from maxmargin.data.arrays import Array, Matrix
from maxmargin.data.checks import check_positive, scale_advice
from maxmargin.kernels import Kernel, Linear
from maxmargin.multiclass.kernel_problems import table_bytes
from maxmargin.runtime.memory import free_memory
from maxmargin.runtime.threads import n_threads
from maxmargin.solvers.kernel.row_cache import row_capacities, row_capacity
from maxmargin.solvers.kernel.row_source import KernelSamples
from maxmargin.solvers.kernel.smo import SMO
from maxmargin.solvers.qp import QP, refuse_many

#: Samples in the first fit; each further one has twice as many.
_FIRST = 250

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


@dataclass(frozen=True)
class CostEstimate:
    """What a fit will take, to within a small factor.

    `seconds` is its time; `memory_bytes` its memory beyond X: kernel rows, float32 copies of X, the
    solver's state; `n_support` the support vectors to expect; `cache_rows` the kernel rows of the
    largest problem that the cache can hold; `advice` says what would make it cheaper.
    """

    n_samples: int
    seconds: float
    memory_bytes: int
    n_support: int
    cache_rows: int
    advice: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [
            f"A fit of {self.n_samples:,} samples takes about {_duration(self.seconds)} and"
            f" {_size(self.memory_bytes)} of memory, and leaves about {self.n_support:,} support"
            f" vectors; the cache has room for {self.cache_rows:,} kernel rows.",
            *self.advice,
        ]
        return "\n".join(lines)


@dataclass(frozen=True)
class _Measured:
    """A fit of some of the samples."""

    n_samples: int
    seconds: float
    outer_steps: float
    n_support: int
    rows: float  # of the largest problem
    values: float  # of the kernel, in all problems
    n_problems: int
    together: int  # of them, in threads
    finished: bool
    kernel: Kernel | None

    @classmethod
    def of(cls, model: Any, X: Matrix, y: Any, max_time: float) -> _Measured:
        model.set_callbacks().set_params(max_time=max_time, warm_start=False, verbose=0)
        begin = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.filterwarnings("ignore", "specified nu")  # the fit itself will say so
            model.fit(X, y)
        seconds = time.perf_counter() - begin
        statuses = [solution.status for solution in model.solutions_]
        sizes = [len(solution.beta) for solution in model.solutions_]
        # Small problems need no rows; larger ones need those of the support vectors at least.
        used = [np.atleast_2d(solution.w).any(axis=0) for solution in model.solutions_]
        rows = [
            max(solution.info.rows, np.count_nonzero(support))
            for solution, support in zip(model.solutions_, used, strict=True)
        ]
        return cls(
            n_samples=X.shape[0],
            seconds=seconds,
            outer_steps=max(1.0, float(np.sum(model.n_iter_))),
            n_support=max(1, len(model.support_)),
            rows=max(1.0, *rows),
            values=max(1.0, float(np.dot(sizes, rows))),
            n_problems=len(sizes),
            together=min(len(sizes), n_threads(model.n_jobs)),
            finished=Status.STOPPED_BY_TIME not in statuses,
            kernel=model._fitted_kernel,
        )


def estimate_cost(model: Any, X: Matrix, y: NDArray[Any] | None, max_time: float) -> CostEstimate:
    """Fit growing parts of the checked data for about `max_time` seconds, and extrapolate.

    A fit is what even the smallest takes, kernel values and outer steps. The values are those of
    the rows asked for, and more where rows give way to others; their time is measured by itself.
    Half the work of an outer step is the working set's, half runs over all samples. QP makes all
    kernel values, and its time grows with the cube of the samples.
    """
    check_positive("max_time", max_time, advice="1.0 second is usual.")
    n, largest = X.shape[0], _largest(model, X.shape[0], y)
    whole = isinstance(model._kernel_solver(1, 1), QP)
    if whole:
        refuse_many(largest, "'smo'")
    fits = _fits(model, X, y, max_time)
    before, last = fits[-2:] if len(fits) > 1 else fits * 2
    ratio = n / last.n_samples

    def grown(name: str, low: float, high: float) -> float:
        now, then, power = getattr(last, name), getattr(before, name), low
        if before is not last:
            power = math.log(now / then) / math.log(last.n_samples / before.n_samples)
        return float(now * ratio ** min(max(power, low), high))

    rows = min(largest, round(grown("rows", 0.5, 1.0)))
    outer_steps = grown("outer_steps", 0.3, 1.5)
    capacity, first = (largest, largest) if whole else _capacities(model, X, largest, last)
    values = last.values * ratio * max(1.0, rows / last.rows)
    if rows > capacity:  # half of a working set is new in each outer step
        values += outer_steps * (1.0 - capacity / rows) * 0.5 * SMO.working_set * largest
    per_value = _seconds_per_value(last.kernel, X, n_threads(model.n_jobs))
    least = min(fit.seconds for fit in fits)
    stepping = max(0.0, last.seconds - least - per_value * last.values) / last.outer_steps
    seconds = least + per_value * values + stepping * outer_steps * 0.5 * (1.0 + ratio)
    held = min(rows, _held(rows, first, capacity, _NEW_ROWS * outer_steps))
    memory = _memory(X, largest, held * last.together)
    if last.n_problems > 1 and not whole and largest <= SMO.small:  # one table is theirs
        memory += table_bytes(n, model.cache_size)
    cost = CostEstimate(
        n_samples=n,
        seconds=last.seconds * ratio**3 if whole else seconds,
        memory_bytes=_QP_BYTES * largest**2 * last.together if whole else memory,
        n_support=min(n, round(grown("n_support", 0.3, 1.0))),
        cache_rows=capacity,
    )
    return replace(cost, advice=tuple(_advice(model, cost, X, last, rows, largest)))


def _largest(model: Any, n_samples: int, y: NDArray[Any] | None) -> int:
    """Count the samples of the largest problem: with pairs of classes, of the two largest."""
    if y is None or not is_classifier(model) or model.multi_class != "ovo":
        return n_samples
    return int(np.sort(np.unique(y, return_counts=True)[1])[-2:].sum())


def _fits(model: Any, X: Matrix, y: NDArray[Any] | None, max_time: float) -> list[_Measured]:
    """Fit 250, 500, 1000 … samples, as long as the next is likely to end in time."""
    n, end, fits = X.shape[0], time.perf_counter() + max_time, []
    order = np.random.default_rng(0).permutation(n)
    if y is not None and is_classifier(model):
        order = order[np.argsort(_turns(y[order]), kind="stable")]
    size = _FIRST
    while True:
        rows = np.sort(order[:size])
        part = X[np.ix_(rows, rows)] if model._precomputed else X[rows]
        left = max(0.1 * max_time, end - time.perf_counter())
        labels, copy = None if y is None else y[rows], model._for_part(y, rows)
        fits.append(_Measured.of(copy, part, labels, max_time=left))
        enough = time.perf_counter() + 4.0 * fits[-1].seconds > end
        if size >= n or enough or not fits[-1].finished:
            return fits
        size *= 2


def _turns(y: NDArray[Any]) -> Array:
    """Return whose turn it is: the first two of every class, then all classes in proportion."""
    _, label, counts = np.unique(y, return_inverse=True, return_counts=True)
    rank = np.empty(len(y))
    rank[np.argsort(label, kind="stable")] = np.concatenate([np.arange(count) for count in counts])
    return np.asarray(np.where(rank < 2, 0.0, (rank + 0.5) / counts[label]))


def _capacities(model: Any, X: Matrix, n: int, last: _Measured) -> tuple[int, int]:
    """Return the kernel rows of n values that a problem may keep, and those it begins with."""
    cache = model._kernel_solver(last.n_problems, n_threads(model.n_jobs)).cache_size
    if last.kernel is None:
        most = row_capacity(n, cache, SMO.working_set)
        return most, most
    samples = KernelSamples(last.kernel, X[:_PIECE])
    return row_capacities(samples, n, cache, SMO.working_set)


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
    begin = time.perf_counter()
    source.rows(index, out)
    return (time.perf_counter() - begin) / out.size


def _memory(X: Matrix, n: int, rows: int) -> int:
    """Kernel rows, X in float32 and as its tiles read it, the solver's state."""
    samples = 16 * X.nnz if sparse.issparse(X) else 8 * X.size
    block = SMO.working_set**2
    return int(4 * n * rows + samples + 8 * _STATE * X.shape[0] + 4 * block)


def _advice(
    model: Any, cost: CostEstimate, X: Matrix, last: _Measured, rows: int, largest: int
) -> Iterator[str]:
    if not last.finished:
        yield (
            f"The fit of {last.n_samples:,} samples on which this rests was cut short: expect more,"
            " or give estimate_cost a longer max_time."
        )
    if rows > cost.cache_rows:
        yield (
            f"The cache holds {cost.cache_rows:,} of about {rows:,} kernel rows that are needed, so"
            f" they are computed again and again: cache_size={4e-6 * rows * largest:.0f}"
            f" (megabytes) would hold them; {free_memory() / 1e6:.0f} are free."
        )
    if last.kernel is not None and (scaling := scale_advice(X)):
        yield scaling.strip()
    if isinstance(last.kernel, Linear):
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


def _duration(seconds: float) -> str:
    for unit, length in (("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2.0 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.2g} seconds"


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"
