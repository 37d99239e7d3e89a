"""What a fit will take: parts of the data are fitted, the rest is growth."""

from __future__ import annotations

import time
import tracemalloc
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import _num_samples

from maxmargin.certificate import Status
from maxmargin.data.arrays import Array
from maxmargin.data.checks import DataWarning, check_positive

#: Samples in the first part; its rows a feature where fewer are another kind of problem (250
#: separable rows of 100 features take an l1 fit 40 times the sweeps of 30,000); rows a feature that
#: let "auto" choose the solver that it takes for all of them, where it may choose.
_FIRST, _FIRST_PER_FEATURE, _ROWS_PER_FEATURE, _FEW_FEATURES = 250, 5, 2, 2000

#: Share of the time given below which a part is fitted again: the first fit of all wakes up more
#: than itself.
_BRIEF = 0.05

#: Time over processor time from which a fit has waited for something else than other programs.
_BUSY = 4.0

#: Parts, the largest, from which the growth is seen; how much nearer to them a higher power must
#: be, and how near is as near as a clock can tell.
_LARGEST_PARTS, _MUCH, _NOISE = 4, 2.0, 0.1


@dataclass(frozen=True)
class CostEstimate:
    """What a fit will take, to within a small factor.

    `seconds` is its time on this machine as busy as it is now, `cpu_seconds` that of all
    processors; `memory_bytes` its memory beyond X; `n_support` the support vectors to expect;
    `cache_rows` the kernel rows of the largest problem that the cache can hold, 0 where there is
    none; `advice` says what would make it cheaper.
    """

    n_samples: int
    seconds: float
    cpu_seconds: float
    memory_bytes: int
    n_support: int
    cache_rows: int = 0
    advice: tuple[str, ...] = ()

    def __str__(self) -> str:
        cache = f"; the cache has room for {self.cache_rows:,} kernel rows" * (self.cache_rows > 0)
        lines = [
            f"A fit of {self.n_samples:,} samples takes about {_duration(self.seconds)}"
            f" ({_duration(self.cpu_seconds)} of processors) and {_size(self.memory_bytes)} of"
            f" memory, and leaves about {self.n_support:,} support vectors{cache}.",
            *self.advice,
        ]
        return "\n".join(lines)


@dataclass(frozen=True)
class Part:
    """A fit of some of the samples."""

    n_samples: int
    seconds: float
    cpu_seconds: float
    model: Any = field(repr=False)
    finished: bool
    solver: str
    n_support: int

    @classmethod
    def fitted(cls, model: Any, X: Any, y: Any) -> Part:
        """Return what the fit takes."""
        begin, cpu = time.perf_counter(), time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", DataWarning)
            warnings.filterwarnings("ignore", "specified nu")  # the fit itself will say so
            model.fit(X, y)
        seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
        statuses = [solution.status for solution in model.solutions_]
        return cls(
            n_samples=_num_samples(X),
            seconds=seconds,
            cpu_seconds=max(cpu, 1e-6),
            model=model,
            finished=Status.STOPPED_BY_TIME not in statuses,
            solver=model.solutions_[-1].solver,
            n_support=max(1, _support_of(model)),
        )

    @property
    def own_seconds(self) -> float:
        """Its time without what others on a busy machine took of it, as far as can be told."""
        return max(self.cpu_seconds, self.seconds / _BUSY)

    def sooner(self, other: Part) -> Part:
        """Return the one of the two that took less time."""
        return min(self, other, key=lambda part: part.cpu_seconds)


def _support_of(model: Any) -> int:
    """Count the support vectors, of a machine on an embedding those of the machine."""
    return len(getattr(model, "svm_", model).support_)


class Sampled:
    """Data of a model whose parts are fitted."""

    def __init__(self, model: Any, X: Any, y: NDArray[Any] | None) -> None:
        self.model, self.X, self.y = model, X, y
        self.n_samples: int = _num_samples(X)
        self.n_features = X.shape[1] if getattr(X, "ndim", 1) == 2 else 0
        order = np.random.default_rng(0).permutation(self.n_samples)
        if y is not None and is_classifier(model):
            order = order[np.argsort(_turns(y[order]), kind="stable")]
        self._order = order

    def part(self, size: int, max_time: float) -> Part:
        """Fit so many of the samples, for at most that long."""
        return Part.fitted(*self._prepared(size, max_time))

    def peak(self, size: int, max_time: float) -> int:
        """Return the bytes of arrays that such a fit has at a time, beside the samples."""
        prepared, own = self._prepared(size, max_time), not tracemalloc.is_tracing()
        if own:
            tracemalloc.start(1)
        try:
            before, _ = tracemalloc.get_traced_memory()
            tracemalloc.reset_peak()
            Part.fitted(*prepared)
            return tracemalloc.get_traced_memory()[1] - before
        finally:
            if own:
                tracemalloc.stop()

    def _prepared(self, size: int, max_time: float) -> tuple[Any, Any, Any]:
        rows = np.sort(self._order[:size])
        if getattr(self.model, "_kernel_matrix_given", False):
            X = self.X[np.ix_(rows, rows)]
        else:
            X = _safe_indexing(self.X, rows)
        model = self.model._for_part(self.y, rows)
        known = model.get_params()
        settings = {"max_time": max_time, "warm_start": False, "verbose": 0}
        settings |= {f"svm__{name}": value for name, value in settings.items()}
        model.set_params(**{name: settings[name] for name in settings if name in known})
        return _unwatched(model), X, None if self.y is None else self.y[rows]


def _unwatched(model: Any) -> Any:
    return model.set_callbacks() if hasattr(model, "set_callbacks") else model


def fitted_parts(data: Sampled, first: int, least: int, max_time: float) -> list[Part]:
    """Fit parts of doubled size from `first` on, as long as the next is likely to end in time.

    Those of fewer than `least` samples count only if there are no others.
    """
    left, parts, size = max_time, list[Part](), min(first, data.n_samples)
    while True:
        part = data.part(size, _BUSY * max(0.1 * max_time, left))
        left -= part.own_seconds
        if part.finished and part.own_seconds < _BRIEF * max_time:
            part = part.sooner(data.part(size, _BUSY * max_time))
            left -= part.own_seconds
        if part.finished or not parts:
            parts.append(part)
        enough = 4.0 * part.own_seconds > left
        if size >= data.n_samples or enough or not part.finished:
            return _alike(parts, least)
        size = min(2 * size, data.n_samples)


def _alike(parts: list[Part], least: int) -> list[Part]:
    """Return the parts that tell of larger ones: of one solver, and large enough if any are."""
    large = [part for part in parts if part.n_samples >= least] or parts[-1:]
    return [part for part in large if part.solver == large[-1].solver]


class Growth:
    """Sums of powers of the number of samples with coefficients ≥ 0, nearest to those of parts.

    The highest power is left out unless that makes the errors much larger.
    """

    def __init__(self, parts: list[Part], n_samples: int) -> None:
        self._parts, self._n = parts[-_LARGEST_PARTS:], float(n_samples)
        self._sizes = np.array([part.n_samples for part in self._parts], dtype=float)

    def of(self, value: Callable[[Part], float], powers: tuple[float, ...]) -> float:
        """Return the value to expect of all samples; it is met at the largest part."""
        found = np.array([max(value(part), 1e-300) for part in self._parts])
        if len(found) == 1:
            power = max(1.0, sum(powers[-2:]) / len(powers[-2:]))
            return float(found[-1] * (self._n / self._sizes[-1]) ** power)
        whole, error = self._extrapolated(found, powers)
        if len(powers) > 2:
            simpler, larger = self._extrapolated(found, powers[:-1])
            whole = simpler if larger <= _MUCH * error + _NOISE else whole
        return whole

    def _extrapolated(self, found: Array, powers: tuple[float, ...]) -> tuple[float, float]:
        """Return the value for all samples, and the relative error at the parts."""
        terms = (self._sizes[:, np.newaxis] / self._n) ** np.array(powers)
        coef, error = nnls(terms / found[:, np.newaxis], np.ones(len(found)))
        return float(coef.sum() * found[-1] / (terms[-1] @ coef)), float(error)


class CostMixin:
    """`estimate_cost`; what it needs of an estimator follows here."""

    #: Powers of the number of samples that the time of a fit is a sum of.
    _growth: tuple[float, ...] = (0.0, 1.0)

    _kernel_matrix_given = False  # whether rows of kernel values stand for the samples

    def _samples_of_cost(self, X: Any, y: Any) -> tuple[Any, NDArray[Any] | None]:
        """Return X and y as `fit` reads them, or refuse them."""
        needed = get_tags(self).target_tags.required
        checked = self._check_rows(X, y if needed or y is not None else "no_validation")  # type: ignore[attr-defined]
        return checked if needed or y is not None else (checked, None)

    def _for_part(self, y: NDArray[Any] | None, rows: NDArray[np.intp]) -> Any:
        """Return the model to fit to some of the samples; y is that of all."""
        del y, rows
        return clone(self)

    def _first_part(self, data: Sampled) -> int:
        """Count the samples of the first part."""
        del data
        return _FIRST

    def _least_part(self, data: Sampled) -> int:
        """Count the samples from which on a fit is like that of all."""
        return _ROWS_PER_FEATURE * data.n_features if data.n_features <= _FEW_FEATURES else 0

    def _completed(self, cost: CostEstimate, data: Sampled, parts: list[Part]) -> CostEstimate:
        """Return the estimate with the memory, and what else there is to say."""
        return replace(cost, memory_bytes=memory_of_parts(data, parts, (0.0, 1.0)))

    def estimate_cost(self, X: Any, y: Any = None, *, max_time: float = 1.0) -> CostEstimate:
        """Estimate time and memory of a fit, and say what would make it cheaper.

        Small parts of the data are fitted on this machine, in about `max_time` seconds, up to four
        times as long where it is busy; what grows with the samples is extrapolated. The model stays
        as it is.
        """
        check_positive("max_time", max_time, advice="1.0 second is usual.")
        model: Any = clone(self)
        data = Sampled(model, *model._samples_of_cost(X, y))
        n = data.n_samples
        first, least = model._first_part(data), min(n, model._least_part(data))
        parts = fitted_parts(data, first, least, max_time)
        growth, last = Growth(parts, n), parts[-1]
        cpu = growth.of(lambda part: part.cpu_seconds, model._growth)
        cost = CostEstimate(
            n_samples=n,
            seconds=cpu * last.seconds / last.cpu_seconds,
            cpu_seconds=cpu,
            memory_bytes=0,
            n_support=min(n, round(growth.of(lambda part: part.n_support, (0.5, 1.0)))),
        )
        if not last.finished:
            cost = replace(
                cost,
                advice=(
                    f"The fit of {last.n_samples:,} samples on which this rests was cut short:"
                    " expect more, or give estimate_cost a longer max_time.",
                ),
            )
        completed: CostEstimate = model._completed(cost, data, parts)
        return completed


def overdetermined_part(data: Sampled) -> int:
    """Count the samples of a first part with more rows than features, unless these are many."""
    few = data.n_features <= _FEW_FEATURES
    return max(_FIRST, _FIRST_PER_FEATURE * data.n_features) if few else _FIRST


def memory_of_parts(data: Sampled, parts: list[Part], powers: tuple[float, ...]) -> int:
    """Return the memory to expect of all samples, by the arrays that fits of two parts make."""
    last = parts[-1]
    limit = max(0.1, 4.0 * last.seconds)
    whole = last.n_samples == data.n_samples
    sizes = [last.n_samples] if whole else [max(1, last.n_samples // 2), last.n_samples]
    found = [replace(last, n_samples=size, n_support=data.peak(size, limit)) for size in sizes]
    return round(Growth(found, data.n_samples).of(lambda part: part.n_support, powers))


def _turns(y: NDArray[Any]) -> Array:
    """Return whose turn it is: the first two of every class, then all classes in proportion."""
    _, label, counts = np.unique(y, return_inverse=True, return_counts=True)
    rank = np.empty(len(y))
    rank[np.argsort(label, kind="stable")] = np.concatenate([np.arange(count) for count in counts])
    return np.asarray(np.where(rank < 2, 0.0, (rank + 0.5) / counts[label]))


def _duration(seconds: float) -> str:
    for unit, length in (("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2.0 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.2g} seconds"


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"
