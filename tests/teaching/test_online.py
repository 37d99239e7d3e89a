"""Pegasos and the perceptron, a sample at a time."""

import itertools

import numpy as np
import pytest

from maxmargin.teaching import pegasos, perceptron
from synthetic import free_svc, overlapping, separable


def test_w_is_the_sum_of_the_violated_samples_over_lambda_t():
    X, y = overlapping()
    total = np.zeros(X.shape[1])
    for step in pegasos(X, y, 0.1, max_steps=200, random_state=0):
        total += step.violated * y[step.sample] * X[step.sample]
        np.testing.assert_allclose(step.w, total / (0.1 * step.t), atol=1e-9)


def test_the_average_is_that_of_the_points_before_each_step():
    X, y = overlapping()
    points = [np.zeros(X.shape[1])]
    for step in pegasos(X, y, 0.1, max_steps=50, random_state=0):
        np.testing.assert_allclose(step.average, np.mean(points, axis=0), atol=1e-12)
        points.append(step.w)


@pytest.mark.parametrize("projection", [False, True])
def test_it_reaches_the_optimum_of_linear_svc(projection):
    X, y = overlapping()
    *_, last = pegasos(X, y, 0.1, max_steps=20_000, projection=projection, random_state=0)
    model = free_svc(lam=0.1, fit_intercept=False, tol=1e-8).fit(X, y)
    w = last.average
    value = 0.05 * w @ w + np.maximum(0.0, 1.0 - y * (X @ w)).mean()
    assert value == pytest.approx(0.1 * model.certificate_.primal, rel=2e-2)
    assert value >= 0.1 * model.certificate_.dual


def test_the_projection_keeps_w_in_the_ball():
    X, y = overlapping()
    steps = list(pegasos(5.0 * X, y, 0.01, max_steps=300, projection=True, random_state=0))
    assert any(step.projected for step in steps)
    assert max(np.linalg.norm(step.w) for step in steps) <= 10.0 * (1 + 1e-12)


def test_steps_without_an_end_go_on():
    X, y = overlapping()
    *_, last = itertools.islice(pegasos(X, y, 0.1, random_state=0), 77)
    assert last.t == 77


def test_the_perceptron_stops_making_mistakes_on_separable_samples():
    X, y = separable()
    steps = list(itertools.islice(perceptron(X, y), 4000))
    assert not any(step.mistake for step in steps[-len(y) :])
    assert (y * (X @ steps[-1].w) > 0.0).all()
    assert steps[-1].n_mistakes == sum(step.mistake for step in steps)


def test_the_perceptron_adds_the_samples_of_its_mistakes():
    X, y = overlapping()
    w = np.zeros(X.shape[1])
    for step in itertools.islice(perceptron(X, y), 200):
        assert step.mistake == (step.margin <= 0.0)
        w = w + step.mistake * y[step.sample] * X[step.sample]
        np.testing.assert_array_equal(step.w, w)


@pytest.mark.parametrize("wrong", [{"lam": 0.0}, {"lam": 0.1, "max_steps": 0}])
def test_wrong_settings_are_refused_at_once(wrong):
    X, y = overlapping()
    with pytest.raises(ValueError, match=r"lam|max_steps"):
        pegasos(X, y, **wrong)
