"""The intercept as the core has it."""

from __future__ import annotations

import math

import numpy as np

import maxmargin._core as _core
from maxmargin.joint import JointObjective
from maxmargin.objective import Intercept, Objective
from maxmargin.validation import Array


def bias_of(
    objective: Objective | JointObjective, reach: float, crossings: float | None = None
) -> _core.Bias:
    """Return the intercept as the core has it: a feature of constant value, and an anchor.

    A free intercept is solved for by proximal steps: b is penalised by its distance to the anchor,
    and the anchor follows. The feature is `reach` typical row norms, or more, so that b can cross
    the scale of f within a step even if C or the features are tiny; `crossings` times (`reach` if
    not given) the feature which is just enough for that.
    """
    if objective.intercept is Intercept.NONE:
        return _core.Bias(0.0, 0.0)
    if objective.intercept is Intercept.PENALIZED:
        return _core.Bias(objective.intercept_scaling, 0.0)
    cost = objective.problem.cost
    if not cost.any():  # two classes without weight: nothing is asked of b
        return _core.Bias(1.0, 0.0)
    crossing = math.sqrt(objective.unit / float(cost.sum()))
    typical = typical_norm(objective.diagonal, cost)
    least = reach if crossings is None else crossings
    return _core.Bias(max(reach * typical, least * crossing), 0.0)


def best_constant(objective: Objective) -> float:
    """Return the best constant f, from which b has less far to go than from 0.

    The mean target is that for the squared losses, and near it with an insensitive zone.
    """
    loss, problem = objective.loss, objective.problem
    if loss.bounded:
        return objective.best_intercept(np.zeros_like(problem.y))
    if not problem.cost.any():
        return 0.0
    return float(np.average(loss.target_scale * problem.y, weights=problem.cost))


def short_bias_of(objective: Objective | JointObjective) -> _core.Bias:
    """Return the same for coordinate descent.

    All rows have the bias in common: the larger its feature, the more of what a step does the next
    ones undo, and epochs are up to ten times as many. A smaller one takes more of them where b has
    far to go.
    """
    return bias_of(objective, reach=0.15, crossings=1.0)


def typical_norm(squares: Array, cost: Array) -> float:
    """Root mean square ‖x_i‖, weighted by cost, so that a weight counts like a repetition."""
    if not cost.any():
        return 0.0
    return math.sqrt(np.average(squares, weights=cost))
