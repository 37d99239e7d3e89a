"""The dual as a quadratic program, for the interior-point solver Clarabel."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from maxmargin.certificate import Status
from maxmargin.data.arrays import Array, Matrix
from maxmargin.data.checks import check_count
from maxmargin.objectives.base import Intercept, Objective, PrimalDual
from maxmargin.objectives.kernel import KernelObjective
from maxmargin.objectives.linear import LinearObjective
from maxmargin.objectives.scalar import ScalarObjective
from maxmargin.runtime.monitor import Monitor
from maxmargin.solution import Solution
from maxmargin.solvers.base import Start
from maxmargin.solvers.kernel.free_variables import polished
from maxmargin.solvers.requirements import require, require_regularized

#: Beyond it the factors of an n × n system take minutes and gigabytes.
MAX_SAMPLES = 5000

#: Most interior-point steps a solve; it takes 10 to 30.
_MAX_STEPS = 200

#: Rows of the kernel matrix that are computed between two checks of the clock.
_ROWS_PER_CALL = 256

#: Relative accuracy below which double precision has no more to give.
_FINEST = 1e-13


@dataclass(frozen=True)
class QP:
    """An interior-point method (Goulart and Chen, 2024) that solves the dual to high accuracy.

    For small problems, and as a judge of the other solvers: it shares no step with them but the
    last digits of a kernel machine (`free_variables.polished`). A kernel machine costs O(n³) a
    step, a linear one O(n d²). It needs the extra `maxmargin[qp]`.

    Parameters
    ----------
    n_threads : int
        Threads of the factorisation.
    """

    n_threads: int = 1

    name = "qp"

    def __post_init__(self) -> None:
        check_count("n_threads", self.n_threads, advice="1 opens no thread.")

    def solve(self, objective: ScalarObjective, monitor: Monitor, start: Start) -> Solution:
        """Ask for a tenth of the tolerance, and for more where that does not prove it."""
        del start  # an interior point cannot begin at the boundary, where solutions lie
        clarabel = _clarabel()
        _require(objective)
        if not objective.loss.one_sided:  # an interior point only comes close to w = 0
            nothing = _nothing(objective, monitor)
            if nothing.status is Status.OPTIMAL:
                return nothing
        try:
            kind = _PROGRAMS[type(objective)]
            program = kind(clarabel, objective, self.n_threads, monitor.stopped)
        except _Stopped:
            return _nothing(objective, monitor)
        accuracy, steps, gap, status = 0.1 * monitor.tol, 0, np.inf, Status.RUNNING
        while status is Status.RUNNING:
            accuracy = max(_FINEST, accuracy)
            allowed = monitor.iterations_left(steps, _MAX_STEPS)
            answer = program.solve(accuracy, allowed, monitor)
            steps += answer.steps
            status = monitor.judge(program.point(objective, answer), steps)
            last, gap = gap, monitor.history[-1].gap
            if status is Status.RUNNING and accuracy == _FINEST and gap > 0.5 * last:
                status = Status.STALLED
            program.measure(float(np.abs(answer.beta).max()), monitor.history[-1].primal)
            accuracy *= 1e-2
        return monitor.finish(self.name, status)


class _Stopped(Exception):  # noqa: N818 - no error
    """Ctrl-C or the clock ends the fit before there is a program."""


def _check(stop: Callable[[], bool]) -> None:
    if stop():
        raise _Stopped


def _nothing(objective: ScalarObjective, monitor: Monitor) -> Solution:
    """Return the solution of a problem that was not begun."""
    n, d = objective.problem.n_samples, objective.dimension
    zero = PrimalDual(np.zeros(d), 0.0, np.zeros(n), np.zeros(n), np.zeros(d))
    status = monitor.judge(zero, 0)
    return monitor.finish(QP.name, status)


class _Answer(NamedTuple):
    steps: int
    w: Array
    b: float
    beta: Array


class _Program(ABC):
    """min ½ x'Px + q'x with Ax + slack = right, slack = 0 or ≥ 0, for x = (β, w, |β|).

    β is that of the samples with C_i > 0; a tube has bounds of |β| as variables. β and the
    objective are measured in units of about their size, as the tolerances of Clarabel are absolute
    near 0.
    """

    def __init__(
        self,
        clarabel: ModuleType,
        objective: Any,
        n_threads: int,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self._clarabel, self._n_threads = clarabel, n_threads
        problem, loss = objective.problem, objective.loss
        self._live = live = np.flatnonzero(problem.cost > 0.0)
        self._n_samples = problem.n_samples
        self._lower, self._upper, curvature = (bound[live] for bound in objective.box)
        self._free = objective.intercept is Intercept.FREE
        self._scaling = 0.0
        square = float(objective.diagonal[live].mean()) or 1.0
        self._length = math.sqrt(square)
        self._unit = 1.0 / (1.0 / problem.cost.max() + square / objective.unit)
        self._value = self._unit * objective.unit

        quadratic, X = self._quadratic(objective, sparse.diags_array(curvature), stop)
        self._tube = len(live) if loss.epsilon > 0.0 else 0
        sizes = square * sparse.eye_array(X.shape[1]), sparse.csr_array((self._tube, self._tube))
        self._P = sparse.csc_matrix(sparse.block_diag([quadratic, *sizes]))
        gain = loss.target_scale * problem.y[live]
        cost = [-gain, np.zeros(X.shape[1]), np.full(self._tube, loss.epsilon)]
        self._q = np.concatenate(cost)
        self._constrain(X)
        _check(stop)

    @abstractmethod
    def _quadratic(
        self, objective: Any, curvature: Any, stop: Callable[[], bool]
    ) -> tuple[Any, Any]:
        """Return the matrix of β'Pβ, and the rows whose sum Σ β_i x_i is w, of no column without w.

        `curvature` is the diagonal matrix of the losses' part of it.
        """

    @abstractmethod
    def point(self, objective: Any, answer: _Answer) -> PrimalDual:
        """Return the point to judge."""

    def measure(self, beta: float, value: float) -> None:
        """Take other units, now that the size of β and of the optimum are known better."""
        if beta > 0.0 and value > 0.0:
            self._unit, self._value = beta, value

    def _constrain(self, X: Any) -> None:
        """Σ β = 0 if b is free, w = Σ β_i x_i, lower ≤ β ≤ upper, |β| at least β and −β."""
        n, d = X.shape
        self._n_weights = d
        each, tube = sparse.eye_array(n, format="csr"), sparse.eye_array(self._tube)
        self._bounded = [np.flatnonzero(np.isfinite(at)) for at in (self._lower, self._upper)]
        below, above = self._bounded
        rows = [
            [sparse.csr_array(np.ones((int(self._free), n))), None, None],
            [X.T, -sparse.eye_array(d), None],
            [-each[below], None, None],
            [each[above], None, None],
            [each[: self._tube], None, -tube],
            [-each[: self._tube], None, -tube],
        ]
        self._A = sparse.csc_matrix(sparse.block_array(rows))
        self._n_equal = int(self._free) + d
        bounds = np.concatenate([-self._lower[below], self._upper[above]])
        self._right = np.concatenate([np.zeros(self._n_equal), bounds, np.zeros(2 * self._tube)])

    def solve(self, accuracy: float, max_steps: int, monitor: Monitor) -> _Answer:
        """Solve to that relative accuracy, or as far as it goes."""
        clarabel = self._clarabel
        settings = clarabel.DefaultSettings()
        settings.verbose, settings.max_iter = False, max_steps
        settings.max_threads = self._n_threads
        if monitor.stopping.max_time is not None:
            settings.time_limit = max(1e-3, monitor.stopping.max_time - monitor.seconds)
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = accuracy
        cones = [
            clarabel.ZeroConeT(self._n_equal),
            clarabel.NonnegativeConeT(len(self._right) - self._n_equal),
        ]
        unit, value = self._unit, self._value
        P, q, right = self._P * (unit**2 / value), self._q * (unit / value), self._right / unit
        solver = clarabel.DefaultSolver(P, q, self._A, right, cones, settings)
        solver.set_termination_callback(lambda _: monitor.stopped())
        answer = solver.solve()
        x, slack, multiplier = (np.nan_to_num(v) for v in (answer.x, answer.s, answer.z))
        n, d = len(self._live), self._n_weights
        beta = np.zeros(self._n_samples)
        beta[self._live] = self._at_bounds(unit * x[:n], slack < multiplier)
        w = unit * self._length * x[n : n + d]
        b = value / unit * float(multiplier[0]) if self._free else 0.0
        if self._scaling:
            w, b = w[:-1], self._scaling * float(w[-1])
        return _Answer(int(answer.iterations), w, b, beta)

    def _at_bounds(self, beta: Array, tight: NDArray[np.bool_]) -> Array:
        """Put β where its constraints hold with equality: an interior point is only close to it."""
        begin = self._n_equal
        for rows, bound in zip(self._bounded, (self._lower, self._upper), strict=True):
            at = rows[tight[begin : begin + len(rows)]]
            beta[at] = bound[at]
            begin += len(rows)
        if self._tube:
            above, below = tight[begin:].reshape(2, -1)
            beta[above & below] = 0.0
        return beta


def _with_bias(X: Matrix, scaling: float) -> Any:
    """Return the rows in float64, a penalised intercept's feature among them."""
    X = sparse.csr_array(X, dtype=np.float64)
    if scaling == 0.0:
        return X
    return sparse.hstack([X, sparse.csr_array(np.full((X.shape[0], 1), scaling))], format="csr")


def _clarabel() -> ModuleType:
    try:
        import clarabel  # noqa: PLC0415 - an extra, and only this solver needs it
    except ImportError as error:
        raise ImportError(
            "solver='qp' needs the package clarabel: pip install maxmargin[qp]."
        ) from error
    return clarabel  # type: ignore[no-any-return]


class _LinearProgram(_Program):
    """That of a linear machine: w = Σ β_i x_i are variables, so that the system stays sparse."""

    def _quadratic(
        self, objective: LinearObjective, curvature: Any, stop: Callable[[], bool]
    ) -> tuple[Any, Any]:
        del stop
        if objective.intercept is Intercept.PENALIZED:
            self._scaling = objective.intercept_scaling
        return curvature, _with_bias(objective.problem.X, self._scaling)[self._live] / self._length

    def point(self, objective: LinearObjective, answer: _Answer) -> PrimalDual:
        """Return the point to judge."""
        del objective
        return PrimalDual(answer.w, answer.b, answer.beta)


class _KernelProgram(_Program):
    """That of a kernel machine: β'Kβ."""

    def _quadratic(
        self, objective: KernelObjective, curvature: Any, stop: Callable[[], bool]
    ) -> tuple[Any, Any]:
        K = _gram(objective, self._live, stop)
        _check(stop)
        quadratic = sparse.csc_array(np.triu(K)) + curvature
        _check(stop)
        return quadratic, sparse.csr_array((len(self._live), 0))

    def point(self, objective: KernelObjective, answer: _Answer) -> PrimalDual:
        """Return the point to judge, to the last digits where that is cheap."""
        beta = objective.feasible(answer.beta)
        z = objective.kernel_values(beta)
        for better in polished(objective, beta, z) if objective.loss.bounded else []:
            beta, z = better, objective.kernel_values(better)
            break
        return PrimalDual(beta, answer.b, beta, z, z)


#: The kinds of problem that are solved, each by its program.
_PROGRAMS: dict[type[Objective], type[_Program]] = {
    LinearObjective: _LinearProgram,
    KernelObjective: _KernelProgram,
}

#: The solvers of more samples.
_OF_MANY = {LinearObjective: "'newton' or 'dual_cd'", KernelObjective: "'smo'"}


def _require(objective: ScalarObjective) -> None:
    require(objective, "qp", tuple(_PROGRAMS))
    require_regularized(objective, "qp")
    refuse_many(objective.problem.n_samples, _OF_MANY[type(objective)])


def refuse_many(n_samples: int, instead: str) -> None:
    """Refuse more samples than an n × n system should have, and say which solver takes them."""
    if n_samples > MAX_SAMPLES:
        raise ValueError(
            f"solver='qp' is for at most {MAX_SAMPLES} samples, and X has {n_samples}."
            f" Use solver={instead}."
        )


def _gram(
    objective: KernelObjective, live: NDArray[np.intp], stop: Callable[[], bool] = lambda: False
) -> Array:
    """Return K, and check that it is semidefinite where the kernel does not guarantee it."""
    X = objective.problem.X[live]
    K = np.empty((len(live), len(live)))
    for begin in range(0, len(live), _ROWS_PER_CALL):
        rows = slice(begin, begin + _ROWS_PER_CALL)
        K[rows] = objective.kernel(X[rows], X)
        _check(stop)
    if objective.kernel.mercer:
        return K
    slack = 1e-10 * len(K) * float(np.abs(K).max())
    try:
        np.linalg.cholesky(0.5 * (K + K.T) + (slack or 1.0) * np.eye(len(K)))
    except np.linalg.LinAlgError:
        raise ValueError(
            "solver='qp' needs a positive semidefinite kernel, and the matrix of kernel values"
            " has a negative eigenvalue (maxmargin.kernels.mercer_check shows it). Use"
            " solver='smo', which finds a stationary point."
        ) from None
    return K
