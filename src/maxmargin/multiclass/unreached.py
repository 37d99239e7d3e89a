"""Binary problems that the clock or Ctrl-C leaves unbegun: w = 0 and the best constant f."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from maxmargin.certificate import Certificate, Status, relative
from maxmargin.data.arrays import Array
from maxmargin.losses import Loss
from maxmargin.objectives.base import Intercept
from maxmargin.solution import Record, Solution


class Unreached:
    """Makes their solutions without rows, as there may be tens of thousands of them.

    With C₊ and C₋ the costs of both labels, P(0, b) is least for the b of the heavier label under
    the hinge and for (C₊ − C₋)/(C₊ + C₋) under its square. The dual point is 0. Where the margin is
    a variable (`nu`), it is 0 too, and so are b and P; a dual point there is none.
    """

    def __init__(
        self, loss: Loss, intercept: Intercept, status: Status, solver: str, *, nu: bool = False
    ) -> None:
        self._loss = replace(loss, target_scale=0.0) if nu else loss
        self._free, self._nu = intercept is Intercept.FREE, nu
        self._status, self._solver = status, solver

    def solutions(
        self, ys: list[Array], costs: list[Array], n_weights: list[int], seconds: float
    ) -> list[Solution]:
        """Return those of labels ±1, costs and so many weights each.

        What they have in common is made once, read-only.
        """
        begins = np.concatenate([[0], np.cumsum([len(y) for y in ys[:-1]])]).astype(np.intp)
        y, cost = np.concatenate(ys), np.concatenate(costs)
        live = cost > 0.0
        sums = [np.add.reduceat(terms, begins) for terms in (cost, cost * y, 1.0 * live, y * live)]
        known: dict[tuple[Any, ...], Solution] = {}
        found = []
        for labels, size, *key in zip(
            ys, n_weights, *(part.tolist() for part in sums), strict=True
        ):
            place = (len(labels), size, *key)
            if place not in known:
                known[place] = self._made(len(labels), size, key, seconds)
            found.append(known[place])
        return found

    def _made(self, n: int, n_weights: int, sums: list[float], seconds: float) -> Solution:
        """Return the solution for Σ C_i, Σ C_i y_i, and Σ 1 and Σ y_i where C_i > 0."""
        b, certificate = (0.0, self._nothing()) if self._nu else self._constant(*sums)
        return Solution(
            w=_zeros(n_weights),
            b=b,
            beta=_zeros(n),
            loss=self._loss,
            certificate=certificate,
            solver=self._solver,
            n_iter=0,
            mean_cost=sums[0] / max(1, n),
            history=[Record(seconds, 0, certificate.primal, certificate.dual, certificate.gap)],
        )

    def _constant(
        self, total: float, excess: float, n_live: float, sides: float
    ) -> tuple[float, Certificate]:
        """Return the best b, and the certificate."""
        b = self._intercept(total, excess)
        slacks = max(0.0, 1.0 - b), max(0.0, 1.0 + b)
        up, down = slacks if self._loss.bounded else (slacks[0] ** 2, slacks[1] ** 2)
        primal = 0.5 * (total + excess) * up + 0.5 * (total - excess) * down
        slack_sum = 0.5 * (n_live + sides) * slacks[0] + 0.5 * (n_live - sides) * slacks[1]
        violation = _violation(slacks, self._loss)
        return b, self._certificate(primal, 0.0, primal, violation, slack_sum)

    def _nothing(self) -> Certificate:
        """Return the certificate of w = 0, b = 0 and ρ = 0, which says nothing of the optimum."""
        return self._certificate(0.0, -math.inf, math.inf, 1.0, 0.0)

    def _certificate(
        self, primal: float, dual: float, gap: float, violation: float, slack_sum: float
    ) -> Certificate:
        return Certificate(
            primal=primal,
            dual=dual,
            gap=gap,
            relative_gap=relative(gap, dual),
            kkt_violation=violation,
            n_support_free=0,
            n_support_bounded=0,
            margin=math.inf,
            slack_sum=slack_sum,
            status=self._status,
        )

    def _intercept(self, total: float, excess: float) -> float:
        if not self._free or excess == 0.0:
            return 0.0
        return math.copysign(1.0, excess) if self._loss.bounded else excess / total


def _zeros(n: int) -> Array:
    """Return zeros that are read-only."""
    zeros = np.zeros(n)
    zeros.flags.writeable = False
    return zeros


def _violation(slacks: tuple[float, float], loss: Loss) -> float:
    """Return the worst violation of the optimality conditions, in units of the margin."""
    return min(1.0, max(slacks)) if loss.bounded else max(slacks)
