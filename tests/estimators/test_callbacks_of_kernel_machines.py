"""Callbacks get a model that predicts at every gap check of a kernel machine."""

import numpy as np
import pytest
from sklearn.base import clone, is_regressor
from sklearn.callback import ScoringMonitor
from sklearn.datasets import load_iris, make_classification

from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM, PegasosClassifier
from real_data import CANCER, DIABETES, IRIS
from synthetic import overlapping, regression

TWO, THREE, NUMBERS = overlapping(), load_iris(return_X_y=True), regression()
CASES = [
    (SVC(), TWO),
    (SVC(), THREE),
    (SVC(n_jobs=2), THREE),
    (SVC(multi_class="ovr"), THREE),
    (SVC(multi_class="crammer_singer"), THREE),
    (SVC(multi_class="crammer_singer"), TWO),
    (SVC(kernel="linear"), TWO),
    (SVC(solver="qp"), TWO),
    (SVC(solver="pegasos", tol=0.1), TWO),
    (SVR(), NUMBERS),
    (NuSVC(nu=0.3), TWO),
    (NuSVC(nu=0.3), THREE),
    (NuSVR(), NUMBERS),
    (OneClassSVM(), TWO),
    (PegasosClassifier(1e-2, kernel="rbf", tol=0.1, penalized_intercept=False), THREE),
]


def scores_of(model, data, name):
    X, y = data
    monitor = ScoringMonitor(scoring=name)
    model = clone(model).set_callbacks(monitor).fit(X, y)
    rows = monitor.get_logs().data
    (fit,) = [row[name] for row in rows if row["task_name"] == "fit"]
    return model, fit, [row[name] for row in rows if row["task_name"] == "gap check"]


@pytest.mark.parametrize(("model", "data"), CASES, ids=lambda case: str(case)[:50])
def test_each_gap_check_has_a_score(model, data):
    name = "r2" if is_regressor(model) else "accuracy"
    fitted, fit, scores = scores_of(model, data, name)
    history = fitted.history_
    n_checks = len(history) if hasattr(history[0], "gap") else sum(map(len, history))
    assert len(scores) == n_checks > 0
    if isinstance(model, OneClassSVM):
        assert fit == np.mean(fitted.predict(data[0]) == data[1])
    else:
        assert fit == fitted.score(*data)
    refined = getattr(model, "multi_class", "") == "crammer_singer"  # after the last gap check
    if model.n_jobs is None:
        assert scores[-1] == pytest.approx(fit, abs=0.02 if refined else 0.0, rel=0.0)


@pytest.mark.parametrize(("model", "data"), CASES, ids=lambda case: str(case)[:50])
def test_scores_do_not_change_the_model(model, data):
    name = "r2" if is_regressor(model) else "accuracy"
    model = clone(model)
    if hasattr(model, "random_state"):
        model.set_params(random_state=0)
    watched, _, _ = scores_of(model, data, name)
    alone = model.fit(*data)
    np.testing.assert_allclose(watched.dual_coef_, alone.dual_coef_, atol=1e-2)


def test_one_class_without_labels_is_scored_by_the_share_of_inliers():
    model, fit, scores = scores_of(OneClassSVM(nu=0.2), (TWO[0], None), "accuracy")
    assert scores[-1] == fit == np.mean(model.predict(TWO[0]) == 1)


def test_a_kernel_matrix_is_scored_with_its_columns():
    X, y = TWO
    model, fit, scores = scores_of(SVC(kernel="precomputed"), (X @ X.T, y), "accuracy")
    assert scores[-1] == fit == model.score(X @ X.T, y)


def test_class_weights_that_make_nu_infeasible():
    X, y = TWO
    model = NuSVC(nu=0.9, class_weight={-1.0: 10.0})
    with pytest.warns(UserWarning, match="infeasible"):
        fitted, fit, scores = scores_of(model, (X, y), "accuracy")
    assert scores[-1] == fit == fitted.score(X, y)


def test_large_problems_are_scored_at_each_gap_check():
    X, y = make_classification(2000, 8, flip_y=0.2, random_state=0)
    model, fit, scores = scores_of(SVC(C=100.0, tol=1e-6), (X, y), "accuracy")
    assert len(scores) == len(model.history_) > 1
    assert scores[-1] == fit


class Counts:
    """Asks for no model."""

    def setup(self, estimator, context): ...

    def teardown(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context): ...

    def on_fit_task_end(self, estimator, context): ...


def test_a_model_that_nobody_asks_for_is_not_made(monkeypatch):
    made = []
    monkeypatch.setattr(SVC, "_so_far", lambda *args: made.append(args))
    SVC().set_callbacks(Counts()).fit(*THREE)
    assert made == []


class GapChecks:
    """Counts the gap checks that a callback is told of."""

    def __init__(self):
        self.count = 0

    def setup(self, estimator, context): ...

    def teardown(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context): ...

    def on_fit_task_end(self, estimator, context):
        self.count += context.task_name == "gap check"
        return False


@pytest.mark.parametrize(("Model", "data"), [(SVC, CANCER), (SVC, IRIS), (SVR, DIABETES)])
def test_callbacks_are_told_of_every_gap_check(Model, data):
    checks = GapChecks()
    model = Model().set_callbacks(checks).fit(*data)
    assert checks.count == sum(len(solution.history) for solution in model.solutions_)
