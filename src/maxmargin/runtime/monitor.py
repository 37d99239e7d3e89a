"""What every solver shares: the stopping rule, and the certificates of its points."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maxmargin.certificate import Certificate, Status, relative
from maxmargin.data.arrays import UNIT, Array
from maxmargin.losses import Loss
from maxmargin.objectives.base import NO_SHARES, Judged, Objective, PrimalDual
from maxmargin.runtime.interrupt import Interrupt
from maxmargin.runtime.stall import StallDetector
from maxmargin.solution import NOTHING_TO_TELL, Record, Solution, SolverInfo

#: Longest time between two checks of the clock and of Ctrl-C.
SECONDS_PER_CALL = 0.05

#: Gap checks without any change, each after half as many iterations again, that show a stall.
_CHECKS_UNMOVED = 8

#: Seconds between two reports of progress without a gap check.
REPORT_INTERVAL = 1.0


@dataclass(frozen=True)
class Stopping:
    """When to stop: `tol` is the proven relative gap; None means no limit."""

    tol: float = 1e-3
    max_iter: int | None = None
    max_time: float | None = None


#: Gets each gap check with the best w and b so far and the loss with its ρ or ε, and the progress
#: between two gap checks without them; returns True to stop.
Report = Callable[[Record, Array | None, Any, Loss], bool]


class Monitor:
    """Certifies each point of a solver, keeps the best and says when to stop.

    The best primal and the best dual point may come from different moments: the gap between them is
    a proof all the same. Gap checks are due by counts and not by the clock, so that the same seed
    gives the same model.
    """

    def __init__(
        self,
        objective: Objective,
        stopping: Stopping,
        interrupt: Interrupt | None = None,
        report: Report | None = None,
        begin: float | None = None,
    ) -> None:
        self.objective = objective
        self.stopping = stopping
        self.history: list[Record] = []
        self._interrupt = interrupt or Interrupt()
        self._report = report
        self._begin = time.perf_counter() if begin is None else begin
        self._next_check = 16.0
        self._primal: tuple[float, Array, Any] = (np.inf, np.zeros(0), 0.0)
        self._dual = (-np.inf, np.zeros(0))
        self._values: tuple[Array | None, Array | None] = (None, None)  # of both, with a kernel
        self._best: Certificate | None = None  # of that pair, where it is known
        self._loss, self._shares = objective.loss, NO_SHARES
        self._working: Callable[[], tuple[int, float]] | None = None
        self._last_report = self._begin
        self.latest: Certificate  # of a kernel machine, at the last gap check
        self.error_bound = 0.0  # the part of the last gap that is due to the errors of float32
        self._n_iter = 0
        self._stall = StallDetector(_CHECKS_UNMOVED)

    def on(
        self, objective: Objective, tol: float | None = None, max_iter: int | None = None
    ) -> Monitor:
        """Return a monitor of an auxiliary problem, with the same clock and without reports.

        It has the same limits, but for those given.
        """
        limits = self.stopping
        most = limits.max_iter if max_iter is None else max_iter
        stopping = replace(limits, tol=tol or limits.tol, max_iter=most)
        return Monitor(objective, stopping, self._interrupt, None, self._begin)

    @property
    def tol(self) -> float:
        """The relative gap asked for."""
        return self.stopping.tol

    @property
    def seconds(self) -> float:
        """Since the fit began."""
        return time.perf_counter() - self._begin

    @property
    def seconds_left(self) -> float:
        """Until the next check of the clock: never negative, never longer than Ctrl-C may wait."""
        if self._interrupt.requested:
            return 0.0
        limit = self.stopping.max_time
        left = SECONDS_PER_CALL if limit is None else limit - self.seconds
        return max(0.0, min(SECONDS_PER_CALL, left))

    @property
    def dual(self) -> float:
        """Best proven lower bound of the optimum so far."""
        return self._dual[0]

    @property
    def stalled(self) -> bool:
        """Whether neither bound has moved by more than rounding in the last gap checks."""
        return self._stall.stalled

    def iterations_left(self, n_iter: int, wanted: int) -> int:
        """How many of the wanted iterations max_iter still allows."""
        limit = self.stopping.max_iter
        return wanted if limit is None else max(0, min(wanted, limit - n_iter))

    def halted(self, n_iter: int) -> Status:
        """Why to stop at once, for reasons other than success."""
        if self._interrupt.requested:
            return Status.INTERRUPTED
        if self.stopping.max_time is not None and self.seconds >= self.stopping.max_time:
            return Status.STOPPED_BY_TIME
        if self.stopping.max_iter is not None and n_iter >= self.stopping.max_iter:
            return Status.STOPPED_BY_ITERATIONS
        return Status.RUNNING

    def stopped(self) -> bool:
        """Whether Ctrl-C or the clock says to stop: for work too long to finish first."""
        self._report_progress()
        return self.halted(0) in (Status.INTERRUPTED, Status.STOPPED_BY_TIME)

    def follow(self, working: Callable[[], tuple[int, float]]) -> None:
        """Take the source of the iteration and the dual value for reports between gap checks."""
        self._working = working

    def _report_progress(self) -> None:
        """Report progress between two gap checks: a dual value without a proof."""
        now = time.perf_counter()
        if not (self._report and self._working) or now < self._last_report + REPORT_INTERVAL:
            return
        self._last_report = now
        n_iter, dual = self._working()
        record = Record(self.seconds, n_iter, math.inf, dual, math.inf)
        if self._report(record, None, None, self._loss):
            self._interrupt.requested = True

    def due(self, n_iter: int) -> bool:
        """Whether a gap check is due, even if no proof is expected."""
        return n_iter >= self._next_check

    def until_due(self, n_iter: int) -> int:
        """Count the iterations to make before that gap check, at least one."""
        return max(1, math.ceil(self._next_check) - n_iter)

    def judge(self, point: PrimalDual, n_iter: int) -> Status:
        """Complete and certify the point, keep what is best of it, and decide."""
        return self.accept(self.objective.judge(point), n_iter)

    def accept(self, judged: Judged, n_iter: int) -> Status:
        """Keep what is best of a point that was certified elsewhere, and decide."""
        self._keep(judged)
        return self._decide(n_iter)

    def improve(self, point: PrimalDual) -> None:
        """Take this point, which needs no completion, instead of a best one with a larger gap."""
        judged = self.objective.judge(point)
        if self._best is not None and judged.certificate.gap < self._best.gap:
            self._keep(judged)

    def _keep(self, judged: Judged) -> None:
        """Keep what is best of the pair."""
        certificate, point = judged.certificate, judged.point
        self.latest, self.error_bound = certificate, judged.error_bound
        if judged.paired:
            proven = certificate.relative_gap == 0.0
            if self._best and certificate.gap > self._best.gap and not proven:
                return
            better_primal = better_dual = True
        else:
            # Without a regulariser the loss favours a short w: the latest point is the one to have.
            regularized = self.objective.loss.regularized
            better_primal = certificate.primal <= self._primal[0] or not regularized
            better_dual = certificate.dual >= self._dual[0]
        if better_primal:
            self._primal = (certificate.primal, point.w, point.b)
            self._values = point.z, self._values[1]
            self._loss, self._shares = judged.loss, judged.shares
        if better_dual:
            self._dual = (certificate.dual, point.beta)
            self._values = self._values[0], point.dual
        self._best = certificate if better_primal and better_dual else None

    def _decide(self, n_iter: int) -> Status:
        self._n_iter, self._next_check = n_iter, 1.5 * n_iter + 8
        primal, dual = self._primal[0], self._dual[0]
        if self._best is None and self._relative(primal - dual) <= self.tol:
            self._best = self._certify_best()
        gap = self._best.gap if self._best else max(0.0, primal - dual)
        record = Record(self.seconds, n_iter, primal, dual, gap)
        self._stall.count(self._moved(primal, dual))
        self.history.append(record)
        self._last_report = time.perf_counter()
        report = record, self._primal[1], self._given_b, self._loss
        stop = self._report is not None and self._report(*report)
        if self._best and self._best.relative_gap <= self.tol:
            return Status.OPTIMAL
        if dual > self.objective.infeasible_above and primal == math.inf:
            return Status.INFEASIBLE
        return Status.INTERRUPTED if stop else self.halted(n_iter)

    def _moved(self, primal: float, dual: float) -> bool:
        """Whether a bound is better than at the last gap check, by more than rounding."""
        if not self.history:
            return True
        last, rounding = self.history[-1], 4.0 * UNIT
        lower = last.primal - primal > rounding * abs(primal)
        return lower or dual - last.dual > rounding * abs(dual)

    @property
    def _given_b(self) -> Any:
        """The best intercept, for the rows and targets that were given."""
        _, w, b = self._primal
        return self.objective.problem.given_intercept(w, b)

    def _relative(self, gap: float) -> float:
        return relative(gap, self._dual[0], self.objective.negligible)

    def _certify_best(self) -> Certificate:
        """Certify the best primal point by the best dual point."""
        pair = PrimalDual(*self._primal[1:], self._dual[1], *self._values)
        return self.objective.certify(pair)

    def finish(self, solver: str, status: Status, info: SolverInfo = NOTHING_TO_TELL) -> Solution:
        """Return the best point seen, certified as a pair.

        What works for the solver is let go: it holds this monitor, and its kernel rows would stay
        until the garbage collector comes.
        """
        self._working = None
        certificate, problem = self._best or self._certify_best(), self.objective.problem
        if certificate.relative_gap <= self.tol:  # whatever ended the run
            status = Status.OPTIMAL
        if status is Status.OPTIMAL and not certificate.convex:
            status = Status.STATIONARY
        return Solution(
            w=self._primal[1],
            b=self._given_b,
            beta=self._dual[1],
            loss=self._loss,
            certificate=certificate.with_status(status),
            solver=solver,
            n_iter=self._n_iter,
            mean_cost=float(problem.cost.sum()) / max(1, problem.n_samples),
            history=self.history,
            info=info,
            shares=self._shares,
        )
