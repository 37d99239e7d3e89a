"""Pegasos: what the theorem promises beside what a run does, in the texts' own scale.

F(w) = λ/2 ‖w‖² + mean max(0, 1 − y_i ⟨w, x_i⟩), X = max ‖x_i‖, T steps at samples drawn uniformly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.data.arrays import Array
from maxmargin.data.checks import check_count, check_positive
from maxmargin.estimators import LinearSVC, PegasosClassifier
from maxmargin.teaching import pegasos
from maxmargin.teaching.samples import checked
from maxmargin.theory.result import Result

_PEGASOS = "Shalev-Shwartz et al., Pegasos (Mathematical Programming 2011), Theorem 1."
_DRAWS = "Samples are drawn independently and uniformly; the bound is on the mean over the draws."
_MEAN = "The point is the mean of w_1, …, w_T, with w_1 = 0 and steps 1/(λt)."
_NO_INTERCEPT = (
    "There is no bound: λ/2 ‖w‖² does not grow with a free intercept b, so F is not strongly convex"
    " in (w, b) and steps of 1/(λt) in b have no such rate. Give penalized_intercept=True, or"
    " fit_intercept=False."
)


@dataclass(frozen=True)
class PegasosRate(Result):
    """The bound at T, and a run: F(w) − F* along it.

    Attributes
    ----------
    steps : ndarray of int
        The t at which the run was measured, up to T.
    bounds : ndarray
        2X²(1 + ln t)/(λt) at these t; with the projection (X + √λ)²(1 + ln t)/(2λt), if less.
    in_texts : ndarray
        2X² ln(t + 1)/(λt), as some texts have it: 1 + 1/2 + … + 1/t ≤ 1 + ln t, but it exceeds
        ln(t + 1), so this is proven for no t.
    suboptimality : ndarray
        F(mean of w_1, …, w_t) − F*, to the accuracy of F*, 1e-6 of it.
    last : ndarray
        F(w_{t+1}) − F*, of which the theorem says nothing.
    longest : float
        X.
    optimum : float
        F*, the proven lower bound of F.
    n_projected : int
        Steps at which the projection shortened w.
    """

    steps: NDArray[np.intp] = field(repr=False, kw_only=True)
    bounds: Array = field(repr=False, kw_only=True)
    in_texts: Array = field(repr=False, kw_only=True)
    suboptimality: Array = field(repr=False, kw_only=True)
    last: Array = field(repr=False, kw_only=True)
    longest: float = field(kw_only=True)
    optimum: float = field(kw_only=True)
    n_projected: int = field(kw_only=True)


def pegasos_rate(
    X: Any,
    y: Any,
    lam: float,
    *,
    max_steps: int = 10_000,
    projection: bool = False,
    random_state: Any = 0,
) -> PegasosRate:
    """Run T = `max_steps` steps of Pegasos without an intercept, beside the theorem's bound.

    For a penalised intercept append a column of ones to X, which lengthens the samples.
    """
    X, y = checked(X, y)
    lam = check_positive("lam", lam, advice="It is 1/(n_samples * C).")
    check_count("max_steps", max_steps, advice="It is T.")
    optimum = lam * LinearSVC(
        lam=lam, loss="hinge", fit_intercept=False, tol=1e-6, random_state=0
    ).fit(X, y).certificate_.dual  # fmt: skip
    looks = np.unique(np.geomspace(1, max_steps, 60).astype(np.intp))
    run = pegasos(X, y, lam, max_steps=max_steps, projection=projection, random_state=random_state)
    values, n_projected, wanted = [], 0, set(looks.tolist())
    for step in run:
        n_projected += step.projected
        if step.t in wanted:
            values.append([_objective(w, X, y, lam) for w in (step.average, step.w)])
    longest = math.sqrt(float(np.einsum("ij,ij->i", X, X).max()))
    bounds = _bound(longest, lam, looks, projection=projection)
    average, last = np.array(values).T - optimum
    return PegasosRate(
        float(bounds[-1]),
        (_DRAWS, _MEAN),
        _PEGASOS,
        remark="" if bounds[-1] < 1.0 else "It is 1 or more, and F(0) = 1: it says nothing yet.",
        steps=looks,
        bounds=bounds,
        in_texts=2.0 * longest**2 * np.log(looks + 1.0) / (lam * looks),
        suboptimality=average,
        last=last,
        longest=longest,
        optimum=optimum,
        n_projected=n_projected,
    )


def _objective(w: Array, X: Array, y: Array, lam: float) -> float:
    return float(0.5 * lam * (w @ w) + np.maximum(0.0, 1.0 - y * (X @ w)).mean())


def _bound(longest: float, lam: float, steps: Any, *, projection: bool) -> Array:
    """G²(1 + ln T)/(2λT), where no subgradient is longer than G."""
    gradient = 2.0 * longest
    if projection:
        gradient = min(gradient, longest + math.sqrt(lam))
    return np.asarray(gradient**2 * (1.0 + np.log(steps)) / (2.0 * lam * steps))


def pegasos_bound(model: PegasosClassifier) -> Result:
    """Return `bound_` of a fitted PegasosClassifier in the scale of F, or why there is none.

    `bound_` and the certificate are in the scale of ½‖w‖² + Σ C_i ℓ, which is F/λ.
    """
    if not isinstance(model, PegasosClassifier):
        raise ValueError(
            f"model must be a fitted PegasosClassifier, got {type(model).__name__}. See"
            " pegasos_rate for a run on any samples."
        )
    if not hasattr(model, "bound_"):
        raise ValueError("The model has no bound_: it is unfitted, or was fitted to a stream.")
    value = float(model.lam * model.bound_)
    return Result(value, (_DRAWS, _averaging(model)), _PEGASOS, remark=_reason(model, value))


def _averaging(model: PegasosClassifier) -> str:
    return f"averaging={model.averaging!r}: the factor that goes with it (docs/solvers.md)."


def _reason(model: PegasosClassifier, value: float) -> str:
    """Say why there is no bound, or what keeps it from being a proof."""
    if math.isfinite(value):
        shuffled = "The samples were shuffled, not drawn: the bound is a guide. Give"
        return "" if model.sampling == "uniform" else f"{shuffled} sampling='uniform'."
    if model.fit_intercept and not model.penalized_intercept:
        return _NO_INTERCEPT
    if model.loss != "hinge":
        return (
            "There is no bound: the subgradients of the squared hinge grow with w, so no G holds"
            " for all of them. Give loss='hinge'."
        )
    return "There is no bound: the run did not begin at w = 0. Give warm_start=False."
