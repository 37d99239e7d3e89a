"""A pickled model has what predictions need; what is as long as the data only if it warm-starts."""

import pickle

import numpy as np
import pytest

from maxmargin import (
    SVC,
    SVR,
    LinearSVC,
    LinearSVR,
    NuSVC,
    OneClassSVM,
    PegasosClassifier,
    certify,
    verify,
)
from synthetic import free_svc, free_svr, overlapping, regression

LINEAR = [free_svc(), free_svc(multi_class="crammer_singer"), free_svr()]
KERNELS = [SVC(C=1e-3), NuSVC(nu=0.5), SVR(epsilon=10.0), OneClassSVM(nu=0.1)]


def made(model, n):
    return regression(n) if isinstance(model, (LinearSVR, SVR)) else overlapping(n)


def again(model):
    return pickle.loads(pickle.dumps(model))


@pytest.mark.parametrize("model", LINEAR, ids=str)
def test_a_linear_model_is_as_small_whatever_the_samples(model):
    few, many = (len(pickle.dumps(model.fit(*made(model, n)))) for n in (200, 2000))
    assert many < few + 500  # more gap checks
    assert many < 4000


@pytest.mark.parametrize("model", [*LINEAR, *KERNELS], ids=str)
def test_it_predicts_the_same_and_has_its_certificate(model):
    X, y = made(model, 200)
    model.fit(X, y)
    np.testing.assert_array_equal(again(model).predict(X), model.predict(X))
    assert str(again(model).certificate_) == str(model.certificate_)


@pytest.mark.parametrize("Model", [LinearSVC, SVC])
def test_a_warm_start_takes_its_state_along(Model):
    model = Model(warm_start=True).fit(*overlapping(200))
    np.testing.assert_array_equal(again(model).solution_.beta, model.solution_.beta)


@pytest.mark.parametrize("Model", [LinearSVC, SVC])
def test_pickling_leaves_the_model_as_it_was(Model):
    model = Model().fit(*overlapping(200))
    again(model)
    assert len(model.solution_.beta) == 200


def test_what_was_left_out_is_not_empty_but_missing():
    model = again(free_svc().fit(*overlapping(200)))
    with pytest.raises(AttributeError, match="warm_start=True"):
        _ = model.support_


@pytest.mark.parametrize("model", [free_svc(), SVC(), NuSVC(nu=0.4)], ids=repr)
@pytest.mark.parametrize("asked", [verify, certify, lambda m, X, y: m.samples(X, y)])
def test_a_pickled_model_is_not_called_false_but_incomplete(model, asked):
    X, y = overlapping(200)
    with pytest.raises(AttributeError, match=r"pickled or copied.*warm_start=True"):
        asked(again(model.fit(X, y)), X, y)
    assert not hasattr(again(model), "alpha_")


def test_a_pickled_model_with_its_state_is_verified():
    X, y = overlapping(200)
    assert verify(again(SVC(warm_start=True).fit(X, y)), X, y)


def test_a_pickled_model_that_warm_starts_later_starts_afresh():
    X, y = overlapping(200)
    model = again(free_svc().fit(X, y)).set_params(warm_start=True)
    np.testing.assert_allclose(model.fit(X, y).coef_, free_svc().fit(X, y).coef_, rtol=1e-2)


def test_a_stream_goes_on_after_pickling():
    X, y = overlapping(200)
    model = PegasosClassifier(lam=0.1, random_state=0).fit(X, y)
    assert again(model).partial_fit(X, y).t_ == model.partial_fit(X, y).t_
