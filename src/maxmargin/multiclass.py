"""Several classes from binary problems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


def in_threads(
    function: Callable[[Task], Result], tasks: Sequence[Task], n_jobs: int
) -> list[Result]:
    """Return [function(task) for task in tasks]; the core releases the GIL, so threads suffice."""
    if n_jobs == 1 or len(tasks) == 1:
        return [function(task) for task in tasks]
    with ThreadPoolExecutor(n_jobs) as pool:
        return list(pool.map(function, tasks))
