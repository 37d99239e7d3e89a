"""Problem, Objective and certify, as a user may call them."""

import numpy as np
import pytest
from scipy import sparse

import maxmargin.runtime.monitor as base
from maxmargin import LinearObjective, Newton, Problem, certify
from maxmargin.losses import HINGE
from maxmargin.objectives.base import Intercept
from synthetic import free_svc

ROWS = np.array([[1.0], [-1.0]])
ONES = np.ones(2)


@pytest.mark.parametrize("labels", [[2.0, -2.0], [0.0, 1.0]])
def test_a_classification_loss_needs_signs(labels):
    with pytest.raises(ValueError, match=r"needs labels -1 and \+1, got"):
        LinearObjective(Problem(ROWS, np.array(labels), ONES), HINGE, Intercept.NONE)


@pytest.mark.parametrize(
    ("rows", "y", "cost", "message"),
    [
        (ROWS.tolist(), ONES, ONES, "X must be a NumPy array"),
        (sparse.csc_matrix(ROWS), ONES, ONES, "X must be a NumPy array or a CSR"),
        (ROWS.astype(int), ONES, ONES, "float32 or float64"),
        (np.asfortranarray(np.ones((2, 2))), ONES, ONES, "C order"),
        (ROWS, np.ones(3), ONES, r"y must have shape \(2,\)"),
        (ROWS, ONES, np.ones(1), r"cost must have shape \(2,\)"),
        (ROWS, ONES.astype(int), ONES, "y must be a float64"),
        (ROWS, ONES, -ONES, "cost must be finite and 0 or larger"),
        (ROWS, ONES, np.array([1.0, np.nan]), "cost must be finite"),
    ],
)
def test_a_problem_is_checked(rows, y, cost, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Problem(rows, y, cost)


@pytest.mark.parametrize(("w", "beta"), [([1.0, 2.0], [0.0, 0.0]), ([1.0], [np.nan, 0.0])])
def test_certify_checks_its_point(w, beta):
    objective = LinearObjective(Problem(ROWS, np.array([1.0, -1.0]), ONES), HINGE, Intercept.NONE)
    with pytest.raises(ValueError, match="finite numbers"):
        certify(objective, np.array(w), 0.0, np.array(beta))


@pytest.mark.parametrize("b", [np.nan, np.inf])
def test_certify_checks_its_intercept(b):
    objective = LinearObjective(Problem(ROWS, np.array([1.0, -1.0]), ONES), HINGE, Intercept.FREE)
    with pytest.raises(ValueError, match="b must be a finite number"):
        certify(objective, np.ones(1), b, np.zeros(2))


@pytest.mark.parametrize("settings", [{"growth": 1}, {"softness": 0.0}, {"shrink": 2.0}])
def test_newton_checks_its_settings(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        Newton(**settings)


def test_a_solver_class_is_not_a_solver():
    with pytest.raises(ValueError, match=r"solver=Newton\(\)"):
        free_svc(solver=Newton).fit(ROWS, [1, -1])


def test_a_class_weight_of_zero_leaves_one_class():
    with pytest.raises(ValueError, match="belong to the same class"):
        free_svc(class_weight={0: 0.0, 1: 1.0}).fit(np.eye(4), [0, 1, 0, 1])


def test_the_perceptron_needs_no_solver_name():
    model = free_svc(loss="perceptron", random_state=0).fit(ROWS, [1, -1])
    assert model.solution_.solver == "sgd"


def test_dual_cd_does_not_depend_on_the_clock(monkeypatch):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(600, 20))
    labels = np.where(rows[:, 0] + rng.normal(size=600) > 0, 1, -1)
    for tol in np.linspace(0.05, 0.3, 20):
        models = []
        for seconds in (0.0, 10.0):
            monkeypatch.setattr(base, "SECONDS_PER_CALL", seconds)
            model = free_svc(0.1, solver="dual_cd", tol=tol, fit_intercept=False, random_state=0)
            models.append(model.fit(rows, labels))
        np.testing.assert_array_equal(models[0].coef_, models[1].coef_)
