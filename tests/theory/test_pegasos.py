"""Pegasos beside its theorem, in the texts' own scale."""

import math

import numpy as np
import pytest

from maxmargin import PegasosClassifier
from maxmargin.theory import pegasos_bound, pegasos_rate
from synthetic import free_svc, overlapping


def test_the_bound_is_its_formula_at_every_checked_step():
    X, y = overlapping()
    found = pegasos_rate(X, y, 0.1, max_steps=500)
    longest = np.linalg.norm(X, axis=1).max()
    t = found.steps
    assert t[0] == 1
    assert t[-1] == 500
    np.testing.assert_allclose(found.bounds, 2 * longest**2 * (1 + np.log(t)) / (0.1 * t))
    np.testing.assert_allclose(found.in_texts, 2 * longest**2 * np.log(t + 1) / (0.1 * t))
    assert found.value == found.bounds[-1]
    assert found.longest == pytest.approx(longest)


def test_the_texts_forget_a_part_of_the_sum():
    t = np.arange(1, 1000)
    sums = np.cumsum(1.0 / t)
    assert (sums <= 1.0 + np.log(t)).all()
    assert (sums > np.log(t + 1.0)).all()


def test_the_mean_run_stays_below_the_bound():
    X, y = overlapping()
    runs = [pegasos_rate(X, y, 0.1, max_steps=300, random_state=k) for k in range(10)]
    mean = np.mean([run.suboptimality for run in runs], axis=0)
    assert (mean <= runs[0].bounds).all()
    assert mean[-1] > 0.0
    assert mean[-1] < 0.2 * mean[0]


def test_the_optimum_is_that_of_linear_svc_in_the_scale_of_the_texts():
    X, y = overlapping()
    found = pegasos_rate(X, y, 0.1, max_steps=10)
    model = free_svc(lam=0.1, fit_intercept=False, tol=1e-8).fit(X, y)
    w = model.coef_[0]
    value = 0.05 * w @ w + np.maximum(0.0, 1.0 - y * (X @ w)).mean()
    assert found.optimum == pytest.approx(value, rel=1e-5)


def test_the_projection_makes_the_bound_smaller():
    X, y = overlapping()
    plain = pegasos_rate(X, y, 0.01, max_steps=200)
    projected = pegasos_rate(X, y, 0.01, max_steps=200, projection=True)
    assert plain.n_projected == 0
    assert projected.n_projected > 0
    ratio = ((projected.longest + 0.1) / (2.0 * projected.longest)) ** 2
    np.testing.assert_allclose(projected.bounds, ratio * plain.bounds)


def test_a_bound_above_the_value_at_0_says_so():
    X, y = overlapping()
    assert "says nothing" in pegasos_rate(X, y, 1e-3, max_steps=20).remark
    assert pegasos_rate(X, y, 10.0, max_steps=5000).remark == ""


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("settings", "remark"),
    [
        ({}, "free intercept"),
        ({"fit_intercept": False, "loss": "squared_hinge"}, "squared hinge"),
        ({"fit_intercept": False}, "shuffled, not drawn"),
        ({"penalized_intercept": True, "sampling": "uniform"}, ""),
    ],
)
def test_a_fitted_model_has_a_bound_or_the_reason_for_none(settings, remark):
    X, y = overlapping()
    model = PegasosClassifier(lam=0.1, **settings).fit(X, y)
    found = pegasos_bound(model)
    assert math.isfinite(found.value) == ("no bound" not in found.remark)
    assert remark in found.remark
    assert bool(found.remark) == bool(remark)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_bound_of_a_model_is_in_the_scale_of_the_texts():
    X, y = overlapping()
    model = PegasosClassifier(
        lam=0.1, fit_intercept=False, averaging="uniform", sampling="uniform"
    ).fit(X, y)
    rate = pegasos_rate(X, y, 0.1, max_steps=model.t_)
    assert pegasos_bound(model).value == pytest.approx(rate.value)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_warm_start_has_no_bound():
    X, y = overlapping()
    model = PegasosClassifier(lam=0.1, fit_intercept=False, warm_start=True, tol=1e-6, max_iter=3)
    model.fit(X, y).fit(X, y)
    assert "w = 0" in pegasos_bound(model).remark


def test_only_pegasos_has_this_bound():
    X, y = overlapping()
    with pytest.raises(ValueError, match="PegasosClassifier"):
        pegasos_bound(free_svc().fit(X, y))
    with pytest.raises(ValueError, match="unfitted"):
        pegasos_bound(PegasosClassifier())
