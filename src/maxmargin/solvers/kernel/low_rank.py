"""Where SMO starts if C is large and K of low rank: at the optimum of a linear problem.

Pairs make steps of about 1/K_ii, far from the size of C, and nothing but the box ends them in the
directions in which K is 0. A Newton step of the linear problem knows no such difference.
"""

from __future__ import annotations

import math

import numpy as np

from maxmargin.certificate import Status
from maxmargin.data.arrays import UNIT, Array
from maxmargin.data.problem import Problem
from maxmargin.kernels import Kernel, Linear, Polynomial, Precomputed
from maxmargin.objectives.kernel import KernelObjective
from maxmargin.objectives.linear import LinearObjective
from maxmargin.runtime.monitor import Monitor
from maxmargin.solvers.base import Start
from maxmargin.solvers.linear.newton import Newton

#: C_i K_ii from which pairs crawl, the least samples for each column, and the most columns.
_LARGE, _SAMPLES_PER_COLUMN, _MOST = 1e4, 4, 500

#: Share of the tolerance that the linear problem is solved to.
_TOL_SHARE = 0.1


def low_rank_optimum(objective: KernelObjective, monitor: Monitor) -> Array | None:
    """Return β of the linear problem on rows G with GG' = K; None if C is small, or G large."""
    problem = objective.problem
    if type(objective) is not KernelObjective or not objective.convex:
        return None
    most = min(problem.n_samples // _SAMPLES_PER_COLUMN, _MOST)
    small = float((problem.cost * objective.diagonal).max()) < _LARGE
    if small or _rank(objective.kernel, problem.n_features) > most:
        return None
    rows = _factor(objective, most, monitor)
    if rows is None:
        return None
    linear = LinearObjective(
        Problem(rows, problem.y, problem.cost), objective.loss, objective.intercept
    )
    found = Newton().solve(linear, monitor.on(linear, _TOL_SHARE * monitor.tol), Start())
    return found.beta if found.status is Status.OPTIMAL else None


def _rank(kernel: Kernel, n_features: int) -> float:
    """Return the rank that K has at most, 0 where it is to be tried."""
    if isinstance(kernel, Precomputed):
        return 0
    if isinstance(kernel, Polynomial):
        return math.comb(n_features + kernel.degree, kernel.degree)
    return n_features if isinstance(kernel, Linear) else math.inf


def _factor(objective: KernelObjective, most: int, monitor: Monitor) -> Array | None:
    """Return G with GG' = K up to rounding, by pivoted Cholesky; None if K has a higher rank."""
    X, left = objective.problem.X, objective.diagonal.copy()
    least = UNIT * len(left) * float(left.max())
    rows = np.zeros((len(left), most))
    for k in range(most):
        pivot = int(left.argmax())
        if left[pivot] <= least:
            return np.ascontiguousarray(rows[:, :k])
        if monitor.stopped():
            return None
        column = objective.kernel(X, X[[pivot]])[:, 0] - rows[:, :k] @ rows[pivot, :k]
        rows[:, k] = column / math.sqrt(left[pivot])
        left -= rows[:, k] ** 2
        left[pivot] = 0.0
    return rows if left.max() <= least else None
