"""A warning names the line of the caller's own code, however deep the fit lies."""

import warnings
from typing import Any

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone, is_regressor
from sklearn.datasets import load_iris
from sklearn.exceptions import DataConversionWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM, PegasosClassifier
from synthetic import free_svc, free_svr, overlapping, regression

SHORT: dict[str, Any] = {"tol": 1e-300, "max_iter": 1}
MODELS = [
    *(free_svc(multi_class=kind, **SHORT) for kind in ("ovr", "ovo", "crammer_singer")),
    *(SVC(multi_class=kind, **SHORT) for kind in ("ovr", "ovo", "crammer_singer")),
    free_svr(**SHORT),
    SVR(**SHORT),
    NuSVC(nu=0.2, **SHORT),
    NuSVR(**SHORT),
    OneClassSVM(**SHORT),
    PegasosClassifier(**SHORT),
    PegasosClassifier(kernel="rbf", **SHORT),
    make_pipeline(StandardScaler(), free_svc(**SHORT)),
    make_pipeline(StandardScaler(), SVC(**SHORT)),
    GridSearchCV(free_svc(**SHORT), {"C": [0.1, 1.0]}, cv=2),
]


def fit(model, X, y):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    return caught


FIT_LINE = fit.__code__.co_firstlineno + 3


@pytest.mark.parametrize("model", MODELS, ids=lambda model: str(model).splitlines()[0])
def test_a_fit_that_proves_too_little(model):
    caught = fit(model, *(regression() if is_regressor(model) else load_iris(return_X_y=True)))
    assert {(one.filename, one.lineno) for one in caught} == {(__file__, FIT_LINE)}


def test_columns_of_wild_scales():
    X, y = overlapping()
    caught = fit(free_svc(), X * np.logspace(0, 9, X.shape[1]), y)
    assert {(one.filename, one.lineno) for one in caught} == {(__file__, FIT_LINE)}


def test_a_nu_that_is_too_large():
    X, y = overlapping()
    caught = fit(NuSVC(nu=0.9, class_weight={-1.0: 10.0}), X, y)
    assert {(one.filename, one.lineno) for one in caught} == {(__file__, FIT_LINE)}


EACH = [
    *(free_svc(multi_class=kind) for kind in ("ovr", "ovo", "crammer_singer")),
    *(SVC(multi_class=kind) for kind in ("ovr", "ovo", "crammer_singer")),
    free_svr(),
    SVR(),
    NuSVC(nu=0.2),
    NuSVR(),
    OneClassSVM(),
    PegasosClassifier(1.0, tol=9.0, random_state=0),
    PegasosClassifier(1.0, kernel="rbf", tol=9.0, random_state=0),
]
each = pytest.mark.parametrize("model", EACH, ids=repr)


def data_of(model):
    return regression() if is_regressor(model) else load_iris(return_X_y=True)


def told(act, *arguments):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        act(*arguments)
    return [(one.category, one.filename, one.lineno) for one in caught]


TOLD_LINE = told.__code__.co_firstlineno + 3


@each
def test_a_column_of_targets(model):
    X, y = data_of(model)
    expected = [] if isinstance(model, OneClassSVM) else [DataConversionWarning]
    model = clone(model)
    assert told(model.fit, X, y[:, np.newaxis]) == [(c, __file__, TOLD_LINE) for c in expected]
    np.testing.assert_array_equal(model.predict(X).shape, y.shape)


@each
def test_names_of_features_in_one_place_only(model):
    pandas = pytest.importorskip("pandas")
    X, y = data_of(model)
    frame = pandas.DataFrame(X, columns=[f"x{column}" for column in range(X.shape[1])])
    here = [(UserWarning, __file__, TOLD_LINE)]
    named, plain = clone(model).fit(frame, y), clone(model).fit(X, y)
    assert told(named.predict, X) == here
    assert told(plain.predict, frame) == here
    assert told(named.predict, frame) == told(plain.predict, X) == []
    np.testing.assert_array_equal(named.predict(frame), plain.predict(X))
    with pytest.raises(ValueError, match="features, but"):
        told(named.predict, X[:, :2])
    with pytest.raises(ValueError, match="features, but"):
        told(plain.predict, frame.iloc[:, :2])


@each
def test_as_many_classes_as_numbers(model):
    if is_regressor(model) or isinstance(model, OneClassSVM):
        pytest.skip("no classes")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 30
    assert told(clone(model).fit, X, y) == [(UserWarning, __file__, TOLD_LINE)]
    assert told(clone(model).fit, X, y.astype(str).astype(object)) == [
        (UserWarning, __file__, TOLD_LINE)
    ]


@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_a_stream(kernel):
    pandas = pytest.importorskip("pandas")
    X, y = load_iris(return_X_y=True)
    frame, classes = pandas.DataFrame(X, columns=list("abcd")), [0, 1, 2]
    model = PegasosClassifier(kernel=kernel, penalized_intercept=kernel is None)
    assert told(model.partial_fit, frame, y, classes) == []
    assert told(model.partial_fit, X, y) == [(UserWarning, __file__, TOLD_LINE)]
    assert told(model.partial_fit, frame, y[:, np.newaxis]) == [
        (DataConversionWarning, __file__, TOLD_LINE)
    ]
    rng = np.random.default_rng(0)  # a batch need not have several samples of each class
    model = PegasosClassifier(kernel=kernel, penalized_intercept=kernel is None)
    X, y = rng.normal(size=(30, 3)), np.arange(30)
    assert told(model.partial_fit, X, y, np.arange(30)) == []


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_search_in_threads(n_jobs):
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(SVC(**SHORT), {"C": [0.1, 1.0]}, cv=2, n_jobs=n_jobs)
    with parallel_config("threading"):
        caught = told(search.fit, X, y)
    assert caught
    assert not [filename for _, filename, _ in caught if "maxmargin" in filename.split("/")]


@pytest.mark.parametrize("scale", [1e-160, 1e300])
def test_no_warnings_of_overflow(scale):
    X, y = load_iris(return_X_y=True)
    try:
        assert told(SVC(kernel="linear", max_iter=50).fit, scale * X, y) == []
    except ValueError as error:
        assert "Scale X" in str(error)  # noqa: PT017
