"""The perceptron by SGD: it separates, or its end says that it did not."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from choices import ALL_INTERCEPTS
from compiled.stochastic.sgd import fit
from maxmargin import Intercept, Status, certify
from maxmargin.certificate import total
from maxmargin.losses import HINGE, PERCEPTRON
from maxmargin.solvers import Start
from maxmargin.solvers.stochastic.schedules import Constant
from maxmargin.solvers.stochastic.sgd import SGD
from synthetic import LOSSES, free_svc, objective_of, overlapping, separable, solve

# ---- the solver


def test_a_perceptron_that_runs_away_at_once_has_a_model():
    X = 1e99 * np.random.default_rng(0).normal(size=(50, 3))
    y = np.resize([1.0, -1.0], 50)
    solution = fit(objective_of(LOSSES["perceptron"], X=X, y=y), max_iter=4)
    assert solution.status is Status.DIVERGED
    assert solution.w.shape == (3,)


def test_the_perceptron_keeps_its_last_point_on_data_that_overlap():
    """The loss is least at w = 0: choosing by it would undo the learning."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.where(X[:, 0] + 0.7 * rng.normal(size=300) > 0, 1.0, -1.0)
    objective = objective_of(LOSSES["perceptron"], X=X, y=y)
    short, long = (fit(objective, tol=1e-9, max_iter=m) for m in (1, 12))
    assert long.history[-1].primal == long.certificate.primal
    assert np.linalg.norm(long.w) > np.linalg.norm(short.w)


# ---- the perceptron


@ALL_INTERCEPTS
@pytest.mark.parametrize("batch_size", [1, 5])
def test_the_perceptron_separates(intercept, batch_size):
    X, y = separable()
    objective = objective_of(PERCEPTRON, intercept, X=X, y=y)
    solution = fit(objective, batch_size=batch_size, max_iter=1000)
    assert solution.status is Status.OPTIMAL
    assert solution.certificate.gap == 0.0
    assert (y * (X @ solution.w + solution.b) > 0.0).all()


@pytest.mark.parametrize("seed", range(5))
def test_mistakes_keep_to_novikoffs_bound(seed):
    """At most (R/γ)², for rows no longer than R and a margin γ of some unit vector."""
    X, y = separable(seed=seed)
    objective = objective_of(PERCEPTRON, Intercept.NONE, X=X, y=y)
    mistakes = fit(objective, max_iter=10_000, start=Start(seed)).info.mistakes
    radius = np.linalg.norm(X, axis=1).max()
    hard = solve(objective_of(HINGE, Intercept.NONE, X=X, y=y, C=1e6), tol=1e-6).w
    margin = (y * (X @ hard)).min() / np.linalg.norm(hard)
    assert 0 < mistakes <= (radius / margin) ** 2


def test_the_perceptron_moves_by_the_rows_that_it_gets_wrong():
    """One epoch from w = 0: the boundary counts as wrong."""
    X, y = np.array([[2.0, 1.0]]), np.array([-1.0])
    solution = fit(objective_of(PERCEPTRON, Intercept.NONE, X=X, y=y))
    np.testing.assert_array_equal(solution.w, [-2.0, -1.0])
    assert solution.info.mistakes == 1


def test_data_that_are_not_separable_are_not_called_solved():
    X, y = overlapping()
    solution = fit(objective_of(PERCEPTRON, X=X, y=y), max_iter=50)
    assert solution.status is Status.STOPPED_BY_ITERATIONS
    assert solution.certificate.primal > 0.0
    assert solution.certificate.relative_gap == np.inf


@pytest.mark.parametrize("seed", range(20))
@ALL_INTERCEPTS
@pytest.mark.parametrize("n_weightless", [0, 1])
def test_a_perceptron_does_not_end_on_the_boundary(seed, intercept, n_weightless):
    """Corners of a cube are often met by f = 0 exactly."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, size=(9, 4)).astype(float)
    y = np.where(X @ rng.permutation([1.0, 2.0, -3.0, 1.0]) > 0.5, 1.0, -1.0)
    y[:n_weightless] *= -1.0
    weights = np.ones(9)
    weights[:n_weightless] = 0.0
    objective = objective_of(PERCEPTRON, intercept, X=X, y=y, weights=weights)
    solution = fit(objective, max_iter=500)
    mistakes = y * (X @ solution.w + solution.b) <= 0.0
    assert (solution.status is Status.OPTIMAL) == (not mistakes[n_weightless:].any())
    if intercept is not Intercept.NONE:
        assert solution.status is Status.OPTIMAL


def test_zero_is_no_answer_of_a_perceptron():
    X, y = separable()
    certificate = certify(objective_of(PERCEPTRON, X=X, y=y), np.zeros(3), 0.0, np.zeros(len(y)))
    assert certificate.gap == 0.0
    assert certificate.relative_gap == np.inf
    assert "not every sample is on its side" in certificate.sentence()
    assert total([certificate, certificate]).relative_gap == np.inf


def test_a_warm_perceptron_goes_on_until_it_separates():
    X, y = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]), [0, 0, 0, 1]
    model = free_svc(loss="perceptron", warm_start=True, max_iter=1, random_state=0)
    for _ in range(50):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
        strictly = (np.where(y, 1.0, -1.0) * model.decision_function(X) > 0.0).all()
        assert (model.certificate_.status is Status.OPTIMAL) == strictly
    assert model.score(X, y) == 1.0


def test_a_run_that_diverges_is_not_said_to_be_proven():
    X = np.random.default_rng(0).normal(size=(50, 3))
    model = free_svc(loss="perceptron", solver=SGD(schedule=Constant(1e100)))
    with pytest.warns(ConvergenceWarning, match=r"diverged .*best before: no separator found"):
        model.fit(X, np.resize([1, 0], 50))
    assert model.certificate_.status is Status.DIVERGED


def test_the_size_of_the_perceptrons_features_does_not_matter():
    X, y = separable()
    small, large = (
        fit(objective_of(PERCEPTRON, Intercept.FREE, X=size * X, y=y)) for size in (1.0, 1024.0)
    )
    assert small.info.mistakes == large.info.mistakes
