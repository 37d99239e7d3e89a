"""Leave-one-out of several classes and of regression."""

import numpy as np
import pytest
from sklearn.base import clone

from maxmargin import (
    SVC,
    SVR,
    NuSVR,
)
from maxmargin.theory import (
    leave_one_out,
    removal_bound,
    span,
    support_vector_bound,
    xi_alpha,
)
from synthetic import classes, free_svc, free_svr, regression

SEVERAL = [
    SVC(gamma=0.3),
    SVC(gamma=0.3, C=20.0, break_ties=True),
    SVC(gamma=0.3, multi_class="ovr"),
    SVC(kernel="linear", fit_intercept=False),
    free_svc(),
    free_svc(loss="squared_hinge", penalized_intercept=True),
    free_svc(multi_class="ovo"),
    free_svc(multi_class="ovo", loss="squared_hinge", C=0.1),
]


def predictions_without_each(model, X, y):
    """What machines that were fitted to all samples but i predict for it."""
    found = []
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        fitted = clone(model).set_params(tol=1e-9).fit(X[rest], y[rest])
        found.append(fitted.predict(X[[i]])[0])
    return np.array(found)


@pytest.mark.parametrize("n_classes", [3, 4])
@pytest.mark.parametrize("model", SEVERAL, ids=repr)
def test_of_several_classes_it_is_the_error_of_all_refits(model, n_classes):
    X, y = classes(n=60, n_classes=n_classes)
    labels = np.array(["d", "b", "a", "c"])[y]
    found = leave_one_out(model.fit(X, labels), X, labels)
    wrong = predictions_without_each(model, X, labels) != labels
    np.testing.assert_array_equal(found.errors, wrong)
    assert found.n_unproven == 0
    assert found.values.shape == (60, len(model.solutions_))
    support = support_vector_bound(model, X, labels).value
    assert found.n_support == round(60 * support)
    assert found.value <= removal_bound(model, X, labels).value <= support
    assert abs(span(model, X, labels).value - found.value) < 0.2
    if model.get_params().get("loss") != "squared_hinge":
        assert found.value <= xi_alpha(model, X, labels).value


def test_of_several_classes_weights_count():
    X, y = classes(n=60, n_classes=3)
    weight = np.where(np.arange(60) < 10, 0.0, 1.5)
    model = SVC(gamma=0.3).fit(X, y, weight)
    found = leave_one_out(model, X, y, weight)
    alone = SVC(gamma=0.3, C=1.5).fit(X[10:], y[10:])
    other = leave_one_out(alone, X[10:], y[10:])
    np.testing.assert_array_equal(found.errors[10:], other.errors)
    assert not found.errors[:10].any()
    assert found.value == other.value


REGRESSIONS = [
    SVR(gamma=0.3),
    SVR(gamma=0.3, C=30.0, epsilon=0.3),
    SVR(gamma=0.3, epsilon=0.0),
    SVR(kernel="linear", fit_intercept=False),
    free_svr(epsilon=0.3),
    free_svr(epsilon=0.3, penalized_intercept=True, intercept_scaling=2.0),
    free_svr(loss="squared_epsilon_insensitive", epsilon=0.2, C=3.0),
    free_svr(loss="squared", C=3.0),
    free_svr(loss="squared", fit_intercept=False),
    free_svr(loss="squared", penalized_intercept=True, intercept_scaling=2.0),
]


@pytest.mark.parametrize("model", REGRESSIONS, ids=repr)
def test_of_a_regression_it_is_the_error_of_all_refits(model):
    X, y = regression(n=50)
    found = leave_one_out(model.fit(X, y), X, y)
    predicted = predictions_without_each(model, X, y)
    np.testing.assert_allclose(found.predictions, predicted, atol=found.accuracy + 1e-4)
    np.testing.assert_array_equal(found.residuals, y - found.predictions)
    assert found.value == np.mean(found.residuals**2)
    assert found.mean_absolute_error == np.abs(found.residuals).mean()
    assert found.accuracy < 1e-3


def test_least_squares_with_more_features_than_samples():
    random = np.random.default_rng(0)
    X = random.normal(size=(30, 60))
    y = X[:, 0] + 5.0
    for model in (free_svr(loss="squared"), free_svr(loss="squared", penalized_intercept=True)):
        found = leave_one_out(model.fit(X, y), X, y)
        assert np.abs(found.predictions - predictions_without_each(model, X, y)).max() < 1e-3


def test_a_nu_regression_is_that_of_its_tube():
    X, y = regression(n=50)
    model = NuSVR(gamma=0.3, nu=0.4, tol=1e-9).fit(X, y)
    other = SVR(gamma=0.3, epsilon=model.epsilon_, tol=1e-9).fit(X, y)
    one, two = leave_one_out(model, X, y), leave_one_out(other, X, y)
    np.testing.assert_allclose(one.predictions, two.predictions, atol=1e-4)


def test_the_span_of_a_regression_is_exact_where_no_status_changes():
    X, y = regression(n=50)
    model = free_svr(loss="squared", C=3.0).fit(X, y)
    assert span(model, X, y).value == pytest.approx(leave_one_out(model, X, y).value, rel=1e-6)


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("C", [1e-4, 1e-2])
def test_without_a_free_support_vector(C, multi_class):
    X, y = classes(n=40, n_classes=3)
    model = free_svc(C, fit_intercept=False, multi_class=multi_class).fit(X, y)
    found = leave_one_out(model, X, y)
    np.testing.assert_array_equal(found.errors, predictions_without_each(model, X, y) != y)
    assert found.value <= removal_bound(model, X, y).value


@pytest.mark.parametrize("model", [SVR(C=0.01, fit_intercept=False), SVR(C=0.01, epsilon=0.0)])
def test_a_regression_without_a_free_support_vector(model):
    X, y = regression(n=40)
    model.set_params(gamma=0.3).fit(X, y)
    found = leave_one_out(model, X, y)
    assert np.abs(found.predictions - predictions_without_each(model, X, y)).max() < 0.05


def test_an_intercept_that_is_not_unique_is_told():
    X, y = regression(n=40)
    found = leave_one_out(SVR(epsilon=100.0).fit(X, y), X, y)
    assert found.n_support == 0
    assert "not unique" in found.remark
