"""Maps of C and γ."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score

from drawing import MOONS, SIDES, rendered
from maxmargin import SVC
from maxmargin.plots import TuningDisplay


def test_the_map_has_every_score_in_its_cell():
    grid = {"gamma": [1.0, 0.1], "C": [10.0, 1.0, 0.1]}
    search = GridSearchCV(SVC(), grid, cv=3).fit(MOONS, SIDES)
    display = rendered(TuningDisplay.from_cv_results(search))
    np.testing.assert_array_equal(display.Cs, [0.1, 1.0, 10.0])
    for place, params in enumerate(search.cv_results_["params"]):
        row = list(display.gammas).index(params["gamma"])
        column = list(display.Cs).index(params["C"])
        assert display.scores[row, column] == search.cv_results_["mean_test_score"][place]
    assert display.best[2] == search.best_score_
    assert display.mesh_.get_array().size == 6


def test_a_map_of_one_cell():
    one = TuningDisplay.from_estimator(SVC(), MOONS, SIDES, Cs=[2.0], gammas=[0.5], cv=2)
    display = rendered(one)
    expected = cross_val_score(SVC(C=2.0, gamma=0.5), MOONS, SIDES, cv=2).mean()
    assert display.scores.tolist() == [[pytest.approx(expected)]]
    assert display.best == (2.0, 0.5, pytest.approx(expected))


def test_a_map_needs_both_axes():
    search = GridSearchCV(SVC(), {"C": [1.0, 2.0]}, cv=2).fit(MOONS, SIDES)
    with pytest.raises(ValueError, match="C and gamma"):
        TuningDisplay.from_cv_results(search)
