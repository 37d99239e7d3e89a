"""Bare weights and intercepts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.data.checks import check_choice, check_positive
from maxmargin.losses import CLASSIFICATION, REGRESSION, regression_loss
from maxmargin.objectives import Intercept
from maxmargin.theory.posed import Data, Posed


@dataclass(frozen=True)
class Terms:
    """What bare weights are meant to minimise: ½‖w‖² + Σ C_i ℓ(f(x_i))."""

    C: float | None = None
    loss: str = "hinge"
    epsilon: float = 0.0
    intercept: str = "free"
    intercept_scaling: float = 1.0
    penalty: str = "l2"


def reads(model: Any) -> bool:
    """Whether the model is a pair (w, b)."""
    return isinstance(model, tuple) and len(model) == 2


def problems(
    model: Any, data: Data, terms: Terms, class_weight: dict[Any, float] | None
) -> list[Posed]:
    """Return the problems that (w, b) answer: of several rows of w, one for each class."""
    C = check_positive("C", terms.C, advice="It is the C of the problem that (w, b) answer.")
    how = Intercept(check_choice("intercept", terms.intercept, ("none", "free", "penalized")))
    name = check_choice("loss", terms.loss, ("hinge", "squared_hinge", *REGRESSION))
    weights, b = _point(model, data)
    penalty = check_choice("penalty", terms.penalty, ("l2", "l1"))
    if penalty == "l1" and name != "squared_hinge":
        raise ValueError(
            f"penalty='l1' goes with loss='squared_hinge', got loss={name!r}. Give it, or"
            " penalty='l2'."
        )
    cost = data.class_costs(C * data.weight, class_weight or {})
    scaling = float(terms.intercept_scaling)
    if name in REGRESSION:
        loss, targets = regression_loss(name, float(terms.epsilon)), [(data.targets, "")]
    else:
        loss, targets = CLASSIFICATION[name], list(data.against_rest(np.unique(data.y)))
    if len(targets) != len(weights):
        raise ValueError(
            f"w must have {len(targets)} rows of weights, one for each problem, got {len(weights)}."
        )
    return [
        Posed(data.X, y, cost, loss, w, float(own), None, how, scaling, name=label).penalized(
            penalty
        )
        for (y, label), w, own in zip(targets, weights, b, strict=True)
    ]


def _point(model: Any, data: Data) -> tuple[Any, Any]:
    """Return the rows of weights and the intercept of each."""
    weights = np.atleast_2d(np.asarray(model[0], dtype=np.float64))
    b = np.broadcast_to(np.asarray(model[1], dtype=np.float64), len(weights))
    if weights.shape[1] != data.X.shape[1]:
        raise ValueError(
            f"w must have a weight for each of the {data.X.shape[1]} columns of X, got"
            f" {weights.shape[1]}."
        )
    return weights, b
