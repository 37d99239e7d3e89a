"""L1Objective: the squared hinge with a penalty of ‖w‖₁ instead of ½‖w‖²."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

import maxmargin._core as _core
from maxmargin.data.arrays import Array
from maxmargin.data.checks import as_floats
from maxmargin.data.problem import Problem
from maxmargin.losses import SQUARED_HINGE, Loss
from maxmargin.objectives.objective import NEGLIGIBLE, Intercept


@dataclass(frozen=True, eq=False)
class L1Objective:
    """P(w, b) = ‖w‖₁ + Σ C_i max(0, 1 − y_i (<w, x_i> + b))², to be minimised.

    A penalised intercept is the weight of a further feature of constant value s =
    `intercept_scaling`, so that |b|/s joins ‖w‖₁. With α_i = y_i β_i the dual is

        D(β) = Σ α_i − Σ α_i² / (4 C_i),   α_i ≥ 0,   |Σ β_i x_ij| ≤ 1 for every column j,

    and |s Σ β_i| ≤ 1 for a penalised intercept, Σ β_i = 0 for a free one. The constraints do not
    contain C: a dual point of one C is one of any other. β is unique at the optimum, w need not be.
    """

    loss: ClassVar[Loss] = SQUARED_HINGE
    kernel: ClassVar[None] = None
    hopeless: ClassVar[float] = math.inf  # an optimum always exists
    unit: ClassVar[float] = 1.0  # the scale of f

    problem: Problem
    intercept: Intercept = Intercept.FREE
    intercept_scaling: float = 1.0

    def __post_init__(self) -> None:
        as_floats(self, "intercept_scaling")
        if not self.problem.extent.signs:
            labels = np.unique(self.problem.y)[:5].tolist()
            raise ValueError(f"The squared hinge needs labels -1 and +1, got {labels}.")

    @cached_property
    def judge(self) -> _core.Judge:
        """The loss as the certificate reads it."""
        return _core.Judge(self.problem.y, self.problem.cost, 1.0, 0.0, True, False)

    @property
    def at_zero(self) -> float:
        """P(0, 0)."""
        return float(self.problem.extent.total_cost)

    @cached_property
    def negligible(self) -> float:
        """A value of the objective that counts as zero; see `Objective.negligible`."""
        longest = self.problem.longest
        needed = 1.0 / math.sqrt(longest) if longest > 0.0 else math.inf
        return NEGLIGIBLE * min(self.at_zero, needed)

    def regularizer(self, w: Array, b: float) -> float:
        """‖w‖₁, and the intercept's share if it is penalised."""
        size = float(np.abs(w).sum())
        if self.intercept is Intercept.PENALIZED:
            size += abs(b) / self.intercept_scaling
        return size

    def primal(self, w: Array, b: float) -> float:
        """P(w, b)."""
        z = self.problem.predict(w, b)
        losses = self.loss.value(self.problem.y, self.problem.cost, z)
        return self.regularizer(w, b) + float(losses.sum())

    def dual(self, beta: Array) -> float:
        """D(β), for a feasible β."""
        return float(self.loss.conjugate(self.problem.y, self.problem.cost, beta).sum())

    def best_intercept(self, z: Array, start: float = 0.0) -> float:
        """Minimise the losses over a free b, sought from some b on."""
        return float(self.judge.best_intercept(z, start))

    def dual_of(self, f: Array) -> Array:
        """Return the β that belongs to values f, which need not be those of any w.

        β_i = 2 y_i C_i max(0, 1 − y_i f_i), for a free intercept after the shift of f that makes
        it sum to 0. The columns' constraints are met by `scale` only.
        """
        y, cost = self.problem.y, self.problem.cost
        if self.intercept is Intercept.FREE:
            f = f + self.best_intercept(f)
        return self.signed(2.0 * y * cost * np.maximum(0.0, 1.0 - y * f))

    def signed(self, beta: Array) -> Array:
        """Return β with the signs of y, 0 at cost 0 and, for a free intercept, balanced.

        What is too heavy of one label is scaled down; what rounding leaves is taken from the
        largest entry.
        """
        y, cost = self.problem.y, self.problem.cost
        beta = np.where((y * beta > 0.0) & (cost > 0.0), beta, 0.0)
        if self.intercept is not Intercept.FREE:
            return beta
        above, below = float(beta.sum(where=y > 0.0)), -float(beta.sum(where=y < 0.0))
        if min(above, below) <= 0.0:
            return np.zeros_like(beta)
        heavy = y > 0.0 if above > below else y < 0.0
        beta[heavy] *= min(above, below) / max(above, below)
        largest = int(np.abs(beta).argmax())
        moved = beta[largest] - math.fsum(beta)
        if moved * beta[largest] > 0.0:
            beta[largest] = moved
        return beta
