"""What every solver shares: the stopping rule, the judge of its progress."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin.certificate import (
    Certificate,
    Known,
    Status,
    certify_expansion,
    certify_pair,
    certify_point,
    certify_products,
    relative,
)
from maxmargin.losses import Loss
from maxmargin.objective import Intercept, Objective, SumError
from maxmargin.rounding import UNIT
from maxmargin.solution import Record, Solution
from maxmargin.solvers.interrupt import Interrupt
from maxmargin.solvers.kernel_samples import KernelSamples
from maxmargin.validation import Array

#: Longest time between two looks at the clock and at Ctrl-C.
SECONDS_PER_CALL = 0.05

#: Gap checks without any change, each after half as many iterations again, that show a stall.
_CHECKS_UNMOVED = 8

#: Between two words about work that no look has interrupted.
SECONDS_PER_WORD = 1.0


@dataclass(frozen=True)
class Stopping:
    """When to stop: `tol` is the proven relative gap; None means no limit."""

    tol: float = 1e-3
    max_iter: int | None = None
    max_time: float | None = None


class Begun(NamedTuple):
    """Dual coordinate descent under way: the first `n_active` rows of the order are in play."""

    beta: Array
    w: Array
    bias_weight: float
    anchor: float
    order: NDArray[np.int32]
    n_active: int
    threshold: float
    dual: float
    epochs: int


@dataclass(frozen=True, eq=False)
class Start:
    """Where to start: a dual point and its intercept, and the seed of every random choice.

    `w` is the primal point beside it, `past` the epochs that a stochastic solver made to get there.
    `samples` are those of the problem with kernel rows that other problems share.
    `begun` is for dual coordinate descent: epochs that were made already. `state` is that of the
    last Solution.
    """

    seed: int = 0
    beta: Array | None = None
    b: Any = 0.0
    w: Array | None = None
    past: int = 1
    samples: KernelSamples | None = None
    begun: Begun | None = None
    state: Any = None


class Point(NamedTuple):
    """A primal point, a dual point, the epochs they took, and z = Xw and w_β = Σ β_i x_i."""

    w: Array
    b: float
    beta: Array
    n_iter: int
    z: Array
    dual_w: Array


class Expansion(NamedTuple):
    """Coefficients c of f = Σ c_j k(x_j, ·), and its values Kc at the samples."""

    coef: Array
    values: Array


#: Told of each gap check with the best w and b so far and the loss with its ρ or ε, and of work
#: between two gap checks without them; answers True to stop.
Report = Callable[[Record, Array | None, Any, Loss], bool]


class Solver(Protocol):
    """A way to minimise an Objective."""

    name: str

    def solve(self, objective: Objective, monitor: Monitor, start: Start) -> Solution:
        """Minimise until the monitor says stop."""


class _Expansion(NamedTuple):
    """A kernel machine's primal and dual point, certified."""

    certificate: Certificate
    w: Array
    b: float
    beta: Array
    loss: Loss
    notes: dict[str, float]


class Monitor:
    """Judges each point that a solver shows, keeps the best and says when to stop.

    The best primal and the best dual point may come from different moments: the gap between them is
    a proof all the same. When it looks depends on counts and not on the clock, so that the same
    seed gives the same model.
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
        self._next_look = 16.0
        self._primal: tuple[float, Array, Any] = (np.inf, np.zeros(0), 0.0)
        self._dual = (-np.inf, np.zeros(0))
        self._values: tuple[Array | None, Array | None] = (None, None)  # of both, with a kernel
        self._best: Certificate | None = None  # of that pair, where it is known
        self._loss, self._notes = objective.loss, dict[str, float]()
        self._working: Callable[[], tuple[int, float]] | None = None
        self._last_word = self._begin
        self.latest: Certificate  # of a kernel machine, at the last look
        self.doubt = 0.0  # the part of the last gap that is due to the errors of float32
        self._n_iter = 0
        self._unmoved = 0  # gap checks in a row

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
        return self._unmoved >= _CHECKS_UNMOVED

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
        """Whether Ctrl-C or the clock says to stop: asked by work too long to finish first."""
        self._say_so_far()
        return self.halted(0) in (Status.INTERRUPTED, Status.STOPPED_BY_TIME)

    def follow(self, working: Callable[[], tuple[int, float]]) -> None:
        """Ask for the iteration and the dual value now and then, to tell who waits."""
        self._working = working

    def _say_so_far(self) -> None:
        """Tell of work between two looks: a dual value, and nothing proven."""
        now = time.perf_counter()
        if not (self._report and self._working) or now < self._last_word + SECONDS_PER_WORD:
            return
        self._last_word = now
        n_iter, dual = self._working()
        record = Record(self.seconds, n_iter, math.inf, dual, math.inf)
        if self._report(record, None, None, self._loss):
            self._interrupt.requested = True

    def due(self, n_iter: int) -> bool:
        """Whether it is time for a look at the progress, even if there is little hope."""
        return n_iter >= self._next_look

    def until_due(self, n_iter: int) -> int:
        """Count the iterations to make before that look, at least one."""
        return max(1, math.ceil(self._next_look) - n_iter)

    def judge_expansion(
        self, beta: Array, z: Array, n_iter: int, error: SumError | None = None
    ) -> Status:
        """Do the same for a kernel machine, whose primal point is its dual point; z = Kβ."""
        self._keep_expansion(self._certified_expansion(beta, z, error))
        return self._decide(n_iter)

    def _certified_expansion(
        self, beta: Array, z: Array, error: SumError | None = None
    ) -> _Expansion:
        """Complete β by what minimises P for it: the intercept, ρ or ε, the scale of hard f."""
        objective = self.objective
        if objective.hard:
            return self._hard_expansion(beta, z, error)
        if not objective.balanced(beta):  # steps that cancel leave their rounding errors behind
            beta, error = objective.feasible(beta), None
            z = objective.kernel_values(beta)
        exact = error is None  # the rounding of float32 sums is no proof of anything
        if exact and objective.convex and objective.vanishes(beta, float(beta @ z)):
            return self._zero_expansion(beta, z)
        b, number = objective.best_offsets(z)
        b = self._representable(beta, b)
        if objective.mass is not None:
            objective = objective.at(number)
        certificate = certify_expansion(objective, beta, b, beta, Known(z, z, error))
        self.doubt = objective.doubt(z + b, beta, error) if error else 0.0
        notes = {} if objective.mass is None else shares(objective.judge.fractions(z + b, beta))
        return _Expansion(certificate, beta, b, beta, objective.loss, notes)

    def _zero_expansion(self, beta: Array, z: Array) -> _Expansion:
        """Return w = 0, ρ = 0, where β shows it to be the optimum: what gap it has is rounding."""
        objective, zero = self.objective.at(0.0), np.zeros_like(beta)
        certificate = certify_expansion(objective, zero, 0.0, beta, Known(zero, z))
        notes = shares(objective.judge.fractions(zero, beta))
        certificate = replace(certificate, relative_gap=0.0)
        return _Expansion(certificate, zero, 0.0, beta, objective.loss, notes)

    def _hard_expansion(self, beta: Array, z: Array, error: SumError | None) -> _Expansion:
        """Put f midway between the classes and give it a least margin of 1, if it has one."""
        objective, y = self.objective, self.objective.problem.y
        used = objective.problem.cost > 0.0
        rise, fall = float(z[used & (y > 0.0)].min()), float(-z[used & (y < 0.0)].max())
        b, least = 0.5 * (fall - rise), 0.5 * (fall + rise)
        certificate = certify_expansion(objective, beta, b, beta, Known(z, z, error))
        square = float(beta @ z)
        alpha = beta * (float(np.abs(beta).sum()) / square) if square > 0.0 else beta
        if least > 0.0:
            beta, b = beta / least, b / least
        return _Expansion(certificate, beta, b, alpha, objective.loss, {})

    def _keep_expansion(self, point: _Expansion) -> None:
        """Remember the pair of the least gap."""
        self.latest = point.certificate
        proven = point.certificate.relative_gap == 0.0
        if self._best and point.certificate.gap > self._best.gap and not proven:
            return
        self._primal = (point.certificate.primal, point.w, point.b)
        self._dual = (point.certificate.dual, point.beta)
        self._best, self._loss, self._notes = point.certificate, point.loss, point.notes

    def of(self, objective: Objective, n_iter: int) -> Monitor:
        """Return a monitor of another objective for the time that is left, and so many iterations.

        Fewer if max_iter says so.
        """
        most = self.iterations_left(n_iter, n_iter)
        stopping = replace(self.stopping, max_iter=most)
        return Monitor(objective, stopping, self._interrupt, None, self._begin)

    def judge_less(self, less: Objective, answer: Solution, n_iter: int) -> Status:
        """Judge the solution of a problem with less in it: without a mass, or at the best b so far.

        At a given b the β of the answer need not be balanced: the best one so far stays.
        """
        objective, given = self.objective, self._given_b
        if objective.mass is not None:
            objective = objective.at(less.loss.epsilon)
        beta, w = self._dual[1], answer.w
        if less.intercept is objective.intercept:
            beta, given = objective.feasible(answer.beta), answer.b
        b, z = objective.problem.own_intercept(w, given), objective.kernel_values(w)
        certificate = certify_expansion(objective, w, b, beta, Known(z, None))
        parts = objective.judge.fractions(z + b, beta)
        notes = {} if objective.mass is None else shares(parts)
        self._keep_expansion(_Expansion(certificate, w, b, beta, objective.loss, notes))
        return self._decide(n_iter)

    def judge_apart(self, w: Expansion, b: float, beta: Expansion, n_iter: int) -> Status:
        """Do the same for a kernel machine whose primal point need not be its dual point.

        The dual point must be feasible. A free intercept is found anew.
        """
        objective = self.objective
        if objective.intercept is Intercept.FREE:
            b = self._representable(w.coef, objective.best_intercept(w.values, b))
        certificate = certify_expansion(
            objective, w.coef, b, beta.coef, Known(w.values, beta.values)
        )
        self._keep(certificate, (w.coef, b), beta.coef, (w.values, beta.values))
        return self._decide(n_iter)

    def judge_point(self, w: Array, b: float, n_iter: int) -> Status:
        """Do the same for a squared loss, whose dual point follows from w; b must not be free."""
        certificate, beta = certify_point(self.objective, w, b)
        self._keep(certificate, (w, b), beta)
        return self._decide(n_iter)

    def judge_products(self, point: Point) -> Status:
        """Do the same for a point whose products with the rows are known; β must be feasible."""
        objective, (w, b, beta, n_iter, z, dual_w) = self.objective, point
        # A perceptron's loss is least on the boundary: its b stays.
        if objective.intercept is Intercept.FREE and objective.loss.regularized:
            b = self._representable(w, objective.best_intercept(z, b))
        certificate = certify_products(objective, w, b, beta, z, dual_w)
        self._keep(certificate, (w, b), beta)
        return self._decide(n_iter)

    def _representable(self, w: Array, b: Any) -> Any:
        """Return the b for which the intercept that the model will have is a double."""
        problem = self.objective.problem
        return problem.own_intercept(w, problem.given_intercept(w, b))

    def judge(self, w: Array, b: float, beta: Array, n_iter: int) -> Status:
        """Certify the point, remember what is best of it, and decide. w must not change later."""
        objective = self.objective
        beta = objective.feasible(beta)
        if objective.intercept is Intercept.FREE:
            products = objective.problem.products(w, beta)
            return self.judge_products(Point(w, b, beta, n_iter, *products))
        self._keep(certify_pair(objective, w, b, beta), (w, b), beta)
        return self._decide(n_iter)

    def _keep(
        self,
        certificate: Certificate,
        point: tuple[Array, float],
        beta: Array,
        values: tuple[Array | None, Array | None] = (None, None),
    ) -> None:
        """Remember what is best of the pair."""
        # Without a regulariser the loss favours a short w: the latest point is the one to have.
        regularized = self.objective.loss.regularized
        better_primal = certificate.primal <= self._primal[0] or not regularized
        better_dual = certificate.dual >= self._dual[0]
        if better_primal:
            self._primal = (certificate.primal, *point)
            self._values = values[0], self._values[1]
        if better_dual:
            self._dual = (certificate.dual, beta)
            self._values = self._values[0], values[1]
        self._best = certificate if better_primal and better_dual else None

    def _decide(self, n_iter: int) -> Status:
        self._n_iter, self._next_look = n_iter, 1.5 * n_iter + 8
        primal, dual = self._primal[0], self._dual[0]
        if self._best is None and self._relative(primal - dual) <= self.tol:
            self._best = self._certify_best()
        gap = self._best.gap if self._best else primal - dual
        record = Record(self.seconds, n_iter, primal, dual, gap)
        self._unmoved = self._unmoved + 1 if self._unmoved_since(primal, dual) else 0
        self.history.append(record)
        self._last_word = time.perf_counter()
        told = record, self._primal[1], self._given_b, self._loss
        stop = self._report is not None and self._report(*told)
        if self._best and self._best.relative_gap <= self.tol:
            return Status.OPTIMAL
        if dual > self.objective.hopeless and primal == math.inf:
            return Status.INFEASIBLE
        return Status.INTERRUPTED if stop else self.halted(n_iter)

    def _unmoved_since(self, primal: float, dual: float) -> bool:
        """Whether the bounds are those of the last gap check, up to rounding."""
        if not self.history:
            return False
        last = self.history[-1]
        return last.primal - primal <= 4.0 * UNIT * abs(primal) and dual - last.dual <= (
            4.0 * UNIT * abs(dual)
        )

    @property
    def _given_b(self) -> Any:
        """The best intercept, for the rows and targets that were given."""
        _, w, b = self._primal
        return self.objective.problem.given_intercept(w, b)

    def _relative(self, gap: float) -> float:
        return relative(gap, self._dual[0], self.objective.negligible)

    def _certify_best(self) -> Certificate:
        pair = self._primal[1], self._primal[2], self._dual[1]
        if self.objective.kernel is None:
            return certify_pair(self.objective, *pair)
        z, dual_z = self._values
        return certify_expansion(self.objective, *pair, Known(z, dual_z) if z is not None else None)

    def finish(self, solver: str, status: Status, **notes: float) -> Solution:
        """Return the best point seen, certified as a pair."""
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
            notes=self._notes | notes,
        )


def shares(fractions: _core.Fractions) -> dict[str, float]:
    """Return the shares of the margin errors and of the support vectors: ν lies between them."""
    return {
        "margin_errors": fractions.margin_errors,
        "support_vectors": fractions.support_vectors,
    }
