"""Fitted models of this package, read from their parameters and public attributes.

Costs, targets and γ are derived from the parameters again: a check of what a fit claims does not
rest on the code that made the claim.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from maxmargin.data.arrays import Array
from maxmargin.data.checks import LARGEST_C
from maxmargin.data.targets import relative_costs
from maxmargin.estimators import (
    SVC,
    SVR,
    LinearSVC,
    LinearSVR,
    NuSVC,
    NuSVR,
    OneClassSVM,
    PegasosClassifier,
)
from maxmargin.kernels import (
    Kernel,
    Linear,
    Precomputed,
)
from maxmargin.kernels.pairwise import plain
from maxmargin.losses import CLASSIFICATION, EPSILON_INSENSITIVE, HINGE, regression_loss
from maxmargin.theory.models import machines
from maxmargin.theory.models.machines import Machine
from maxmargin.theory.models.our_kernels import intercept_of, kernel_of
from maxmargin.theory.posed import Data, Posed, PosedJoint, check_features, check_labels

_LINEAR = (LinearSVC, LinearSVR, PegasosClassifier)
_KINDS = (*_LINEAR, SVC, SVR, OneClassSVM)


def reads(model: Any) -> bool:
    """Whether the model is one of ours."""
    return isinstance(model, _KINDS)


def name(model: Any) -> str:
    """Return what to call it."""
    return type(model).__name__


def problems(model: Any, data: Data) -> list[Posed] | list[PosedJoint]:
    """Return the problems it answers, in the order of `solutions_`."""
    check_is_fitted(model)
    check_features(model, data)
    if not hasattr(model, "solutions_"):
        return list(_of_stream(model, data))
    model._solved_here("dual point to certify")
    if hasattr(model, "classes_"):
        check_labels(data, model.classes_)
    if getattr(model, "multi_class", "") == "crammer_singer":
        return [_joint(model, data)]
    if getattr(model, "landmarks", None) is not None:
        return _by_landmarks(model, data)
    return list(_scalar_problems(model, data))


def _scalar_problems(model: Any, data: Data) -> Iterator[Posed]:
    """Yield those of one f each."""
    if isinstance(model, LinearSVR):
        yield _of_linear_svr(model, data)
    elif isinstance(model, _LINEAR):
        yield from _of_classifier(model, data)
    elif isinstance(model, SVC):
        yield from _of_svc(model, data)
    else:
        yield _of_machine(model, data)


def space(model: Any) -> str:
    """Return in which space the model's problem is posed, where that is not its own."""
    landmarks = getattr(model, "landmarks", None)
    return "" if landmarks is None or not reads(model) else f"the span of {landmarks} landmarks"


def _of_stream(model: Any, data: Data) -> Iterator[Posed]:
    """Yield the problems that the weights of a stream answer on a batch, without dual points."""
    if not hasattr(model, "coef_"):
        raise AttributeError(
            "A stream of kernel expansions is not kept, so there is no problem to certify after"
            " partial_fit. Fit to a batch that is at hand."
        )
    if model.multi_class != "ovr" and len(model.classes_) > 2:
        raise AttributeError(
            f"A stream with multi_class={model.multi_class!r} has no problems of a batch. Certify"
            " one with multi_class='ovr'."
        )
    cost, loss = _costs(model, data), CLASSIFICATION[model.loss]
    how, scaling = intercept_of(model), float(model.intercept_scaling)
    found = zip(
        data.against_rest(model.classes_), plain(model.coef_), model.intercept_, strict=True
    )
    for (y, label), w, b in found:
        yield Posed(data.X, y, cost, loss, w, float(b), None, how, scaling, name=label)


def _by_landmarks(model: Any, data: Data) -> list[Posed]:
    """Return the linear problems on the features of the landmarks.

    These are made again from the parameters of the kernel.
    """
    basis = data.X[model._space.landmark_indices_]
    if isinstance(kernel := kernel_of(model, data), Precomputed):
        basis = data.samples(kernel)[model._space.landmark_indices_]
    if isinstance(kernel, Linear):
        kernel = model._space.kernel_
    features = model._space.transform(data.X)
    if features.dtype == np.float64:
        features = kernel(data.samples(kernel), basis) @ model._space.normalization_
    weight = _costs(model, data) / float(model._engine.C)
    on_features = Data(np.asarray(features), data.y, weight)
    loss = HINGE
    if isinstance(model, SVR):
        loss = regression_loss(EPSILON_INSENSITIVE.name, float(model.epsilon))
    return [
        replace(posed, intercept=intercept_of(model), loss=loss)
        for posed in _scalar_problems(model._engine, on_features)
    ]


def _costs(model: Any, data: Data, weighted: Container[Any] | None = None) -> Array:
    """C_i: C, or 1/(λ Σ weights), times the sample's weight and that of its class.

    If some classes are `weighted`, the others have no weight.
    """
    lam = getattr(model, "lam", None)
    C = getattr(model, "C", 1.0) if lam is None else 1.0 / (lam * float(data.weight.sum()))
    if math.isinf(C):
        C = 1.0 if hasattr(model, "classes_") else LARGEST_C
    weight = data.weight
    if isinstance(model, NuSVC | OneClassSVM):
        weight = relative_costs(data.X, weight)
    cost, factors = float(C) * weight, _factors(model, data)
    some = {label: each for label, each in factors.items() if not weighted or label in weighted}
    return data.class_costs(cost, some)


def _factors(model: Any, data: Data) -> dict[Any, float]:
    """Return the weight of each class; "balanced" gives all present the same total."""
    given = getattr(model, "class_weight", None)
    if not isinstance(given, str):
        return given or {}
    totals = {label: float(data.weight[data.y == label].sum()) for label in model.classes_}
    present = [total for total in totals.values() if total > 0.0]
    mean = sum(present) / len(present)
    return {label: mean / total for label, total in totals.items() if total > 0.0}


def _of_linear_svr(model: LinearSVR, data: Data) -> Posed:
    loss, cost = regression_loss(model.loss, float(model.epsilon)), _costs(model, data)
    beta, how, scaling = model.solution_.beta, intercept_of(model), float(model.intercept_scaling)
    b = float(model.intercept_[0])
    return Posed(data.X, data.targets, cost, loss, model.coef_, b, beta, how, scaling)


def _of_classifier(model: Any, data: Data) -> Iterator[Posed]:
    """Yield the problems of weights; Pegasos has coefficients of all samples with a kernel."""
    cost, loss = _costs(model, data), CLASSIFICATION[model.loss]
    how, scaling = intercept_of(model), float(model.intercept_scaling)
    hard = model.lam is None and math.isinf(model.C)
    if getattr(model, "multi_class", "ovr") == "ovo" and len(model.classes_) > 2:
        for place, (rows, y, label) in enumerate(_pairs(model, data)):
            w, b = plain(model.coef_)[place], float(model.intercept_[place])
            beta, X = model.solutions_[place].beta, data.X[rows]
            posed = Posed(X, y, cost[rows], loss, w, b, beta, how, scaling, name=label, rows=rows)
            yield _hard(posed) if hard else posed
        return
    kernel = None
    if hasattr(model, "coef_"):
        weights = plain(model.coef_)
    else:
        kernel = kernel_of(model, data)
        weights = _scattered(model, plain(model.dual_coef_), len(cost))
    found = zip(data.against_rest(model.classes_), weights, model.intercept_, strict=True)
    for place, ((y, label), w, b) in enumerate(found):
        if getattr(model, "_rest_has_no_weight", False):
            cost = _costs(model, data, [model.classes_[place]])
        beta = model.solutions_[place].beta
        posed = Posed(
            data.X,
            y,
            cost,
            loss,
            w,
            float(b),
            beta,
            how,
            scaling,
            kernel=kernel,
            name=label,
        ).penalized(getattr(model, "penalty", "l2"))
        yield _hard(posed) if hard else posed


def _hard(posed: Posed) -> Posed:
    """Return the hard margin of weights, which is posed with coefficients: w is Σ β_i x_i."""
    assert posed.beta is not None
    direction = posed.X.T @ posed.beta
    scale = float(posed.w @ posed.w) / float(posed.w @ direction)
    return posed.hard_margin(loss=HINGE, w=scale * posed.beta, kernel=Linear())


def _pairs(model: Any, data: Data) -> Iterator[tuple[NDArray[np.intp], Array, str]]:
    """Yield the rows of each pair of classes, those of the first before those of the second."""
    members = data.members(model.classes_)
    for first, second in combinations(range(len(members)), 2):
        rows = np.concatenate([members[first], members[second]])
        y = np.concatenate([np.ones(len(members[first])), -np.ones(len(members[second]))])
        yield rows, y, f"{model.classes_[first]} against {model.classes_[second]}"


def _scattered(model: Any, coef: Array, n_samples: int) -> Array:
    """Return the coefficients of all samples."""
    whole = np.zeros((len(coef), n_samples))
    whole[:, model.support_] = coef
    return whole


def _joint(model: Any, data: Data) -> PosedJoint:
    solution, cost, kernel = model.solution_, _costs(model, data), None
    numbers = np.searchsorted(model.classes_, data.y).astype(np.float64)
    scaling = float(getattr(model, "intercept_scaling", 1.0))
    how, (W, b) = intercept_of(model), (solution.w, solution.b)
    if isinstance(model, SVC):
        kernel = kernel_of(model, data)
    if len(model.classes_) > 2:
        W = (
            plain(model.coef_)
            if kernel is None
            else _scattered(model, plain(model.dual_coef_), len(cost))
        )
        b = model.intercept_ + _shifts(model, kernel)
    elif kernel is not None:  # of two, the attributes have the difference, which is all that counts
        b = model.intercept_ + _shifts(model, kernel)
        b = np.concatenate([-0.5 * b, 0.5 * b])
    X, shift = data.samples(kernel), float(np.abs(_shifts(model, kernel)).max())
    return PosedJoint(X, numbers, cost, W, b, solution.beta, how, scaling, kernel, shift=shift)


def _of_svc(model: SVC, data: Data) -> Iterator[Posed]:
    """Yield the problems of pairs of classes, or of one against the rest."""
    cost, kernel = _costs(model, data), kernel_of(model, data)
    hard = not isinstance(model, NuSVC) and math.isinf(model.C)
    if model.multi_class == "ovo" or len(model.classes_) == 2:
        sign = -1.0 if len(model.classes_) == 2 else 1.0
        machine = Machine(
            kernel,
            model.support_,
            model.n_support_,
            sign * plain(model.dual_coef_),
            sign * model.intercept_,
            intercept_of(model),
        )
        found = list(machines.pairs(machine, data, cost, model.classes_))
        betas = list(_betas_of_pairs(model, data))
    else:
        weights = _scattered(model, plain(model.dual_coef_), len(cost))
        X, how = data.samples(kernel), intercept_of(model)
        found = [
            Posed(X, y, cost, HINGE, w, float(b), None, how, kernel=kernel, name=label)
            for (y, label), w, b in zip(
                data.against_rest(model.classes_), weights, model.intercept_, strict=True
            )
        ]
        betas = [solution.beta for solution in model.solutions_]
    shifts = np.broadcast_to(_shifts(model, kernel), len(found))
    for place, posed in enumerate(found):
        shift = (-1.0 if posed.flipped else 1.0) * float(shifts[place])
        b = posed.b + shift
        posed = replace(posed, b=b, beta=betas[place], shift=shift)  # noqa: PLW2901
        if isinstance(model, NuSVC):
            yield _with_rho(model, posed, place)
        else:
            yield posed.hard_margin() if hard else posed


def _betas_of_pairs(model: SVC, data: Data) -> Iterator[Array]:
    """Yield the dual point of each pair, in the order of X."""
    if len(model.classes_) == 2:
        yield model.solution_.beta
        return
    for (rows, _, _), solution in zip(_pairs(model, data), model.solutions_, strict=True):
        yield solution.beta[np.argsort(rows)]


def _with_rho(model: NuSVC, posed: Posed, place: int) -> Posed:
    """Return the problem in w, b and ρ, of which the attributes are divided by a unit."""
    solution = model.solutions_[place]
    rho, unit = solution.loss.target_scale, 1.0 / float(np.ravel(model.equivalent_C_)[place])
    excess = solution.excess if solution.certificate.primal < 0.0 else 0.0
    sides = [float(posed.cost[posed.y == side].sum()) for side in (1.0, -1.0)]
    return replace(
        posed,
        w=unit * posed.w,
        b=unit * posed.b - excess * rho,
        loss=replace(HINGE, target_scale=rho),
        nu_sum=min(model.nu * sum(sides), 2.0 * min(sides)),
    )


def _of_machine(model: Any, data: Data) -> Posed:
    """Return the problem of regression, or of one class."""
    kernel, cost = kernel_of(model, data), _costs(model, data)
    X, coef = data.samples(kernel), _scattered(model, plain(model.dual_coef_), len(cost))
    y = np.ones(len(cost)) if isinstance(model, OneClassSVM) else data.targets
    posed = Posed(
        X, y, cost, EPSILON_INSENSITIVE, coef[0], 0.0, model.solution_.beta,
        intercept_of(model), kernel=kernel,
    )  # fmt: skip
    if isinstance(model, OneClassSVM):
        rho = float(model.offset_[0]) / (1.0 - 1e-6)  # samples on the edge are inside
        loss = replace(HINGE, target_scale=rho)
        return replace(posed, loss=loss, nu_sum=model.nu * float(cost.sum()))
    nu, shift = isinstance(model, NuSVR), float(_shifts(model, kernel)[0])
    return replace(
        posed,
        b=float(model.intercept_[0]) + shift,
        shift=shift,
        loss=replace(EPSILON_INSENSITIVE, epsilon=model.epsilon_ if nu else model.epsilon),
        nu_sum=model.nu * float(cost.sum()) if nu else None,
    )


def _shifts(model: Any, kernel: Kernel | None) -> Array:
    """Return ⟨w, o⟩ of each problem, by which intercepts differ after a shift of the origin to o.

    With the weights that predictions have: those of coefficients that do not quite sum to 0 depend
    on the origin.
    """
    if not isinstance(kernel, Linear) or kernel.origin is None:
        return np.zeros(1)
    return np.asarray(np.atleast_2d(plain(model.coef_)) @ kernel.origin)
