"""Threads over independent problems."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from joblib import effective_n_jobs
from joblib.parallel import ThreadingBackend

Task = TypeVar("Task")

Result = TypeVar("Result")


def n_threads(n_jobs: int | None, n_tasks: int | None = None) -> int:
    """Return the threads that n_jobs stands for, as joblib counts it; None is 1 for one task.

    A number means as many even in a daemon process, which may not start others: threads it may.
    """
    if n_jobs is None:
        return 1 if n_tasks == 1 else int(effective_n_jobs(None))
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral) or n_jobs == 0:
        raise ValueError(
            f"n_jobs must be None or a whole number other than 0, got {n_jobs!r}. It counts"
            " threads, and -1 means as many as there are cores."
        )
    return int(ThreadingBackend().effective_n_jobs(n_jobs))


def in_threads(
    function: Callable[[Task], Result], tasks: Sequence[Task], n_jobs: int
) -> list[Result]:
    """Return [function(task) for task in tasks]; the core releases the GIL, so threads suffice."""
    if n_jobs == 1 or len(tasks) == 1:
        return [function(task) for task in tasks]
    results: list[Any] = [None] * len(tasks)
    places = iter(range(len(tasks)))  # shared: a thread takes the next task when it is free

    def work() -> None:
        try:
            for place in places:
                results[place] = function(tasks[place])
        except BaseException:
            for _ in places:  # nothing more is begun
                pass
            raise

    with ThreadPoolExecutor(n_jobs) as pool:
        for worker in [pool.submit(work) for _ in range(min(n_jobs, len(tasks)))]:
            worker.result()
    return results
