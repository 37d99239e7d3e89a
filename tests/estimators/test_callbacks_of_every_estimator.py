"""scikit-learn's callbacks on estimators that leave the work to another one too."""

import math

import numpy as np
import pytest
from sklearn.base import clone, is_regressor
from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.datasets import load_iris

from maxmargin import SVC, SVR, EmbeddedSVC, EmbeddedSVR, LinearSVC
from synthetic import regression

X, Y = load_iris(return_X_y=True)
APART = X[Y < 2], Y[Y < 2]
CASES = {
    "landmarks": (SVC(landmarks=40), (X, Y)),
    "landmarks, regression": (SVR(landmarks=40), regression()),
    "hard margin": (LinearSVC(C=math.inf, penalized_intercept=False), APART),
    "embedded": (EmbeddedSVC(), (X, Y)),
    "embedded, regression": (EmbeddedSVR(), regression()),
}


@pytest.mark.parametrize("name", CASES)
def test_the_fit_has_a_score(name):
    """None was computed, nor a word said of it."""
    model, data = CASES[name]
    monitor = ScoringMonitor(scoring="r2" if is_regressor(model) else "accuracy")
    model = clone(model).set_callbacks(monitor).fit(*data)
    (row,) = [row for row in monitor.get_logs().data if row["task_name"] == "fit"]
    assert model.score(*data) in row.values()
    assert not [left for left in vars(model) if left.startswith("_callback")]


@pytest.mark.parametrize("name", CASES)
def test_a_progress_bar_sees_what_the_other_does(name, capsys):
    model, data = CASES[name]
    watched = clone(model).set_callbacks(ProgressBar()).fit(*data)
    shown = capsys.readouterr().out
    assert type(model).__name__ in shown
    assert "machine" in shown
    plain = clone(model).fit(*data)
    np.testing.assert_array_equal(watched.predict(data[0]), plain.predict(data[0]))


@pytest.mark.parametrize("name", CASES)
def test_one_that_fails_leaves_the_estimator_as_it_was(name):
    model, data = CASES[name]
    alone = clone(model).set_callbacks(Failing())
    with pytest.raises(RuntimeError, match="enough"):
        alone.fit(*data)
    assert not hasattr(alone, "n_features_in_")


class Failing:
    """A callback that fails at the end of the fit."""

    def setup(self, estimator, context):
        """Nothing to prepare."""

    teardown = on_fit_task_begin = setup

    def on_fit_task_end(self, estimator, context, **_):
        raise RuntimeError("enough")
