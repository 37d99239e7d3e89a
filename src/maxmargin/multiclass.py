"""Several classes from binary problems, or from one problem."""

from __future__ import annotations

import itertools
import numbers
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from joblib import effective_n_jobs
from joblib.parallel import ThreadingBackend
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

import maxmargin._core as _core
from maxmargin.validation import Array

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


def class_labels(y: NDArray[Any]) -> NDArray[Any]:
    """Return the distinct labels, or refuse what is none; whole numbers are labels."""
    kind = y.dtype.kind
    if kind == "O":
        check_classification_targets(np.repeat(y, 2))  # what cannot be sorted
    other = _second_label(y)
    classes = np.sort(y[[0, other]]) if other else np.unique(y)
    whole = kind in "biu" or (kind == "f" and all(float(c).is_integer() for c in classes.tolist()))
    if not whole:  # twice each: no warning that there are many
        check_classification_targets(np.repeat(classes, 2))
    return classes


def _second_label(y: NDArray[Any]) -> int:
    """Return the first place of another label than the first, if y is known to have two; else 0."""
    kind, size = y.dtype.kind, y.dtype.itemsize
    if kind in "biu":
        y = y.view(f"u{size}")  # equal if the bits are
    elif kind != "f" or size not in (4, 8) or not y.dtype.isnative:
        return 0
    return int(_core.second_label(np.require(y, requirements=("C", "A"))))


def binary_targets(y: NDArray[Any], classes: NDArray[Any]) -> list[Array]:
    """Return ±1 for each problem: one for two labels, else one for each label."""
    positives = classes[1:] if len(classes) == 2 else classes
    return [_signs(y == positive) for positive in positives]


def _signs(is_positive: NDArray[np.bool_]) -> Array:
    """Return ±1; np.where takes several times as long."""
    signs: Array = np.multiply(is_positive, 2.0)
    signs -= 1.0
    return signs


def check_several_classes(classes: NDArray[Any], y: NDArray[Any], cost: Array) -> None:
    """Refuse labels that leave nothing to tell apart."""
    if len(classes) > 1 and cost.all():
        return
    weighted = y[cost > 0.0]
    if len(weighted) == 0:
        raise ValueError(
            "sample_weight times class_weight is zero for every sample, so there is nothing to fit."
            " Give some samples of two classes a positive weight in both."
        )
    if (weighted == weighted[0]).all():
        raise ValueError(
            f"y has one class, {weighted.tolist()[0]!r}, among the samples of positive weight; a"
            " classifier needs samples of at least two classes."
        )


def class_members(y: NDArray[Any], classes: NDArray[Any]) -> list[NDArray[np.intp]]:
    """Return the rows of each class."""
    return [np.flatnonzero(y == label) for label in classes]


def pair_targets(
    members: list[NDArray[np.intp]],
) -> tuple[list[NDArray[np.intp]], list[Array]]:
    """Return the rows of each pair of classes, and +1 for the first, −1 for the second of it."""
    signs = [(np.ones(len(rows)), np.full(len(rows), -1.0)) for rows in members]
    targets = [np.concatenate([one[0], two[1]]) for one, two in itertools.combinations(signs, 2)]
    return [np.concatenate(pair) for pair in itertools.combinations(members, 2)], targets


def class_pairs(n_classes: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first and the second class of each pair, in the order of `pair_targets`."""
    classes = np.arange(n_classes)
    first, second = np.nonzero(classes[:, np.newaxis] < classes)
    return first, second


def class_numbers(classes: NDArray[Any], y: NDArray[Any]) -> Array:
    """Return the place of each label among the classes."""
    return np.searchsorted(classes, y).astype(np.float64)


def collapsed(coef: Array, b: Array) -> tuple[Array, Array]:
    """Return the weights by class as an estimator has them: for two classes the difference."""
    return (coef[1:] - coef[:1], b[1:] - b[:1]) if len(coef) == 2 else (coef, b)


def votes(values: Array, n_classes: int) -> Array:
    """Votes for each class, plus its summed values squeezed below a third of a vote.

    With two candidates in a tie the one of larger values is ahead, and nothing but a tie is decided
    by them.
    """
    first, second = class_pairs(n_classes)
    signs = np.zeros((len(first), n_classes))
    pairs = np.arange(len(first))
    signs[pairs, first], signs[pairs, second] = 1.0, -1.0
    wins, sums = (values > 0.0) @ signs, values @ signs
    return np.asarray(wins + np.arange(n_classes) + sums / (3.0 * (np.abs(sums) + 1.0)))


def side_costs(y: Array, cost: Array, what: str) -> tuple[float, float]:
    """Return the costs of both labels; refuse that one has none, where that leaves no problem."""
    sides = float(cost[y > 0.0].sum()), float(cost[y < 0.0].sum())
    if min(sides) == 0.0:
        raise ValueError(
            f"{what} needs samples of positive weight in every class, and one has none. Leave its"
            " samples out, or give them weight."
        )
    return sides
