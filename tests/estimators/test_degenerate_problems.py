"""Constant columns, equal rows, two samples, targets inside of the tube: the right answer."""

import numpy as np
import pytest

from choices import EXACT, SVC_LOSSES, SVR_LOSSES
from maxmargin import Status
from synthetic import free_svc, free_svr, overlapping, regression

X, Y = overlapping(30, 3)
XR, YR = regression(30, 3)


@EXACT
@SVC_LOSSES
def test_constant_features_are_no_obstacle(solver, loss):
    constant = np.c_[X, np.ones(30), np.zeros(30)]
    model = free_svc(solver=solver, loss=loss, max_iter=20_000).fit(constant, Y)
    assert model.certificate_.status is Status.OPTIMAL
    assert model.coef_[0, -1] == 0.0


@EXACT
@SVC_LOSSES
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_all_zero_x_is_solved_by_the_intercept(solver, loss, fit_intercept):
    model = free_svc(solver=solver, loss=loss, fit_intercept=fit_intercept)
    model.fit(np.zeros((5, 2)), [1, 1, 1, 0, 0])
    assert model.certificate_.status is Status.OPTIMAL
    np.testing.assert_array_equal(model.coef_, 0.0)
    if fit_intercept:  # 2 of 5 err under the hinge; the squared hinge balances 3 (1-b) = 2 (1+b)
        expected = 1.0 if loss == "hinge" else 0.2
        assert model.intercept_[0] == pytest.approx(expected, abs=0.05)


@EXACT
@SVR_LOSSES
def test_all_zero_x_regresses_to_a_constant(solver, loss):
    model = free_svr(solver=solver, loss=loss).fit(np.zeros((5, 2)), [1.0, 2.0, 3.0, 4.0, 10.0])
    assert model.certificate_.status is Status.OPTIMAL
    expected = 3.0 if loss == "epsilon_insensitive" else 4.0
    assert model.intercept_[0] == pytest.approx(expected, abs=0.1)


@EXACT
@SVC_LOSSES
def test_two_samples_suffice(solver, loss):
    model = free_svc(solver=solver, loss=loss, C=100.0, tol=1e-6).fit([[0.0], [2.0]], [0, 1])
    assert model.certificate_.status is Status.OPTIMAL
    np.testing.assert_array_equal(model.predict([[0.0], [2.0]]), [0, 1])
    assert model.coef_[0, 0] == pytest.approx(1.0, rel=0.02)
    assert model.intercept_[0] == pytest.approx(-1.0, rel=0.02)


@EXACT
@SVR_LOSSES
@pytest.mark.parametrize("n", [1, 2])
def test_a_regression_on_one_or_two_samples_ends(solver, loss, n):
    model = free_svr(solver=solver, loss=loss).fit(np.arange(1.0, n + 1)[:, None], np.ones(n))
    assert model.certificate_.status is Status.OPTIMAL
    np.testing.assert_allclose(model.predict(np.arange(1.0, n + 1)[:, None]), 1.0, atol=0.05)


@EXACT
@SVC_LOSSES
def test_a_single_feature_suffices(solver, loss):
    model = free_svc(solver=solver, loss=loss, max_iter=20_000).fit(X[:, :1], Y)
    assert model.certificate_.status is Status.OPTIMAL


@EXACT
@SVC_LOSSES
def test_opposite_labels_on_equal_rows_cancel(solver, loss):
    rows = np.repeat(X, 2, axis=0)
    model = free_svc(solver=solver, loss=loss, tol=1e-6, max_iter=20_000)
    model.fit(rows, np.tile([0, 1], 30))
    assert model.certificate_.status is Status.OPTIMAL
    np.testing.assert_allclose(model.coef_, 0.0, atol=1e-2)


@EXACT
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_targets_inside_the_tube_cost_nothing(solver, loss):
    targets = 3.0 + 0.1 * np.sign(YR)
    model = free_svr(solver=solver, loss=loss, epsilon=0.5).fit(XR, targets)
    assert model.certificate_.status is Status.OPTIMAL
    assert model.certificate_.gap <= 1e-12
    np.testing.assert_allclose(model.predict(XR), targets, atol=0.5)


@EXACT
@SVR_LOSSES
def test_constant_targets_are_met(solver, loss):
    model = free_svr(solver=solver, loss=loss).fit(XR, np.full(30, 7.0))
    assert model.certificate_.status is Status.OPTIMAL
    np.testing.assert_allclose(model.predict(XR), 7.0, atol=0.1)


@EXACT
@SVR_LOSSES
def test_targets_that_are_all_zero_give_the_zero_model(solver, loss):
    model = free_svr(solver=solver, loss=loss).fit(XR, np.zeros(30))
    assert model.certificate_.gap == 0.0
    np.testing.assert_array_equal(model.coef_, 0.0)
