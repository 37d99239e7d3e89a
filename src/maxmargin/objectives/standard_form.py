"""The dual of a kernel machine in the variables of SMO."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maxmargin.data.arrays import Array


@dataclass(frozen=True, eq=False)
class StandardForm:
    """max_v target'v − ½ v'Kv − ε|v|₁ in a box, with sums kept in each group.

    If `doubled`, every sample is there twice: v holds the positive and the negative part of β, and
    Σ |v| is at most `nu_sum`. If `hulls`, v is β divided by the sum of its positive part, a point
    of each class's convex hull, and its value is not that of the dual.
    """

    target: Array
    lower: Array
    upper: Array
    group: NDArray[np.uint8]
    begin: Array
    epsilon: float = 0.0
    balanced: bool = True
    doubled: bool = False
    negligible: float = 0.0
    nu_sum: float = 0.0
    hulls: bool = False

    @classmethod
    def of_sums(cls, y: Array, most: Array, total: float, negligible: float) -> StandardForm:
        """Return the form with |β_i| ≤ most_i and Σ |β_i| = total, in equal shares by label."""
        group = (y < 0.0).astype(np.uint8)
        begin = np.zeros_like(y)
        for side in range(n_groups := 1 + int(group.max())):
            begin[group == side] = fill_to_sum(most[group == side], total / n_groups)
        upper, lower = np.where(y > 0.0, most, 0.0), np.where(y < 0.0, -most, 0.0)
        return cls(np.zeros_like(y), lower, upper, group, y * begin, negligible=negligible)

    def by_group(self, values: Array) -> Array:
        """Return a row for each group, with an entry for each sample: 0 if it is not in there."""
        if self.doubled:
            return values.reshape(2, -1)
        n_groups = 1 + int(self.group.max())
        if n_groups == 1:
            return values[np.newaxis]
        return np.where(self.group == np.arange(n_groups)[:, np.newaxis], values, 0.0)

    def state(self, variables: Array, z: Array) -> tuple[Array, float]:
        """Return the residuals and the value of the objective where Kβ = z."""
        residual = self.target - np.tile(z, len(self.target) // len(z))
        return residual, self.value(variables, residual)

    def value(self, variables: Array, residual: Array) -> float:
        """Return the objective at variables that leave these residuals."""
        total = 0.5 * float(((self.target + residual) * variables).sum())
        return total - self.epsilon * float(np.abs(variables).sum())

    def fold(self, variables: Array) -> Array:
        """Return β."""
        if not self.doubled:
            return variables
        half = len(variables) // 2
        return variables[:half] + variables[half:]

    def unfold(self, beta: Array) -> Array:
        """Return the variables of a feasible β; `begin` if that is of no use."""
        if self.hulls:
            positive = float(beta.sum(where=beta > 0.0))
            return beta / positive if positive > 0.0 else self.begin
        if not self.doubled:
            return beta
        up, down = np.maximum(beta, 0.0), np.minimum(beta, 0.0)
        lacking = 0.5 * self.nu_sum - float(up.sum())
        room = np.minimum(self.upper[: len(beta)] - up, down - self.lower[len(beta) :])
        both = fill_to_sum(room, min(lacking, float(room.sum())))
        return np.append(up + both, down - both)


def fill_to_sum(most: Array, total: float) -> Array:
    """Fill one entry after the other until they sum to the total."""
    before = np.cumsum(most) - most
    return np.clip(total - before, 0.0, most)
