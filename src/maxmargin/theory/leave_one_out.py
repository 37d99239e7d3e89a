"""The leave-one-out error, exact, and its bounds from one fit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.data.arrays import Array
from maxmargin.runtime.blas_threads import one_blas_thread
from maxmargin.theory.left_out import (
    LeftOut,
    doubtful,
    not_proven_right,
    signs_left_out,
    span_values,
    squares_left_out,
    values_left_out,
)
from maxmargin.theory.machine import Indices, Machine, machines_of, refuse_regression
from maxmargin.theory.optimum import exact_point
from maxmargin.theory.result import Result, vacuous
from maxmargin.theory.winners import Problems

Flags = NDArray[np.bool_]

_EXACT = "The solution is unique: f(x_i) is the same at all optima without sample i."
_INDEPENDENT = "For the expected risk with n − 1 samples: samples drawn independently."
_LUNTZ = "Leave-one-out error by refits; Luntz and Brailovsky (1969): it is unbiased."
_NEAR = (
    "{} labels are computed, but not proven: too near a tie, or without these samples no support"
    " vector is free and the intercept not unique. The exact value is from {:.6g} to {:.6g}."
)


@dataclass(frozen=True)
class LeaveOneOut(Result):
    """The share of samples that the machine without them gets wrong.

    Attributes
    ----------
    errors : ndarray of bool
        Which samples these are; those of weight 0 are left out.
    values : ndarray
        Of two classes y_i f(x_i) of the machine without sample i, where a refit was made, else with
        it: exact in sign. −∞ for the only sample of its class if the intercept is free; else the
        problem of one class has a solution. Of several classes a row for each
        sample with f of every problem, without the sample where that has it.
    n_support, n_refits : int
        Support vectors of all problems, and how many of these took a refit.
    n_unproven : int
        Samples whose label is computed but not proven; 0 makes the value exact.
    range : tuple of two floats
        Between which shares the exact value lies, whatever the labels that are not proven.
    """

    errors: Flags = field(repr=False, kw_only=True)
    values: Array = field(repr=False, kw_only=True)
    n_support: int = field(kw_only=True)
    n_refits: int = field(kw_only=True)
    n_unproven: int = field(kw_only=True)
    range: tuple[float, float] = field(kw_only=True)


@dataclass(frozen=True)
class LeaveOneOutRegression(Result):
    """The mean squared error of samples that are predicted by the machine without them.

    Attributes
    ----------
    mean_absolute_error : float
        The mean of |y_i − f(x_i)|; both means are over the samples that have a weight.
    predictions : ndarray
        f(x_i) of the machine without sample i.
    residuals : ndarray
        y_i − f(x_i) of it.
    accuracy : float
        The most by which the exact predictions are proven to differ from these; of least squares
        0, up to rounding.
    n_support, n_refits : int
        Support vectors, and how many of these took a refit.
    """

    mean_absolute_error: float = field(kw_only=True)
    predictions: Array = field(repr=False, kw_only=True)
    residuals: Array = field(repr=False, kw_only=True)
    accuracy: float = field(kw_only=True)
    n_support: int = field(kw_only=True)
    n_refits: int = field(kw_only=True)


def leave_one_out(model: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
    """Return the exact leave-one-out error of a fitted classifier or regression.

    C, ε, and a γ that was computed from the data stay what they are, and so do landmarks. Removing
    a sample with α = 0 does not change the optimum. Of two classes, a support vector that is wrong
    is wrong without itself too; the others are proven right from the solution, or refitted from it
    until the sign of f(x_i) is proven. Of several classes, and in regression, all support vectors
    are refitted, each in the problems that have it; least squares have a closed form.

    Parameters
    ----------
    model : SVC, LinearSVC, NuSVC, PegasosClassifier, SVR, LinearSVR or NuSVR
        Fitted, with any loss but the perceptron's. Of several classes all but
        multi_class="crammer_singer". A NuSVC is taken as the SVC with C = `equivalent_C_`, a NuSVR
        as the SVR with its C and ε = `epsilon_`.
    X, y, sample_weight
        Those of the fit.

    Returns
    -------
    LeaveOneOut
        Of a classifier; of a regression a LeaveOneOutRegression.
    """
    machines = machines_of(model, X, y, sample_weight)
    with one_blas_thread():
        if not hasattr(model, "classes_"):
            return _of_regression(machines[0])
        if len(machines) == 1:
            return _of_two_classes(machines[0])
        return _of_several(Problems.of(model, machines))


def _of_two_classes(machine: Machine) -> LeaveOneOut:
    found, used = signs_left_out(machine), machine.cost > 0.0
    values = machine.y * found.f
    errors = (values <= 0.0) & used
    proven = (found.low > 0.0) | (found.high < 0.0)
    counts = len(found.support), found.n_refits
    return _result(errors, values, (used, proven), counts)


def _of_several(problems: Problems) -> LeaveOneOut:
    """Take each sample out of the problems that have it, and see who wins then."""
    needs_values = problems.needs_values
    left = [(values_left_out if needs_values else signs_left_out)(m) for m in problems.machines]
    winners, proven = problems.winners(left)
    used = problems.used
    errors = (winners != problems.y) & used
    pairs = zip(problems.machines, left, strict=True)
    support = np.unique(np.concatenate([m.part.rows[found.support] for m, found in pairs]))
    counts = len(support), sum(found.n_refits for found in left)
    return _result(errors, problems.values(left), (used, proven), counts)


def _result(
    errors: Flags, values: Array, known: tuple[Flags, Flags], counts: tuple[int, int]
) -> LeaveOneOut:
    """Return the error; `known` are the samples that have a weight, and those that are proven."""
    (used, proven), (n_support, n_refits) = known, counts
    n_used, n_unproven = int(used.sum()), int(np.count_nonzero(~proven & used))
    least = int(np.count_nonzero(errors & proven))
    bounds = least / n_used, (least + n_unproven) / n_used
    return LeaveOneOut(
        float(errors.sum() / n_used),
        (_EXACT, _INDEPENDENT),
        _LUNTZ,
        remark=_NEAR.format(n_unproven, *bounds) if n_unproven else "",
        errors=errors,
        values=values,
        n_support=n_support,
        n_refits=n_refits,
        n_unproven=n_unproven,
        range=bounds,
    )


def _of_regression(machine: Machine) -> LeaveOneOutRegression:
    loss, used = machine.part.loss, machine.cost > 0.0
    if loss.epsilon == 0.0 and not loss.bounded:
        f = squares_left_out(machine)
        found = LeftOut(f, f, f, machine.support, 0)
    else:
        found = values_left_out(machine)
    remark = ""
    if machine.free and machine.part.loss.bounded and not _any_free(machine, found.support):
        remark = "No support vector is free: the intercept is not unique, and so is no prediction."
    residuals = machine.y - found.f
    off = np.maximum(found.high - found.f, found.f - found.low)[used]
    return LeaveOneOutRegression(
        float(np.mean(residuals[used] ** 2)),
        (_EXACT, _INDEPENDENT),
        _LUNTZ,
        remark=remark,
        mean_absolute_error=float(np.abs(residuals[used]).mean()),
        predictions=found.f,
        residuals=residuals,
        accuracy=float(off.max(initial=0.0)),
        n_support=len(found.support),
        n_refits=found.n_refits,
    )


def _any_free(machine: Machine, support: Indices) -> bool:
    """Whether any support vector is inside its box."""
    return bool((machine.alpha[support] < machine.cost[support]).any())


def _problems(model: Any, X: Any, y: Any, sample_weight: Any) -> Problems:
    """Return the problems of a classifier."""
    refuse_regression(model)
    return Problems.of(model, machines_of(model, X, y, sample_weight))


def support_vector_bound(model: Any, X: Any, y: Any, sample_weight: Any = None) -> Result:
    """Return |SV|/n, which the leave-one-out error of a classifier cannot exceed.

    Of several classes those count that are support vectors in any of the problems.
    """
    problems = _problems(model, X, y, sample_weight)
    points = [exact_point(machine) for machine in problems.machines]
    support = problems.any_of([alpha > 0.0 for alpha, _, _ in points])
    value = np.count_nonzero(support) / np.count_nonzero(problems.used)
    return Result(
        float(value),
        (_EXACT,),
        "Vapnik, The Nature of Statistical Learning Theory (1995).",
        remark=next((remark for *_, remark in points if remark), ""),
    )


@dataclass(frozen=True)
class XiAlpha(Result):
    """Joachims' bound, and what is known of its assumption.

    Attributes
    ----------
    radius_squared : float
        R_Δ² ≥ k(x, x) − k(x, x'), from the data; of several problems the largest.
    n_unproven : int
        Samples that it counts as right and that are not proven right without themselves; 0 makes it
        a bound here, whatever it assumes.
    """

    radius_squared: float = field(kw_only=True)
    n_unproven: int = field(kw_only=True)


def xi_alpha(model: Any, X: Any, y: Any, sample_weight: Any = None) -> XiAlpha:
    """Return the share of samples with 2 α_i R_Δ² + ξ_i ≥ 1, a bound of the leave-one-out error.

    Of several classes those count that have it in any problem. The samples that it calls right are
    looked at as in `leave_one_out`, as its assumption is not seen from the fit.
    """
    problems = _problems(model, X, y, sample_weight)
    for machine in problems.machines:
        _require_hinge(machine)
    points = [exact_point(machine) for machine in problems.machines]
    radii = [
        _radius_squared(machine, np.flatnonzero(alpha))
        for machine, (alpha, *_) in zip(problems.machines, points, strict=True)
    ]
    counted = [
        2.0 * alpha * radius + slack >= 1.0
        for radius, (alpha, slack, _) in zip(radii, points, strict=True)
    ]
    found = problems.any_of(counted)
    value = float(found.sum() / np.count_nonzero(problems.used))
    n_unproven = int(np.count_nonzero(_not_proven(problems, counted) & ~found))
    return XiAlpha(
        value,
        (_EXACT, "With a free intercept: without any sample there is a free support vector."),
        "Joachims, Estimating the Generalization Performance of an SVM Efficiently (ICML 2000).",
        remark=_no_bound(n_unproven)
        or vacuous(value)
        or next((remark for *_, remark in points if remark), ""),
        radius_squared=max(radii),
        n_unproven=n_unproven,
    )


def _not_proven(problems: Problems, counted: list[NDArray[np.bool_]]) -> NDArray[np.bool_]:
    """Which samples that ξα calls right are not proven so; all where memory is short."""
    pairs = list(zip(problems.machines, counted, strict=True))
    try:
        with one_blas_thread():
            return problems.any_of([not_proven_right(machine, ~some) for machine, some in pairs])
    except MemoryError:
        return problems.any_of([~some & (machine.alpha > 0.0) for machine, some in pairs])


def _no_bound(n_unproven: int) -> str:
    """Say so where the assumption of ξα is not known to hold."""
    if n_unproven == 0:
        return ""
    return (
        f"It is no bound here: {n_unproven} samples that it calls right are not proven so, as they"
        " would be under its assumption. Use theory.removal_bound."
    )


def _radius_squared(machine: Machine, support: Indices) -> float:
    """Return R_Δ², the most that k(x, x) exceeds k(x, x') for a support vector x'."""
    least = min(
        (float(machine.gram(rows, support).min()) for rows in machine.blocks(len(support))),
        default=0.0,
    )
    return float(machine.diagonal.max()) - least


def span(model: Any, X: Any, y: Any, sample_weight: Any = None) -> Result:
    """Return the error with f(x_i) − β_i S_i² in place of f(x_i) without i: an estimate, no bound.

    S_i is the distance of x_i to the affine hull of the free support vectors other than i. Of two
    classes it is the share of samples with y_i f(x_i) ≤ α_i S_i², in regression the mean square.
    """
    machines = machines_of(model, X, y, sample_weight)
    with one_blas_thread():
        values = [span_values(machine) for machine in machines]
    used, value = machines[0].cost > 0.0, 0.0
    if not hasattr(model, "classes_"):
        value = float(np.mean((machines[0].y - values[0])[used] ** 2))
    elif len(machines) == 1:
        value = float(((machines[0].y * values[0] <= 0.0) & used).sum() / used.sum())
    else:
        problems = Problems.of(model, machines)
        winners, _ = problems.winners(
            [LeftOut(f, f, f, m.support, 0) for m, f in zip(machines, values, strict=True)]
        )
        used = problems.used
        value = float(((winners != problems.y) & used).sum() / used.sum())
    return Result(
        value,
        ("No other sample becomes or ceases to be a support vector, or a bounded one.",),
        "Vapnik and Chapelle, Bounds on Error Expectation for SVM (Neural Computation 2000).",
    )


def removal_bound(model: Any, X: Any, y: Any, sample_weight: Any = None) -> Result:
    """Return the share of samples that one dual step does not prove right without themselves.

    It is Joachims' argument with the sample's own distance S_i to the free support vectors in place
    of R_Δ, and with the boxes in place of the assumption that there is room. Of several classes a
    sample has to be proven right in each problem that has it.
    """
    problems = _problems(model, X, y, sample_weight)
    with one_blas_thread():
        found = problems.any_of([doubtful(machine) for machine in problems.machines])
    return Result(
        float(found.sum() / np.count_nonzero(problems.used)),
        (_EXACT,),
        "Weak duality of the problem without the sample (docs/theory.md).",
    )


def _require_hinge(machine: Machine) -> None:
    if not machine.part.loss.bounded:
        raise ValueError(
            "The ξα bound is for loss='hinge', got loss='squared_hinge'. Use theory.removal_bound."
        )
