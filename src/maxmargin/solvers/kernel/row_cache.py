"""How many kernel rows are cached: by the given limit, or by free memory and their cost."""

from __future__ import annotations

from typing import Any

from maxmargin.data.checks import as_floats, check_count, check_positive
from maxmargin.runtime.memory import free_memory
from maxmargin.solvers.kernel.row_source import KernelSamples

#: Megabytes for rows of samples of fewer values than that: reading more would take longer than
#: computing the rows again.
_CACHE_IF_CHEAP = {48: 256.0, 128: 1000.0}

#: Megabytes of these that are taken at once; more only as rows are computed a second time.
_CACHE_AT_FIRST = 256.0

#: Bytes of a kernel matrix that is kept without asking for the free memory.
_SMALL = 2**26


def check_row_settings(settings: Any) -> None:
    """Check the memory and the threads that a solver may use for kernel rows."""
    as_floats(settings, "cache_size")
    check_count("n_threads", settings.n_threads, advice="1 opens no thread.")
    if settings.cache_size is not None:
        check_positive("cache_size", settings.cache_size, advice="It is in megabytes.")


def cache_for(samples: KernelSamples, cache_size: float | None) -> float | None:
    """Return the megabytes for kernel rows: as given, few if rows are cheap, None: no limit."""
    if cache_size is not None or samples.formula is None:
        return cache_size
    return next((most for few, most in _CACHE_IF_CHEAP.items() if samples.stored < few), None)


def row_capacities(
    samples: KernelSamples, n: int, cache_size: float | None, least: int
) -> tuple[int, int]:
    """Return how many rows of n values may be kept, and how many before any is needed twice."""
    cache = cache_for(samples, cache_size)
    most = row_capacity(n, cache, least)
    if cache_size is not None or cache is None:
        return most, most
    return most, min(most, row_capacity(n, _CACHE_AT_FIRST, least))


def short_of_rows(samples: KernelSamples, n: int) -> bool:
    """Whether rows are cheap enough to be computed again, and too many to be cached.

    It does not depend on the free memory, which must not change the steps to the answer.
    """
    limit = cache_for(samples, None)
    return limit is not None and 4 * n**2 > 1e6 * limit


def row_capacity(n: int, cache_size: float | None, least: int) -> int:
    """Kernel rows that so many megabytes hold; of half the free memory if there is no limit."""
    if cache_size is None and 4 * n**2 <= _SMALL:
        return n
    size = 1e6 * cache_size if cache_size is not None else 0.5 * free_memory()
    return int(min(n, max(least, size // (4 * n))))


def out_of_memory(cache_size: float | None, n: int, working_set: int) -> MemoryError:
    """Return the error with what needs less memory."""
    return MemoryError(
        f"Out of memory with cache_size={cache_size}. Give fewer megabytes; at least"
        f" {min(n, working_set)} kernel rows of {n} samples, {4e-6 * n:.3g} MB each,"
        " are kept besides a float32 copy of X. Or fit fewer samples."
    )
