"""The intercept as the core has it."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

import maxmargin._core as _core
from maxmargin.data.arrays import Array
from maxmargin.objectives.base import Intercept
from maxmargin.objectives.crammer_singer import CrammerSingerObjective
from maxmargin.objectives.linear import LinearObjective

#: A linear machine: of one f, or of K classes.
AnyLinear: TypeAlias = LinearObjective | CrammerSingerObjective

#: Length of the bias feature of coordinate descent, in typical row norms, and the rows from which
#: it is told how much they have in common.
_SHORT, _SAMPLE = 0.15, 512


def bias_of(
    objective: AnyLinear,
    reach: float,
    crossings: float | None = None,
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
        return _core.Bias(1.0, 0.0, True)
    crossing = math.sqrt(objective.unit / float(cost.sum()))
    typical = typical_norm(objective.diagonal, cost)
    least = reach if crossings is None else crossings
    return _core.Bias(max(reach * typical, least * crossing), 0.0, True)


def best_constant(objective: LinearObjective) -> float:
    """Return the best constant f, from which b has less far to go than from 0.

    The mean target is that for the squared losses, and near it with an insensitive zone.
    """
    loss, problem = objective.loss, objective.problem
    if loss.bounded:
        return objective.best_intercept(np.zeros_like(problem.y))
    if not problem.cost.any():
        return 0.0
    return float(np.average(loss.target_scale * problem.y, weights=problem.cost))


def short_bias_of(objective: AnyLinear) -> _core.Bias:
    """Return the same for coordinate descent.

    All rows have the bias in common: the larger its feature, the more of what a step does the next
    ones undo, and epochs are up to ten times as many. A smaller one takes more of them where b has
    far to go. Where rows keep their margin, it is no longer than what they have in common.
    """
    reach = _SHORT
    if objective.intercept is Intercept.FREE and _keeps_margins(objective):
        reach = min(reach, _in_common(objective))
    return bias_of(objective, reach=reach, crossings=1.0)


def _keeps_margins(objective: AnyLinear) -> bool:
    """Whether C_i is enough for a row alone to reach its margin, in the mean: C_i ‖x_i‖² > 1."""
    cost = objective.problem.cost
    if not cost.any():
        return False
    with np.errstate(over="ignore"):
        return bool(np.average(cost * objective.diagonal, weights=cost / cost.max()) > 1.0)


def _in_common(objective: AnyLinear) -> float:
    """Return the length of the mean row, in typical norms; at least 1/√min(n, d).

    Where b moves by 1, Σ β_i of rows that keep their margin moves by 1'K⁻¹1 ≥ 1/‖mean row‖², and by
    min(n, d)/‖x‖² if they are orthogonal. With a feature f much longer than the root of its inverse
    the first few rows of an epoch balance Σ β_i, and b stays where it was. Some rows tell the mean.
    """
    problem = objective.problem
    step = max(1, problem.n_samples // _SAMPLE)
    X, cost, squares = problem.X[::step], problem.cost[::step], objective.diagonal[::step]
    typical = typical_norm(squares, cost)
    if not 0.0 < typical < math.inf:
        return _SHORT
    share = cost / cost.sum()
    itself = float(share**2 @ (squares / typical**2))  # products of rows with themselves
    mean = np.asarray(share @ X) / typical
    common = float(mean @ mean) - itself
    return math.sqrt(max(common, 1.0 / min(problem.n_samples, problem.n_features)))


def typical_norm(squares: Array, cost: Array) -> float:
    """Root mean square ‖x_i‖, weighted by cost, so that a weight counts like a repetition."""
    if not cost.any():
        return 0.0
    return math.sqrt(np.average(squares, weights=cost))
