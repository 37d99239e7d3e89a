"""Hard margins: through the origin, and of linear machines."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from maxmargin.certificate import Certificate, Status, relative
from maxmargin.data.arrays import Array, Matrix
from maxmargin.data.checks import scale_advice
from maxmargin.data.problem import Problem
from maxmargin.data.targets import class_members
from maxmargin.estimators._kernel_tasks import Posed, places, rows_of
from maxmargin.kernels import Kernel
from maxmargin.kernels.pairwise import plain
from maxmargin.losses import HINGE
from maxmargin.multiclass.decomposition import pair_targets
from maxmargin.objectives.base import Intercept
from maxmargin.objectives.kernel import KernelObjective
from maxmargin.objectives.nu import NuObjective
from maxmargin.runtime.progress import Progress
from maxmargin.solution import NotSeparableError, Record, Solution
from maxmargin.solvers import SMO, Monitor, Start, Stopping, interruptible
from maxmargin.solvers.kernel.batch_smo import Task

#: By what the tolerance of the nearest point is lowered, and how often, until the margin is proven.
_TIGHTER, _ROUNDS = 0.1, 6

#: What a LinearSVC with C=inf hands to the kernel machine.
_SHARED = (
    "C",
    "fit_intercept",
    "multi_class",
    "class_weight",
    "tol",
    "max_iter",
    "max_time",
    "n_jobs",
    "verbose",
)

#: Rounding of f beside the longest sample. And ½‖w‖² times its square from which on the margin is
#: less than a millionth of it: there is none, as far as numbers can tell.
_ROUNDING, _HOPELESS = 1e-14, 0.5e12


@dataclass(frozen=True, eq=False)
class Signed(Kernel):
    """y_i y_j k(x_i, x_j) of samples that are given by their positions."""

    kernel: Kernel
    X: Matrix
    y: Array

    @property
    def mercer(self) -> bool | None:  # type: ignore[override]
        """As certain as of the kernel itself."""
        return self.kernel.mercer

    def __call__(self, A: Matrix, B: Matrix) -> Array:
        """k(a, b) times both signs."""
        one, two = (np.asarray(at)[:, 0].astype(np.intp) for at in (A, B))
        signs = self.y[one][:, np.newaxis] * self.y[two]
        return np.asarray(signs * self.kernel(self.X[one], self.X[two]))

    def diagonal(self, A: Matrix) -> Array:
        """k(a, a)."""
        return self.kernel.diagonal(self.X[np.asarray(A)[:, 0].astype(np.intp)])

    def rounding(self, X: Matrix) -> float:
        """Return the rounding of the kernel itself."""
        del X
        return self.kernel.rounding(self.X)


def solve_through_origin(model: Any, posed: Posed, tasks: list[Task]) -> Progress:
    """Solve min ½‖w‖² with y_i <w, φ(x_i)> ≥ 1 for each task, and keep the solutions.

    The nearest point of the convex hull of all y_i φ(x_i) to 0 is the largest margin, as a
    direction: the one-class problem of these points, with a bound that is not felt.
    """
    with interruptible() as interrupt:
        rebuild = partial(model._rebuild, posed, tasks, [0.0] * len(tasks))
        progress = Progress(model, posed.X, posed.y, len(tasks), interrupt, rebuild=rebuild)
        progress.begin()
        solutions = []
        for rows, y, cost in tasks:
            X, used = rows_of(posed.samples, rows), np.flatnonzero(cost > 0.0)
            signed = Signed(posed.kernel, X[used], y[used])
            one = np.ones(len(used))
            problem = Problem(places(len(used)), one, one)
            objective = NuObjective(problem, HINGE, Intercept.NONE, signed, nu_sum=1.0)
            _refuse_no_kernel(objective)
            found = _nearest(objective, model._stopping(), interrupt)
            solutions.append(_spread(found, y, used))
    model.solutions_ = tuple(solutions)
    return progress


def _refuse_no_kernel(objective: KernelObjective) -> None:
    if not objective.convex:
        raise ValueError(
            "C=inf needs a Mercer kernel: only there do distances mean a margin. Give a finite C,"
            " or a kernel without negative eigenvalues (see maxmargin.kernels.mercer_check)."
        )


def _nearest(objective: KernelObjective, stopping: Stopping, interrupt: Any) -> Solution:
    """Return the hard margin of signed samples: f ≥ 1 at each, and its proof."""
    begin, tol, start = time.perf_counter(), stopping.tol, Start()
    solution = None
    for _ in range(_ROUNDS):
        tol *= _TIGHTER
        monitor = Monitor(objective, replace(stopping, tol=tol), interrupt, None, begin)
        point = SMO().solve(objective, monitor, start)
        solution = _scaled(objective, point, stopping.tol, time.perf_counter() - begin)
        if solution.status is not Status.RUNNING:
            return solution
        start = Start(beta=point.beta)
    assert solution is not None
    stalled = solution.certificate.with_status(Status.STALLED)
    return replace(solution, certificate=stalled)


def _scaled(objective: KernelObjective, point: Solution, tol: float, seconds: float) -> Solution:
    """Scale w to a least margin of 1, and its weights to the best dual point; judge them.

    With u = Σ β_i φ_i, Σ β = 1 and f = u / least, P = ½‖u‖²/least², and α = β/‖u‖² has
    D = Σ α − ½‖Σ α_i φ_i‖² = ½/‖u‖².
    """
    beta = point.beta / point.beta.sum()
    z, longest = objective.kernel_values(beta), float(objective.diagonal.max())
    square = float(beta @ z)
    rounding = _ROUNDING * longest * objective.value_rounding
    least = float(z.min()) - rounding
    dual = 0.5 / (max(0.0, square) + rounding) if longest > 0.0 else math.inf
    separated = least > 0.0 and square > 0.0
    primal = 0.5 * square / least**2 if separated else math.inf
    gap = max(0.0, primal - dual) if separated else math.inf
    certificate = Certificate(
        primal=primal,
        dual=dual,
        gap=gap,
        relative_gap=relative(gap, dual),
        kkt_violation=float(z[beta != 0.0].max() / least - 1.0) if separated else math.inf,
        n_support_free=int(np.count_nonzero(beta)),
        n_support_bounded=0,
        margin=least / math.sqrt(square) if separated else 0.0,
        slack_sum=0.0 if separated else math.inf,
    )
    return Solution(
        w=beta / least if separated else beta,
        b=0.0,
        beta=beta / square if square > 0.0 else beta,
        loss=HINGE,
        certificate=certificate.with_status(_verdict(certificate, point, tol, longest)),
        solver=SMO.name,
        n_iter=point.n_iter,
        mean_cost=1.0,
        history=[Record(seconds, point.n_iter, primal, dual, gap)],
    )


def _verdict(certificate: Certificate, point: Solution, tol: float, longest: float) -> Status:
    """Say whether the margin is proven, or that there is none; RUNNING if neither is."""
    if certificate.relative_gap <= tol:
        return Status.OPTIMAL
    if longest == 0.0 or not certificate.dual < _HOPELESS / longest:
        return Status.INFEASIBLE
    return Status.RUNNING if point.status is Status.OPTIMAL else point.status


def _spread(found: Solution, y: Array, used: Any) -> Solution:
    """Return the solution for all samples, those of weight 0 among them, with β_i = y_i α_i."""
    w, beta = np.zeros(len(y)), np.zeros(len(y))
    w[used], beta[used] = y[used] * found.w, y[used] * found.beta
    return replace(found, w=w, beta=beta, mean_cost=len(used) / len(y))


class NotSeparableThroughOriginError(NotSeparableError):
    """No hyperplane through 0 separates the classes: 0 is in the hull of all y_i x_i, or as good.

    Attributes
    ----------
    classes : tuple
        The two classes.
    distance : float
        How near the hull comes to 0, in the space of the kernel.
    witness : tuple of two arrays
        The weights of all training samples, those of the first class and those of the second: each
        0 or larger, summing to 1 together. The weighted sums of both sides are `distance` apart.
    """

    def __str__(self) -> str:
        return (
            f"C=inf and fit_intercept=False, but no hyperplane through the origin separates classes"
            f" {self.classes[0]!r} and {self.classes[1]!r} by a margin above {self.distance:.2g}:"
            f" weighted sums of both, with weights that sum to 1, are as near (see .witness). Give"
            f" fit_intercept=True, a finite C, or a kernel that can tell them apart.{self.advice}"
        )


def fit_hard_linear(model: Any, X: Matrix, y: Any, sample_weight: Any) -> None:
    """Fit a LinearSVC with C=inf by the kernel machine of the same problem."""
    from maxmargin.estimators.kernel import SVC  # noqa: PLC0415 - SVC is built on LinearSVC

    svc = SVC(kernel="linear", **{name: getattr(model, name) for name in _SHARED})
    svc.fit(X, y, sample_weight)
    model.classes_, model._members = svc.classes_, None
    pairs = len(svc.classes_) > 2 and model.multi_class == "ovo"
    if pairs:
        model._members = pair_targets(class_members(y, svc.classes_))[0]
    sign = -1.0 if len(svc.solutions_) == 1 else 1.0  # of two classes SVC solves the first's
    coef = np.array(plain(svc.coef_))
    model.solutions_ = tuple(
        replace(found, w=w, b=float(b), beta=sign * found.beta)
        for found, w, b in zip(svc.solutions_, coef, svc.intercept_, strict=True)
    )
    model.coef_, model.intercept_ = coef, svc.intercept_
    model.n_iter_ = int(np.max(svc.n_iter_))
    model._probabilities = svc._probabilities


def refuse_through_origin(
    pair: tuple[Any, Any], witness: Array, distance: float, X: Matrix
) -> None:
    """Raise that no hyperplane through 0 separates them."""
    total = float(np.abs(witness).sum())
    sides = np.maximum(witness, 0.0) / total, np.maximum(-witness, 0.0) / total
    raise NotSeparableThroughOriginError(pair, distance, sides, scale_advice(X))
