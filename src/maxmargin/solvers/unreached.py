"""Binary problems that the clock or Ctrl-C leaves unbegun: w = 0 and the best constant f."""

from __future__ import annotations

import math

import numpy as np

from maxmargin.certificate import Certificate, Status, relative
from maxmargin.losses import Loss
from maxmargin.objective import Intercept
from maxmargin.solution import Record, Solution
from maxmargin.validation import Array


class Unreached:
    """Makes their solutions without rows, as there may be tens of thousands of them.

    With C₊ and C₋ the costs of both labels, P(0, b) is least for the b of the heavier label under
    the hinge and for (C₊ − C₋)/(C₊ + C₋) under its square. The dual point is 0.
    """

    def __init__(self, loss: Loss, intercept: Intercept, status: Status, solver: str) -> None:
        self._loss, self._free = loss, intercept is Intercept.FREE
        self._status, self._solver = status, solver

    def solution(self, y: Array, cost: Array, n_weights: int, seconds: float) -> Solution:
        """Return that of labels ±1 and costs, for so many weights."""
        total, excess = float(cost.sum()), float(cost @ y)
        b = self._intercept(total, excess)
        slacks = max(0.0, 1.0 - b), max(0.0, 1.0 + b)
        up, down = slacks if self._loss.bounded else (slacks[0] ** 2, slacks[1] ** 2)
        primal = 0.5 * (total + excess) * up + 0.5 * (total - excess) * down
        live = cost > 0.0
        n_live, sides = int(np.count_nonzero(live)), float(y @ live)
        certificate = Certificate(
            primal=primal,
            dual=0.0,
            gap=primal,
            relative_gap=relative(primal, 0.0),
            kkt_violation=_violation(slacks, self._loss),
            n_support_free=0,
            n_support_bounded=0,
            margin=math.inf,
            slack_sum=0.5 * (n_live + sides) * slacks[0] + 0.5 * (n_live - sides) * slacks[1],
            status=self._status,
        )
        return Solution(
            w=np.zeros(n_weights),
            b=b,
            beta=np.zeros(len(y)),
            loss=self._loss,
            certificate=certificate,
            solver=self._solver,
            n_iter=0,
            mean_cost=total / max(1, len(y)),
            history=[Record(seconds, 0, primal, 0.0, primal)],
            notes={"steps": 0.0, "bound": math.inf},
        )

    def _intercept(self, total: float, excess: float) -> float:
        if not self._free or excess == 0.0:
            return 0.0
        return math.copysign(1.0, excess) if self._loss.bounded else excess / total


def _violation(slacks: tuple[float, float], loss: Loss) -> float:
    """Return the worst violation of the optimality conditions, in units of the margin."""
    return min(1.0, max(slacks)) if loss.bounded else max(slacks)
