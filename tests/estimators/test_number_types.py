"""Parameters in NumPy's narrow types: the same model, and certificates in double precision."""

import dataclasses

import numpy as np
import pytest

from maxmargin import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM, PegasosClassifier
from maxmargin.kernels import ChiSquared, Gaussian, Polynomial, Sigmoid
from maxmargin.losses import EPSILON_INSENSITIVE
from maxmargin.solvers import SGD, SMO, Newton
from synthetic import overlapping, regression

TYPES = pytest.mark.parametrize("kind", [np.float16, np.float32, np.longdouble])

# Numbers that every type holds.
CASES = [
    (LinearSVC, {"C": 0.5, "tol": 2**-10, "intercept_scaling": 2.0, "max_time": 60.0}),
    (LinearSVC, {"lam": 2**-6, "penalized_intercept": True, "intercept_scaling": 0.5}),
    (LinearSVC, {"C": 0.5, "multi_class": "crammer_singer", "tol": 2**-10}),
    (LinearSVR, {"C": 0.5, "epsilon": 0.25, "tol": 2**-10}),
    (SVC, {"C": 8.0, "gamma": 0.25, "coef0": 0.5, "cache_size": 40.0, "tol": 2**-10}),
    (SVC, {"C": 8.0, "kernel": "poly", "gamma": 0.25, "coef0": 0.5}),
    (SVR, {"C": 8.0, "epsilon": 0.25, "gamma": 0.25}),
    (NuSVC, {"nu": 0.25, "gamma": 0.25}),
    (NuSVR, {"nu": 0.25, "C": 8.0}),
    (OneClassSVM, {"nu": 0.25}),
    (PegasosClassifier, {"lam": 2**-5, "max_time": 60.0}),
]


@TYPES
@pytest.mark.parametrize(("make", "setting"), CASES, ids=lambda case: str(case)[:60])
def test_a_narrow_parameter_makes_the_same_model(make, setting, kind):
    X, y = regression(200) if make in (LinearSVR, SVR, NuSVR) else overlapping(200)
    narrow = {k: kind(v) if type(v) is float else v for k, v in setting.items()}
    one, two = (
        make(**how, **({"random_state": 0} if hasattr(make(), "random_state") else {})).fit(X, y)
        for how in (setting, narrow)
    )
    assert two.certificate_ == one.certificate_
    for solution in two.solutions_:
        numbers = dataclasses.asdict(solution.certificate).values()
        assert not any(isinstance(number, np.generic) for number in numbers)
        assert isinstance(solution.loss.target_scale, float)


@TYPES
def test_settings_hold_floats(kind):
    assert type(Gaussian(kind(0.5)).gamma) is float
    assert type(Polynomial(0.5, coef0=kind(0.5)).coef0) is float
    assert type(Sigmoid(0.5, coef0=kind(0.5)).coef0) is float
    assert type(ChiSquared(kind(0.5)).gamma) is float
    assert type((kind(0.5) * Gaussian(0.5)).factor) is float
    assert type(SMO(cache_size=kind(100)).cache_size) is float
    assert type(SGD(momentum=kind(0.5)).momentum) is float
    assert type(Newton(softness=kind(0.5)).softness) is float
    assert type(dataclasses.replace(EPSILON_INSENSITIVE, epsilon=kind(0.5)).epsilon) is float
