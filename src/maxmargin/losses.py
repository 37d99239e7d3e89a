"""The losses: one family of piecewise quadratics, six members.

With z = f(x) and cost C_i, every loss is

    C_i ℓ(z) = max over β in [lower, upper] of (target − z) β − ε|β| − ½ curvature β²,

which is at once its primal value and, read from the right, its dual. The classification losses let
β have only the sign of y; the absolute ones bound |β| by C_i, the squared ones have the curvature
1/(2 C_i) instead. `core/objective/losses.hpp` holds the same numbers; the formulas here are the
textbook ones, written independently. So are those of the certificate, in
`core/objective/certificate.hpp`, which the tests compare with these.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from maxmargin.data.arrays import Array
from maxmargin.data.checks import as_floats


class Box(NamedTuple):
    """Bounds on β and the curvature of its dual term, one entry a sample."""

    lower: Array
    upper: Array
    curvature: Array


@dataclass(frozen=True)
class Loss:
    """A member of the family.

    Attributes
    ----------
    target_scale : float
        The margin asked for: 1, or 0 for the perceptron. Always 1 in regression.
    epsilon : float
        Half width of the tube inside which a regression error costs nothing.
    one_sided : bool
        Classification: a function of the margin y f(x). Otherwise of the residual y − f(x).
    bounded : bool
        Grows linearly, so |β| ≤ C_i; otherwise it grows quadratically.
    regularized : bool
        Whether ½‖w‖² belongs to the objective (not for the perceptron).
    """

    name: str
    target_scale: float
    epsilon: float
    one_sided: bool
    bounded: bool
    regularized: bool = True

    def __post_init__(self) -> None:
        as_floats(self, "target_scale", "epsilon")

    def slack(self, y: Array, z: Array) -> Array:
        """ξ_i: how far the sample is on the costly side."""
        if self.one_sided:
            return np.maximum(0.0, self.target_scale - y * z)
        return np.maximum(0.0, np.abs(y - z) - self.epsilon)

    def value(self, y: Array, cost: Array, z: Array) -> Array:
        """C_i ℓ(z_i) = C_i ξ_i or C_i ξ_i²."""
        slack = self.slack(y, z)
        return cost * (slack if self.bounded else slack**2)

    def box(self, y: Array, cost: Array) -> Box:
        """Where β may lie. A sample of cost 0 does not count: its β is 0."""
        bound = np.where(cost > 0.0, cost if self.bounded else np.inf, 0.0)
        lower, upper = -bound, bound
        if self.one_sided:
            lower, upper = np.where(y > 0.0, 0.0, lower), np.where(y < 0.0, 0.0, upper)
        return Box(lower, upper, self.curvature(cost))

    def curvature(self, cost: Array) -> Array:
        """1/(2 C_i) for the squared losses, 0 for the absolute ones."""
        curvature = np.zeros_like(cost)
        if not self.bounded:
            np.divide(0.5, cost, out=curvature, where=cost > 0.0)
        return curvature

    def conjugate(self, y: Array, cost: Array, beta: Array) -> Array:
        """Return what β_i adds to the dual objective, besides −½‖w‖²."""
        value = self.target_scale * y * beta
        if self.epsilon:
            value -= self.epsilon * np.abs(beta)
        if not self.bounded:
            value -= 0.5 * self.curvature(cost) * beta**2
        return value


HINGE = Loss("hinge", 1.0, 0.0, one_sided=True, bounded=True)
SQUARED_HINGE = Loss("squared_hinge", 1.0, 0.0, one_sided=True, bounded=False)
PERCEPTRON = Loss("perceptron", 0.0, 0.0, one_sided=True, bounded=True, regularized=False)
SQUARED = Loss("squared", 1.0, 0.0, one_sided=False, bounded=False)
EPSILON_INSENSITIVE = Loss("epsilon_insensitive", 1.0, 0.0, one_sided=False, bounded=True)
SQUARED_EPSILON_INSENSITIVE = Loss(
    "squared_epsilon_insensitive", 1.0, 0.0, one_sided=False, bounded=False
)

CLASSIFICATION = {loss.name: loss for loss in (HINGE, SQUARED_HINGE, PERCEPTRON)}
REGRESSION = {
    loss.name: loss for loss in (EPSILON_INSENSITIVE, SQUARED_EPSILON_INSENSITIVE, SQUARED)
}


def regression_loss(name: str, epsilon: float) -> Loss:
    """Return the regression loss of that name; the squared loss has no tube."""
    loss = REGRESSION[name]
    return loss if loss is SQUARED else replace(loss, epsilon=epsilon)
