"""The leave-one-out error, exact, and its bounds from one fit."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.data.arrays import Array
from maxmargin.runtime.blas_threads import one_blas_thread
from maxmargin.theory.machine import Indices, Machine
from maxmargin.theory.removal import Removals
from maxmargin.theory.result import Result, vacuous

#: Gaps to which refits go, beside what is expected to decide, one after the other; and the columns
#: among which they are made, beside the free support vectors. The first decides on most.
_ROUNDS = ((0.8, 1.5), (1e-2, 2.5), (1e-5, math.inf))

#: The same of those that are left, among all samples.
_LAST = (1e-5, 1e-9)

#: Samples up to which all may be columns of the last round.
_MOST = 5000

#: The least margin of a training error that is believed without a refit.
_CLEAR = 1e-6

_EXACT = "The solution is unique: f(x_i) is the same at all optima without sample i."
_INDEPENDENT = "For the expected risk with n − 1 samples: samples drawn independently."


@dataclass(frozen=True)
class LeaveOneOut(Result):
    """The share of samples that the machine without them gets wrong.

    Attributes
    ----------
    errors : ndarray of bool
        Which samples these are; those of weight 0 are left out.
    values : ndarray
        y_i f(x_i) of the machine without sample i, where a refit was made, else with it: exact in
        sign. −∞ for the only sample of its class.
    n_support, n_refits : int
        Support vectors, and how many of these took a refit.
    n_unproven : int
        Samples whose sign is computed but not proven; 0 makes the value exact.
    """

    errors: NDArray[np.bool_] = field(repr=False, kw_only=True)
    values: Array = field(repr=False, kw_only=True)
    n_support: int = field(kw_only=True)
    n_refits: int = field(kw_only=True)
    n_unproven: int = field(kw_only=True)


def leave_one_out(model: Any, X: Any, y: Any, sample_weight: Any = None) -> LeaveOneOut:
    """Return the exact leave-one-out error of a fitted classifier of two classes.

    C stays what it is. Removing a sample with α = 0 does not change the optimum, and a support
    vector that is wrong is wrong without itself too; the others are proven right from the solution,
    or refitted from it until the sign of f(x_i) is proven.

    Parameters
    ----------
    model : SVC, LinearSVC, NuSVC or PegasosClassifier
        Fitted, with the hinge or the squared hinge and two classes. A NuSVC is taken as the SVC
        with C = `equivalent_C_`.
    X, y, sample_weight
        Those of the fit.
    """
    machine = Machine.of(model, X, y, sample_weight)
    with one_blas_thread():
        return _left_out(machine)


def _left_out(machine: Machine) -> LeaveOneOut:
    removals, used = Removals(machine), machine.cost > 0.0
    values = machine.y * removals.f
    proven = values > 0.0  # and so of all that are no support vectors
    support = np.flatnonzero(removals.beta)
    samples = removals.columns[support]
    lone = machine.free & (_n_alike(machine)[samples] == 1)  # without it there is one class
    values[samples[lone]] = -math.inf
    wrong = values[samples] < -_clear(removals)
    proven[samples], proven[samples[wrong]] = False, True
    open_ = support[~wrong]
    spans = removals.spans(open_)
    right = removals.proven_right(open_, spans)
    proven[removals.columns[open_[right]]] = True
    n_refits = int(np.count_nonzero(~right))
    left = removals.columns[open_[~right]]
    for effort in _ROUNDS:
        left = _tried(removals, left, (values, proven), *effort)
    if len(left) and used.sum() <= _MOST:
        everyone = Removals(machine, everyone=True)
        for tightness in _LAST:
            left = _tried(everyone, left, (values, proven), tightness, math.inf)
    errors = (values <= 0.0) & used
    return LeaveOneOut(
        float(errors.sum() / used.sum()),
        (_EXACT, _INDEPENDENT),
        "Leave-one-out error by refits; Luntz and Brailovsky (1969): it is unbiased.",
        remark="" if proven[used].all() else "Some signs are computed, but too near 0 to prove.",
        errors=errors,
        values=values,
        n_support=len(support),
        n_refits=n_refits,
        n_unproven=int(np.count_nonzero(~proven & used)),
    )


def _n_alike(machine: Machine) -> NDArray[np.intp]:
    """Return how many samples have the label of each."""
    up = (machine.y > 0.0) & (machine.cost > 0.0)
    down = (machine.y < 0.0) & (machine.cost > 0.0)
    return np.asarray(np.where(up, np.count_nonzero(up), np.count_nonzero(down)))


def _clear(removals: Removals) -> float:
    """Return by how much f may miss that of the exact optimum: ‖w − w*‖² is at most 2 G."""
    longest = math.sqrt(float(removals.machine.diagonal.max()))
    return max(_CLEAR, 2.0 * math.sqrt(2.0 * removals.gap) * longest)


def _tried(
    removals: Removals,
    left: Indices,
    found: tuple[Array, NDArray[np.bool_]],
    tightness: float,
    width: float,
) -> Indices:
    """Refit without each of these samples; return those whose sign is not proven by it."""
    if not len(left):
        return left
    values, proven = found
    places = removals.places(left)
    spans = removals.spans(places)
    margins = _span_values(removals, places, spans.squares)
    target = tightness * removals.deciding_gap(places, margins)
    wide = int(min(width * (len(removals.free) + 20), len(removals.columns)))
    verdict = removals.refit(places, spans, target, wide)
    values[left] = removals.machine.y[left] * verdict.values
    proven[left] = verdict.proven
    return left[~verdict.proven]


def _span_values(removals: Removals, samples: Indices, squares: Array) -> Array:
    """y_i f(x_i) without i if no other sample changes its status: y_i f(x_i) − α_i S_i²."""
    at = removals.columns[samples]
    return np.asarray(
        removals.y[samples] * removals.f[at] - np.abs(removals.beta[samples]) * squares
    )


def support_vector_bound(model: Any, X: Any, y: Any, sample_weight: Any = None) -> Result:
    """Return |SV|/n, which the leave-one-out error cannot exceed."""
    machine = Machine.of(model, X, y, sample_weight)
    value = len(machine.support) / int(np.count_nonzero(machine.cost))
    return Result(value, (_EXACT,), "Vapnik, The Nature of Statistical Learning Theory (1995).")


@dataclass(frozen=True)
class XiAlpha(Result):
    """Joachims' bound, with the R_Δ² ≥ k(x, x) − k(x, x') that it took from the data."""

    radius_squared: float = field(kw_only=True)


def xi_alpha(model: Any, X: Any, y: Any, sample_weight: Any = None) -> XiAlpha:
    """Return the share of samples with 2 α_i R_Δ² + ξ_i ≥ 1, a bound of the leave-one-out error."""
    machine = Machine.of(model, X, y, sample_weight)
    _require_hinge(machine)
    support = machine.support
    least = min(
        (float(machine.gram(rows, support).min()) for rows in machine.blocks(len(support))),
        default=0.0,
    )
    radius = float(machine.diagonal.max()) - least
    used = machine.cost > 0.0
    doubtful = (2.0 * machine.alpha * radius + machine.slack >= 1.0) & used
    value = float(doubtful.sum() / used.sum())
    edge = (machine.alpha > 0.0) & (machine.alpha < machine.cost)
    return XiAlpha(
        value,
        (_EXACT, "With a free intercept: without any sample there is a free support vector."),
        "Joachims, Estimating the Generalization Performance of an SVM Efficiently (ICML 2000).",
        remark=vacuous(value) or ("" if edge.any() else "No support vector is free here."),
        radius_squared=radius,
    )


def span(model: Any, X: Any, y: Any, sample_weight: Any = None) -> Result:
    """Return the share of samples with y_i f(x_i) ≤ α_i S_i²: an estimate, no bound.

    S_i is the distance of x_i to the affine hull of the free support vectors other than i.
    """
    machine = Machine.of(model, X, y, sample_weight)
    with one_blas_thread():
        removals, used = Removals(machine), machine.cost > 0.0
        support = np.flatnonzero(removals.beta)
        squares = removals.spans(support).squares
    values = machine.y * removals.f
    values[removals.columns[support]] = _span_values(removals, support, squares)
    return Result(
        float(((values <= 0.0) & used).sum() / used.sum()),
        ("No other sample becomes or ceases to be a support vector, or a bounded one.",),
        "Vapnik and Chapelle, Bounds on Error Expectation for SVM (Neural Computation 2000).",
    )


def removal_bound(model: Any, X: Any, y: Any, sample_weight: Any = None) -> Result:
    """Return the share of samples that one dual step does not prove right without themselves.

    It is Joachims' argument with the sample's own distance S_i to the free support vectors in place
    of R_Δ, and with the boxes in place of the assumption that there is room.
    """
    machine = Machine.of(model, X, y, sample_weight)
    with one_blas_thread():
        removals, used = Removals(machine), machine.cost > 0.0
        support = np.flatnonzero(removals.beta)
        wrong = ~removals.proven_right(support, removals.spans(support))
    doubtful = machine.y * removals.f <= 0.0
    doubtful[removals.columns[support[wrong]]] = True
    return Result(
        float((doubtful & used).sum() / used.sum()),
        (_EXACT,),
        "Weak duality of the problem without the sample (docs/theory.md).",
    )


def _require_hinge(machine: Machine) -> None:
    if not machine.part.loss.bounded:
        raise ValueError(
            "The ξα bound is for loss='hinge', got loss='squared_hinge'. Use theory.removal_bound."
        )
