"""What margins prove: risk bounds, Novikoff's theorem, ν's property, the two forms of a margin."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.data.arrays import Array, view_rows
from maxmargin.data.checks import check_count
from maxmargin.estimators._sample_table import Part
from maxmargin.estimators._samples import parts_of
from maxmargin.kernels.pairwise import plain
from maxmargin.teaching import perceptron
from maxmargin.theory.machine import Indices, Machine, opened
from maxmargin.theory.optimum import exact_point
from maxmargin.theory.result import Result, vacuous

_DRAWN = "The samples are drawn independently from one distribution."
_MOHRI = "Mohri, Rostamizadeh and Talwalkar, Foundations of Machine Learning"


@dataclass(frozen=True)
class MarginBound(Result):
    """The margin bound and what it is made of.

    Attributes
    ----------
    radius : float
        r, the length of the longest sample in the kernel's space; with an intercept, of (x, 1).
    norm : float
        Λ, the least power of 2 that is at least ‖w‖; with an intercept, at least ‖(w, b)‖.
    in_texts : float
        The bound of the texts, mean ξ_i + 2‖w‖r/√n + √(ln(1/δ)/(2n)), as if ‖w‖ had been known
        before the samples were drawn.
    empirical : float
        The mean of min(1, ξ_i).
    complexity, confidence : float
        The other two terms.
    delta : float
        The bound holds with probability 1 − δ.
    """

    radius: float = field(kw_only=True)
    norm: float = field(kw_only=True)
    in_texts: float = field(kw_only=True)
    empirical: float = field(kw_only=True)
    complexity: float = field(kw_only=True)
    confidence: float = field(kw_only=True)
    delta: float = field(kw_only=True)


def margin_bound(
    model: Any, X: Any, y: Any, sample_weight: Any = None, *, delta: float = 0.05
) -> MarginBound:
    """Return an upper bound of the risk from the margins on the training samples.

    R(f) ≤ mean min(1, ξ_i) + 2 Λ r/√n + √(ln(1/δ')/(2n)) for all f with ‖w‖ ≤ Λ. As ‖w‖ is known
    only after the fit, Λ runs over the powers of 2, and Λ = 2^k has the share δ' = δ/(3 (|k| + 1)²)
    of δ. With an intercept, b is a weight of a feature 1.
    """
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta must be between 0 and 1, got {delta!r}. 0.05 is usual.")
    model, X = opened(model, X)
    machine = Machine.of(model, X, y, sample_weight)
    if sample_weight is not None or getattr(model, "class_weight", None) is not None:
        raise ValueError("The margin bound is for samples that all count the same: no weights.")
    square, radius_square = _lengths(model, machine, X)
    n, norm = machine.n, math.sqrt(square)
    power = math.ceil(math.log2(norm)) if norm > 0.0 else 0
    cap, radius = 2.0**power, math.sqrt(radius_square)
    share = delta / (3.0 * (abs(power) + 1) ** 2)  # π²/3 − 1 < 3: they add up to less than δ
    empirical = float(np.minimum(1.0, machine.slack).mean())
    complexity = 2.0 * cap * radius / math.sqrt(n)
    confidence = math.sqrt(math.log(1.0 / share) / (2.0 * n))
    value = empirical + complexity + confidence
    texts = float(machine.slack.mean()) + 2.0 * norm * radius / math.sqrt(n)
    return MarginBound(
        value,
        (_DRAWN, f"No sample that can be drawn is longer than r = {radius:.4g}."),
        f"{_MOHRI}, Theorem 5.8 and a union over Λ.",
        remark=vacuous(value),
        radius=radius,
        norm=cap,
        in_texts=texts + math.sqrt(math.log(1.0 / delta) / (2.0 * n)),
        empirical=empirical,
        complexity=complexity,
        confidence=confidence,
        delta=delta,
    )


def _lengths(model: Any, machine: Machine, X: Any) -> tuple[float, float]:
    """‖w‖² and the largest ‖x‖², both with the intercept as a weight."""
    square, longest = machine.norm**2, float(machine.diagonal.max())
    if hasattr(model, "coef_"):  # the rows as given: the kernel's origin was chosen from them
        rows, core = view_rows(model._check_rows(X, reset=False))
        norms = np.empty(rows.shape[0])
        core.squared_norms(0, len(norms), norms)
        longest = float(norms.max())
    if not model.fit_intercept:
        return square, longest
    return square + machine.b**2, longest + 1.0


@dataclass(frozen=True)
class SupportVectorRisk(Result):
    """|SV|/n, and whether the training samples are separated, which it assumes."""

    separable: bool = field(kw_only=True)
    n_support: int = field(kw_only=True)


def support_vector_risk(model: Any, X: Any, y: Any, sample_weight: Any = None) -> SupportVectorRisk:
    """Return |SV|/n, which in expectation bounds the risk of the fit to n − 1 samples.

    E R(f of n − 1 samples) ≤ E |SV|/n where the machine separates its samples, and by rule 1 of
    `leave_one_out` also where it does not. A sample with α > 0 need not be an error when it is left
    out: of the two directions in the texts' proof, only "an error is a support vector" is true.
    """
    machine = Machine.of(model, X, y, sample_weight)
    separable = bool((machine.slack < 1.0)[machine.cost > 0.0].all())
    alpha, _, remark = exact_point(machine)
    used, n_support = int(np.count_nonzero(machine.cost)), int(np.count_nonzero(alpha))
    return SupportVectorRisk(
        n_support / used,
        (_DRAWN, "It bounds the mean over samples of this size, not the risk of this one fit."),
        f"Vapnik (1995); {_MOHRI}, Theorem 5.4.",
        remark=remark if separable else "The samples are not separated, so it is loose.",
        separable=separable,
        n_support=n_support,
    )


@dataclass(frozen=True)
class RadiusMargin(Result):
    """R²/γ², with both."""

    radius: float = field(kw_only=True)
    margin: float = field(kw_only=True)
    separable: bool = field(kw_only=True)


def radius_margin(model: Any, X: Any, y: Any, sample_weight: Any = None) -> RadiusMargin:
    """Return R²/γ² = R²‖w‖², with R about the best centre if the intercept is free.

    R is that of a ball that holds all samples; its centre comes from 200 steps towards the farthest
    sample (Bădoiu and Clarkson 2003), with which it is at most 7 % too large.
    """
    machine = Machine.of(model, X, y, sample_weight)
    radius = _ball(machine) if machine.free else math.sqrt(float(machine.diagonal.max()))
    margin = math.inf if machine.norm == 0.0 else 1.0 / machine.norm
    separable = bool((machine.slack <= 1e-3)[machine.cost > 0.0].all())
    return RadiusMargin(
        (radius / margin) ** 2,
        ("All samples are beyond the margin: a hard margin. R²/(γ² n) then bounds leave-one-out.",),
        "Vapnik (1995); Chapelle et al., Choosing Multiple Parameters (Machine Learning 2002).",
        remark="" if separable else "Some samples have slacks, so it bounds no error.",
        radius=radius,
        margin=margin,
        separable=separable,
    )


def _ball(machine: Machine, steps: int = 200) -> float:
    """Return the radius of a ball that holds all samples, in the kernel's space."""
    used = np.flatnonzero(machine.cost > 0.0)
    diagonal = machine.diagonal[used]
    sums = _row(machine, int(used[0]), used)
    squares, best = diagonal[0], math.inf  # ‖centre‖²; sums has ⟨centre, x⟩
    for step in range(1, steps + 1):
        distances = diagonal - 2.0 * sums + squares
        farthest = int(distances.argmax())
        best = min(best, float(distances[farthest]))
        rate = 1.0 / (step + 1)
        squares = (
            (1.0 - rate) ** 2 * squares
            + 2.0 * rate * (1.0 - rate) * sums[farthest]
            + rate**2 * diagonal[farthest]
        )
        row = _row(machine, int(used[farthest]), used)
        sums = np.asarray((1.0 - rate) * sums + rate * row)
    return math.sqrt(max(best, 0.0))


def _row(machine: Machine, i: int, used: Indices) -> Array:
    return np.asarray(machine.gram(np.array([i]), used)[0])


@dataclass(frozen=True)
class Novikoff(Result):
    """The bound R²/γ² on the perceptron's mistakes, and the mistakes that it made."""

    mistakes: int = field(kw_only=True)
    radius: float = field(kw_only=True)
    margin: float = field(kw_only=True)
    converged: bool = field(kw_only=True)


def novikoff(model: Any, X: Any, y: Any, *, max_epochs: int = 1000) -> Novikoff:
    """Return Novikoff's bound R²/γ² on the mistakes of the perceptron, beside the counted ones.

    γ is the margin of `model`, a linear machine that separates the samples: fit
    LinearSVC(C=inf, fit_intercept=False) for the least bound. With an intercept the samples are
    (x, 1), and γ that of (w, b). The perceptron then runs over the samples in their order until it
    makes no mistake.
    """
    check_count("max_epochs", max_epochs, advice="1000 is usual.")
    model, X = opened(model, X)
    if not hasattr(model, "coef_") or len(getattr(model, "classes_", ())) != 2:
        raise ValueError(
            "Novikoff's theorem is about linear machines of two classes here. Give a LinearSVC."
        )
    rows, labels = model._check_rows(X, y, reset=False)
    if not np.isin(labels, model.classes_).all():
        raise ValueError(
            f"y has labels other than {model.classes_.tolist()}, on which the model was fitted."
            " Give the labels of the fit."
        )
    signs = np.where(labels == model.classes_[1], 1.0, -1.0)
    rows = rows.toarray() if sparse.issparse(rows) else np.asarray(rows, dtype=np.float64)
    w, b = np.asarray(plain(model.coef_)[0]), float(model.intercept_[0])
    if model.fit_intercept:
        rows, w = np.column_stack([rows, np.ones(len(rows))]), np.append(w, b)
    radius = math.sqrt(float(np.einsum("ij,ij->i", rows, rows).max()))
    length = float(np.linalg.norm(w))
    margin = float((signs * (rows @ w)).min()) / length if length > 0.0 else 0.0
    epochs = itertools.islice(perceptron(rows, signs), max_epochs * len(rows))
    mistakes, clean = 0, 0
    for step in epochs:
        mistakes, clean = mistakes + step.mistake, 0 if step.mistake else clean + 1
        if clean == len(rows):
            break
    value = (radius / margin) ** 2 if margin > 0.0 else math.inf
    return Novikoff(
        value,
        ("The samples are separated by a hyperplane through 0 with the margin γ.",),
        "Novikoff, On Convergence Proofs on Perceptrons (1962).",
        remark="" if margin > 0.0 else "The model does not separate the samples: no bound.",
        mistakes=mistakes,
        radius=radius,
        margin=max(margin, 0.0),
        converged=clean == len(rows),
    )


@dataclass(frozen=True)
class NuProperty(Result):
    """Whether ν lies between the shares of margin errors and of support vectors; 1.0 if it does."""

    nu: float = field(kw_only=True)
    margin_errors: float = field(kw_only=True)
    support: float = field(kw_only=True)
    margin: float = field(kw_only=True)

    @property
    def holds(self) -> bool:
        """Whether it does."""
        return self.value == 1.0


def nu_property(
    model: Any, X: Any, y: Any = None, sample_weight: Any = None, *, atol: float = 1e-4
) -> NuProperty:
    """Check that margin errors ≤ ν ≤ support vectors, as shares, for a NuSVC or OneClassSVM.

    Both shares are counted from the samples, by weight; a sample within `atol` of the margin, in
    units of it, is no margin error.
    """
    if not hasattr(model, "nu") or hasattr(model, "epsilon"):
        raise ValueError(f"{type(model).__name__} has no ν for a margin. Give a NuSVC.")
    parts = parts_of(model, X, y, sample_weight)
    if len(parts) > 1:
        raise ValueError("ν's property is checked for one problem: fit two classes of these.")
    (part,) = parts
    assert isinstance(part, Part)  # these have no joint problem of all classes
    weight = part.cost / part.cost.sum()
    errors = float(weight[part.slack > atol * max(part.edge, 1e-300)].sum())
    support = float(weight[part.beta != 0.0].sum())
    holds = errors <= model.nu + 1e-12 and support >= model.nu - 1e-12
    return NuProperty(
        float(holds),
        ("ρ > 0 at the optimum.", "The texts' ν is a count: ν n here."),
        "Schölkopf et al., New Support Vector Algorithms (Neural Computation 2000).",
        remark="" if part.solution.loss.target_scale > 0.0 else "ρ = 0: it need not hold.",
        nu=float(model.nu),
        margin_errors=errors,
        support=support,
        margin=part.scale * part.edge,
    )


@dataclass(frozen=True)
class MaximumMargin(Result):
    """The margin-maximising form: the margin γ of u = w/‖w‖, and 1/‖w‖, which it equals.

    Attributes
    ----------
    direction : ndarray or None
        u, of length 1; None with a kernel.
    offset : float
        b/‖w‖, so that y_i (⟨u, x_i⟩ + offset) ≥ γ.
    inverse_norm : float
        1/‖w‖, from the other form: min ½‖w‖² with y_i f(x_i) ≥ 1.
    most : float
        1/√(2D), which no margin exceeds: the dual bound.
    """

    direction: Array | None = field(repr=False, kw_only=True)
    offset: float = field(kw_only=True)
    inverse_norm: float = field(kw_only=True)
    most: float = field(kw_only=True)


def maximum_margin(model: Any, X: Any, y: Any) -> MaximumMargin:
    """Return max γ with ‖u‖ = 1 and y_i (⟨u, x_i⟩ + b) ≥ γ, from a machine fitted with C=inf.

    The two hard margin problems are one: u = w/‖w‖ and γ = 1/‖w‖. γ is measured on the samples, as
    the least y_i f(x_i)/‖w‖.
    """
    model, X = opened(model, X)
    if getattr(model, "C", None) != math.inf:
        raise ValueError(f"C must be inf for a hard margin, got C={getattr(model, 'C', None)!r}.")
    machine = Machine.of(model, X, y)
    used, norm = machine.cost > 0.0, machine.norm
    margin = float((machine.y * machine.f)[used].min()) / norm
    dual = machine.part.solution.certificate.dual
    coef = np.asarray(plain(model.coef_)[0]) if hasattr(model, "coef_") else None
    return MaximumMargin(
        margin,
        ("The samples are separable, as the fit has proven.",),
        "Cortes and Vapnik, Support-Vector Networks (Machine Learning 1995).",
        direction=None if coef is None else coef / norm,
        offset=machine.b / norm,
        inverse_norm=1.0 / norm,
        most=1.0 / math.sqrt(2.0 * dual),
    )
