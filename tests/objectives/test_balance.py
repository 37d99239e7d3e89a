"""A feasible dual point lies in its box and is balanced for a free intercept."""

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from choices import ALL_INTERCEPTS, REGULARIZED_LOSSES
from maxmargin import Intercept
from maxmargin.losses import HINGE
from synthetic import objective_of, weighted

DUALS = hnp.arrays(np.float64, 60, elements=st.floats(-1e3, 1e3))


@REGULARIZED_LOSSES
@ALL_INTERCEPTS
@given(beta=DUALS)
def test_feasible_lies_in_the_box(loss, intercept, beta):
    objective = weighted(loss, intercept)
    beta = objective.feasible(beta)
    assert (beta >= objective.box.lower).all()
    assert (beta <= objective.box.upper).all()


@REGULARIZED_LOSSES
@given(beta=DUALS)
def test_feasible_is_balanced_for_a_free_intercept(loss, beta):
    objective = weighted(loss, Intercept.FREE)
    size = np.abs(np.clip(beta, objective.box.lower, objective.box.upper)).sum()
    assert abs(objective.feasible(beta).sum()) <= 1e-14 * size


@REGULARIZED_LOSSES
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_dual_point_of_one_sign_balances_to_zero(loss, sign):
    objective = weighted(loss, Intercept.FREE)
    for seed in range(20):
        beta = objective.feasible(sign * np.random.default_rng(seed).random(60))
        np.testing.assert_allclose(beta, 0.0, atol=1e-13)


@REGULARIZED_LOSSES
@ALL_INTERCEPTS
def test_feasible_leaves_a_feasible_point_alone(loss, intercept):
    objective = weighted(loss, intercept)
    once = objective.feasible(np.random.default_rng(3).normal(size=60))
    np.testing.assert_allclose(objective.feasible(once), once, rtol=1e-13)


def test_feasible_does_not_touch_its_argument():
    objective = weighted(HINGE, Intercept.FREE)
    beta = np.full(60, 100.0)
    objective.feasible(beta)
    np.testing.assert_array_equal(beta, 100.0)


def test_balancing_spares_the_bounds_while_inner_entries_suffice():
    X = np.eye(4)
    y = np.array([1.0, 1.0, 1.0, -1.0])
    objective = objective_of(HINGE, X=X, y=y)
    beta = objective.feasible(np.array([1.0, 0.5, 0.25, -1.0]))
    np.testing.assert_allclose(beta, [1.0, 0.0, 0.0, -1.0], atol=1e-15)


def test_balancing_spares_the_bounds_where_inner_entries_just_suffice():
    y = np.array([1.0] * 5 + [-1.0] * 4)
    beta = np.array([1.0] * 4 + [0.7] + [-1.0] * 4)
    balanced = objective_of(HINGE, X=np.eye(9), y=y).feasible(beta)
    np.testing.assert_array_equal(balanced, [1.0] * 4 + [0.0] + [-1.0] * 4)
    assert not np.signbit(balanced[4])


def test_one_class_alone_balances_to_zero():
    X, y = np.eye(3), np.ones(3)
    beta = objective_of(HINGE, X=X, y=y).feasible(np.ones(3))
    np.testing.assert_allclose(beta, 0.0, atol=1e-15)
