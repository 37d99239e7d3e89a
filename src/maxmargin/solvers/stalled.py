"""Where SMO stalls on a kernel regression: a problem with fewer variables and the same optimum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from maxmargin.certificate import Status
from maxmargin.objective import Intercept, Objective
from maxmargin.problem import Problem
from maxmargin.solution import Solution
from maxmargin.solvers.base import Monitor, Solver, Start

#: Notes of a solution that add up.
_COUNTS = ("steps", "rows")


def with_less(objective: Objective, found: Solution) -> Objective | None:
    """Return a problem whose optimum is that of the objective, up to rounding; None: there is none.

    A tube that is a variable is 0 where Σ |β_i| stays below the mass; without it no β_i is the
    small difference of two large variables. With targets far from 0, the rounding of the intercept
    may cost more than the fit itself; w adapts to it where it is given.
    """
    problem = objective.problem
    if objective.loss.one_sided or objective.hard:
        return None
    if objective.mass is not None:
        slack = float(np.abs(found.beta).sum()) < objective.mass
        return replace(objective.at(0.0), mass=None) if slack else None
    if objective.intercept is not Intercept.FREE or problem.level == 0.0:
        return None
    b = problem.own_intercept(found.w, found.b)
    rest = Problem(problem.X, problem.y - b, problem.cost)
    return replace(objective, problem=rest, intercept=Intercept.NONE)


def settled(solver: Solver, objective: Objective, monitor: Monitor, found: Solution) -> Solution:
    """Return the solution of a fit; of a stalled one, after as many iterations with less in it."""
    less = with_less(objective, found)
    if found.status is not Status.STALLED or less is None:
        return found
    answer = solver.solve(less, monitor.of(less, found.n_iter), Start(beta=found.beta))
    status = monitor.judge_less(less, answer, found.n_iter + answer.n_iter)
    notes, more = found.notes, answer.notes
    counts = {name: notes[name] + more[name] for name in _COUNTS if name in notes}
    return monitor.finish(
        solver.name,
        Status.STALLED if status is Status.RUNNING else status,
        violation=more["violation"],
        **counts,
    )
