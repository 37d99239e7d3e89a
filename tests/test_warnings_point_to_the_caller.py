"""A warning names the line of the caller's own code, however deep the fit lies."""

import warnings

import numpy as np
import pytest
from sklearn.base import is_regressor
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from made import overlapping, regression
from maxmargin import SVC, SVR, LinearSVC, LinearSVR, NuSVC, OneClassSVM, PegasosClassifier

SHORT = {"tol": 1e-300, "max_iter": 1}
MODELS = [
    *(LinearSVC(multi_class=kind, **SHORT) for kind in ("ovr", "ovo", "crammer_singer")),
    *(SVC(multi_class=kind, **SHORT) for kind in ("ovr", "ovo", "crammer_singer")),
    LinearSVR(**SHORT),
    SVR(**SHORT),
    NuSVC(nu=0.2, **SHORT),
    OneClassSVM(**SHORT),
    PegasosClassifier(**SHORT),
    PegasosClassifier(kernel="rbf", **SHORT),
    make_pipeline(StandardScaler(), LinearSVC(**SHORT)),
    GridSearchCV(LinearSVC(**SHORT), {"C": [0.1, 1.0]}, cv=2),
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
    caught = fit(LinearSVC(), X * np.logspace(0, 9, X.shape[1]), y)
    assert {(one.filename, one.lineno) for one in caught} == {(__file__, FIT_LINE)}


def test_a_nu_that_is_too_large():
    X, y = overlapping()
    caught = fit(NuSVC(nu=0.9, class_weight={-1.0: 10.0}), X, y)
    assert {(one.filename, one.lineno) for one in caught} == {(__file__, FIT_LINE)}
