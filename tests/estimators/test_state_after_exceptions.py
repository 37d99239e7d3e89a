"""An estimator whose fit fails is as it was; Ctrl-C leaves the best model so far, and is raised."""

import copy
import pickle
import signal
import warnings
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import is_regressor
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from maxmargin import SVC, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM, PegasosClassifier, Status
from maxmargin.solution import Record
from maxmargin.solvers import Monitor
from synthetic import free_svc, free_svr, overlapping, regression

MODELS = [
    free_svc(),
    free_svc(multi_class="ovo"),
    free_svc(multi_class="crammer_singer"),
    free_svr(),
    SVC(),
    SVC(multi_class="ovr"),
    SVC(multi_class="crammer_singer"),
    SVC(solver="pegasos", max_iter=3),
    SVR(),
    NuSVC(nu=0.2),
    NuSVR(),
    OneClassSVM(),
    PegasosClassifier(max_iter=3),
    PegasosClassifier(kernel="rbf", max_iter=3),
]
EACH = pytest.mark.parametrize("model", MODELS, ids=str)
IRIS = load_iris(return_X_y=True)


def data_for(model):
    return regression() if is_regressor(model) else IRIS


def state(model):
    """All that the model is: its attributes, and what is in them."""
    return {name: id(value) for name, value in vars(model).items()}, pickle.dumps(model)


def fitted(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return copy.deepcopy(model).fit(X, y)


class Failure(BaseException):
    """What is no Exception, as Ctrl-C, SystemExit and a test runner's time limit."""


def raising(error, after):
    """Make a Monitor method that raises when it is called for the n-th time."""
    calls = iter(range(after))
    decide = Monitor._decide

    def method(self, n_iter):
        if next(calls, None) is None:
            raise error
        return decide(self, n_iter)

    return method


@EACH
@pytest.mark.parametrize("error", [Failure, MemoryError, KeyboardInterrupt])
@pytest.mark.parametrize("refit", [False, True])
def test_a_fit_that_fails_leaves_the_estimator_as_it_was(model, error, refit, monkeypatch):
    X, y = data_for(model)
    model = fitted(model, X, y) if refit else copy.deepcopy(model)
    model.set_params(verbose=0, tol=1e-4)
    before, predicted = state(model), model.predict(X) if refit else None
    monkeypatch.setattr(Monitor, "_decide", raising(error, 0))
    monkeypatch.setattr("maxmargin.solvers.kernel.batch_smo.can_solve", lambda _objective: False)
    with pytest.raises(error):
        model.fit(X[:-10, :-1], y[:-10])
    assert state(model) == before
    if refit:
        np.testing.assert_array_equal(model.predict(X), predicted)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    which=st.integers(0, len(MODELS) - 1),
    bad=st.sampled_from(
        [
            {"tol": -1.0},
            {"tol": 0},
            {"max_iter": 0},
            {"max_time": -1.0},
            {"C": 0.0},
            {"nu": 2.0},
            {"epsilon": -1.0},
            {"kernel": "no such"},
            {"gamma": -2.0},
            {"n_jobs": 0},
            {"cache_size": -1.0},
            {"solver": "no such"},
            {"loss": "no such"},
            {"multi_class": "no such"},
            {"class_weight": {0: -1.0}},
            {"random_state": "no such"},
        ]
    ),
    data=st.sampled_from(["fewer columns", "NaN", "as they were"]),
)
def test_a_refused_fit_leaves_the_estimator_as_it_was(which, bad, data):
    model = MODELS[which]
    X, y = data_for(model)
    model = fitted(model, X, y)
    predicted = model.predict(X)
    model.set_params(**{name: v for name, v in bad.items() if name in model.get_params()})
    before = state(model)
    X_next = X[:, :-1].copy() if data == "fewer columns" else X.copy()
    if data == "NaN":
        X_next[3, 1] = np.nan
    refused = data == "NaN" or bad.keys() & model.get_params().keys()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        with pytest.raises((ValueError, TypeError)) if refused else nullcontext():
            model.fit(X_next, y)
    if refused:
        assert state(model) == before
        if "n_jobs" in model.get_params():
            model.set_params(n_jobs=None)
        np.testing.assert_array_equal(model.predict(X), predicted)


@EACH
def test_a_warning_that_is_an_error_leaves_the_estimator_as_it_was(model):
    X, y = data_for(model)
    model = fitted(model, X, y).set_params(tol=1e-12, max_iter=1)
    before = state(model)
    with pytest.raises(ConvergenceWarning):
        model.fit(X, y)
    assert state(model) == before


# ---- Ctrl-C


@pytest.fixture
def ctrl_c(monkeypatch):
    """Press Ctrl-C at the n-th look of a fit."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    decide, monitored = Monitor._decide, {"looks": 0, "at": 1}

    def pressed(self, n_iter):
        monitored["looks"] += 1
        if monitored["looks"] == monitored["at"]:
            signal.raise_signal(signal.SIGINT)
        return decide(self, n_iter)

    monkeypatch.setattr(Monitor, "_decide", pressed)
    monkeypatch.setattr("maxmargin.solvers.kernel.batch_smo.can_solve", lambda _objective: False)
    yield monitored
    signal.signal(signal.SIGINT, before)


@EACH
def test_ctrl_c_leaves_the_best_model_and_is_raised(model, ctrl_c):
    """Warnings are errors here: one about the gap would hide it from a search."""
    X, y = data_for(model)
    model = copy.deepcopy(model).set_params(tol=1e-300, max_iter=None)
    with pytest.raises(KeyboardInterrupt, match=r"interrupted.*proven") as caught:
        model.fit(X, y)
    assert "tol=1e-300" in str(caught.value)
    assert model.certificate_.status is Status.INTERRUPTED
    assert np.isfinite(model.certificate_.primal)
    assert model.predict(X).shape == y.shape
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_that_comes_too_late_is_raised_after_the_fit(ctrl_c):
    model = free_svc(tol=0.9)
    with pytest.raises(KeyboardInterrupt, match="LinearSVC is fitted: objective proven"):
        model.fit(*overlapping())
    assert model.certificate_.status is Status.OPTIMAL


def test_ctrl_c_during_a_fit_that_fails_is_raised_all_the_same(ctrl_c, monkeypatch):
    def failing(self, *_):
        raise ValueError("of its own accord")

    monkeypatch.setattr(LinearSVC, "_store", failing)
    model = free_svc()
    with pytest.raises(KeyboardInterrupt, match="of its own accord"):
        model.fit(*overlapping())
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("make", [LinearSVC, SVC])
def test_ctrl_c_ends_a_search(make, ctrl_c):
    ctrl_c["at"] = 3
    fits = []

    class Counted(make):  # type: ignore[valid-type, misc] # its base is a parameter of the test
        def fit(self, X, y):
            fits.append(self)
            return super().fit(X, y)

        __init__ = make.__init__

    search = GridSearchCV(Counted(tol=1e-300), {"C": [0.1, 1.0, 10.0]}, cv=3)
    with pytest.raises(KeyboardInterrupt, match="interrupted"):
        search.fit(*overlapping(200))
    assert len(fits) <= 3
    assert not hasattr(search, "best_params_")


def test_a_time_limit_returns_the_best_model():
    X, y = overlapping(500)
    with pytest.warns(ConvergenceWarning, match="stopped by max_time"):
        model = free_svc(tol=1e-300, max_iter=None, max_time=0.05, solver="sgd").fit(X, y)
    assert model.certificate_.status is Status.STOPPED_BY_TIME


def test_an_interrupted_fit_goes_on_where_it_was(ctrl_c):
    X, y = overlapping(300)
    model = SVC(tol=1e-12, warm_start=True, C=100.0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    dual = model.certificate_.dual
    model.set_params(tol=1e-5).fit(X, y)
    first = model.history_[0]
    assert isinstance(first, Record)
    assert first.dual == pytest.approx(dual, rel=1e-6)
