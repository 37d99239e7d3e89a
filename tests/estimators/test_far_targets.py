"""Kernel regression on targets far from 0 beside their spread: the free intercept takes that up."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from maxmargin import SVR, NuSVR
from maxmargin.certificate import Status
from synthetic import free_svr


def waves(level, spread, n=80):
    r = np.random.default_rng(0)
    X = r.normal(size=(n, 3))
    return X, level + spread * (np.sin(X[:, 0]) + 0.1 * r.normal(size=n))


def machine(kind, kernel, spread, **others):
    if kind is SVR:
        others["epsilon"] = 0.1 * spread
    return kind(kernel=kernel, C=spread, tol=1e-6, **others)


@pytest.mark.parametrize("kind", [SVR, NuSVR])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "laplacian"])
@pytest.mark.parametrize(("level", "spread"), [(1e6, 1.0), (-1e9, 1.0), (5.0, 1e-6)])
def test_the_level_changes_the_intercept_only(kind, kernel, level, spread):
    X, y = waves(level, spread)
    far = machine(kind, kernel, spread).fit(X, y)
    near = machine(kind, kernel, spread).fit(X, y - level)
    assert far.certificate_.status is Status.OPTIMAL
    assert far.certificate_.primal == pytest.approx(near.certificate_.primal, rel=1e-5)
    assert far.n_iter_ <= 2 * near.n_iter_ + 10
    assert far.predict(X) - level == pytest.approx(near.predict(X), abs=1e-2 * spread)


@pytest.mark.parametrize("kind", [SVR, NuSVR])
def test_the_primal_value_is_that_of_the_intercept_given_back(kind):
    X, y = waves(5.0, 1e-9)
    model = machine(kind, "rbf", 1e-9).set_params(tol=1e-3).fit(X, y)
    K = np.exp(-model._fitted_kernel.gamma * ((X[:, None] - X) ** 2).sum(-1))
    w, tube = model.solution_.w, model.solution_.loss.epsilon
    residual = np.abs((y - model.intercept_[0]) - K @ w)
    primal = 0.5 * w @ K @ w + 1e-9 * np.maximum(0.0, residual - tube).sum()
    if kind is NuSVR:
        primal += 1e-9 * 0.5 * len(y) * tube
    assert model.certificate_.primal == pytest.approx(primal, rel=1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_an_intercept_that_float64_does_not_have_is_a_stall():
    X, y = waves(1e6, 1e-9)  # the targets themselves are some ten numbers
    model = SVR(C=1.0, epsilon=1e-11, max_iter=100_000).fit(X, y)
    assert model.certificate_.status is Status.STALLED
    assert model.n_iter_ < 2000


def test_targets_are_measured_from_0_without_an_intercept():
    X, y = waves(1e6, 1.0)
    model = SVR(fit_intercept=False, C=1e-3).fit(X, y)
    assert model.solution_.b == 0.0


@pytest.mark.parametrize("kind", [SVR, NuSVR])
def test_a_warm_start_goes_on_at_the_level(kind):
    X, y = waves(1e6, 1.0)
    model = machine(kind, "rbf", 1.0, warm_start=True).fit(X, y)
    primal = model.certificate_.primal
    model.fit(X, y)
    assert model.n_iter_ <= 2
    assert model.certificate_.primal == pytest.approx(primal, rel=1e-5)


def exact_primal(model, X, y, weight):
    """P at coef_ and intercept_, in fractions."""
    w, b = [Fraction(v) for v in np.ravel(model.coef_)], Fraction(model.intercept_[0])
    total = sum(v**2 for v in w) / 2
    for x, target, factor in zip(X, y, weight, strict=True):
        f = sum(Fraction(a) * v for a, v in zip(x, w, strict=True)) + b
        slack = max(abs(Fraction(target) - f) - Fraction(model.epsilon), Fraction(0))
        total += Fraction(model.C) * Fraction(factor) * slack
    return float(total)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", [5, 11, 17])
def test_what_an_outlier_loses_by_the_level_is_in_the_gap(seed):
    r = np.random.default_rng(seed)
    X, y = r.normal(size=(12, 2)), 7.3 + 1e-3 * r.normal(size=12)
    X[:2] *= 1e6
    y[:2] += 100.0 * r.normal(size=2)
    model = free_svr(C=1e10, epsilon=0.1).fit(X, y)
    claim = model.certificate_
    assert exact_primal(model, X, y, np.ones(12)) <= 1.001 * (claim.dual + claim.gap)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", [35, 45, 46, 58])
def test_an_intercept_far_from_the_level_is_judged_as_it_is_given_back(seed):
    r = np.random.default_rng(seed)
    X, y = 2.7e7 + 3e-6 * r.normal(size=(23, 1)), 7.6e7 + r.normal(size=23)
    weight = 10.0 ** r.uniform(-12.0, 12.0, size=23)
    model = free_svr(C=1e9, epsilon=0.1, max_iter=200)
    claim = model.fit(sparse.csr_matrix(X), y, sample_weight=weight).certificate_
    assert exact_primal(model, X, y, weight) <= 1.001 * (claim.dual + claim.gap)


def exact_points(level, spread, n=120):
    """Targets that C = 1 asks f to meet, as far as float64 can."""
    r = np.random.default_rng(0)
    X = r.normal(size=(n, 5))
    return X, level + spread * r.normal(size=n)


@pytest.mark.parametrize("level", [0.0, 5.0, -300.0])
@pytest.mark.parametrize("kind", [SVR, NuSVR])
def test_targets_of_tiny_spread_are_met_at_an_intercept_of_few_digits(kind, level):
    spread = 1e-9 * max(1.0, abs(level) / 5.0)
    X, y = exact_points(level, spread)
    model = kind(**({"epsilon": 0.1 * spread} if kind is SVR else {})).fit(X, y)
    assert model.certificate_.status is Status.OPTIMAL
    K = np.exp(-model._fitted_kernel.gamma * ((X[:, None] - X) ** 2).sum(-1))
    w, tube = model.solution_.w, model.solution_.loss.epsilon
    residual = np.abs((y - model.intercept_[0]) - K @ w)
    primal = 0.5 * w @ K @ w + np.maximum(0.0, residual - tube).sum()
    if kind is NuSVR:
        primal += 0.5 * len(y) * tube
    assert model.certificate_.primal == pytest.approx(primal, rel=1e-2)
    assert model.certificate_.dual <= primal


@pytest.mark.parametrize("C", [1e6, 1e9])
def test_a_tube_of_0_is_that_of_svr(C):
    X, y = exact_points(0.0, 1.0)
    nu, plain = NuSVR(C=C).fit(X, y), SVR(C=C, epsilon=0.0).fit(X, y)
    assert nu.certificate_.status is Status.OPTIMAL
    assert nu.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=2e-3)
    assert nu.epsilon_ < 1e-9
    assert nu.support_fraction_ == 1.0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_iterations_after_a_stall_count_too():
    X, y = exact_points(5.0, 1e-9)
    whole = SVR(epsilon=1e-10).fit(X, y)
    for most in (whole.n_iter_ - 1, whole.n_iter_ // 2):
        model = SVR(epsilon=1e-10, max_iter=most).fit(X, y)
        assert model.n_iter_ <= most


def test_history_goes_on_after_a_stall():
    X, y = exact_points(5.0, 1e-9)
    model = SVR(epsilon=1e-10).fit(X, y)
    epochs = [record.epoch for record in model.history_]
    assert epochs == sorted(epochs)
    assert epochs[-1] == model.n_iter_
    assert model.history_[-1].gap == pytest.approx(model.certificate_.gap)


def test_coefficients_of_rows_far_from_0_are_those_of_coef():
    random = np.random.default_rng(15)
    X = random.normal(size=(10, 2)) + 10.0
    y = X @ [1.0, 2.0] + 1e4 + 0.1 * random.normal(size=10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # at C = 1e6 it stalls
        model = SVR(kernel="linear", C=1e6, tol=1e-8).fit(X, y)
    assert model.dual_coef_ @ model.support_vectors_ == pytest.approx(model.coef_, rel=1e-9)
