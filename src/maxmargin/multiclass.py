"""Several classes from binary problems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxmargin.validation import Array

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


def binary_targets(y: NDArray[Any], cost: Array) -> tuple[NDArray[Any], list[Array]]:
    """Return the labels, and ±1 for each problem: one for two labels, else one for each label."""
    check_several_classes(y, cost)
    classes = np.unique(y)
    positives = classes[1:] if len(classes) == 2 else classes
    return classes, [np.where(y == positive, 1.0, -1.0) for positive in positives]


def check_several_classes(y: NDArray[Any], cost: Array) -> None:
    """Refuse labels that leave nothing to tell apart."""
    weighted = np.unique(y if cost.all() else y[cost > 0.0])
    if len(weighted) < 2:
        raise ValueError(
            f"y has one class, {weighted.tolist()[0]!r}, among the samples of positive weight; a"
            " classifier needs samples of at least two classes."
        )
