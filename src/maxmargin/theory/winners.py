"""Which class wins, from the values of several binary problems that are known up to bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.data.arrays import Array
from maxmargin.multiclass.decomposition import class_pairs, votes
from maxmargin.theory.left_out import LeftOut
from maxmargin.theory.machine import Machine

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Problems:
    """The problems of a classifier of several classes, or the one of two.

    `y` numbers the classes; `used` says which samples have a weight. `pairs` and `ties` say how a
    class wins: by votes of the pairs, where a tie is broken by the values or goes to the first,
    else by the largest value.
    """

    machines: list[Machine]
    y: NDArray[np.intp]
    used: Flags
    pairs: bool
    ties: bool

    @classmethod
    def of(cls, model: Any, machines: list[Machine]) -> Problems:
        """Return the problems of a fitted model."""
        n = 1 + max(int(machine.part.rows.max()) for machine in machines)
        n_classes, count = len(model.classes_), len(machines)
        pairs = n_classes > 2 and any(len(machine.part.rows) < n for machine in machines)
        y, used = np.zeros(n, dtype=np.intp), np.zeros(n, dtype=bool)
        first, second = class_pairs(n_classes) if pairs else (np.arange(count), None)
        for place, machine in enumerate(machines):
            rows, up = machine.part.rows, machine.y > 0.0
            used[rows] = machine.cost > 0.0
            y[rows[up]] = first[place] if n_classes > 2 else 1
            if second is not None:
                y[rows[~up]] = second[place]
        ties = pairs and getattr(model, "break_ties", True)
        return cls(machines, y, used, pairs, ties)

    def any_of(self, flags: Sequence[Flags]) -> Flags:
        """Which samples are marked in any of the problems, of those that have a weight."""
        found = np.zeros(len(self.y), dtype=bool)
        for machine, some in zip(self.machines, flags, strict=True):
            found[machine.part.rows[some]] = True
        return found & self.used

    @property
    def needs_values(self) -> bool:
        """Whether more than the signs of the values decides."""
        return self.ties or not self.pairs

    def values(self, left: Sequence[LeftOut]) -> Array:
        """F of every sample and problem, without the sample where the problem has it."""
        return self._filled(left, [found.f for found in left], 0.0)

    def winners(self, left: Sequence[LeftOut]) -> tuple[NDArray[np.intp], Flags]:
        """Return the class of each sample without itself, and whether it is proven."""
        own = self._scores(self.values(left))
        low = self._filled(left, [found.low for found in left], -1.0)
        high = self._filled(left, [found.high for found in left], 1.0)
        n_classes, rows = own.shape[1], np.arange(len(own))
        winner = own.argmax(axis=1)
        least, most = np.empty_like(own), np.empty_like(own)
        for label in range(n_classes):  # the values that are worst, and best, for a class
            least[:, label] = self._scores(self._facing(label, low, high))[:, label]
            most[:, label] = self._scores(self._facing(label, high, low))[:, label]
        least = least[rows, winner]
        most[rows, winner] = -np.inf
        rival = most.argmax(axis=1)
        best = most[rows, rival]
        proven = (least > best) | ((least == best) & (winner < rival) & (not self.ties))
        return winner, np.asarray(proven)

    def _filled(self, left: Sequence[LeftOut], values: Sequence[Array], sign: float) -> Array:
        """Return one column for each problem; samples that it lacks have the value of all."""
        filled = np.empty((len(self.y), len(left)))
        for column, machine, found, own in zip(filled.T, self.machines, left, values, strict=True):
            column[:] = found.everywhere + sign * found.doubt
            column[machine.part.rows] = own
        return filled

    def _facing(self, label: int, for_it: Array, against: Array) -> Array:
        """Return `for_it` where a problem speaks for a class with f > 0, else `against`."""
        if not self.pairs:
            return np.where(np.arange(for_it.shape[1]) == label, for_it, against)
        first, second = class_pairs(self._n_classes)
        return np.where(first == label, for_it, np.where(second == label, against, for_it))

    @property
    def _n_classes(self) -> int:
        return round(0.5 + math.sqrt(0.25 + 2.0 * len(self.machines)))

    def _scores(self, values: Array) -> Array:
        """Return what is compared: a score for each class."""
        if not self.pairs:
            return values
        scores = votes(np.clip(values, -1e300, 1e300), self._n_classes)
        return scores if self.ties else np.rint(scores)
