"""Models of LIBSVM's own Python package (`libsvm-official`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from maxmargin.data.arrays import Array
from maxmargin.kernels import Gaussian, Kernel, Linear, Polynomial, Precomputed, Sigmoid
from maxmargin.theory.models import machines
from maxmargin.theory.models.machines import Machine
from maxmargin.theory.posed import Data, Posed, check_labels

_C_SVC, _NU_SVC, _ONE_CLASS, _EPSILON_SVR, _NU_SVR = range(5)
_LINEAR, _POLYNOMIAL, _GAUSSIAN, _SIGMOID, _PRECOMPUTED = range(5)


def reads(model: Any) -> bool:
    """Whether the model is one of these."""
    return type(model).__name__ == "svm_model" and type(model).__module__.startswith("libsvm")


def name(model: Any) -> str:
    """Return what to call it."""
    del model
    return "LIBSVM"


def problems(model: Any, data: Data, class_weight: dict[Any, float] | None) -> list[Posed]:
    """Return the problems it answers; `data` are those of the training."""
    return list(_problems(model, data, class_weight))


def _problems(model: Any, data: Data, factors: dict[Any, float] | None) -> Iterator[Posed]:
    param, machine = model.param, _machine(model, data)
    if param.svm_type == _ONE_CLASS:
        yield machines.region(machine, data, param.nu)
    elif param.svm_type == _EPSILON_SVR:
        yield machines.regression(machine, data, param.C * data.weight, param.p)
    elif param.svm_type == _NU_SVR:
        found = machines.regression(machine, data, param.C * data.weight, 0.0)
        yield machines.with_tube(found, param.nu)
    else:
        classes = np.asarray(model.get_labels())
        check_labels(data, classes)
        if param.svm_type == _NU_SVC:
            pairs = machines.pairs(machine, data, data.weight, classes)
            yield from (machines.with_nu(posed, param.nu) for posed in pairs)
        else:
            cost = data.class_costs(param.C * data.weight, _weights(param, factors))
            yield from machines.pairs(machine, data, cost, classes)


def _weights(param: Any, given: dict[Any, float] | None) -> dict[Any, float]:
    """Return the weights of the classes, which the model does not keep."""
    if param.nr_weight and given is None:
        raise ValueError(
            "The model was trained with weights of classes, which LIBSVM does not keep. Give"
            " class_weight={label: weight, …} as in the options -wi."
        )
    return given or {}


def _machine(model: Any, data: Data) -> Machine:
    if not model.sv_indices:
        raise ValueError(
            "The model does not say which rows are its support vectors: it was read from a file."
            " Train it again, and certify what svm_train returns."
        )
    support = np.asarray(model.get_sv_indices(), dtype=np.intp) - 1
    coef: Array = np.asarray(model.get_sv_coef(), dtype=np.float64).reshape(len(support), -1).T
    classification = model.param.svm_type in (_C_SVC, _NU_SVC)
    n_support = np.asarray(model.nSV[: model.nr_class] if classification else [len(support)])
    n_functions = model.nr_class * (model.nr_class - 1) // 2
    b = -np.asarray(model.rho[:n_functions] if classification else model.rho[:1])
    return Machine(_kernel(model.param, data), support, n_support, coef, b)


def _kernel(param: Any, data: Data) -> Kernel:
    if param.kernel_type == _GAUSSIAN:
        return Gaussian(param.gamma)
    if param.kernel_type == _POLYNOMIAL:
        return Polynomial(param.gamma, param.degree, param.coef0)
    if param.kernel_type == _SIGMOID:
        return Sigmoid(param.gamma, param.coef0)
    return Precomputed(data.X) if param.kernel_type == _PRECOMPUTED else Linear()
