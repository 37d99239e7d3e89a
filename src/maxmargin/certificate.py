"""Certificate: the proof that goes with every fitted model.

This is the only place where a primal-dual pair is judged. It knows nothing of the solver that made
the pair: it recomputes every product from the rows, with the formulas of `losses.py` and not those
of the core.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from maxmargin.objective import Objective
from maxmargin.validation import Array


class Status(Enum):
    """Why the solver stopped."""

    RUNNING = "running"
    OPTIMAL = "optimal"
    STOPPED_BY_ITERATIONS = "stopped by max_iter"
    STOPPED_BY_TIME = "stopped by max_time"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class Certificate:
    """Primal value, dual bound and what lies between them.

    Attributes
    ----------
    primal : float
        P(w, b), the value of the objective at the fitted model.
    dual : float
        D(β), a lower bound of P everywhere.
    gap : float
        P − D ≥ 0, summed from non-negative parts, so that rounding cannot turn it negative.
    relative_gap : float
        gap / dual: the fitted objective exceeds the optimum by at most this fraction. A gap below
        `Objective.negligible` is compared with that, if the optimum is smaller still.
    kkt_violation : float
        Worst violation of the optimality conditions, in units of the margin.
    n_support_free, n_support_bounded : int
        Support vectors with β inside its box, and at a bound other than 0.
    margin : float
        1/‖w‖, the distance from the separator to where y f(x) = 1.
    slack_sum : float
        Σ ξ_i, unweighted.
    status : Status
        Why the solver stopped.
    """

    primal: float
    dual: float
    gap: float
    relative_gap: float
    kkt_violation: float
    n_support_free: int
    n_support_bounded: int
    margin: float
    slack_sum: float
    status: Status = Status.RUNNING

    def with_status(self, status: Status) -> Certificate:
        """Return the same numbers under another status."""
        return replace(self, status=status)

    def sentence(self) -> str:
        """Say in words what is proven."""
        if self.gap == 0.0:
            return "objective proven optimal"
        if not math.isfinite(self.relative_gap):
            return f"nothing proven yet but an objective within {self.gap:.3g} of the optimum"
        if self.relative_gap * self.dual < 0.999 * self.gap:
            return f"objective proven within {self.gap:.2g} of the optimum, which is nearly 0"
        return f"objective proven within {100 * self.relative_gap:.2g} % of the optimum"

    def __str__(self) -> str:
        support = self.n_support_free + self.n_support_bounded
        return "\n".join(
            [
                f"status           {self.status.value}",
                f"primal           {self.primal:.8g}",
                f"dual             {self.dual:.8g}",
                f"gap              {self.gap:.3g} (relative {self.relative_gap:.2g})",
                f"KKT violation    {self.kkt_violation:.2g}",
                f"support vectors  {support} ({self.n_support_free} free,"
                f" {self.n_support_bounded} bounded)",
                f"margin 1/‖w‖     {self.margin:.6g}",
                f"sum of slacks    {self.slack_sum:.6g}",
                self.sentence(),
            ]
        )


def total(certificates: Sequence[Certificate]) -> Certificate:
    """Return the certificate of a sum of independent objectives, one-vs-rest for example."""
    if len(certificates) == 1:
        return certificates[0]
    gap, dual = sum(c.gap for c in certificates), sum(c.dual for c in certificates)
    proven = max(c.relative_gap for c in certificates)
    unsolved = [c.status for c in certificates if c.status is not Status.OPTIMAL]
    return Certificate(
        primal=sum(c.primal for c in certificates),
        dual=dual,
        gap=gap,
        relative_gap=min(relative(gap, dual), proven),
        kkt_violation=max(c.kkt_violation for c in certificates),
        n_support_free=sum(c.n_support_free for c in certificates),
        n_support_bounded=sum(c.n_support_bounded for c in certificates),
        margin=min(c.margin for c in certificates),
        slack_sum=sum(c.slack_sum for c in certificates),
        status=unsolved[0] if unsolved else Status.OPTIMAL,
    )


def relative(gap: float, dual: float, negligible: float = 0.0) -> float:
    """Gap / dual, the bound on (P − P*) / P*; a gap that is negligible is compared with that."""
    scale = max(dual, negligible) if gap <= negligible else dual
    if gap == 0.0:
        return 0.0
    return gap / scale if scale > 0.0 else math.inf


def certify(objective: Objective, w: Array, b: float, beta: Array) -> Certificate:
    """Judge the primal point (w, b) by the dual point β.

    β is made feasible first (`Objective.feasible`). With z = Xw + b and w_β = Σ β_i x_i,

        P(w, b) − D(β) = ½‖w − w_β‖² + Σ [C_i ℓ(z_i) + z_i β_i − conjugate_i(β_i)],

    and each bracket is a Fenchel-Young gap, hence non-negative.
    """
    problem, loss = objective.problem, objective.loss
    beta = objective.feasible(beta)
    z = problem.predict(w, b)
    losses = loss.value(problem.y, problem.cost, z)
    conjugates = loss.conjugate(problem.y, problem.cost, beta)
    dual_w, dual_b = objective.weights_of(beta)
    primal = objective.regularizer(w, b) + float(losses.sum())
    dual = float(conjugates.sum()) - objective.regularizer(dual_w, dual_b)
    brackets = np.maximum(0.0, losses + z * beta - conjugates)
    gap = objective.regularizer(w - dual_w, b - dual_b) + float(brackets.sum())
    norm = math.sqrt(float(w @ w))
    at_bound = (beta == objective.box.lower) | (beta == objective.box.upper)
    return Certificate(
        primal=primal,
        dual=dual,
        gap=gap,
        relative_gap=relative(gap, dual, objective.negligible),
        kkt_violation=_kkt_violation(objective, z, beta),
        n_support_free=int(np.count_nonzero((beta != 0.0) & ~at_bound)),
        n_support_bounded=int(np.count_nonzero((beta != 0.0) & at_bound)),
        margin=1.0 / norm if norm > 0.0 else math.inf,
        slack_sum=float(loss.slack(problem.y, z).sum()),
    )


def _kkt_violation(objective: Objective, z: Array, beta: Array) -> float:
    """Largest |β_i − prox(β_i + C_i r_i)| / C_i with r_i = target_i − z_i − curvature_i β_i.

    It is |r_i| (less ε) for a free β_i, and falls to 0 as β_i reaches the bound that r_i points to.
    """
    problem, loss = objective.problem, objective.loss
    cost = problem.cost
    residual = loss.target_scale * problem.y - z - objective.box.curvature * beta
    moved = beta + cost * residual
    moved = np.sign(moved) * np.maximum(0.0, np.abs(moved) - cost * loss.epsilon)
    moved = np.clip(moved, objective.box.lower, objective.box.upper)
    scale = np.where(cost > 0.0, cost, 1.0)
    return float(np.max(np.abs(beta - moved) / scale, initial=0.0))
