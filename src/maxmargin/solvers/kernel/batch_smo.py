"""Problems that share one small kernel matrix, in one compiled call: `core/smo/batch.hpp`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin.certificate import Status
from maxmargin.data.arrays import UNIT, Array
from maxmargin.kernels import Precomputed
from maxmargin.losses import HINGE
from maxmargin.objectives.base import NEGLIGIBLE, NO_SHARES, Intercept
from maxmargin.objectives.kernel import KernelObjective, Setting, expansion_certificate
from maxmargin.objectives.nu import NuObjective, shares_of, short
from maxmargin.objectives.rounding import expansion_error
from maxmargin.runtime.monitor import Monitor
from maxmargin.solution import Record, Solution, SolverInfo
from maxmargin.solvers.base import Start
from maxmargin.solvers.kernel.dense_smo import STEPS_PER_CHECK_OF_GAP
from maxmargin.solvers.kernel.value_checks import refuse_improper

#: Rows, targets and costs of one problem.
Task = tuple[NDArray[np.intp], Array, Array]


def can_solve(objective: KernelObjective) -> bool:
    """Whether problems like this one can be solved together."""
    known = isinstance(objective.kernel, Precomputed) and objective.kernel.mercer is True
    kinds = (KernelObjective, NuObjective)
    return known and objective.loss is HINGE and type(objective) in kinds


@dataclass(frozen=True, eq=False)
class BatchSMO:
    """SMO of problems over some samples of one kernel matrix; `name` is that of the solutions.

    `positions`, a column, says where in the matrix a row of the tasks is, `nu_sums` has ν Σ C_i of
    each.
    """

    name: str
    positions: Array
    tasks: list[Task]
    nu_sums: list[float | None]

    def solve_many(
        self, objective: KernelObjective, group: range, starts: list[Start], monitor: Monitor
    ) -> list[Solution | Start]:
        """Solve those that one gap check proves."""
        if not can_solve(objective):
            return [*starts]
        tasks, nu_sums = [self.tasks[k] for k in group], [self.nu_sums[k] for k in group]
        found = solve_parts(self.name, objective, self.positions, tasks, nu_sums, monitor)
        late = monitor.stopped()
        return [
            one if isinstance(one, Solution)
            else replace(start, beta=one) if late and one.any()  # the one under way
            else start
            for start, one in zip(starts, found, strict=True)
        ]  # fmt: skip


def solve_parts(
    name: str,
    objective: KernelObjective,
    positions: Array,
    tasks: Sequence[Task],
    nu_sums: Sequence[float | None],
    monitor: Monitor,
) -> list[Solution | Array]:
    """Solve problems over some samples of a kernel matrix; β if the first gap check fails.

    `objective` is one of them; the others have the same loss and kind of intercept, and each its
    ν Σ C_i. `positions`, a column, has the row of the matrix for each row of the tasks. The monitor
    has the limits.
    """
    assert isinstance(objective.kernel, Precomputed)
    K, free = objective.kernel.matrix, objective.intercept is Intercept.FREE
    refuse_improper(np.diagonal(K))
    rows, y, cost = (np.concatenate(arrays) for arrays in zip(*tasks, strict=True))
    samples = positions[rows, 0].astype(np.int32)
    ends = np.cumsum([len(own) for own, _, _ in tasks], dtype=np.int32)
    begins = np.concatenate([[0], ends[:-1]])
    totals = np.add.reduceat(cost, begins)
    nu = nu_sums[0] is not None
    given = np.array(nu_sums, dtype=np.float64) if nu else np.zeros(len(tasks))
    diagonal = np.diagonal(K)[samples]
    negligible = np.zeros(len(tasks)) if nu else _negligible(diagonal, begins, y, cost, free=free)

    parts = _core.ProblemBatch(K, ends, samples, y, cost, given, free)
    beta, most = np.zeros(len(y)), monitor.iterations_left(0, STEPS_PER_CHECK_OF_GAP)
    outcomes = parts.solve(negligible, monitor.tol, most, monitor.stopped, beta)
    found, seconds = parts.certify(beta), monitor.seconds

    def solution(task: int) -> Solution | Array:
        outcome, certified = outcomes[task], found[task]
        coef, n_iter = beta[begins[task] : ends[task]], outcome.outer_steps
        loss, b, shares = objective.loss, certified.b, NO_SHARES
        if nu:
            loss, shares = (
                replace(loss, target_scale=certified.number),
                shares_of(certified.fractions),
            )
        setting = Setting(loss, free, nu_sums[task], float(negligible[task]), convex=True)
        squares = certified.square, certified.square, 0.0
        own, sums = diagonal[begins[task] : ends[task]], certified.sums
        error = expansion_error(coef, own, certified.square, objective.value_rounding).spread
        error += UNIT * loss.target_scale * bool(error)  # of z + b at a kink
        error_bound = 4.0 * error * (float(totals[task]) + sums.size)
        certificate = expansion_certificate(setting, sums, b, squares, error_bound, Status.OPTIMAL)
        proven = outcome.satisfied and certificate.relative_gap <= monitor.tol
        if not proven or (nu and short(coef, own, certified.square)):
            return coef
        record = Record(seconds, n_iter, certificate.primal, certificate.dual, certificate.gap)
        info = SolverInfo(violation=outcome.violation, steps=outcome.steps)
        mean = float(totals[task]) / len(coef)
        return Solution(
            coef, b, coef, loss, certificate, name, n_iter, mean, [record], info, shares
        )

    return [solution(task) for task in range(len(tasks))]


def _negligible(
    diagonal: Array, begins: NDArray[np.intp], y: Array, cost: Array, *, free: bool
) -> Array:
    """Return `Objective.negligible` of each problem."""
    above, below = (np.add.reduceat(np.where(at, cost, 0.0), begins) for at in (y > 0.0, y < 0.0))
    lighter = np.minimum(above, below)
    constants = np.where(free & (lighter > 0.0), 2.0 * lighter, above + below)
    longest = np.maximum.reduceat(diagonal, begins)
    with np.errstate(over="ignore"):
        needed = np.divide(0.5, longest, out=np.full_like(longest, np.inf), where=longest > 0.0)
    return NEGLIGIBLE * np.minimum(constants, needed)
