"""The feature by which coordinate descent reaches a free intercept."""

import numpy as np
import pytest
from scipy import sparse

from maxmargin import Intercept, LinearObjective, Problem, Status
from maxmargin.losses import HINGE
from maxmargin.solvers.linear.intercept import short_bias_of
from synthetic import free_svc


def wide(n=6000, d=1_000_000, stored=50):
    """Rows that share almost no feature."""
    rng = np.random.default_rng(0)
    values, columns = rng.random(n * stored), rng.integers(0, d, n * stored)
    X = sparse.csr_matrix((values, columns, np.arange(0, n * stored + 1, stored)), shape=(n, d))
    X.sum_duplicates()
    return X, np.where(X @ rng.standard_normal(d) > 0.0, 1.0, -1.0)


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_wide_sparse_rows_take_few_epochs(C):
    X, y = wide()
    model = free_svc(C=C, loss="hinge", solver="dual_cd", random_state=0, max_iter=60).fit(X, y)
    assert model.certificate_.status is Status.OPTIMAL


def test_several_classes_of_wide_sparse_rows_take_few_epochs():
    X, y = wide()
    y = y + 2.0 * (np.arange(len(y)) % 2)
    model = free_svc(loss="hinge", solver="dual_cd", random_state=0, max_iter=60).fit(X, y)
    assert model.certificate_.status is Status.OPTIMAL


def test_feature_does_not_depend_on_how_rows_are_stored():
    X, y = wide(n=100, d=300)
    features = [
        short_bias_of(
            LinearObjective(Problem(rows, y, np.ones(100)), HINGE, Intercept.FREE)
        ).feature
        for rows in (X, X.toarray())
    ]
    assert features[0] == pytest.approx(features[1])


def test_sampled_rows_without_cost_leave_the_usual_feature():
    X, y = wide(n=2048, d=300)
    cost = np.ones(2048)
    cost[::4] = 0.0  # the rows that are sampled
    objective = LinearObjective(Problem(X, y, cost), HINGE, Intercept.FREE)
    typical = np.sqrt(np.average(objective.diagonal, weights=cost))
    assert short_bias_of(objective).feature == pytest.approx(0.15 * typical)


@pytest.mark.parametrize("labels", ["noiseless", "random"])
def test_a_penalised_intercept_takes_few_epochs_too(labels):
    X, y = wide(n=10_000)
    y = y if labels == "noiseless" else np.random.default_rng(1).choice([-1.0, 1.0], size=len(y))
    model = free_svc(loss="hinge", solver="dual_cd", penalized_intercept=True, random_state=0)
    model.set_params(max_iter=30).fit(X, y)
    assert model.certificate_.status is Status.OPTIMAL
