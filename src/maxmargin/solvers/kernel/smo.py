"""Sequential minimal optimisation for kernel machines; steps in `core/smo/two_level.hpp`."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin.certificate import Status
from maxmargin.data.arrays import Array
from maxmargin.data.checks import check_count
from maxmargin.kernels import Precomputed
from maxmargin.objectives.base import PrimalDual
from maxmargin.objectives.hard_margin import HardMarginObjective
from maxmargin.objectives.kernel import KernelObjective
from maxmargin.objectives.nu import NuObjective
from maxmargin.objectives.origin_margin import OriginMarginObjective
from maxmargin.objectives.standard_form import StandardForm
from maxmargin.runtime.monitor import Monitor
from maxmargin.runtime.stall import StallDetector
from maxmargin.solution import Solution, SolverInfo
from maxmargin.solvers.base import Start
from maxmargin.solvers.kernel.active_set import Refinement, affordable
from maxmargin.solvers.kernel.dense_smo import solve_dense
from maxmargin.solvers.kernel.free_variables import moved
from maxmargin.solvers.kernel.kernel_sums import (
    Precision,
    exact_values,
    values_at,
    values_with_error,
)
from maxmargin.solvers.kernel.low_rank import low_rank_optimum
from maxmargin.solvers.kernel.reduced_problem import retried
from maxmargin.solvers.kernel.row_cache import (
    check_row_settings,
    out_of_memory,
    row_capacities,
    short_of_rows,
)
from maxmargin.solvers.kernel.row_source import KernelSamples
from maxmargin.solvers.kernel.subset_start import NEAR, Screening
from maxmargin.solvers.kernel.value_checks import refuse_for_float32
from maxmargin.solvers.requirements import require

#: Gap checks in a row, where a proof was expected, that may fail to lower the gap by a tenth. Each
#: is a step of iterative refinement: what float32 gets wrong is relative to the change that it
#: makes, and at a large C the gap jumps about before it falls.
_PATIENCE = 30

#: Gap checks in a row between these, after many steps, that may fail to raise the dual bound: the
#: reason to compute sums in float64, and with these to give up.
_PATIENCE_BETWEEN = 4

#: Share of the tolerance that errors of float32 sums may take up before more sums are made in
#: float64.
_MAX_ERROR_SHARE = 0.5

#: Work on pairs of a working set, in its samples, that takes as long as a kernel value in float64.
_PAIR_WORK_PER_VALUE = 4

#: Outer steps between two checks whether the pairs have cost as much as a float64 matrix.
_STEPS_PER_CHECK = 20

#: Samples per sample of a working set, and its smallest size: with large sets most rows would be
#: computed before it is known which are needed.
_SAMPLES_PER_MEMBER, _MIN_WORKING_SET = 16, 128


@dataclass(frozen=True)
class SMO:
    """Two-level sequential minimal optimisation.

    Pairs of dual variables are optimised inside a working set whose kernel block fits the cache;
    kernel rows are computed in float32 tiles when they are first needed, and cached.

    Parameters
    ----------
    working_set : int
        Most samples whose kernel values among each other are at hand: a sixteenth of few samples,
        but at least 128.
    cache_size : float or None
        Megabytes for kernel rows. None: half of the free memory, but 256 for samples of fewer than
        48 values and 1,000 for those of fewer than 128, whose rows are cheap to compute. More than
        256 are used only if rows are needed again and again.
    n_threads : int
        Threads for kernel values.
    small : int
        Up to so many samples the full kernel matrix is computed, in float64, without working sets.
        Not of a user's function, which may be slow: only the rows that are needed are computed.
        With more samples SMO changes to float64 when its steps have cost as much as that matrix,
        or when float32 brings no more progress; the matrix is then that of the active set.
    """

    working_set: int = 512
    cache_size: float | None = None
    n_threads: int = 1
    small: int = 1024

    name = "smo"

    def __post_init__(self) -> None:
        check_count("working_set", self.working_set - 1, advice="512 is usual, 2 the least.")
        check_row_settings(self)

    def solve(self, objective: KernelObjective, monitor: Monitor, start: Start) -> Solution:
        """Make outer steps; certify the point when the estimate of its gap is small enough."""
        _require(objective)
        if start.beta is None and (beta := low_rank_optimum(objective, monitor)) is not None:
            if _proven(objective, beta, monitor):
                return monitor.finish(self.name, Status.OPTIMAL)
            start = replace(start, beta=beta)
        if self._is_small(objective):
            found = solve_dense(self.name, objective, monitor, start)
        else:
            found = self._solve_large(objective, monitor, start)
        return retried(self, objective, monitor, found)

    def _solve_large(self, objective: KernelObjective, monitor: Monitor, start: Start) -> Solution:
        refuse_for_float32(objective.kernel, objective.diagonal)
        try:
            fit = _Fit(self, objective, monitor, start)
            return monitor.finish(self.name, fit.run(start), fit.info)
        except MemoryError as error:
            n = objective.problem.n_samples
            raise out_of_memory(self.cache_size, n, self.working_set) from error

    def pairs_before_float64(self, samples: KernelSamples, n: int) -> float:
        """Return how many pairs take as long as all kernel values in float64.

        A fit that needs more than these goes on in float64: in all, it takes at most twice as long
        as it would have taken there from the start. A caller's kernel may be slower than that.
        """
        if samples.formula is None:
            return math.inf
        return _PAIR_WORK_PER_VALUE * n**2 / self._working(n)

    def _working(self, n: int) -> int:
        return min(self.working_set, max(_MIN_WORKING_SET, n // _SAMPLES_PER_MEMBER))

    def engine(
        self,
        form: StandardForm,
        samples: KernelSamples,
        subset: NDArray[np.intp] | None = None,
    ) -> _core.Smo:
        """Return the core's solver, for a subset of the variables if one is given."""
        rows, at = samples.rows(subset), slice(None) if subset is None else subset
        target = form.target[at]
        working = self._working(len(target))
        return _core.Smo(
            rows.twice() if form.doubled else rows,
            _core.SmoProblem(
                target, form.lower[at], form.upper[at], form.group[at], form.epsilon, form.balanced
            ),
            working,
            *row_capacities(samples, len(target), self.cache_size, working),
        )

    def _is_small(self, objective: KernelObjective) -> bool:
        kernel = objective.kernel
        fast = kernel.mercer is not None or isinstance(kernel, Precomputed)
        return fast and objective.problem.n_samples <= self.small


class Phase(Enum):
    """What the outer steps on all samples aim at, after the start from subsets of them."""

    SHRINKING = "a gap at which it shows which samples can be shrunk"
    FULL = "the tolerance"
    REFINED = "the tolerance, after the active set was solved in float64"


class _Fit:
    """SMO at work on one problem: its phase, and how precise its sums are.

    The phases follow each other; that of shrinking is left out where it is not worth its while.
    """

    def __init__(
        self, solver: SMO, objective: KernelObjective, monitor: Monitor, start: Start
    ) -> None:
        problem, form = objective.problem, objective.standard_form()
        samples = start.samples or KernelSamples(objective.kernel, problem.X, solver.n_threads)
        engine = partial(solver.engine, form, samples)
        self.objective, self.form, self.samples, self.monitor = objective, form, samples, monitor
        self.max_active = affordable(solver.cache_size)
        self.phase, self.precision, self.tol = Phase.FULL, Precision.FLOAT32, monitor.tol
        self.smo, self.screening = engine(), Screening(form, samples, engine, monitor)
        self.pairs_before_float64 = solver.pairs_before_float64(samples, problem.n_samples)
        self.refinement = Refinement(objective, form)
        self._expect_progress()

    def _expect_progress(self) -> None:
        """Count the gap checks without progress: those that expected a proof, and others."""
        self.expected, self.unexpected = StallDetector(_PATIENCE), StallDetector(_PATIENCE_BETWEEN)
        self.slow = False  # the last one that expected a proof did not halve the gap

    @property
    def n_iter(self) -> int:
        """Outer steps so far."""
        refined = self.refinement.result.n_iter
        return int(self.screening.n_iter + self.smo.outer_steps + refined)

    @property
    def info(self) -> SolverInfo:
        """Steps, rows and the violation of the last point."""
        smo, screening, refinement = self.smo, self.screening, self.refinement
        return SolverInfo(
            violation=refinement.violation(smo),
            steps=screening.steps + smo.steps + refinement.result.steps,
            rows=round(screening.rows) + smo.rows_computed,
        )

    def run(self, start: Start) -> Status:
        """Alternate outer steps and gap checks until the monitor says stop, or until a stall."""
        steps = self._start(start)
        while True:
            converged = self._make_steps(steps)
            # ---- gap check
            point = self._point()
            status = self.monitor.judge(point, self.n_iter)
            if status is not Status.RUNNING:
                return status
            # ---- shrinking
            if self.phase is Phase.SHRINKING and converged:
                self.phase = Phase.FULL
                steps = 0 if self.screening.shrink(self.smo) else self._steps_to_next_check()
                continue
            # ---- after a failed proof: better sums, or float64 for the active set, or the end
            variables, z, exact = self.smo.beta, point.z, point.error is None
            stalled = self._stalls(converged, exact)
            if self._refines(stalled or (exact and self.slow)):
                status = self._refine(point)
                variables, z, exact = self.refinement.variables, self.refinement.z, True
            elif stalled:
                status = Status.STALLED
            if status is not Status.RUNNING:
                return status
            # ---- restart from these sums
            if exact:
                variables, z = _moved(self.objective, self.form, variables, z)
            self.smo.go_on(variables, *self.form.state(variables, z))
            steps = self._steps_to_next_check()

    def _start(self, start: Start) -> int:
        """Go to the start, which subsets give if there is none; return the steps to a gap check.

        None from a start that was given, or found by subsets: it is certified first.
        """
        begin, z = self._starting_point(start)
        if z is not None:
            self.smo.go_on(begin, *self.form.state(begin, z))
        if start.beta is not None or (self.screening.n_iter and begin.any()):
            return 0
        worth_it = self.tol < NEAR and short_of_rows(self.samples, self.objective.problem.n_samples)
        if worth_it and self.screening.applies():
            self.phase = Phase.SHRINKING
        return self._steps_to_next_check()

    def _starting_point(self, start: Start) -> tuple[Array, Array | None]:
        """Return where to start, and Kβ there if there was time for it."""
        screening, form = self.screening, self.form
        if start.beta is None and screening.applies():
            if screening.run():
                return screening.beta, screening.z
            if self.monitor.stopped():  # the point reached so far is the answer
                return screening.beta, screening.values()
        begin = form.begin
        if start.beta is not None:
            begin = self.objective.variables(form, start.beta)
        return begin, values_at(self.objective, self.samples, form.fold(begin), self.monitor)

    def _steps_to_next_check(self) -> int:
        return self.monitor.iterations_left(self.n_iter, self.objective.gap_check_interval)

    def _make_steps(self, steps: int) -> bool:
        """Make outer steps until the gap seems small enough in float32: then True.

        At most so many are made, and none after it is time for float64.
        """
        smo, screening = self.smo, self.screening
        if not self.form.hulls:
            self.monitor.follow(lambda: (screening.n_iter + smo.outer_steps, smo.dual))
        tol = NEAR if self.phase is Phase.SHRINKING else self.tol
        end = smo.outer_steps + steps
        while True:
            before = smo.outer_steps
            some = min(end - before, steps if self.phase is Phase.REFINED else _STEPS_PER_CHECK)
            smo.run(tol, self.form.negligible, some, self.monitor.stopped)
            if smo.outer_steps < before + some:
                return True
            if smo.outer_steps >= end or self._refines() or self.monitor.stopped():
                return False

    def _point(self) -> PrimalDual:
        """Return the dual point with its Kβ, in the present precision."""
        beta = self.form.fold(self.smo.beta)
        z = (self.form.target - self.smo.residual)[: len(beta)]
        z, error = values_with_error(self.objective, beta, z, self.precision, self.monitor)
        return PrimalDual(None, 0.0, beta, z, error=error)

    def _stalls(self, converged: bool, exact: bool) -> bool:
        """Demand more where a proof failed; whether too many gap checks brought no progress."""
        monitor, latest = self.monitor, self.monitor.latest
        if converged:
            self.tol *= 0.5
            if monitor.error_bound > _MAX_ERROR_SHARE * monitor.tol * abs(monitor.dual):
                self.precision = self.precision.higher
            gap = monitor.history[-1].gap
            self.slow = gap > 0.5 * self.expected.smallest_gap
            return self.expected.count(self.expected.lowers_gap(gap), None if exact else 3)
        if self.form.hulls and latest.primal < math.inf:
            return False  # D need not rise from one gap check to the next
        stalled = self.unexpected.count(self.unexpected.raises_dual(latest.dual))
        if stalled and not exact:  # first of all, sums in float64
            self.precision = Precision.FLOAT64
            self._expect_progress()
            return False
        return stalled

    def _refines(self, demanded: bool = False) -> bool:
        """Whether it is time for float64: on demand, or when float32 has cost as much."""
        late = demanded or bool(self.smo.steps >= self.pairs_before_float64)
        return late and self.phase is not Phase.REFINED

    def _refine(self, point: PrimalDual) -> Status:
        """Solve in float64 for the active set, as far as time and memory allow."""
        z = point.z
        self.phase = Phase.REFINED
        if point.error is not None:
            z = exact_values(self.objective, point.beta, self.monitor)
        return self.refinement.run(self.smo, self.monitor, z, self.max_active, self.n_iter)


def _proven(objective: KernelObjective, beta: Array, monitor: Monitor) -> bool:
    """Whether β is proven by sums in float64, if there is time for them."""
    z = exact_values(objective, beta, monitor)
    return z is not None and monitor.judge(PrimalDual(None, 0.0, beta, z), 0) is Status.OPTIMAL


def _moved(
    objective: KernelObjective, form: StandardForm, variables: Array, z: Array
) -> tuple[Array, Array]:
    """Return the variables after a step in all free ones at once, and Kβ there."""
    after = moved(objective, form, variables, z)
    return after, z + objective.kernel_values(form.fold(after) - form.fold(variables))


def _require(objective: KernelObjective) -> None:
    kinds = KernelObjective, NuObjective, HardMarginObjective, OriginMarginObjective
    require(objective, "smo", kinds)
    if not objective.loss.bounded or not objective.loss.regularized:
        raise ValueError(
            f"solver='smo' is for the hinge and epsilon-insensitive losses, not for"
            f" {objective.loss.name!r}."
        )
