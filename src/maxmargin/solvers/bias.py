"""The intercept as the core has it."""

from __future__ import annotations

import math

import numpy as np

import maxmargin._core as _core
from maxmargin.joint import JointObjective
from maxmargin.objective import Intercept, Objective
from maxmargin.validation import Array


def bias_of(objective: Objective | JointObjective, reach: float) -> _core.Bias:
    """Return the intercept as the core has it: a feature of constant value, and an anchor.

    A free intercept is solved for by proximal steps: b is penalised by its distance to the anchor,
    and the anchor follows. The steps are long enough for b to cross the scale of f within one even
    if the features are tiny, and `reach` times longer.
    """
    if objective.intercept is Intercept.NONE:
        return _core.Bias(0.0, 0.0)
    if objective.intercept is Intercept.PENALIZED:
        return _core.Bias(objective.intercept_scaling, 0.0)
    cost = objective.problem.cost
    if not cost.any():  # two classes without weight: nothing is asked of b
        return _core.Bias(1.0, 0.0)
    crossing = math.sqrt(objective.unit / float(cost.sum()))
    return _core.Bias(reach * max(typical_norm(objective.diagonal, cost), crossing), 0.0)


def typical_norm(squares: Array, cost: Array) -> float:
    """Root mean square ‖x_i‖, weighted by cost, so that a weight counts like a repetition."""
    return math.sqrt(np.average(squares, weights=cost))
