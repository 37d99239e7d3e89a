"""The samples whose removal moves the boundary most."""

import itertools

import numpy as np
import pytest

from drawing import CLASSES, MOONS, SEVERAL, SIDES, rendered
from maxmargin import SVC
from maxmargin.plots import InfluenceDisplay


def test_the_most_influential_sample_moves_f_most():
    model = SVC(gamma=1.0, tol=1e-6).fit(MOONS, SIDES)
    display = rendered(InfluenceDisplay.from_estimator(model, MOONS, SIDES, candidates=60))
    first = display.ranking[0]
    f, kept = model.decision_function(MOONS), np.arange(60) != first
    without = SVC(gamma=1.0, tol=1e-6).fit(MOONS[kept], SIDES[kept]).decision_function(MOONS)
    assert display.influence[first] == pytest.approx(np.sqrt(np.mean((without - f) ** 2)))
    away = np.setdiff1d(np.arange(60), model.support_)
    assert (display.influence[away] == 0.0).all()
    assert display.names_[0].get_text() == str(first)


def test_no_more_than_the_candidates_are_tried():
    model = SVC(gamma=1.0).fit(MOONS, SIDES)
    display = InfluenceDisplay.from_estimator(model, MOONS, SIDES, candidates=3)
    assert np.count_nonzero(display.influence > 0.0) == 3
    with pytest.raises(ValueError, match="candidates"):
        InfluenceDisplay.from_estimator(model, MOONS, SIDES, candidates=0)


def test_influence_is_for_two_classes():
    with pytest.raises(ValueError, match="two classes"):
        InfluenceDisplay.from_estimator(SVC().fit(SEVERAL, CLASSES), SEVERAL, CLASSES)


def test_numbers_of_near_samples_do_not_cover_each_other():
    points = np.array([[0.0, 0.0], [0.01, 0.01], [1.0, 1.0], [0.02, 0.0]])
    cell = np.array([[0.0, 1.0], [0.0, 1.0]])
    influence = np.array([4.0, 3.0, 2.0, 1.0])
    display = InfluenceDisplay(
        points=points,
        y=np.zeros(4, int),
        classes=np.array([0]),
        influence=influence,
        grids=(cell, cell, cell, cell),
        labels=("a", "b"),
    )
    display.plot()
    display.figure_.canvas.draw()
    boxes = [name.get_window_extent() for name in display.names_]
    assert len(boxes) == 4
    assert not any(p.overlaps(q) for p, q in itertools.combinations(boxes, 2))
