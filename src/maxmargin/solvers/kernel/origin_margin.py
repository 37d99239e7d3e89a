"""The hard margin without an intercept, by the nearest point of a convex hull."""

from __future__ import annotations

from maxmargin.certificate import Certificate, Status
from maxmargin.losses import HINGE
from maxmargin.objectives.origin_margin import OriginMarginObjective
from maxmargin.runtime.monitor import Monitor
from maxmargin.solution import Record, Solution
from maxmargin.solvers.base import Start
from maxmargin.solvers.kernel.smo import SMO
from maxmargin.solvers.requirements import require

#: By what the tolerance of the nearest point is lowered, and how often, until the margin is proven.
_TIGHTER, _ROUNDS = 0.1, 6


class OriginMargin:
    """SMO to the nearest point of the hull, as near as the proof of the margin needs it."""

    name = SMO.name

    def solve(self, objective: OriginMarginObjective, monitor: Monitor, start: Start) -> Solution:
        """Return the largest margin and its proof, or that there is none."""
        require(objective, self.name, (OriginMarginObjective,))
        tol, start = monitor.tol, Start(start.seed)
        for _ in range(_ROUNDS):
            tol *= _TIGHTER
            nearest = SMO().solve(objective, monitor.on(objective, tol), start)
            beta = nearest.beta / nearest.beta.sum()
            point, certificate, *_ = objective.hard_margin(beta)
            status = _verdict(objective, certificate, monitor.tol, nearest.status)
            if status is not Status.RUNNING:
                break
            start = Start(beta=nearest.beta)
        else:
            status = Status.STALLED
        bounds = certificate.primal, certificate.dual, certificate.gap
        return Solution(
            w=point.w,
            b=point.b,
            beta=point.beta,
            loss=HINGE,
            certificate=certificate.with_status(status),
            solver=self.name,
            n_iter=nearest.n_iter,
            mean_cost=objective.problem.n_samples / len(point.w),
            history=[Record(monitor.seconds, nearest.n_iter, *bounds)],
        )


def _verdict(
    objective: OriginMarginObjective, certificate: Certificate, tol: float, nearest: Status
) -> Status:
    """Say whether the margin is proven, or that there is none; RUNNING if neither is."""
    if certificate.relative_gap <= tol:
        return Status.OPTIMAL
    if not certificate.dual < objective.infeasible_above:
        return Status.INFEASIBLE
    return Status.RUNNING if nearest is Status.OPTIMAL else nearest
