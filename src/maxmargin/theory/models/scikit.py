"""Fitted models of scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import check_is_fitted

from maxmargin.data.arrays import Array
from maxmargin.kernels import Gaussian, Kernel, Linear, Polynomial, Precomputed, Sigmoid
from maxmargin.losses import CLASSIFICATION, regression_loss
from maxmargin.objectives import Intercept
from maxmargin.theory.models import machines
from maxmargin.theory.models.machines import Machine
from maxmargin.theory.posed import (
    Data,
    Posed,
    PosedJoint,
    check_features,
    check_labels,
    check_places,
)

_MACHINES = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")
_KINDS = (*_MACHINES, "LinearSVC", "LinearSVR", "SGDClassifier")


def _kind(model: Any) -> str:
    """Return which of scikit-learn's models it is, without an import of them; "" if none."""
    own = (kind for kind in type(model).__mro__ if kind.__module__.startswith("sklearn."))
    return next((kind.__name__ for kind in own if kind.__name__ in _KINDS), "")


def reads(model: Any) -> bool:
    """Whether the model is one of these."""
    return _kind(model) != ""


def name(model: Any) -> str:
    """Return what to call it."""
    return f"scikit-learn {type(model).__name__}"


def problems(model: Any, data: Data) -> list[Posed] | list[PosedJoint]:
    """Return the problems it answers; `data` are those of the fit."""
    check_is_fitted(model)
    check_features(model, data)
    if hasattr(model, "classes_"):
        check_labels(data, model.classes_)
    kind = _kind(model)
    if kind in _MACHINES:
        return list(_of_machine(model, data, kind))
    if kind == "LinearSVC":
        return _of_linear_svc(model, data)
    return [_of_linear_svr(model, data)] if kind == "LinearSVR" else list(_of_sgd(model, data))


def _of_machine(model: Any, data: Data, kind: str) -> Iterator[Posed]:
    machine = _machine(model, data)
    if kind == "OneClassSVM":
        yield machines.region(machine, data, model.nu)
    elif kind == "SVR":
        yield machines.regression(machine, data, model.C * data.weight, model.epsilon)
    elif kind == "NuSVR":
        found = machines.regression(machine, data, model.C * data.weight, 0.0)
        yield machines.with_tube(found, model.nu)
    elif kind == "NuSVC":  # LIBSVM has no class weights there
        pairs = machines.pairs(machine, data, data.weight, model.classes_)
        yield from (machines.with_nu(posed, model.nu) for posed in pairs)
    else:
        factors = dict(zip(model.classes_, model.class_weight_, strict=True))
        cost = data.class_costs(model.C * data.weight, factors)
        yield from machines.pairs(machine, data, cost, model.classes_)


def _machine(model: Any, data: Data) -> Machine:
    """Return its support vectors; of two classes it has f with the other sign than LIBSVM."""
    coef = model.dual_coef_
    coef = np.asarray(coef.toarray() if sparse.issparse(coef) else coef, dtype=np.float64)
    sign = -1.0 if len(getattr(model, "classes_", ())) == 2 else 1.0
    weighted = np.flatnonzero(data.weight)
    check_places(model.support_, len(weighted))
    support = weighted[model.support_]  # scikit-learn counts those that have a weight
    b = sign * model.intercept_
    return Machine(_kernel(model, data), support, model.n_support_, sign * coef, b)


def _kernel(model: Any, data: Data) -> Kernel:
    if callable(model.kernel):
        return Precomputed(data.X)
    gamma = model._gamma if model.kernel in ("rbf", "poly", "sigmoid") else 1.0
    named: dict[str, Kernel] = {
        "linear": Linear(),
        "rbf": Gaussian(gamma or 1.0),
        "poly": Polynomial(gamma or 1.0, model.degree, model.coef0),
        "sigmoid": Sigmoid(gamma or 1.0, model.coef0),
        "precomputed": Precomputed(data.X),
    }
    return named[model.kernel]


def _of_linear_svc(model: Any, data: Data) -> list[Posed] | list[PosedJoint]:
    factors, cost = _factors(model, data, weighted=True), model.C * data.weight
    how, scaling = _intercept(model)
    if model.multi_class == "crammer_singer":
        return [_joint(model, data, data.class_costs(cost, factors), how, scaling)]
    posed = _against_rest(model, data, cost, factors)
    return [
        replace(problem, intercept=how, scaling=scaling).penalized(model.penalty)
        for problem in posed
    ]


def _joint(model: Any, data: Data, cost: Array, how: Intercept, scaling: float) -> PosedJoint:
    """Return the one problem of all classes; two have half of the difference each."""
    coef, b = model.coef_, np.broadcast_to(model.intercept_, len(model.coef_)).astype(np.float64)
    if len(model.classes_) == 2:
        coef, b = np.vstack([-0.5 * coef, 0.5 * coef]), np.concatenate([-0.5 * b, 0.5 * b])
    numbers = np.searchsorted(model.classes_, data.y).astype(np.float64)
    return PosedJoint(data.X, numbers, cost, coef, b, None, how, scaling)


def _of_linear_svr(model: Any, data: Data) -> Posed:
    how, scaling = _intercept(model)
    loss = regression_loss(model.loss, float(model.epsilon))
    coef = np.asarray(model.coef_, dtype=np.float64).ravel()
    b = float(np.ravel(model.intercept_)[0])
    cost = model.C * data.weight
    return Posed(data.X, data.targets, cost, loss, coef, b, intercept=how, scaling=scaling)


def _intercept(model: Any) -> tuple[Intercept, float]:
    """Return LIBLINEAR's: a further feature, penalised like any."""
    if not model.fit_intercept:
        return Intercept.NONE, 1.0
    return Intercept.PENALIZED, float(model.intercept_scaling)


def _of_sgd(model: Any, data: Data) -> Iterator[Posed]:
    """α/2 ‖w‖² + mean loss, divided by α: C = 1/(n α). Its intercept is free."""
    hinges = {"l2": ("hinge", "squared_hinge"), "l1": ("squared_hinge",)}
    if model.loss not in hinges.get(model.penalty, ()):
        raise ValueError(
            f"SGDClassifier(loss={model.loss!r}, penalty={model.penalty!r}) is no support vector"
            " machine. Certify one with loss='hinge' or 'squared_hinge' and penalty='l2', or with"
            " loss='squared_hinge' and penalty='l1'."
        )
    if model.early_stopping:
        raise ValueError(
            "early_stopping=True sets samples aside that the fit does not see. Certify a model"
            " with early_stopping=False."
        )
    C = 1.0 / (model.alpha * data.X.shape[0])
    factors = _factors(model, data, weighted=False)
    how = Intercept.FREE if model.fit_intercept else Intercept.NONE
    for posed in _against_rest(model, data, C * data.weight, factors):
        yield replace(posed, intercept=how).penalized(model.penalty)


def _against_rest(
    model: Any, data: Data, cost: Array, factors: dict[Any, float]
) -> Iterator[Posed]:
    """Yield each problem: of several classes its own has a weight, and the rest has 1."""
    loss, coef = CLASSIFICATION[model.loss], np.asarray(model.coef_, dtype=np.float64)
    b = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), len(coef))
    found = data.against_rest(model.classes_)
    weighted = [{label: factors[label]} for label in model.classes_] if len(coef) > 1 else [factors]
    for (y, label), w, own, some in zip(found, coef, b, weighted, strict=True):
        costs = data.class_costs(cost, some)
        yield Posed(data.X, y, costs, loss, w, float(own), name=label)


def _factors(model: Any, data: Data, *, weighted: bool) -> dict[Any, float]:
    """Return the weight of each class; "balanced" may count samples by their weight."""
    counted = {"sample_weight": data.weight} if weighted else {}
    weights = compute_class_weight(model.class_weight, classes=model.classes_, y=data.y, **counted)
    return dict(zip(model.classes_, weights, strict=True))
