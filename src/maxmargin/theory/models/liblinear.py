"""Models of LIBLINEAR's own Python package (`liblinear-official`, `liblinear-multicore`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.losses import HINGE, SQUARED_HINGE, Loss, regression_loss
from maxmargin.objectives import Intercept
from maxmargin.theory.posed import Data, Posed, PosedJoint, check_features, check_labels

_CRAMMER_SINGER, _ABSOLUTE = 4, 5
_LOSSES = {1: SQUARED_HINGE, 2: SQUARED_HINGE, 3: HINGE, _ABSOLUTE: SQUARED_HINGE}
_TUBES = {
    11: "squared_epsilon_insensitive",
    12: "squared_epsilon_insensitive",
    13: "epsilon_insensitive",
}


def reads(model: Any) -> bool:
    """Whether the model is one of these."""
    return type(model).__name__ == "model" and type(model).__module__.startswith("liblinear")


def name(model: Any) -> str:
    """Return what to call it."""
    del model
    return "LIBLINEAR"


def problems(
    model: Any, data: Data, class_weight: dict[Any, float] | None
) -> list[Posed] | list[PosedJoint]:
    """Return the problems it answers; `data` are those of the training."""
    check_features(model, data, model.nr_feature)
    kind, param = model.param.solver_type, model.param
    how, scaling = _intercept(model)
    if kind in _TUBES:
        w, b = (np.asarray(part, dtype=np.float64) for part in model.get_decfun())
        loss, cost = regression_loss(_TUBES[kind], param.p), param.C * data.weight
        return [Posed(data.X, data.targets, cost, loss, w, float(b), None, how, scaling)]
    if kind not in _LOSSES and kind != _CRAMMER_SINGER:
        raise ValueError(
            f"LIBLINEAR's solver -s {kind} answers no problem of ½‖w‖² and a hinge or a tube."
            " Certify a model of -s 1, 2, 3, 4, 5, 11, 12 or 13."
        )
    if param.nr_weight and class_weight is None:
        raise ValueError(
            "The model was trained with weights of classes, which LIBLINEAR does not keep. Give"
            " class_weight={label: weight, …} as in the options -wi."
        )
    cost, factors = param.C * data.weight, class_weight or {}
    labels = np.asarray(model.get_labels())
    check_labels(data, labels)
    if kind == _CRAMMER_SINGER:
        return [_joint(model, data, data.class_costs(cost, factors), labels)]
    return _against_rest(model, data, cost, factors, labels, _LOSSES[kind])


def _intercept(model: Any) -> tuple[Intercept, float]:
    """Return that of a further feature of constant value `bias`, penalised unless told not to."""
    if model.bias < 0.0:
        return Intercept.NONE, 1.0
    if model.param.regularize_bias:
        return Intercept.PENALIZED, float(model.bias)
    return Intercept.FREE, 1.0


def _weights(model: Any, place: int) -> tuple[Any, float]:
    w, b = model.get_decfun(place)
    return np.asarray(w, dtype=np.float64), float(b)


def _against_rest(
    model: Any, data: Data, cost: Any, factors: dict[Any, float], labels: Any, loss: Loss
) -> list[Posed]:
    """Return a problem for each class, or of two classes one, positive for the first label.

    Of several classes its own has a weight, and the rest has 1.
    """
    how, scaling = _intercept(model)
    penalty = "l1" if model.param.solver_type == _ABSOLUTE else "l2"
    found = []
    for place, label in enumerate(labels[:1] if len(labels) == 2 else labels):
        w, b = _weights(model, place)
        y = np.where(data.y == label, 1.0, -1.0)
        said = "" if len(labels) == 2 else f"{label} against the rest"
        own = factors if len(labels) == 2 else {label: factors.get(label, 1.0)}
        costs = data.class_costs(cost, own)
        posed = Posed(data.X, y, costs, loss, w, b, None, how, scaling, name=said)
        found.append(posed.penalized(penalty))
    return found


def _joint(model: Any, data: Data, cost: Any, labels: Any) -> PosedJoint:
    """Return the one problem of all classes, in the order of the labels."""
    weights = [_weights(model, place) for place in range(len(labels))]
    order = np.argsort(labels)
    numbers = order[np.searchsorted(labels[order], data.y)].astype(np.float64)
    coef, b = np.stack([w for w, _ in weights]), np.array([b for _, b in weights])
    return PosedJoint(data.X, numbers, cost, coef, b, None, *_intercept(model))
