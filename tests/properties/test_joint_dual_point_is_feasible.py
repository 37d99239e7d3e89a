"""The dual point that K classes leave is feasible: else its value bounds nothing."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from maxmargin import SVC, Intercept
from maxmargin.objectives import PrimalDual
from synthetic import classes, free_svc, joint

ROUNDING = 1e-12


def infeasibility(beta, y, cost):
    """Return the worst violation of β_ij ≤ C_i 1[j = y_i], Σ_j β_ij = 0 and Σ_i β_ij = 0."""
    own = np.arange(len(y)), y
    others = beta.copy()
    others[own] -= cost
    sums = np.concatenate([beta.sum(axis=0), beta.sum(axis=1)])
    return max(float(others.max()), float(np.abs(sums).max())) / float(np.abs(beta).sum())


@settings(max_examples=40)
@given(
    seed=st.integers(0, 1000),
    C=st.floats(-3.0, 8.0).map(lambda power: 10.0**power),
    kernel=st.sampled_from([None, "rbf", "linear", "poly"]),
    offset=st.sampled_from([0.0, 1.0, 100.0]),
)
def test_the_stored_point_is_feasible(seed, C, kernel, offset):
    X, y = classes(n=40, seed=seed)
    X = X * np.logspace(-2, 1, X.shape[1]) + offset
    weight = np.random.default_rng(seed).choice([0.5, 1.0, 3.0], size=len(y))
    setting = {"C": C, "multi_class": "crammer_singer", "tol": 1e-4, "max_iter": 300}
    model = free_svc(**setting) if kernel is None else SVC(kernel=kernel, **setting)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y, weight)
    assert infeasibility(model.solution_.beta, y, C * weight) < ROUNDING


@pytest.mark.parametrize("C", [1.0, 1e6, 1e12])
def test_any_point_is_made_feasible(C):
    X, y = classes()
    objective, rng = joint(X, y, 5, Intercept.FREE, C=C), np.random.default_rng(0)
    beta = objective.feasible(rng.normal(size=(60, 5)), objective.zero(), rng.normal(size=5))
    assert infeasibility(beta, y, np.full(60, C)) < ROUNDING


def test_a_point_out_of_balance_proves_nothing():
    X, y = classes()
    objective = joint(X, y, 5, Intercept.FREE)
    beta = objective.feasible(np.full((60, 5), -0.1), objective.zero(), np.zeros(5))
    W, b = objective.weights(beta), np.arange(5.0)
    assert np.isfinite(objective.certify(PrimalDual(objective.coef(W), b, beta)).gap)
    moved = beta.copy()
    moved[0, (y[0] + 1) % 5] -= 1e-6
    moved[0, y[0]] += 1e-6
    assert objective.certify(PrimalDual(objective.coef(W), b, moved)).gap == np.inf
