"""Primal, dual and intercept of linear problems against ten lines of NumPy."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from choices import ALL_INTERCEPTS, REGULARIZED_LOSSES
from maxmargin import Intercept
from maxmargin.losses import HINGE
from reference import objective as textbook
from synthetic import LOSSES, STORAGES, TUBE, objective_of, weighted

ALL_LOSSES = pytest.mark.parametrize("loss", LOSSES.values(), ids=list(LOSSES))
ABSOLUTE_LOSSES = pytest.mark.parametrize("loss", [HINGE, TUBE], ids=["hinge", "tube"])
SQUARED_LOSSES = pytest.mark.parametrize(
    "loss", [loss for loss in LOSSES.values() if not loss.bounded], ids=lambda loss: loss.name
)
SEEDS = st.integers(0, 2**32 - 1)


def some_point(seed=0, d=4):
    rng = np.random.default_rng(seed)
    return rng.normal(size=d), float(rng.normal())


@ALL_LOSSES
@ALL_INTERCEPTS
@pytest.mark.parametrize("storage", STORAGES)
def test_primal_equals_the_textbook(loss, intercept, storage):
    objective = weighted(loss, intercept, storage)
    w, b = some_point()
    assert objective.primal(w, b) == pytest.approx(textbook.primal(objective, w, b), rel=1e-12)


@ALL_LOSSES
@ALL_INTERCEPTS
@pytest.mark.parametrize("storage", STORAGES)
def test_dual_equals_the_textbook(loss, intercept, storage):
    objective = weighted(loss, intercept, storage)
    beta = objective.feasible(np.random.default_rng(1).normal(size=60))
    expected = textbook.dual(objective, beta)
    assert objective.dual(beta) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("loss", LOSSES.values(), ids=list(LOSSES))
def test_the_value_at_zero_is_that_of_the_primal_there(loss):
    objective = weighted(loss, Intercept.FREE)
    at_zero = objective.primal(np.zeros(objective.problem.n_features), 0.0)
    assert objective.at_zero == pytest.approx(at_zero, rel=1e-14)


@REGULARIZED_LOSSES
@ALL_INTERCEPTS
def test_weights_of_a_dual_point_are_its_combination(loss, intercept):
    objective = weighted(loss, intercept)
    beta = objective.feasible(np.random.default_rng(2).normal(size=60))
    w, b = objective.weights_of(beta)
    np.testing.assert_allclose(w, beta @ objective.problem.X, rtol=1e-12)
    penalized = intercept is Intercept.PENALIZED
    assert b == pytest.approx(2.5**2 * beta.sum() if penalized else 0.0, rel=1e-12)


@ALL_INTERCEPTS
def test_a_penalised_intercept_is_a_constant_feature(intercept):
    objective = weighted(HINGE, intercept)
    w, b = some_point()
    square = w @ w + ((b / 2.5) ** 2 if intercept is Intercept.PENALIZED else 0.0)
    assert objective.regularizer(w, b) == pytest.approx(square / 2, rel=1e-14)


def test_the_perceptron_has_no_regularizer():
    assert weighted(LOSSES["perceptron"], Intercept.FREE).regularizer(*some_point()) == 0.0


@ABSOLUTE_LOSSES
@given(seed=SEEDS)
def test_best_intercept_equals_a_search_of_all_breakpoints(loss, seed):
    objective = weighted(loss, Intercept.FREE)
    y, cost = objective.problem.y, objective.problem.cost
    z = 2.0 * np.random.default_rng(seed).normal(size=60)
    breakpoints = np.concatenate([y - z - loss.epsilon, y - z + loss.epsilon])

    def value(b):
        return loss.value(y, cost, z + b).sum()

    best = min(map(value, breakpoints))
    b = objective.best_intercept(z)
    assert value(b) == pytest.approx(best, rel=1e-12, abs=1e-12)
    for start in (b, b + 1e-3, b - 0.1, 1e6):  # near or far, the same to rounding
        assert objective.best_intercept(z, start) == pytest.approx(b, rel=1e-12, abs=1e-12)


@ABSOLUTE_LOSSES
@given(seed=SEEDS)
def test_best_intercept_with_ties_is_the_middle_of_the_best(loss, seed):
    """Whole numbers: breakpoints coincide, and whole stretches are equally good."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    loss = replace(loss, epsilon=float(loss.epsilon > 0.0))
    objective = objective_of(loss, X=np.eye(n), y=y, weights=rng.integers(1, 4, n).astype(float))
    z = rng.integers(-3, 4, n).astype(float)
    grid = np.arange(-7.0, 8.0)  # all breakpoints are among these
    values = [loss.value(y, objective.problem.cost, z + b).sum() for b in grid]
    least = grid[np.isclose(values, min(values), rtol=1e-12)]
    steps = np.concatenate([y - z - loss.epsilon, y - z + loss.epsilon])
    low, high = max(least[0], steps.min()), min(least[-1], steps.max())
    assert objective.best_intercept(z) == pytest.approx(0.5 * (low + high))


@SQUARED_LOSSES
@given(seed=SEEDS)
def test_best_intercept_of_a_squared_loss_has_no_slope(loss, seed):
    objective = weighted(loss, Intercept.FREE)
    y, cost = objective.problem.y, objective.problem.cost
    rng = np.random.default_rng(seed)
    z, start = 2.0 * rng.normal(size=60), 100.0 * rng.normal()
    b = objective.best_intercept(z, start)

    def value(b):
        return loss.value(y, cost, z + b).sum()

    for step in (1e-3, 1e-5):
        assert value(b) <= min(value(b - step), value(b + step))
    assert b == pytest.approx(objective.best_intercept(z), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("start", [-3.0, 0.0, 5.0, 1e300])
@pytest.mark.parametrize("z", [0.0, 1e-17])
def test_best_intercept_of_a_squared_hinge_where_all_kinks_are_two(start, z):
    y = np.array([1.0, 1.0, 1.0, -1.0])
    objective = objective_of(LOSSES["squared_hinge"], X=np.eye(4), y=y)
    assert objective.best_intercept(np.full(4, z), start) == pytest.approx(0.5, rel=1e-7)


@SQUARED_LOSSES
def test_best_intercept_of_one_label_leaves_no_slack(loss):
    objective = objective_of(loss, X=np.eye(3), y=np.ones(3))
    b = objective.best_intercept(np.zeros(3), -7.0)
    assert loss.value(np.ones(3), np.ones(3), np.full(3, b)).max() <= 1e-12


def test_best_intercept_of_targets_far_from_0_is_their_mean():
    y = 1e10 + np.random.default_rng(0).normal(size=100)
    objective = objective_of(LOSSES["squared"], X=np.eye(100), y=y)
    assert objective.best_intercept(np.zeros(100)) == pytest.approx(y.mean(), rel=1e-15)


def test_best_intercept_is_the_middle_of_many():
    objective = objective_of(HINGE, X=np.eye(2), y=np.array([1.0, -1.0]))
    assert objective.best_intercept(np.array([3.0, -5.0])) == pytest.approx(1.0)


def test_best_intercept_of_a_regression_is_the_median():
    y = np.array([0.0, 1.0, 2.0, 10.0, 100.0])
    objective = objective_of(LOSSES["epsilon_insensitive"], X=np.eye(5), y=y)
    assert objective.best_intercept(np.zeros(5)) == pytest.approx(2.0)


@ABSOLUTE_LOSSES
def test_best_intercept_ignores_samples_of_cost_zero(loss):
    objective = weighted(loss, Intercept.FREE)
    z = objective.problem.predict(some_point()[0], 0.0)
    live = objective.problem.cost > 0
    smaller = objective_of(
        loss,
        X=objective.problem.X[live],
        y=objective.problem.y[live],
        weights=objective.problem.cost[live],
    )
    assert objective.best_intercept(z) == pytest.approx(smaller.best_intercept(z[live]))
