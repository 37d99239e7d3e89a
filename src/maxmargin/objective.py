"""Objective: problem + loss + intercept, with its primal and its dual."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np

from maxmargin import _core
from maxmargin.losses import Box, Loss
from maxmargin.problem import Problem
from maxmargin.validation import Array


class Intercept(Enum):
    """How f(x) = <w, x> + b treats b."""

    NONE = "none"
    FREE = "free"
    PENALIZED = "penalized"


@dataclass(frozen=True, eq=False)
class Objective:
    """P(w, b) = ½‖w‖² + Σ C_i ℓ(f(x_i)), to be minimised.

    A penalised intercept is a further feature of constant value `intercept_scaling`, so that
    ½ (b / intercept_scaling)² joins ½‖w‖². A free one adds the dual constraint Σ β_i = 0.
    """

    problem: Problem
    loss: Loss
    intercept: Intercept = Intercept.FREE
    intercept_scaling: float = 1.0

    @cached_property
    def terms(self) -> _core.Terms:
        """The per-sample terms as the core reads them."""
        return self.terms_of(self.problem.y, self.problem.cost)

    def terms_of(self, y: Array, cost: Array) -> _core.Terms:
        """Terms with this loss and other labels or costs."""
        loss = self.loss
        return _core.Terms(
            y, cost, loss.target_scale, loss.epsilon, loss.one_sided, loss.bounded
        )

    @cached_property
    def box(self) -> Box:
        """Where the dual variables may lie."""
        return self.loss.box(self.problem.y, self.problem.cost)

    def regularizer(self, w: Array, b: float) -> float:
        """½‖w‖², and the intercept's share if it is penalised."""
        if not self.loss.regularized:
            return 0.0
        square = float(w @ w)
        if self.intercept is Intercept.PENALIZED:
            square += (b / self.intercept_scaling) ** 2
        return 0.5 * square

    def weights_of(self, beta: Array) -> tuple[Array, float]:
        """(w, b) = Σ β_i (x_i, ·): the primal point that belongs to β. A free b is not in it."""
        w = self.problem.combine(beta)
        if self.intercept is Intercept.PENALIZED:
            return w, self.intercept_scaling**2 * float(beta.sum())
        return w, 0.0

    def primal(self, w: Array, b: float) -> float:
        """P(w, b)."""
        z = self.problem.predict(w, b)
        losses = self.loss.value(self.problem.y, self.problem.cost, z)
        return self.regularizer(w, b) + float(losses.sum())

    def dual(self, beta: Array) -> float:
        """D(β), for a feasible β."""
        w, b = self.weights_of(beta)
        terms = self.loss.conjugate(self.problem.y, self.problem.cost, beta)
        return float(terms.sum()) - self.regularizer(w, b)

    def feasible(self, beta: Array) -> Array:
        """The dual point made feasible: clipped to its box and, for a free intercept, balanced.

        Balancing scales down the heavier of the positive and the negative part, which keeps the
        box because 0 lies in it. Without a regulariser only β = 0 is known to be feasible.
        """
        if not self.loss.regularized:
            return np.zeros_like(beta)
        beta = np.clip(beta, self.box.lower, self.box.upper)
        if self.intercept is Intercept.FREE:
            positive = float(beta.sum(where=beta > 0.0))
            negative = -float(beta.sum(where=beta < 0.0))
            if positive > negative:
                np.multiply(beta, negative / positive, out=beta, where=beta > 0.0)
            elif negative > positive:
                np.multiply(beta, positive / negative, out=beta, where=beta < 0.0)
        return beta
