"""A kernel objective's dual in the variables of SMO, and steps in all free variables at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from maxmargin.data.arrays import Array
from maxmargin.objectives.objective import Intercept, Objective

#: Free support vectors for which a linear system costs next to nothing.
_FEW_FREE = 300


@dataclass(frozen=True, eq=False)
class DualForm:
    """A kernel objective as the core has it: target, box, and sums kept per group.

    A margin ρ that is a variable keeps the sum of each label's β as it is at the start, and makes
    the target 0: what is left is −½β'Kβ. A hard margin is the same problem with mass 2, the
    nearest points of the two convex hulls. A tube that is a variable splits β in its positive and
    its negative part, each a group; every sample is there twice.
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

    @classmethod
    def of(cls, objective: Objective) -> DualForm:
        """Return the form of an objective."""
        y, cost, box = objective.problem.y, objective.problem.cost, objective.box
        if objective.hard or (objective.mass is not None and objective.loss.one_sided):
            group = (y < 0.0).astype(np.uint8)
            most = (cost > 0.0).astype(float) if objective.hard else cost
            mass = 2.0 if objective.hard or objective.mass is None else objective.mass
            begin = np.zeros_like(y)
            for side in range(n_groups := 1 + int(group.max())):
                begin[group == side] = _poured(most[group == side], mass / n_groups)
            upper, lower = np.where(y > 0.0, most, 0.0), np.where(y < 0.0, -most, 0.0)
            negligible = 1.0 / objective.hopeless if objective.hard else objective.negligible
            return cls(np.zeros_like(y), lower, upper, group, y * begin, negligible=negligible)
        if objective.mass is not None:
            half = _poured(cost, 0.5 * objective.mass)
            zeros, ones = np.zeros_like(y), np.ones(len(y), dtype=np.uint8)
            return cls(
                np.tile(y, 2),
                np.append(zeros, -cost),
                np.append(cost, zeros),
                np.append(0 * ones, ones),
                np.append(half, -half),
                doubled=True,
            )
        return cls(
            objective.loss.target_scale * y,
            box.lower,
            box.upper,
            np.zeros(len(y), dtype=np.uint8),
            np.zeros_like(y),
            objective.loss.epsilon,
            objective.intercept is Intercept.FREE,
        )

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

    def unfold(self, objective: Objective, beta: Array) -> Array:
        """Return the variables of a β that is made feasible; `begin` if that is of no use."""
        beta = objective.feasible(beta)
        if objective.hard:
            positive = float(beta.sum(where=beta > 0.0))
            return beta / positive if positive > 0.0 else self.begin
        if not self.doubled:
            return beta
        up, down = np.maximum(beta, 0.0), np.minimum(beta, 0.0)
        lacking = 0.5 * (objective.mass or 0.0) - float(up.sum())
        room = np.minimum(self.upper[: len(beta)] - up, down - self.lower[len(beta) :])
        both = _poured(room, min(lacking, float(room.sum())))
        return np.append(up + both, down - both)


def _poured(most: Array, mass: float) -> Array:
    """Fill one entry after the other until the mass is spent."""
    before = np.cumsum(most) - most
    return np.clip(mass - before, 0.0, most)


def polished(objective: Objective, beta: Array, z: Array) -> list[Array]:
    """Solve for the free variables exactly, where there are few: KKT conditions as equations.

    With z = Kβ and the pieces of all samples as they are, the change δ of the free variables and
    the thresholds t of their groups satisfy K_FF δ + t = target_F ∓ ε − z_F and Σ δ = 0 in each
    group. If β + δ stays in the box, it is the optimum itself, and one of those to return.
    """
    form, box, edge = DualForm.of(objective), objective.box, objective.edge(beta)
    group: NDArray[Any] = form.group[: len(beta)]
    tries = [(edge, group)]
    if form.doubled:  # the tube may be 0: then there is one threshold, and 0 is a value like others
        tries = [(edge, beta < 0.0), ((beta > box.lower) & (beta < box.upper), group)]
    found = []
    for free, group in tries:
        at = np.flatnonzero(free)
        if not 0 < len(at) <= _FEW_FREE:
            continue
        after = beta[at] + _change(objective, form, at, group[at], (beta, z))
        inside = (after > box.lower[at]) & (after < box.upper[at])
        same = np.sign(after) == np.sign(beta[at]) if free is edge else True
        if (inside & same).all():
            better = beta.copy()
            better[at] = after
            found.append(better)
    return found


def moved(objective: Objective, form: DualForm, variables: Array, z: Array) -> Array:
    """Return the variables after the change of `polished`, as far as it goes inside the box.

    Where K is nearly singular, pairs crawl along the directions that such a step takes at once.
    """
    beta = form.fold(variables)
    free = np.flatnonzero(objective.edge(beta))
    if not 0 < len(free) <= _FEW_FREE:
        return variables
    negative, place = beta[free] < 0.0, free
    if form.doubled:
        place = free + len(beta) * negative
    change = _change(objective, form, free, form.group[place], (beta, z))
    at, most = variables[place], np.where(negative, 0.0, form.upper[place])
    least = np.where(negative, form.lower[place], 0.0)
    room = np.where(change > 0.0, most - at, at - least)
    with np.errstate(divide="ignore", invalid="ignore"):
        step = min(1.0, float(np.nanmin(room / np.abs(change))))
    after = variables.copy()
    after[place] = np.clip(at + step * change, least, most)
    return after


def _change(
    objective: Objective,
    form: DualForm,
    free: NDArray[Any],
    group: NDArray[Any],
    point: tuple[Array, Array],
) -> Array:
    """Return δ of the equations at (β, z)."""
    assert objective.kernel is not None
    X, (beta, z) = objective.problem.X[free], point
    K = objective.kernel(X, X)
    right = form.target[free] - form.epsilon * np.sign(beta[free]) - z[free]
    if not form.balanced:
        return np.asarray(linalg.lstsq(K, right, cond=1e-13, lapack_driver="gelsy")[0])
    # Without the thresholds: in the space of changes that sum to 0 in each group.
    _, of = np.unique(group, return_inverse=True)

    def centred(values: Array) -> Array:
        """Subtract each group's mean, along the first axis."""
        sums = np.zeros((of.max() + 1, *values.shape[1:]))
        np.add.at(sums, of, values)
        means = (sums.T / np.bincount(of)).T
        return np.asarray(values - means[of])

    system = centred(centred(K).T)
    change = linalg.lstsq(system, centred(right), cond=1e-13, lapack_driver="gelsy")[0]
    return centred(change)
