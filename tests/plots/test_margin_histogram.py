"""The distribution of margins."""

import pytest

from drawing import CLASSES, MOONS, SEVERAL, SIDES, rendered
from maxmargin import SVC
from maxmargin.plots import MarginHistogramDisplay
from synthetic import free_svc


def test_every_margin_is_counted():
    model = SVC(gamma=1.0).fit(MOONS, SIDES)
    display = rendered(MarginHistogramDisplay.from_estimator(model, MOONS, SIDES, bins=10))
    assert display.counts_[-1].sum() == 60
    wrong = float((model.predict(MOONS) != SIDES).mean())
    assert (display.margins <= 0.0).mean() == pytest.approx(wrong)
    assert [line.get_xdata()[0] for line in display.lines_] == [0.0, 1.0]


def test_margins_of_several_classes_are_against_the_best_rival():
    model = free_svc().fit(SEVERAL, CLASSES)
    display = rendered(MarginHistogramDisplay.from_estimator(model, SEVERAL, CLASSES))
    wrong = float((model.predict(SEVERAL) != CLASSES).mean())
    assert (display.margins <= 0.0).mean() == pytest.approx(wrong)


def test_every_display_can_be_drawn_again():
    display = MarginHistogramDisplay.from_estimator(SVC().fit(MOONS, SIDES), MOONS, SIDES)
    first = display.ax_
    assert display.plot() is display
    assert display.ax_ is not first
