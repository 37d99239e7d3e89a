"""warm_start= of linear machines."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from choices import BOTH, EXACT
from maxmargin import Status
from maxmargin.solvers import SGD
from synthetic import free_svc, overlapping

X, Y = overlapping(80, 5)
IRIS = load_iris(return_X_y=True)


@BOTH
@EXACT
def test_a_warm_start_at_the_optimum_is_immediate(Model, data, solver):
    model = Model(solver=solver, warm_start=True, random_state=0, tol=1e-6, max_iter=20_000)
    cold = model.fit(*data).n_iter_
    warm = model.fit(*data).n_iter_
    assert warm <= max(3, cold // 4)
    assert model.certificate_.status is Status.OPTIMAL


@BOTH
@EXACT
@pytest.mark.parametrize("C", [0.01, 10.0])
def test_a_warm_start_follows_a_change_of_c(Model, data, solver, C):
    limit = {"max_iter": 200_000, "tol": 1e-4}
    model = Model(solver=solver, warm_start=True, **limit).fit(*data)
    model.set_params(C=C).fit(*data)
    cold = Model(solver=solver, C=C, **limit).fit(*data)
    assert model.certificate_.status is Status.OPTIMAL
    assert model.certificate_.primal == pytest.approx(cold.certificate_.primal, rel=2e-4)


@pytest.mark.parametrize("loss", ["perceptron", "hinge"])
def test_a_warm_start_of_sgd_goes_on_from_its_weights(loss):
    model = free_svc(solver="sgd", loss=loss, warm_start=True, max_iter=4, tol=1e-9)
    with pytest.warns(ConvergenceWarning):
        first = model.fit(X, Y).coef_
    starts = []
    solver = SGD()

    def spied(objective, monitor, start):
        starts.append(start)
        return solver.solve(objective, monitor, start)

    model.set_params(solver=SimpleNamespace(name="sgd", solve=spied))
    with pytest.warns(ConvergenceWarning):
        model.fit(X, Y)
    np.testing.assert_array_equal(starts[0].w, first[0])


def test_a_warm_start_goes_on_where_it_was_stopped():
    model = free_svc(solver="dual_cd", warm_start=True, max_iter=5, tol=1e-6, random_state=0)
    gaps = []
    for _ in range(4):
        with pytest.warns(ConvergenceWarning):
            gaps.append(model.fit(X, Y).certificate_.dual)
    assert gaps == sorted(gaps)
    assert gaps[-1] > gaps[0]


@pytest.mark.parametrize("solver", ["newton", "dual_cd"])
@pytest.mark.parametrize("C", [0.1, 0.3, 1.7])
def test_a_warm_start_keeps_at_the_bound_who_is_there(solver, C):
    model = free_svc(C, solver=solver, warm_start=True, random_state=0)
    data = overlapping(1000, 5)
    first, again = (model.fit(*data).certificate_.n_support_bounded for _ in range(2))
    assert again > 0.95 * first > 100


def unproven(model, data):
    with pytest.warns(ConvergenceWarning):
        return model.fit(*data)


@pytest.mark.parametrize("random_state", [None, 0])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("solver", ["pegasos", "sgd"])
def test_warm_starts_of_stochastic_solvers_go_on(solver, loss, random_state):
    """Ten fits of ten epochs are about as good as one of a hundred."""
    data, optimum = overlapping(300, 5), free_svc(loss=loss, tol=1e-9)
    settings = {"solver": solver, "loss": loss, "tol": 1e-6, "random_state": random_state}
    again, once = free_svc(warm_start=True, max_iter=10, **settings), free_svc(max_iter=100)
    first, *_ = [unproven(again, data).certificate_ for _ in range(10)]
    unproven(once.set_params(**settings), data)
    least = optimum.fit(*data).certificate_.primal
    assert again.certificate_.relative_gap < 0.3 * first.relative_gap
    assert again.certificate_.primal - least < 5.0 * (once.certificate_.primal - least)


@pytest.mark.parametrize("max_iter", [1, 3])
def test_a_warm_start_of_newton_never_gets_worse(max_iter):
    model = free_svc(
        solver="newton", warm_start=True, max_iter=max_iter, tol=1e-9, fit_intercept=False
    )
    data = overlapping(300, 5)
    values = [unproven(model, data).certificate_.primal for _ in range(8)]
    assert (np.diff(values) <= 1e-12 * values[0]).all()


def test_a_warm_start_on_other_data_starts_anew():
    model = free_svc(warm_start=True).fit(X, Y)
    assert model.fit(X[:50], Y[:50]).certificate_.status is Status.OPTIMAL
    assert model.fit(*IRIS).coef_.shape == (3, 4)
