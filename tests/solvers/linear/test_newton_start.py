"""Averaged stochastic steps before Newton's."""

import numpy as np
import pytest

from compiled.linear.newton import FEATURE, go_on
from maxmargin import Intercept, _core
from maxmargin.losses import SQUARED_HINGE
from maxmargin.solvers.linear import newton
from synthetic import INTERCEPTS, LOSSES, REGULARIZED, STORAGES, objective_of, store, weights_for
from synthetic import solve as solve_by


def descended(objective, feature, free=False, seed=0, stop=go_on):
    """A level after stochastic steps."""
    problem = objective.problem
    bias = _core.Bias(FEATURE if feature else 0.0, 0.0, free)
    level = _core.NewtonLevel(problem.rows, objective.terms, bias, newton._BLAS)
    level.descend(problem.squared_norms, feature, _core.Random(seed), stop)
    return level


SQUARED_LOSSES = pytest.mark.parametrize(
    "loss", [LOSSES[name] for name in REGULARIZED if not LOSSES[name].bounded]
)


@SQUARED_LOSSES
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_stochastic_steps_come_near_the_optimum(loss, storage, intercept):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 5)) + 0.3
    y = X @ [1.0, -1.0, 0.5, 0.0, 0.0] - 0.5 + 0.5 * rng.normal(size=4000)
    y = np.sign(y) if loss.one_sided else y
    X = store(X, storage, np.float64)
    objective = objective_of(
        loss, intercept, C=0.1, weights=weights_for(4000), scaling=FEATURE, X=X, y=y
    )
    free = intercept is Intercept.FREE
    feature = {Intercept.NONE: 0.0, Intercept.PENALIZED: FEATURE, Intercept.FREE: 2.0}[intercept]
    level, again, other = (descended(objective, feature, free, seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(level.w, again.w)
    assert (level.w != other.w).any()
    w, b = level.w[:-1], level.b
    np.testing.assert_allclose(level.z, objective.problem.predict(w, b), rtol=1e-10, atol=1e-11)
    assert level.primal == pytest.approx(objective.primal(w, b), rel=1e-12)
    best = solve_by(objective).certificate.primal
    assert level.primal - best <= 0.05 * (objective.primal(np.zeros(5), 0.0) - best)


def test_stochastic_steps_that_lead_nowhere_are_not_made():
    """Labels that X says nothing of: the noise of the steps is worse than 0."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4000, 4)), rng.choice([-1.0, 1.0], 4000)
    level = descended(objective_of(SQUARED_HINGE, Intercept.NONE, X=X, y=y), 0.0)
    np.testing.assert_array_equal(level.w, 0.0)
    assert level.primal == 4000.0
    np.testing.assert_array_equal(level.beta, 2.0 * y)


@pytest.mark.parametrize("C", [1e-12, 1e-300, 1e12])
def test_stochastic_steps_at_the_ends_of_the_scale(C):
    """An outlying row, a column and rows of zeros, weights of 0."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    X[:, 3] = X[0] = 0.0
    X[1] *= 1e8
    y = np.sign(rng.normal(size=3000))
    objective = objective_of(
        SQUARED_HINGE, Intercept.NONE, C=C, weights=weights_for(3000), X=X, y=y
    )
    level = descended(objective, 0.0)
    assert np.isfinite(level.w).all()
    assert level.primal <= (1.0 + 1e-12) * objective.primal(np.zeros(4), 0.0)


def test_stochastic_steps_answer_at_once():
    objective = objective_of(SQUARED_HINGE, X=np.ones((3000, 2)), y=np.ones(3000))
    level = descended(objective, 0.0, stop=lambda: True)
    np.testing.assert_array_equal(level.w, 0.0)
