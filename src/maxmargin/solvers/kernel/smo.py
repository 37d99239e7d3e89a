"""Sequential minimal optimisation for kernel machines; steps in `core/smo/two_level.hpp`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin.certificate import Status
from maxmargin.data.arrays import Array
from maxmargin.data.checks import as_floats, check_count, check_positive
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
from maxmargin.solvers.kernel.dense_smo import solve_whole
from maxmargin.solvers.kernel.free_variables import moved
from maxmargin.solvers.kernel.kernel_sums import exact_values, values_at, values_with_error
from maxmargin.solvers.kernel.row_cache import out_of_memory, row_capacities, short_of_rows
from maxmargin.solvers.kernel.row_source import KernelSamples
from maxmargin.solvers.kernel.stalled import settled
from maxmargin.solvers.kernel.subset_start import NEAR, Screening
from maxmargin.solvers.kernel.value_checks import refuse_huge, refuse_negative
from maxmargin.solvers.requirements import require

#: Share of the tolerance that doubt about float32 sums may take up before more of them are made in
#: float64.
_DOUBTFUL = 0.5

#: Work on pairs of a working set, in its samples, that takes as long as a kernel value in float64.
_PAIR_WORK_PER_VALUE = 4

#: Outer steps between two checks whether the pairs have cost as much as a float64 matrix.
_STEPS_PER_CHECK = 20

#: Working sets that all samples make, and the least size of one: of large ones most rows would be
#: asked for before it is known which matter.
_SETS, _LEAST_SET = 16, 128


@dataclass(frozen=True)
class SMO:
    """Two-level sequential minimal optimisation.

    Pairs of dual variables are optimised inside a working set whose kernel block fits the cache;
    kernel rows are computed in float32 tiles when they are first needed, and kept.

    Parameters
    ----------
    working_set : int
        Samples whose kernel values among each other are at hand at a time, at most: of few samples
        a sixteenth, but 128.
    cache_size : float or None
        Megabytes for kernel rows; None: half of the memory that is free, or 256 or 1,000 for
        samples of so few values, 48 or 128, that rows are cheap to compute. Of these, more than
        256 are taken only as rows turn out to be needed again and again.
    n_threads : int
        Threads for kernel values.
    small : int
        Up to so many samples there are no working sets: the whole kernel matrix is made, in
        float64. Not for a user's function: it may be slow, and is asked for the rows that are
        needed only. With more samples SMO changes to float64 when it has cost as much as that
        matrix, or when float32 brings nothing more; the matrix is that of the samples that matter.
    """

    working_set: int = 512
    cache_size: float | None = None
    n_threads: int = 1
    small: int = 1024

    name = "smo"

    def __post_init__(self) -> None:
        check_count("working_set", self.working_set - 1, advice="512 is usual, 2 the least.")
        as_floats(self, "cache_size")
        check_count("n_threads", self.n_threads, advice="1 opens no thread.")
        if self.cache_size is not None:
            check_positive("cache_size", self.cache_size, advice="It is in megabytes.")

    def solve(self, objective: KernelObjective, monitor: Monitor, start: Start) -> Solution:
        """Make outer steps; when the gap looks small enough, ask for the proof."""
        _require(objective)
        if self._is_small(objective):
            found = solve_whole(self.name, objective, monitor, start)
        else:
            found = self._solve_large(objective, monitor, start)
        return settled(self, objective, monitor, found)

    def _solve_large(self, objective: KernelObjective, monitor: Monitor, start: Start) -> Solution:
        _require_float32(objective)
        try:
            return self._solve(objective, monitor, start)
        except MemoryError as error:
            n = objective.problem.n_samples
            raise out_of_memory(self.cache_size, n, self.working_set) from error

    def _solve(self, objective: KernelObjective, monitor: Monitor, start: Start) -> Solution:
        n, form = objective.problem.n_samples, objective.standard_form()
        X, kernel = objective.problem.X, objective.kernel
        samples = start.samples or KernelSamples(kernel, X, self.n_threads)
        smo = self._engine(form, samples)
        part = Screening(form, samples, partial(self._engine, form, samples), monitor)
        begin, z = self._begin(objective, part, start)
        if z is not None:
            smo.go_on(begin, *form.state(begin, z))
        steps, tol = 0, monitor.tol  # a start is certified before the first step
        most = objective.gap_check_interval
        whole = start.beta is None and not (part.n_iter and begin.any())
        if whole:
            steps = monitor.iterations_left(part.n_iter, most)
        shrinking = whole and monitor.tol < NEAR and part.applies() and short_of_rows(samples, n)
        doubts, stall = 0, StallDetector(hulls=form.hulls)
        float64 = Refinement(objective, form, self._pairs_before_float64(samples, n))
        while True:
            if not form.hulls:
                monitor.follow(lambda: (part.n_iter + smo.outer_steps, smo.dual))
            satisfied = _run(smo, form, NEAR if shrinking else tol, steps, monitor, float64)
            variables = smo.beta
            beta = form.fold(variables)
            z, error = values_with_error(
                objective, beta, (form.target - smo.residual)[:n], doubts, monitor
            )
            exact = error is None
            n_iter = part.n_iter + smo.outer_steps + float64.result.n_iter
            status = monitor.judge(PrimalDual(None, 0.0, beta, z, error=error), n_iter)
            if status is not Status.RUNNING:
                break
            if shrinking and satisfied:
                shrinking = False
                steps = 0 if part.shrink(smo) else monitor.iterations_left(n_iter, most)
                continue
            if satisfied:
                tol *= 0.5
                doubts += monitor.doubt > _DOUBTFUL * monitor.tol * abs(monitor.dual)
            lost = stall.reached(monitor, satisfied, exact)
            if lost and not (exact or satisfied):
                doubts, stall, lost = 2, StallDetector(hulls=form.hulls), False
            if float64.due(smo, lost or (exact and stall.slow)):
                known = z if exact else exact_values(objective, beta, monitor)
                status = float64.run(smo, monitor, known, affordable(self.cache_size), n_iter)
                variables, z, exact = float64.variables, float64.z, known is not None
            elif lost:
                status = Status.STALLED
            if status is not Status.RUNNING:
                break
            if exact:
                variables, z = _moved(objective, form, variables, z)
            smo.go_on(variables, *form.state(variables, z))
            steps = monitor.iterations_left(n_iter + float64.result.n_iter, most)
        return monitor.finish(
            self.name,
            status,
            SolverInfo(
                violation=float64.violation(smo),
                steps=part.steps + smo.steps + float64.result.steps,
                rows=round(part.rows) + smo.rows_computed,
            ),
        )

    def _pairs_before_float64(self, samples: KernelSamples, n: int) -> float:
        """Return how many pairs take as long as all kernel values in float64.

        A fit that needs more than these goes on in float64: in all, it takes twice as long as it
        would have if it had begun there, at most. A caller's kernel may be slower than that.
        """
        if samples.formula is None:
            return math.inf
        return _PAIR_WORK_PER_VALUE * n**2 / self._working(n)

    def _working(self, n: int) -> int:
        return min(self.working_set, max(_LEAST_SET, n // _SETS))

    def _begin(
        self, objective: KernelObjective, part: Screening, start: Start
    ) -> tuple[Array, Array | None]:
        """Return where to start, and Kβ there if there was time for it."""
        if start.beta is None and part.applies():
            if part.run():
                return part.beta, part.z
            if part.monitor.stopped():  # what was found so far is the answer
                return part.beta, part.values()
        begin = part.form.begin
        if start.beta is not None:
            begin = objective.variables(part.form, start.beta)
        beta = part.form.fold(begin)
        return begin, values_at(objective, part.samples, beta, part.monitor)

    def _engine(
        self,
        form: StandardForm,
        samples: KernelSamples,
        part: NDArray[np.intp] | None = None,
    ) -> _core.Smo:
        """Return the core's solver, for a part of the variables if one is given."""
        rows, at = samples.rows(part), slice(None) if part is None else part
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


def _run(
    smo: _core.Smo,
    form: StandardForm,
    tol: float,
    steps: int,
    monitor: Monitor,
    float64: Refinement,
) -> bool:
    """Make outer steps until the gap looks small enough in float32: then True.

    At most so many are made, and none after it is time for float64.
    """
    end = smo.outer_steps + steps
    while True:
        before = smo.outer_steps
        some = min(end - before, steps if float64.tried else _STEPS_PER_CHECK)
        smo.run(tol, form.negligible, some, monitor.stopped)
        if smo.outer_steps < before + some:
            return True
        if smo.outer_steps >= end or float64.due(smo) or monitor.stopped():
            return False


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


def _require_float32(objective: KernelObjective) -> None:
    if objective.kernel.mercer is not False:
        refuse_negative(objective.diagonal)
    refuse_huge(objective.diagonal)
