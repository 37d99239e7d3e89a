"""Predictions are those of the model that was fitted, whatever parameters are set afterwards."""

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_regressor
from sklearn.callback import ScoringMonitor
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM, PegasosClassifier
from synthetic import free_svc, free_svr, overlapping, regression

#: As in scikit-learn, these say how to predict; the others how to fit.
OF_PREDICTION = {"decision_function_shape", "break_ties", "n_jobs"}

OTHER_VALUES: dict[str, list[Any]] = {
    "multi_class": ["ovr", "ovo", "crammer_singer"],
    "kernel": ["linear", "rbf", "precomputed", None],
    "loss": ["squared_hinge", "squared"],
    "fit_intercept": [False],
    "penalized_intercept": [True],
    "intercept_scaling": [7.0],
    "C": [1e-3, np.inf],
    "nu": [0.01],
    "lam": [1.0],
    "gamma": [9.0],
    "degree": [1],
    "coef0": [5.0],
    "epsilon": [3.0],
    "solver": ["pegasos"],
    "tol": [0.5],
    "class_weight": [{0: 9.0}],
    "warm_start": [True],
    "batch_size": [7],
    "averaging": ["none"],
}

MODELS = [
    *(free_svc(multi_class=kind) for kind in ("ovr", "ovo", "crammer_singer")),
    *(SVC(multi_class=kind) for kind in ("ovr", "ovo", "crammer_singer")),
    *(SVC(multi_class=kind, kernel="linear") for kind in ("ovr", "ovo", "crammer_singer")),
    free_svr(),
    SVR(),
    NuSVC(nu=0.2),
    NuSVR(),
    OneClassSVM(),
    PegasosClassifier(max_iter=3),
    PegasosClassifier(max_iter=3, multi_class="crammer_singer"),
    PegasosClassifier(max_iter=3, kernel="rbf"),
]


def said(model, X):
    """Return all that a fitted model says of rows, and of itself."""
    answers = {"predict": model.predict(X), "support": model.support_}
    if hasattr(model, "decision_function"):
        answers["f"] = model.decision_function(X)
    if hasattr(model, "coef_"):
        answers["coef"] = model.coef_
    return answers


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_parameters_of_a_fit_do_not_change_predictions(model, n_classes):
    X, y = load_iris(return_X_y=True)
    X, y = regression() if is_regressor(model) else (X[y < n_classes], y[y < n_classes])
    model = clone(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    before = said(model, X)
    for name, value in model.get_params().items():
        if name in OF_PREDICTION:
            continue
        for other in OTHER_VALUES.get(name, [value]):
            after = said(model.set_params(**{name: other}), X)
            assert after.keys() == before.keys(), name
            for what, values in before.items():
                np.testing.assert_array_equal(after[what], values, err_msg=f"{name} {what}")
            model.set_params(**{name: value})


def test_a_model_of_kernel_values_stays_one():
    X, y = overlapping()
    K = rbf_kernel(X)
    model = SVC(kernel="precomputed").fit(K, y)
    before = model.decision_function(K)
    np.testing.assert_array_equal(model.set_params(kernel="rbf").decision_function(K), before)


@pytest.mark.parametrize("kind", ["ovr", "ovo", "crammer_singer"])
def test_a_callback_scores_the_kind_that_is_being_fitted(kind):
    monitor, data = ScoringMonitor(scoring="accuracy"), load_iris(return_X_y=True)
    model = free_svc(multi_class=kind).set_callbacks(monitor).fit(*data)
    assert monitor.get_logs().data[0]["accuracy"] == model.score(*data)
