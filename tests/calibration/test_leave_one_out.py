"""Leave-one-out scores are those of fits without the sample."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from maxmargin import SVC, LinearSVC, NuSVC
from maxmargin.calibration.leave_one_out import Span, squared_by_leverages
from probabilities import blobs, check_probabilities


@pytest.mark.parametrize("model", [LinearSVC(), SVC(), SVC(kernel="linear")], ids=repr)
def test_few_samples_have_the_scores_of_all(model, monkeypatch):
    X, y = blobs(2, n=600, spread=0.6)
    exact = scores(model.fit(X, y), X)
    monkeypatch.setattr("maxmargin.estimators._probability._MOST_SAMPLES", 60)
    training = model.fit(X, y)._probabilities._fit.__self__
    found = scores(model, training.X)
    assert len(training.places) < 300
    assert_allclose(training.stands_for.sum(), 600)
    error = np.abs(found - exact[training.places])
    assert np.median(error) < 0.02
    check_probabilities(model, X)


def brute_force(model, X, y):
    kept = [np.arange(len(y)) != i for i in range(len(y))]
    values = [clone(model).fit(X[k], y[k]).decision_function(X[~k])[0] for k in kept]
    return np.array(values)


def scores(model, X):
    training = model._probabilities._fit.__self__
    values = np.concatenate(list(model._value_blocks(X)))
    for some, column, shares in training._own_shares():
        values[some, column] -= shares
    return values[:, 0]


@pytest.mark.parametrize(
    "model",
    [
        SVC(tol=1e-8),
        SVC(tol=1e-8, fit_intercept=False),
        SVC(kernel="linear", C=0.02, tol=1e-8),
        NuSVC(nu=0.2, tol=1e-8),
        LinearSVC(C=0.02, tol=1e-8),
        LinearSVC(C=0.02, loss="squared_hinge", tol=1e-8),
        LinearSVC(C=0.02, loss="squared_hinge", penalized_intercept=True, tol=1e-8),
        LinearSVC(C=0.02, loss="squared_hinge", fit_intercept=False, tol=1e-8),
    ],
    ids=repr,
)
def test_scores_are_those_of_fits_without_the_sample(model):
    X, y = load_breast_cancer(return_X_y=True)
    X, y = scale(X)[:80], y[:80]
    model = clone(model).fit(X, y)
    exact, found, f = brute_force(model, X, y), scores(model, X), model.decision_function(X)
    changed = np.abs(exact - f) > 1e-3
    error, change = np.abs(exact - found)[changed], np.abs(exact - f)[changed]
    assert error.sum() < 0.45 * change.sum()
    assert np.corrcoef(exact, found)[0, 1] > 0.998


def test_leverages_are_the_soft_span_of_vectors():
    rng = np.random.default_rng(0)
    Z, cost = rng.normal(size=(12, 4)), rng.uniform(0.5, 2.0, size=12)
    span = Span(Z @ Z.T, 0.5 / cost, affine=False)
    assert_allclose(squared_by_leverages(Z, cost, np.ones(4), np.ones(12)), span.own, rtol=1e-6)


def test_a_sample_may_stand_for_several_in_leverages():
    rng = np.random.default_rng(0)
    Z, cost, times = rng.normal(size=(8, 3)), np.full(8, 0.5), np.array([3] + [1] * 7)
    every = squared_by_leverages(
        np.repeat(Z, times, axis=0), np.repeat(cost, times), np.ones(3), np.ones(10)
    )
    assert_allclose(squared_by_leverages(Z, cost, np.ones(3), times), every[2:], rtol=1e-9)


def test_the_distance_from_an_affine_hull():
    points = np.array([[0.0, 0.0], [2.0, 0.0]])
    span = Span(points @ points.T, np.zeros(2), affine=True)
    other = np.array([[1.0, 3.0], [5.0, 0.0]])
    squares = span.squared_distances(points @ other.T, (other**2).sum(axis=1))
    assert_allclose(squares, [9.0, 0.0], atol=1e-6)
