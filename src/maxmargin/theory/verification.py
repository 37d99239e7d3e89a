"""An independent check of what a fitted model claims."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from maxmargin.certificate import Certificate, Status
from maxmargin.data.arrays import Matrix
from maxmargin.estimators._checks import without_names
from maxmargin.estimators._linear_predictions import decision_values
from maxmargin.objectives import Intercept
from maxmargin.solution import Solution
from maxmargin.theory.models import ours
from maxmargin.theory.models.wrapped import Inner, inner
from maxmargin.theory.plain_kernels import EXTENDED, RATIONAL, Arithmetic, kernel_values
from maxmargin.theory.plain_values import Values, values_of
from maxmargin.theory.posed import Data, Posed, PosedJoint, rows_of

#: Relative rounding that is allowed for in double precision.
_ROUNDING = 1e-9

#: Shares of f by which predictions, which may sum in float32, differ from it.
_PREDICTION = 1e-3

#: Samples up to which all eigenvalues of an unknown kernel are computed.
_FEW = 1000

#: Samples up to which kernel machines are solved in float64 throughout.
_DOUBLE = 1024


class Check(NamedTuple):
    """One claim: whether it holds, what was claimed and what was recomputed."""

    name: str
    holds: bool
    claimed: float | str | None = None
    recomputed: float | str | None = None

    def __str__(self) -> str:
        numbers = [_text(value) for value in (self.claimed, self.recomputed) if value is not None]
        said = f": claimed {numbers[0]}, recomputed {numbers[1]}" if len(numbers) == 2 else ""
        reason = f": {numbers[0]}" if len(numbers) == 1 else ""
        return f"{'holds' if self.holds else 'FAILS'}  {self.name}{said}{reason}"


def _text(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.10g}"


@dataclass(frozen=True)
class Verification:
    """Whether every claim of a model holds; true or false as a condition.

    Attributes
    ----------
    checks : tuple of Check
        What was recomputed.
    arithmetic : str
        In what numbers.
    """

    checks: tuple[Check, ...]
    arithmetic: str

    def __bool__(self) -> bool:
        return not self.failures

    @property
    def failures(self) -> tuple[Check, ...]:
        """The checks that fail."""
        return tuple(check for check in self.checks if not check.holds)

    def sentence(self) -> str:
        """Say in words what was found."""
        if self:
            return f"verified: {len(self.checks)} claims recomputed in {self.arithmetic} hold"
        names = ", ".join(check.name for check in self.failures)
        return (
            f"not verified: {len(self.failures)} of {len(self.checks)} claims, recomputed in"
            f" {self.arithmetic}, fail: {names}"
        )

    def __str__(self) -> str:
        return "\n".join([*map(str, self.checks), self.sentence()])


#: Checks of numbers that a certificate counts by distinct rows where equal ones were fitted as one.
_OF_DISTINCT_ROWS = ("sum of slacks", "support vectors")


def verify(
    model: Any, X: Any, y: Any = None, sample_weight: Any = None, *, exact: bool = False
) -> Verification:
    """Recompute what a fitted model of this package claims, from its attributes and the data.

    The problem is derived again from the parameters, X, y and the weights: costs, labels, γ,
    kernel values, f(x), P and D by their textbook formulas in plain NumPy and extended precision,
    with no code in common with the solvers and `maxmargin.certificate`. The result is true as a
    condition if the dual point is feasible, P − D is no more than the gap that was claimed, and
    margins, slacks, support vectors and predictions are as stated. Other data, or data in another
    order, another C, kernel or weight, and changed coefficients make it false.

    Parameters
    ----------
    model : estimator
        A fitted LinearSVC, LinearSVR, PegasosClassifier, SVC, NuSVC, SVR, NuSVR or OneClassSVM, or
        a pipeline, search, embedding or one-vs-rest estimator around these.
    X, y, sample_weight : arrays
        Those of the fit, in their order.
    exact : bool, default=False
        Whether to compute in exact rational numbers: for small problems without a kernel, or with
        a polynomial one.

    Notes
    -----
    A change that alters nothing (two equal samples exchanged) or no more than rounding (1e-9 of P)
    is not seen. It takes about n × n_SV × d operations of long double, without BLAS.
    """
    arithmetic = RATIONAL if exact else EXTENDED
    if sample_weight is not None:  # below 0 leaves a sample out, as in fit
        sample_weight = np.maximum(np.asarray(sample_weight, dtype=np.float64), 0.0)
    try:
        machines = inner(model, X, y, sample_weight)
    except (ValueError, IndexError) as error:
        failed = Check("the model fits these data", False, str(error))
        return Verification((failed,), arithmetic.name)
    checks: list[Check] = []
    for machine in machines:
        about = f" ({machine.name})" if machine.name else ""
        found = _verified(machine, arithmetic)
        checks += [check._replace(name=check.name + about) for check in found]
    return Verification(tuple(checks), arithmetic.name)


def _verified(machine: Inner, arithmetic: Arithmetic) -> list[Check]:
    """Recompute what one machine claims."""
    model, X = machine.model, machine.X
    if not ours.reads(model):
        raise TypeError(
            "verify is for maxmargin's linear and kernel machines, got a"
            f" {type(model).__name__}. For models of other libraries maxmargin.certify(model, X, y)"
            " proves how good they are."
        )
    solutions = model._solved_here("dual point to verify")
    try:
        rows = rows_of(model, X)
        data = Data.checked(rows, machine.y, machine.weight)
        posed = ours.problems(model, data)
        _check_sizes(posed)
    except (ValueError, IndexError) as error:
        return [Check("the model fits these data", False, str(error))]
    checks = [Check("the model fits these data", True), *_support_vectors(model, data)]
    values = [values_of(problem, arithmetic) for problem in posed]
    problems: Sequence[Posed | PosedJoint] = posed
    for problem, solution, found in zip(problems, solutions, values, strict=True):
        about = f" ({problem.name})" if problem.name else ""
        claims = list(_claims(problem, solution.certificate, found, float(model.tol)))
        if solution.distinct_rows is not None:  # these count each of them once
            claims = [check for check in claims if check.name not in _OF_DISTINCT_ROWS]
        checks += [check._replace(name=check.name + about) for check in claims]
        checks += [Check(f"coefficients of the solution{about}", _same_point(problem, solution))]
    given = X if rows is not X else data.X  # the samples of a function, or checked rows
    checks += _predictions(model, given, posed, values)
    return checks


def _same_point(posed: Posed | PosedJoint, solution: Solution) -> bool:
    """Whether the attributes have the solution's weights, and no intercept where there is none."""
    if posed.intercept is Intercept.NONE and np.any(posed.b):
        return False
    if posed.kernel is not None:  # f of an expansion is compared as a whole
        return True
    return np.array_equal(posed.w, solution.w) and np.array_equal(posed.b, solution.b)


def _check_sizes(posed: list[Posed] | list[PosedJoint]) -> None:
    for problem in posed:
        if problem.beta is None or len(problem.beta) != len(problem.y):
            raise ValueError("the dual point is of another number of samples")
        if not all(np.isfinite(part).all() for part in (problem.w, problem.b, problem.beta)):
            raise ValueError("the weights, the intercept or the dual point are not finite")


def _support_vectors(model: Any, data: Data) -> Iterator[Check]:
    vectors = getattr(model, "support_vectors_", None)
    if vectors is None or min(vectors.shape) == 0:
        return
    rows: Matrix = data.X[model.support_]
    same = rows.shape == vectors.shape
    if same:
        apart = abs(rows - vectors)
        same = apart.max() == 0.0 if not sparse.issparse(apart) else apart.nnz == 0
    yield Check("support vectors are rows of X", bool(same))


def _claims(
    posed: Posed | PosedJoint, claim: Certificate, found: Values, tol: float
) -> Iterator[Check]:
    """Check what the certificate of one problem says."""
    yield Check("the dual point is feasible", found.outside <= _ROUNDING)
    rounding = _ROUNDING * found.scale + found.sensitivity
    slack = rounding
    if posed.kernel is not None and len(posed.y) > _DOUBLE:
        slack += claim.gap  # f from float32 rows: what that may change is part of the gap
    yield Check("primal", _near(claim.primal, found.primal, slack), claim.primal, found.primal)
    yield Check("dual", found.dual >= claim.dual - slack, claim.dual, found.dual)
    yield Check("gap", found.gap <= claim.gap + rounding, claim.gap, found.gap)
    apart = claim.primal - claim.dual
    covers = apart <= claim.gap * (1.0 + 1e-6) + rounding
    yield Check("gap covers primal − dual", covers, claim.gap, apart)
    yield from _relative(claim, found, rounding, tol)
    if posed.kernel is not None and posed.kernel.mercer is None:
        yield from _convexity(posed, claim)
    yield _margin(claim, found)
    allowed = 1e-6 * abs(found.slacks) + (1e-9 + 2.0 * found.error) * len(posed.y)
    allowed += 1e-3 * (slack - rounding)
    near = _near(claim.slack_sum, found.slacks, allowed)
    yield Check("sum of slacks", near, claim.slack_sum, found.slacks)
    if found.free >= 0:
        yield _support(claim, found)


def _near(claimed: float, found: float, allowed: float) -> bool:
    """Whether they differ by that at most; infinite where no hard margin is kept: both or none."""
    return claimed == found or (math.isfinite(found) and abs(found - claimed) <= allowed)


def _margin(claim: Certificate, found: Values) -> Check:
    """Check ‖w‖², which a sum of kernel values has with their rounding."""
    margin = 1.0 / math.sqrt(found.square) if found.square > 0.0 else math.inf
    stated = 1.0 / claim.margin**2 if claim.margin > 0.0 else math.inf
    near = abs(stated - found.square) <= 2e-6 * abs(found.square) + found.square_error
    return Check("margin 1/‖w‖", near or margin == claim.margin, claim.margin, margin)


def _support(claim: Certificate, found: Values) -> Check:
    """Check the numbers of support vectors; one at its bound up to rounding may be called free."""
    total = claim.n_support_free + claim.n_support_bounded == found.free + found.bounded
    possible = range(found.bounded - found.nearly, found.bounded + 1)
    stated = f"{claim.n_support_free} free, {claim.n_support_bounded} bounded"
    counted = f"{found.free} free, {found.bounded} bounded"
    holds = total and claim.n_support_bounded in possible
    return Check("support vectors", holds, stated, counted)


def _relative(claim: Certificate, found: Values, rounding: float, tol: float) -> Iterator[Check]:
    """Check the claimed fraction of the optimum, and that "optimal" means tol."""
    size = max(found.dual, -found.primal)
    if found.gap > 1e3 * rounding and size > 0.0:
        share = found.gap / size
        holds = share <= claim.relative_gap * (1.0 + 1e-6) + rounding / size
        yield Check("relative gap", holds, claim.relative_gap, share)
    if claim.status is Status.OPTIMAL:
        yield Check("relative gap ≤ tol", claim.relative_gap <= tol)


def _convexity(posed: Posed | PosedJoint, claim: Certificate) -> Iterator[Check]:
    """Compute all eigenvalues of a kernel matrix that is not known to be semidefinite."""
    if posed.kernel is None or posed.X.shape[0] > _FEW:
        return
    K = np.asarray(kernel_values(posed.kernel, posed.X, posed.X, EXTENDED), dtype=np.float64)
    eigenvalues = np.linalg.eigvalsh(0.5 * (K + K.T))
    least, largest = float(eigenvalues[0]), float(np.abs(eigenvalues).max())
    known = least >= -1e-5 * largest
    yield Check("the kernel is positive semidefinite", known or not claim.convex)


def _predictions(
    model: Any, X: Any, posed: Sequence[Posed | PosedJoint], values: list[Values]
) -> Iterator[Check]:
    """Check that the model's decision values are those that its coefficients mean."""
    pairs = len(getattr(model, "classes_", ())) > 2 and _solves_pairs(model)
    stated = _stated(without_names(model), X, pairs=pairs)
    apart, size, error = 0.0, 0.0, 0.0
    for place, (problem, found) in enumerate(zip(posed, values, strict=True)):
        rows = problem.rows if pairs and isinstance(problem, Posed) else slice(None)
        own, said = _meant(model, problem, found, place), stated[rows]
        said = said[:, place] if own.ndim == 1 and said.ndim == 2 else said
        apart = max(apart, float(np.abs(said - own).max()))
        size = max(size, float(np.abs(own).max()))
        error = max(error, _unit(model, place) * found.error)
    yield Check("decision values are those of f", apart <= _PREDICTION * size + error)


def _solves_pairs(model: Any) -> bool:
    return getattr(model, "multi_class", "ovr") == "ovo"


def _stated(model: Any, X: Any, *, pairs: bool) -> Any:
    """Return the model's own decision values: a column for each problem where there are several."""
    if not hasattr(model, "decision_function"):
        return model.predict(X)
    if not pairs:
        return model.decision_function(X)
    if hasattr(model, "coef_") and not hasattr(model, "dual_coef_"):
        return decision_values(model, X)
    by_pairs = copy(model)
    by_pairs.decision_function_shape = "ovo"
    return by_pairs.decision_function(X)


def _unit(model: Any, place: int) -> float:
    """Return what f is multiplied by in the model: 1/ρ for NuSVC."""
    if not hasattr(model, "equivalent_C_"):
        return 1.0
    return float(np.ravel(model.equivalent_C_)[place])


def _meant(model: Any, posed: Posed | PosedJoint, found: Values, place: int) -> Any:
    """Return the decision values that f means."""
    f = found.f
    if isinstance(posed, PosedJoint):
        return f if f.shape[1] > 2 else f[:, 1] - f[:, 0]
    if hasattr(model, "offset_"):
        return f - model.offset_
    if hasattr(model, "equivalent_C_"):
        C = _unit(model, place)
        excess = model.solutions_[place].excess
        f = C * (f + excess * posed.loss.target_scale)
    return -f if posed.flipped else f
