"""Where SMO stalls on a kernel regression: a problem with fewer variables and the same optimum."""

from __future__ import annotations

from dataclasses import replace

from maxmargin.certificate import Status
from maxmargin.objectives.kernel import KernelObjective
from maxmargin.runtime.monitor import Monitor
from maxmargin.solution import Solution
from maxmargin.solvers.base import Solver, Start


def retried(
    solver: Solver, objective: KernelObjective, monitor: Monitor, found: Solution
) -> Solution:
    """Return the solution; of a stalled fit, that of the reduced problem in as many iterations."""
    reduced = objective.reduced(found.w, found.b, found.beta)
    if found.status is not Status.STALLED or reduced is None:
        return found
    rest = monitor.on(reduced, max_iter=monitor.iterations_left(found.n_iter, found.n_iter))
    answer = solver.solve(reduced, rest, Start(beta=found.beta))
    judged = objective.judge_reduced(reduced, (answer.w, answer.b, answer.beta), found)
    status = monitor.accept(judged, found.n_iter + answer.n_iter)
    before, after = found.info, answer.info
    info = replace(after, steps=before.steps + after.steps, rows=before.rows + after.rows)
    return monitor.finish(solver.name, Status.STALLED if status is Status.RUNNING else status, info)
