"""Newton steps in all free dual variables at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from maxmargin.data.arrays import Array
from maxmargin.objectives.kernel import KernelObjective
from maxmargin.objectives.standard_form import StandardForm

#: Free support vectors for which a linear system costs next to nothing.
_FEW_FREE = 300


def polished(objective: KernelObjective, beta: Array, z: Array) -> list[Array]:
    """Solve for the free variables exactly, where there are few: KKT conditions as equations.

    With z = Kβ and the pieces of all samples as they are, the change δ of the free variables and
    the thresholds t of their groups satisfy K_FF δ + t = target_F ∓ ε − z_F and Σ δ = 0 in each
    group. If β + δ stays in the box, it is the optimum itself, and one of those to return.
    """
    form, box, edge = objective.standard_form(), objective.box, objective.edge(beta)
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


def moved(objective: KernelObjective, form: StandardForm, variables: Array, z: Array) -> Array:
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
    objective: KernelObjective,
    form: StandardForm,
    free: NDArray[Any],
    group: NDArray[Any],
    point: tuple[Array, Array],
) -> Array:
    """Return δ of the equations at (β, z)."""
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
