"""SMO on so few samples that the whole kernel matrix is made: `core/smo/dense.hpp`."""

from __future__ import annotations

import math

import numpy as np

import maxmargin._core as _core
from maxmargin.certificate import Status
from maxmargin.objectives.base import PrimalDual
from maxmargin.objectives.kernel import KernelObjective
from maxmargin.runtime.monitor import Monitor
from maxmargin.solution import Solution, SolverInfo
from maxmargin.solvers.base import Start
from maxmargin.solvers.kernel.value_checks import refuse_huge_values, refuse_improper

#: Outer steps between looks at a gap that is not promising.
STEPS_PER_CHECK_OF_GAP = 100

#: Looks in a row at points that seemed good enough, without a gap lower by a tenth.
_PATIENCE = 30


class StallCount:
    """Counts gap checks in a row of points that seemed good enough and brought no smaller gap."""

    def __init__(self) -> None:
        self._least, self._failures = math.inf, 0

    def reached(self, gap: float) -> bool:
        """Count one more; whether there were too many."""
        self._failures = 0 if gap < 0.9 * self._least else self._failures + 1
        self._least = min(self._least, gap)
        return self._failures >= _PATIENCE


def solve_whole(name: str, objective: KernelObjective, monitor: Monitor, start: Start) -> Solution:
    """Make outer steps; when the gap looks small enough, ask for the proof."""
    form, kernel, X = objective.standard_form(), objective.kernel, objective.problem.X
    K = kernel(X, X)
    if kernel.mercer is None:
        refuse_huge_values(K)
        K = 0.5 * (K + K.T)
    if kernel.mercer is not False:
        refuse_improper(np.diagonal(K))
    n = len(K)
    smo = _core.DenseSmo(
        K,
        form.target[:n],
        form.by_group(form.lower),
        form.by_group(form.upper),
        form.epsilon,
        form.balanced,
    )
    begin = form.begin if start.beta is None else objective.variables(form, start.beta)
    if begin.any():
        smo.start(form.by_group(begin))
    tol, stall = monitor.tol, StallCount()
    steps = 0 if start.beta is not None else monitor.iterations_left(0, STEPS_PER_CHECK_OF_GAP)
    while True:
        satisfied = smo.run(tol, form.negligible, steps, monitor.stopped)
        status = monitor.judge(PrimalDual(None, 0.0, smo.beta, smo.values), smo.outer_steps)
        if status is not Status.RUNNING:
            break
        if satisfied:
            tol *= 0.5
            if stall.reached(monitor.history[-1].gap):
                status = Status.STALLED
                break
        steps = monitor.iterations_left(smo.outer_steps, STEPS_PER_CHECK_OF_GAP)
    return monitor.finish(name, status, SolverInfo(violation=smo.violation, steps=smo.steps))
