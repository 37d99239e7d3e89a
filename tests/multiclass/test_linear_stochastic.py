"""LinearSVC(multi_class="crammer_singer") by stochastic steps."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

from maxmargin import Status
from maxmargin.solvers import SGD, Pegasos
from synthetic import csr, free_svc

IRIS = load_iris(return_X_y=True)


def stochastic(solver, **settings):
    common = {"lam": 0.1, "tol": 0.05, "max_iter": 500, "random_state": 0}
    return free_svc(multi_class="crammer_singer", solver=solver, **(common | settings))


STEPS = pytest.mark.parametrize(
    "solver", ["pegasos", "sgd", Pegasos(projection=True), SGD(rule="momentum")], ids=str
)
NAMES = np.array(["ant", "bee", "cat"])[IRIS[1]]
SCALED = scale(IRIS[0])


@STEPS
@pytest.mark.parametrize("form", [np.asarray, csr], ids=["dense", "csr"])
def test_stochastic_steps_prove_the_gap_of_the_same_problem(solver, form):
    model = stochastic(solver).fit(form(SCALED), NAMES)
    exact = free_svc(lam=0.1, multi_class="crammer_singer", tol=1e-6).fit(SCALED, NAMES)
    assert model.solution_.solver == ("pegasos" if "egasos" in str(solver) else "sgd")
    assert model.certificate_.status is Status.OPTIMAL
    assert model.certificate_.dual <= exact.certificate_.primal
    assert exact.certificate_.dual <= model.certificate_.primal
    assert model.coef_.shape == (3, 4)
    assert model.score(form(SCALED), NAMES) > 0.8
    assert (model.predict(SCALED) == exact.predict(SCALED)).mean() > 0.9


@STEPS
def test_the_same_random_state_gives_the_same_bits(solver):
    first, second = (stochastic(solver).fit(SCALED, NAMES) for _ in range(2))
    np.testing.assert_array_equal(first.coef_, second.coef_)
    other = stochastic(solver, random_state=1).fit(SCALED, NAMES)
    assert (other.coef_ != first.coef_).any()


@STEPS
def test_a_gap_not_reached_is_told(solver):
    model = stochastic(solver, tol=1e-9, max_iter=3)
    with pytest.warns(ConvergenceWarning, match=r"proven within .* % .*Raise max_iter"):
        model.fit(SCALED, NAMES)
    assert model.certificate_.status is Status.STOPPED_BY_ITERATIONS
    assert model.n_iter_ == 3


@STEPS
def test_weights_are_costs_of_stochastic_steps(solver):
    weights = np.where(IRIS[1] == 2, 3.0, 1.0)
    ours = stochastic(solver, lam=None, C=0.05, class_weight={"cat": 3.0}).fit(SCALED, NAMES)
    theirs = stochastic(solver, lam=None, C=0.05).fit(SCALED, NAMES, sample_weight=weights)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("solver", ["pegasos", "sgd"])
def test_a_stochastic_fit_goes_on_from_the_exact_one(solver):
    model = free_svc(lam=0.1, multi_class="crammer_singer", tol=1e-6, warm_start=True)
    model.fit(SCALED, NAMES)
    model.set_params(solver=solver, tol=1e-3).fit(SCALED, NAMES)
    assert model.n_iter_ == 0
    assert model.certificate_.relative_gap <= 1e-3
