"""What every solver shares: the stopping rule, the judge of its progress, Ctrl-C."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Protocol

import numpy as np

from maxmargin import _core
from maxmargin.certificate import Certificate, Status, certify, relative
from maxmargin.objective import Intercept, Objective
from maxmargin.solution import Record, Solution
from maxmargin.validation import Array

logger = logging.getLogger("maxmargin")

#: Longest time between two looks at the clock and at Ctrl-C.
SECONDS_PER_CALL = 0.1


@dataclass(frozen=True)
class Stopping:
    """When to stop: `tol` is the proven relative gap; None means no limit."""

    tol: float = 1e-3
    max_iter: int | None = None
    max_time: float | None = None


@dataclass(frozen=True, eq=False)
class Start:
    """Where to start: a dual point and its intercept, and the seed of every random choice."""

    seed: int = 0
    beta: Array | None = None
    b: float = 0.0


class Solver(Protocol):
    """A way to minimise an Objective."""

    name: str

    def solve(self, objective: Objective, monitor: Monitor, start: Start) -> Solution:
        """Minimise until the monitor says stop."""


class Monitor:
    """Judges each point that a solver shows, keeps the best and says when to stop.

    The best primal and the best dual point may come from different moments: the gap between them is
    a proof all the same.
    """

    def __init__(
        self,
        objective: Objective,
        stopping: Stopping,
        report: Callable[[Certificate, Array, float], bool] | None = None,
    ) -> None:
        self.objective = objective
        self.stopping = stopping
        self.history: list[Record] = []
        self._report = report
        self._begin = time.perf_counter()
        self._interrupted = False
        self._primal = (np.inf, np.zeros(0), 0.0)
        self._dual = (-np.inf, np.zeros(0))
        self._last: Certificate | None = None
        self._n_iter = 0
        self._last_look = self._begin
        self._cost_of_look = 0.0

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
        """Before the next look: never negative, never longer than Ctrl-C may wait."""
        limit = self.stopping.max_time
        left = SECONDS_PER_CALL if limit is None else limit - self.seconds
        return max(0.0, min(SECONDS_PER_CALL, left))

    @property
    def dual(self) -> float:
        """Best proven lower bound of the optimum so far."""
        return self._dual[0]

    def iterations_left(self, n_iter: int, wanted: int) -> int:
        """How many of the wanted iterations max_iter still allows."""
        limit = self.stopping.max_iter
        return wanted if limit is None else max(0, min(wanted, limit - n_iter))

    def halted(self, n_iter: int) -> Status:
        """Why to stop at once, for reasons other than success."""
        if self._interrupted:
            return Status.INTERRUPTED
        if self.stopping.max_time is not None and self.seconds >= self.stopping.max_time:
            return Status.STOPPED_BY_TIME
        if self.stopping.max_iter is not None and n_iter >= self.stopping.max_iter:
            return Status.STOPPED_BY_ITERATIONS
        return Status.RUNNING

    def due(self) -> bool:
        """Whether a look at the progress would cost little beside the work since the last one."""
        return time.perf_counter() - self._last_look > 20.0 * self._cost_of_look

    def judge(self, w: Array, b: float, beta: Array, n_iter: int) -> Status:
        """Certify the point, remember it if it is the best, and decide."""
        begin = time.perf_counter()
        certificate = certify(self.objective, w, b, beta)
        self._last_look = time.perf_counter()
        self._cost_of_look = self._last_look - begin
        self._last, self._n_iter = certificate, n_iter
        both_improve = certificate.primal <= self._primal[0] and certificate.dual >= self._dual[0]
        if certificate.primal <= self._primal[0]:
            self._primal = (certificate.primal, w.copy(), b)
        if certificate.dual >= self._dual[0]:
            self._dual = (certificate.dual, beta.copy())
        primal, dual = self._primal[0], self._dual[0]
        gap = certificate.gap if both_improve else max(0.0, primal - dual)
        self.history.append(Record(self.seconds, n_iter, primal, dual, gap))
        logger.info("%7d  primal %.8g  dual %.8g  gap %.3g", n_iter, primal, dual, gap)
        if self._report is not None and self._report(certificate, w, b):
            self._interrupted = True
        if relative(gap, dual) <= self.tol:
            return Status.OPTIMAL
        return self.halted(n_iter)

    def finish(self, solver: str, status: Status, **notes: float) -> Solution:
        """Return the best point seen, certified as a pair."""
        _, w, b = self._primal
        beta = self.objective.feasible(self._dual[1])
        certificate = self._last
        if certificate is None or (certificate.primal, certificate.dual) != (
            self._primal[0],
            self._dual[0],
        ):
            certificate = certify(self.objective, w, b, beta)
        if certificate.relative_gap <= self.tol:
            status = Status.OPTIMAL
        return Solution(
            w=w,
            b=b,
            beta=beta,
            certificate=certificate.with_status(status),
            solver=solver,
            n_iter=self._n_iter,
            history=self.history,
            notes=notes,
        )

    @contextmanager
    def catching_interrupts(self) -> Iterator[None]:
        """Turn the first Ctrl-C into an early stop; the second is raised as usual.

        Only in the main thread, where Python delivers signals, and only if nobody else has taken
        the signal over.
        """
        previous = signal.getsignal(signal.SIGINT)
        if (
            threading.current_thread() is not threading.main_thread()
            or previous is not signal.default_int_handler
        ):
            yield
            return

        def note(_signal: int, _frame: FrameType | None) -> None:
            self._interrupted = True
            signal.signal(signal.SIGINT, previous)

        signal.signal(signal.SIGINT, note)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, previous)


def bias_of(objective: Objective, free_feature: float) -> _core.Bias:
    """The intercept as the core has it: a feature of constant value, and an anchor.

    A free intercept is solved for by proximal steps: b is penalised by its distance to the anchor,
    and the anchor follows. `free_feature`² is the length of such a step.
    """
    feature = {
        Intercept.NONE: 0.0,
        Intercept.FREE: free_feature,
        Intercept.PENALIZED: objective.intercept_scaling,
    }[objective.intercept]
    return _core.Bias(feature, 0.0)


def require(objective: Objective, solver: str, *, regularized: bool) -> None:
    """Say which loss a solver cannot take."""
    if regularized and not objective.loss.regularized:
        raise ValueError(
            f"solver={solver!r} needs a regularised objective, and loss="
            f"{objective.loss.name!r} has none. Use solver='sgd', or loss='hinge'."
        )
