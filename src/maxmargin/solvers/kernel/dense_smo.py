"""SMO on so few samples that the full kernel matrix is computed: `core/smo/dense.hpp`."""

from __future__ import annotations

import numpy as np

import maxmargin._core as _core
from maxmargin.certificate import Status
from maxmargin.objectives.base import PrimalDual
from maxmargin.objectives.kernel import KernelObjective
from maxmargin.runtime.monitor import Monitor
from maxmargin.runtime.stall import StallDetector
from maxmargin.solution import Solution, SolverInfo
from maxmargin.solvers.base import Start
from maxmargin.solvers.kernel.value_checks import refuse_huge_values, refuse_improper

#: Outer steps between gap checks where no proof is expected.
STEPS_PER_CHECK_OF_GAP = 100

#: Gap checks in a row, where a proof was expected, that may fail to lower the gap by a tenth.
PATIENCE = 30


def solve_dense(name: str, objective: KernelObjective, monitor: Monitor, start: Start) -> Solution:
    """Make outer steps; certify the point when the estimate of its gap is small enough."""
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
    tol, stall = monitor.tol, StallDetector(PATIENCE)
    steps = 0 if start.beta is not None else monitor.iterations_left(0, STEPS_PER_CHECK_OF_GAP)
    while True:
        satisfied = smo.run(tol, form.negligible, steps, monitor.stopped)
        status = monitor.judge(PrimalDual(None, 0.0, smo.beta, smo.values), smo.outer_steps)
        if status is not Status.RUNNING:
            break
        if satisfied:
            tol *= 0.5
            if stall.count(stall.lowers_gap(monitor.history[-1].gap)):
                status = Status.STALLED
                break
        steps = monitor.iterations_left(smo.outer_steps, STEPS_PER_CHECK_OF_GAP)
    return monitor.finish(name, status, SolverInfo(violation=smo.violation, steps=smo.steps))
