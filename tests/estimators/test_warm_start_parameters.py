"""A warm start never changes which problem is solved: after any change it ends like a cold fit."""

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from maxmargin import (
    SVC,
    SVR,
    Intercept,
    LinearObjective,
    NuSVC,
    NuSVR,
    OneClassSVM,
    PegasosClassifier,
    Problem,
    Status,
    certify,
)
from maxmargin.losses import HINGE
from maxmargin.solvers import SGD
from maxmargin.solvers.stochastic.sgd import RULES
from synthetic import free_svc, free_svr

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 4))
NOISE = 0.3 * rng.normal(size=120)
TWO = np.where(X[:, 0] + NOISE > -0.8, 1, 0)
THREE = np.digitize(X[:, 0] + NOISE, [-0.8, 0.9])
TARGETS = X[:, 0] + NOISE + 20.0

COMMON = {"C": 0.2, "tol": 1e-4, "random_state": 3, "max_time": 60.0}
LINEAR = {
    "fit_intercept": False,
    "penalized_intercept": True,
    "intercept_scaling": 3.0,
    "solver": "dual_cd",
} | COMMON
KERNEL = {"kernel": "poly", "gamma": 0.7, "cache_size": 1.0, "max_time": 60.0, "tol": 1e-4}
SOFT = {"fit_intercept": False, "C": 0.2} | KERNEL
LABELS = {"class_weight": {1: 5.0}}

CASES: list[tuple[BaseEstimator, dict[str, Any], tuple[Any, ...]]] = [
    (free_svc(loss="hinge"), LINEAR | LABELS | {"loss": "squared_hinge"}, (TWO, THREE)),
    (free_svc(loss="squared_hinge"), LINEAR | LABELS | {"loss": "hinge"}, (TWO, THREE)),
    (free_svc(solver="dual_cd"), LINEAR | LABELS | {"solver": "newton"}, (TWO, THREE)),
    (free_svc(multi_class="crammer_singer", loss="hinge"), LINEAR | LABELS, (THREE,)),
    (free_svc(loss="hinge"), {"multi_class": "crammer_singer"}, (TWO, THREE)),
    (free_svr(), LINEAR | {"epsilon": 5.0, "loss": "squared_epsilon_insensitive"}, (TARGETS,)),
    (
        free_svr(loss="squared_epsilon_insensitive", epsilon=0.1),
        LINEAR | {"epsilon": 0.5, "loss": "epsilon_insensitive"},
        (TARGETS,),
    ),
    (SVC(), SOFT | LABELS | {"multi_class": "crammer_singer"}, (TWO, THREE)),
    (SVC(multi_class="crammer_singer"), SOFT | LABELS | {"multi_class": "ovo"}, (THREE,)),
    (SVR(epsilon=0.1), SOFT | {"epsilon": 5.0}, (TARGETS,)),
    (NuSVC(nu=0.2), KERNEL | {"nu": 0.3}, (TWO, THREE)),
    (NuSVR(), KERNEL | {"nu": 0.2, "C": 3.0}, (TARGETS,)),
    (OneClassSVM(), KERNEL | {"nu": 0.2}, (None,)),
]


def changes():
    for model, parameters, targets in CASES:
        for y in targets:
            for name, value in parameters.items():
                kind = f"{model}-{name}-{len(np.unique(y))}"
                yield pytest.param(model, {name: value}, y, id=kind)


def fit(model, y):
    return model.fit(X) if y is None else model.fit(X, y)


@pytest.mark.filterwarnings("ignore:No direction separates")  # a linear kernel on centred rows
@pytest.mark.parametrize(("model", "change", "y"), list(changes()))
def test_a_warm_start_after_any_change_ends_like_a_cold_fit(model, change, y):
    kind, first = type(model), model.get_params()
    warm = fit(kind(**first | {"warm_start": True}), y).set_params(**change)
    cold = fit(kind(**first | change), y)
    fit(warm, y)
    assert warm.certificate_.status is Status.OPTIMAL
    assert cold.certificate_.status is Status.OPTIMAL
    assert warm.certificate_.primal == pytest.approx(
        cold.certificate_.primal, rel=2.1 * cold.tol, abs=1e-9
    )
    if change.get("fit_intercept") is False:
        assert not np.any(warm.intercept_)


@pytest.mark.parametrize("solver", ["pegasos", "sgd"])
@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
def test_stochastic_solvers_drop_the_intercept_too(solver, multi_class):
    model = free_svc(
        loss="hinge", solver=solver, multi_class=multi_class, max_iter=500, tol=0.1, warm_start=True
    ).fit(X, THREE)
    assert np.any(model.intercept_)
    assert not np.any(model.set_params(fit_intercept=False).fit(X, THREE).intercept_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_pegasos_classifier_drops_the_intercept_too():
    model = PegasosClassifier(warm_start=True, max_iter=20).fit(X, TWO)
    assert np.any(model.intercept_)
    assert not np.any(model.set_params(fit_intercept=False).fit(X, TWO).intercept_)


@pytest.mark.parametrize("shift", [0.0, 20.0, 1e5])
@pytest.mark.parametrize("n", [60, 1500])
def test_svr_finds_an_optimum_of_zero_from_a_warm_start(shift, n):
    rows = np.random.default_rng(1).normal(size=(n, 4))
    model = SVR(warm_start=True, epsilon=0.1).fit(rows, rows[:, 0] + shift)
    model.set_params(epsilon=9.0).fit(rows, rows[:, 0] + shift)
    assert model.certificate_.status is Status.OPTIMAL
    assert model.certificate_.primal == 0.0


def test_certify_refuses_an_intercept_where_there_is_none():
    problem = Problem(X, 2.0 * TWO - 1.0, np.ones(len(X)))
    objective = LinearObjective(problem, HINGE, Intercept.NONE)
    certify(objective, np.zeros(4), 0.0, np.zeros(len(X)))
    with pytest.raises(ValueError, match="b must be 0 where the objective has no intercept"):
        certify(objective, np.zeros(4), 20.0, np.zeros(len(X)))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
@pytest.mark.parametrize("n_classes", [2, 10])
@pytest.mark.parametrize(
    "solver", ["pegasos", *(SGD(rule=rule) for rule in RULES)], ids=["pegasos", *RULES]
)
def test_five_short_warm_fits_come_near_one_long_fit(solver, n_classes, multi_class):
    """They keep the step counter, the memory of the gradients, the average and the dual point."""
    rows, y = load_digits(return_X_y=True)
    rows, y = rows[:600] / 16.0, y[:600] % n_classes
    settings = {"multi_class": multi_class, "solver": solver, "random_state": 0, "tol": 1e-4}
    model = free_svc(max_iter=5, warm_start=True, **settings)
    values = [model.fit(rows, y).certificate_.primal for _ in range(5)]
    once = free_svc(max_iter=25, **settings).fit(rows, y).certificate_.primal
    assert (np.diff(values) <= 1e-9 * values[0]).all()
    assert values[-1] - once < 0.1 * (values[0] - once) + 0.02 * once


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "change",
    [{"C": 0.1}, {"loss": "squared_hinge"}, {"class_weight": {1: 3.0}}, {"solver": SGD()},
     {"fit_intercept": False}],
    ids=lambda change: next(iter(change)),
)  # fmt: skip
def test_another_problem_starts_from_the_weights_alone(change):
    model = free_svc(solver=SGD(rule="adam"), max_iter=4, warm_start=True, random_state=0)
    assert model.fit(X, TWO).solution_.info.epochs == 4
    assert model.fit(X, TWO).solution_.info.epochs == 8
    adam = "solver" not in change
    assert model.set_params(**change).fit(X, TWO).solution_.info.epochs == (4 if adam else 12)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_warm_fit_goes_on_after_a_pickle_and_leaves_the_last_solution_as_it_was():
    model = free_svc(solver=SGD(rule="adam"), max_iter=4, warm_start=True, random_state=0)
    last = model.fit(X, TWO).solution_
    again = pickle.loads(pickle.dumps(model)).fit(X, TWO)
    before = last.state.method["memory"].copy()
    np.testing.assert_array_equal(model.fit(X, TWO).coef_, again.coef_)
    np.testing.assert_array_equal(last.state.method["memory"], before)


@pytest.mark.parametrize("intercept", [{}, {"penalized_intercept": True}, {"fit_intercept": False}])
@pytest.mark.parametrize(
    "solver", ["pegasos", "sgd", SGD(rule="adam"), SGD(rule="momentum")], ids=str
)
def test_warm_fits_of_one_problem_never_get_worse(solver, intercept):
    """They start from the weights of the last fit, not from those of its dual point."""
    rows, y = load_digits(return_X_y=True)
    model = free_svc(
        multi_class="crammer_singer", solver=solver, max_iter=3, warm_start=True, random_state=0,
        **intercept,
    )  # fmt: skip
    values = []
    for _ in range(4):
        with pytest.warns(ConvergenceWarning):
            model.fit(rows[:600] / 16.0, y[:600])
        values.append(model.certificate_.primal)
    assert (np.diff(values) <= 1e-9 * values[0]).all()
    assert values[-1] < values[0]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("C", [0.1, 1.0])
def test_a_warm_start_of_dual_cd_reaches_an_optimum_of_zero(C, intercept):
    """Steps that cancel leave rounding in w, beside a dual value of exactly 0."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    y = X[:, 0] + 0.1 * rng.normal(size=80)
    model = free_svr(
        C=C, solver="dual_cd", fit_intercept=intercept, warm_start=True, random_state=0
    )
    model.fit(X, y).set_params(epsilon=10.0).fit(X, y)
    assert model.certificate_.status is Status.OPTIMAL
    assert model.certificate_.primal <= 1e-20
