"""Certificate: the proof that goes with every fitted model.

Primal-dual pairs are judged here, and those of K classes at once in `multiclass_certificate`:
nowhere else. The judgement knows nothing of the solver that made the pair: it recomputes every
product from the rows, with the formulas of `core/objective/certificate.hpp`, which share nothing
with the solvers' own. There are two exceptions: the values of f of a large kernel machine come
from the solver's float32 kernel rows, summed again (docs/certificates.md), and classes whose first
epochs were made together, and that were stopped, have their products from common passes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import reduce
from operator import add
from typing import NamedTuple

import numpy as np

import maxmargin._core as _core
from maxmargin.data.arrays import Array
from maxmargin.losses import Loss
from maxmargin.objectives.objective import Frame, Intercept, Objective, SumError, sums_to_zero
from maxmargin.objectives.rounding import (
    UNIT,
    counts,
    dual_error,
    exact_brackets,
    exact_residuals,
    expansion_error,
    rounding_doubt,
    row_error,
    value_doubt,
)


class Status(Enum):
    """Why the solver stopped."""

    RUNNING = "running"
    OPTIMAL = "optimal"
    STOPPED_BY_ITERATIONS = "stopped by max_iter"
    STOPPED_BY_TIME = "stopped by max_time"
    INTERRUPTED = "interrupted"
    STALLED = "stalled at the precision of the arithmetic"
    INFEASIBLE = "infeasible: the classes cannot be separated"
    STATIONARY = "stationary, of a kernel that is not positive semidefinite"
    DIVERGED = "diverged"


@dataclass(frozen=True)
class Certificate:
    """Primal value, dual bound and what lies between them.

    Attributes
    ----------
    primal : float
        P(w, b), the value of the objective at the fitted model.
    dual : float
        D(β), a lower bound of P everywhere.
    gap : float
        P − D ≥ 0, summed from non-negative parts, so that rounding cannot turn it negative.
    relative_gap : float
        gap / dual: the fitted objective exceeds the optimum by at most this fraction; gap / −primal
        for the objectives that are negative, infinite for a perceptron unless y f(x) > 0 at every
        sample. A gap below `Objective.negligible` is compared with that, if the optimum is smaller
        still.
    kkt_violation : float
        Worst violation of the optimality conditions, in units of the margin.
    n_support_free, n_support_bounded : int
        Support vectors with β inside its box, and at a bound other than 0.
    margin : float
        1/‖w‖, the distance from the separator to where y f(x) = 1.
    slack_sum : float
        Σ ξ_i, unweighted.
    status : Status
        Why the solver stopped.
    convex : bool
        False where the kernel is not positive semidefinite: then D bounds nothing.
    n_problems : int
        More than 1 for the sum of several problems.
    """

    primal: float
    dual: float
    gap: float
    relative_gap: float
    kkt_violation: float
    n_support_free: int
    n_support_bounded: int
    margin: float
    slack_sum: float
    status: Status = Status.RUNNING
    convex: bool = True
    n_problems: int = 1

    def with_status(self, status: Status) -> Certificate:
        """Return the same numbers under another status."""
        return Certificate(**(self.__dict__ | {"status": status}))

    def sentence(self) -> str:
        """Say in words what is proven."""
        if not self.convex:
            stopped = self.status in (Status.STATIONARY, Status.OPTIMAL)
            kind = "a stationary point to a gap of" if stopped else "a point with a gap of"
            return (
                f"{kind} {self.gap:.2g}; the kernel is not positive semidefinite, so nothing is"
                " proven about the optimum"
            )
        if self.primal == math.inf:
            return self._without_separator()
        if self.gap == 0.0:
            nothing = "no separator found yet: the loss is 0, but not every sample is on its side"
            return nothing if self.relative_gap > 0.0 else "objective proven optimal"
        if not math.isfinite(self.relative_gap):
            within = f" but an objective within {self.gap:.3g} of the optimum"
            return f"nothing proven yet{within if math.isfinite(self.gap) else ''}"
        if self.relative_gap * max(self.dual, -self.primal) < 0.999 * self.gap:
            return f"objective proven within {_at_most(self.gap)} of the optimum, which is nearly 0"
        return f"objective proven within {_at_most(100 * self.relative_gap)} % of the optimum"

    def _without_separator(self) -> str:
        """Say how near the classes are, of which a hard margin has not been found."""
        found = "no separator" if self.status is Status.INFEASIBLE else "no separator found yet"
        if self.n_problems > 1:
            return f"{found} in at least one of {self.n_problems} problems"
        if not 0.0 < self.dual < math.inf:
            return found
        return f"{found}; the classes' convex hulls come within {math.sqrt(2.0 / self.dual):.2g}"

    def __str__(self) -> str:
        support = self.n_support_free + self.n_support_bounded
        return "\n".join(
            [
                f"status           {self.status.value}",
                f"primal           {self.primal:.8g}",
                f"dual             {self.dual:.8g}",
                f"gap              {self.gap:.3g} (relative {self.relative_gap:.2g})",
                f"KKT violation    {self.kkt_violation:.2g}",
                f"support vectors  {support} ({self.n_support_free} free,"
                f" {self.n_support_bounded} bounded)",
                f"margin 1/‖w‖     {self.margin:.6g}",
                f"sum of slacks    {self.slack_sum:.6g}",
                self.sentence(),
            ]
        )


def total(certificates: Sequence[Certificate]) -> Certificate:
    """Return the certificate of a sum of independent objectives, one-vs-rest for example."""
    if len(certificates) == 1:
        return certificates[0]
    gap, dual = sum(c.gap for c in certificates), sum(c.dual for c in certificates)
    proven = max(c.relative_gap for c in certificates)
    of_sum = relative(gap, dual) if gap > 0.0 else math.inf
    unsolved = [c.status for c in certificates if c.status is not Status.OPTIMAL]
    return Certificate(
        primal=sum(c.primal for c in certificates),
        dual=dual,
        gap=gap,
        relative_gap=min(of_sum, proven),
        kkt_violation=max(c.kkt_violation for c in certificates),
        n_support_free=sum(c.n_support_free for c in certificates),
        n_support_bounded=sum(c.n_support_bounded for c in certificates),
        margin=min(c.margin for c in certificates),
        slack_sum=sum(c.slack_sum for c in certificates),
        convex=all(c.convex for c in certificates),
        status=unsolved[0] if unsolved else Status.OPTIMAL,
        n_problems=sum(c.n_problems for c in certificates),
    )


def _at_most(value: float) -> str:
    """Return two digits of it, rounded up: what is printed is proven as well."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return f"{unit * math.ceil((1.0 - 1e-9) * value / unit):.2g}"


def relative(gap: float, dual: float, negligible: float = 0.0) -> float:
    """Return the bound on (P − P*) / |P*|: gap / dual, or gap / −primal if the primal is negative.

    A gap that is negligible is compared with that.
    """
    scale = max(dual, -(dual + gap))
    scale = max(scale, negligible) if gap <= negligible else scale
    if gap == 0.0:
        return 0.0
    return gap / scale if scale > 0.0 and gap < math.inf else math.inf


def refuse_intercept(intercept: Intercept, b: Array | float) -> None:
    """Refuse b ≠ 0 where there is none: it would be a point of another problem."""
    if intercept is Intercept.NONE and np.any(b):
        raise ValueError(
            f"b must be 0 where the objective has no intercept, got {b!r}. Give b=0, or"
            " intercept=Intercept.FREE."
        )


def certify(objective: Objective, w: Array, b: float, beta: Array) -> Certificate:
    """Judge the primal point (w, b) by the dual point β.

    β is made feasible first (`Objective.feasible`). With z = Xw + b and w_β = Σ β_i x_i,

        P(w, b) − D(β) = ½‖w − w_β‖² + Σ [C_i ℓ(z_i) + z_i β_i − conjugate_i(β_i)],

    and each bracket is a Fenchel-Young gap, hence non-negative.
    """
    problem = objective.problem
    dimension = problem.n_features if objective.kernel is None else problem.n_samples
    for name, values, length in (("w", w, dimension), ("beta", beta, problem.n_samples)):
        if values.shape != (length,) or not np.isfinite(values).all():
            raise ValueError(f"{name} must be {length} finite numbers.")
    if not math.isfinite(b):
        raise ValueError(f"b must be a finite number, got {b!r}.")
    w, beta = (np.require(values, np.float64, ("C", "A")) for values in (w, beta))
    beta = objective.feasible(beta)
    if objective.kernel is not None:
        return certify_expansion(objective, w, b, beta)
    return certify_pair(objective, w, b, beta)


def tallied(
    part: _core.Tally,
    values: tuple[float, float, float],
    square: float,
    negligible: float,
    *,
    status: Status = Status.RUNNING,
    convex: bool = True,
) -> Certificate:
    """Return the certificate from what the samples add to it, P, D and P − D, and ‖w‖²."""
    primal, dual, gap = values
    return Certificate(
        primal=primal,
        dual=dual,
        gap=gap,
        relative_gap=relative(gap, dual, negligible),
        kkt_violation=part.kkt_violation,
        n_support_free=part.n_free,
        n_support_bounded=part.n_bounded,
        margin=1.0 / math.sqrt(square) if square > 0.0 else math.inf,
        slack_sum=part.slacks,
        status=status,
        convex=convex,
    )


class Known(NamedTuple):
    """Values at the samples that need not be computed again: z = Kw, dual_z = Kβ.

    `error` is that of z, where it comes from float32 rows.
    """

    z: Array
    dual_z: Array | None = None
    error: SumError | None = None


def certify_expansion(
    objective: Objective, w: Array, b: float, beta: Array, known: Known | None = None
) -> Certificate:
    """Judge f = Σ w_j k(x_j, ·) + b by a feasible β.

    The same sum as for a linear f, with ‖w − w_β‖² = (w − β)'K(w − β). If z has errors, they are
    allowed for in the gap.
    """
    refuse_intercept(objective.intercept, b)
    z, dual_z, error = known or Known(objective.kernel_values(w))
    if objective.hard:
        return _certify_hard(objective, w, b, beta, Known(z, dual_z, error))
    apart = w - beta
    distance = 0.0
    if apart.any():
        difference = objective.kernel_values(apart) if dual_z is None else z - dual_z
        distance = float(apart @ difference)
    square = float(w @ z)
    dual_square = square - 2.0 * float(apart @ z) + distance
    part = objective.judge.tally_values(z + b, beta)
    error = error or expansion_error(w, objective.diagonal, square, objective.value_rounding)
    if objective.loss.bounded:
        doubt = objective.doubt(z + b, beta, error)
    else:
        doubt = value_doubt(objective, part, 4.0 * error.spread)
    doubt += 2.0 * error.spread * math.sqrt(float(beta @ beta))  # of ½‖w_β‖²
    squares = square, dual_square, distance
    certificate = summed_expansion(objective.frame, part, b, squares, doubt)
    return _separating(objective, z + b, certificate)


def summed_expansion(
    frame: Frame,
    part: _core.Tally,
    b: float,
    squares: tuple[float, float, float],
    doubt: float = 0.0,
    status: Status = Status.RUNNING,
) -> Certificate:
    """Return the certificate from the sums over the samples, and ‖w‖², ‖w_β‖² and ‖w − w_β‖².

    `doubt` is how much errors of f may add to the gap.
    """
    square, dual_square, distance = squares
    lost = doubt + _slip(frame.free, b, part.sum, part.size)
    primal, gap = 0.5 * square + part.losses, part.brackets + 0.5 * max(0.0, distance) + lost
    dual = part.conjugates - 0.5 * dual_square - lost
    if frame.mass is not None:
        extra, lacking = _mass_terms(frame.loss, frame.mass, part.size)
        primal, gap = primal + extra, gap + lacking
        dual = primal - gap
    return tallied(
        part, (primal, dual, gap), square, frame.negligible, status=status, convex=frame.convex
    )


def _slip(free: bool, b: float, left: float, size: float) -> float:
    """Return what rounding leaves of Σ β = 0 weakens the bound by; more than that voids it."""
    if not free:
        return 0.0
    return abs(b * left) if sums_to_zero(left, size) else math.inf


def _mass_terms(loss: Loss, mass: float, size: float) -> tuple[float, float]:
    """Return −sρ or sε, and what Σ |β_i| ≠ s costs the dual.

    For the margin the two may differ by rounding only, or β proves nothing; the tube allows
    Σ |β_i| < s.
    """
    lacking = mass - size
    if loss.one_sided:
        rho = loss.target_scale
        feasible = abs(lacking) <= 1e-9 * mass
        return -mass * rho, abs(lacking * rho) if feasible else math.inf
    return mass * loss.epsilon, abs(lacking * loss.epsilon)


def _certify_hard(
    objective: Objective, w: Array, b: float, beta: Array, known: Known
) -> Certificate:
    """Judge a hard margin: f scaled so that the least margin is 1, β so that its value is largest.

    If v = f / least and α = sβ with s = Σ |β_i| / ‖w_β‖², the gap is
    ½‖w_v − w_α‖² + Σ |α_i| (y_i v(x_i) − 1).
    """
    y, used = objective.problem.y, objective.problem.cost > 0.0
    z, square = known.z, float(w @ known.z)
    error = known.error or expansion_error(w, objective.diagonal, square, objective.value_rounding)
    margins = y * (z + b)
    worst = abs(error.mean) + 4.0 * error.spread
    least = float(margins[used].min()) - worst
    apart = w - beta
    K_beta = z - objective.kernel_values(apart) if apart.any() else z
    mass, dual_square = float(np.abs(beta).sum()), float(beta @ K_beta)
    scale = mass / dual_square if dual_square > 0.0 else math.inf
    dual = 0.5 * mass * scale if mass > 0.0 else 0.0
    primal = gap = math.inf
    if least > 0.0 and mass > 0.0 and min(square, dual_square) > 0.0:
        primal = 0.5 * square / least**2
        change = w / least - scale * beta
        distance = float(change @ (z / least - scale * K_beta))
        beyond = np.maximum(0.0, (margins + worst) / least - 1.0)
        slip = scale * _slip(True, b / least, float(beta.sum()), mass)
        gap = 0.5 * max(0.0, distance) + scale * float(np.abs(beta) @ beyond) + slip
    edge = int(np.count_nonzero(beta))
    return Certificate(
        primal=primal,
        dual=dual,
        gap=gap,
        relative_gap=relative(gap, dual),
        kkt_violation=float(margins[beta != 0.0].max() / least - 1.0) if gap < math.inf else gap,
        n_support_free=edge,
        n_support_bounded=0,
        margin=least / math.sqrt(square) if primal < math.inf else 0.0,
        slack_sum=0.0 if primal < math.inf else math.inf,
        convex=objective.convex,
    )


def certify_pair(objective: Objective, w: Array, b: float, beta: Array) -> Certificate:
    """Judge (w, b) by a feasible β."""
    problem = objective.problem
    if problem.wide or not w.any() or not objective.loss.regularized:
        return certify_products(objective, w, b, beta, *problem.products(w, beta))
    dual_w = np.zeros(problem.n_features)
    parts = [
        objective.judge.tally(problem.rows, w, b, beta, begin, end, dual_w)
        for begin, end in problem.blocks()
    ]
    return _summed(objective, w, b, beta, dual_w, reduce(add, parts))


def certify_products(
    objective: Objective, w: Array, b: float, beta: Array, z: Array, dual_w: Array
) -> Certificate:
    """Judge (w, b) by a feasible β where Xw is known, and Σ β_i x_i."""
    part = objective.judge.tally_values(z + b, beta)
    return _separating(objective, z + b, _summed(objective, w, b, beta, dual_w, part))


def _separating(objective: Objective, f: Array, certificate: Certificate) -> Certificate:
    """Return the certificate; of a perceptron it proves nothing unless y f > 0 at every sample.

    That is as f is computed, which is what predictions will be.
    """
    problem = objective.problem
    if objective.loss.regularized or (problem.y * f > 0.0)[problem.cost > 0.0].all():
        return certificate
    return replace(certificate, relative_gap=math.inf)


def certify_point(objective: Objective, w: Array, b: float) -> tuple[Certificate, Array]:
    """Judge (w, b) under a squared loss by the β that belongs to it, in one pass; return both.

    β_i = −C_i ℓ'(z_i) is feasible unless it would have to be balanced for a free intercept.
    """
    problem = objective.problem
    beta, dual_w = np.empty(problem.n_samples), np.zeros(problem.n_features)
    parts = [
        objective.judge.tally_answer(problem.rows, w, b, beta, begin, end, dual_w)
        for begin, end in problem.blocks()
    ]
    return _summed(objective, w, b, beta, dual_w, reduce(add, parts)), beta


def _summed(
    objective: Objective, w: Array, b: float, beta: Array, dual_w: Array, part: _core.Tally
) -> Certificate:
    """Return the certificate from what the rows add to it; w_β = Σ β_i x_i."""
    refuse_intercept(objective.intercept, b)
    dual_b, free = objective.intercept_of(beta), objective.intercept is Intercept.FREE
    slip, squares = _slip(free, b, part.sum, part.size), _core.Squares(w, dual_w)
    apart = objective.regularized(squares.apart, b - dual_b)
    error = dual_error(objective, part.size * math.sqrt(objective.problem.longest), part.size)
    lost = slip + error * (math.sqrt(2.0 * apart) + 0.5 * error)
    gap = part.brackets + apart + lost
    doubt = rounding_doubt(objective, part, math.sqrt(squares.own), b)
    primal = objective.regularized(squares.own, b) + part.losses
    if counts(doubt, gap, primal) or part.brackets + apart == 0.0:
        return _summed_exactly(objective, w, b, beta, dual_w, part)
    gap += doubt
    dual_square = objective.regularized(squares.dual, dual_b)
    own = slip + error * (math.sqrt(2.0 * dual_square) + 0.5 * error)
    dual = max(part.conjugates - dual_square - own, primal - gap)
    return tallied(part, (primal, dual, gap), squares.own, objective.negligible)


def _summed_exactly(
    objective: Objective, w: Array, b: float, beta: Array, dual_w: Array, part: _core.Tally
) -> Certificate:
    """Return the same from f to twice the digits."""
    problem, loss, squares = objective.problem, objective.loss, _core.Squares(w, dual_w)
    dual_b, y = objective.intercept_of(beta), problem.y
    residual = exact_residuals(problem, w, b, loss.target_scale * y)
    losses, brackets = exact_brackets(loss, y, problem.cost, beta, residual)
    primal = objective.regularized(squares.own, b) + float(losses.sum())
    apart = objective.regularized(squares.apart, b - dual_b)
    size = float(np.einsum("i,i->", np.abs(beta), np.sqrt(problem.squared_norms)))
    error = dual_error(objective, size, part.size)
    lost = error * (math.sqrt(2.0 * apart) + 0.5 * error)
    slip = _slip(objective.intercept is Intercept.FREE, b, math.fsum(beta), part.size)
    length = math.sqrt(squares.own)
    lost += slip + value_doubt(objective, part, row_error(problem, length, b))
    lost = lost if lost > UNIT * primal else 0.0  # less than the last digit of P
    gap = float(brackets.sum()) + apart + lost
    dual_square = objective.regularized(squares.dual, dual_b)
    cancels = part.size * (problem.extent.reach + loss.epsilon) + dual_square > primal
    own = slip + error * (math.sqrt(2.0 * dual_square) + 0.5 * error)
    dual = primal - gap if cancels else max(part.conjugates - dual_square - own, primal - gap)
    return tallied(part, (primal, dual, gap), squares.own, objective.negligible)
