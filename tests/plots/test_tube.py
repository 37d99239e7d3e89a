"""Regression within its tube."""

import numpy as np

from drawing import AT, SINE, rendered
from maxmargin import SVR, NuSVR
from maxmargin.plots import TubeDisplay
from synthetic import regression


def test_samples_outside_the_tube_are_the_bounded_ones():
    model = SVR(epsilon=0.2, tol=1e-6).fit(AT, SINE)
    display = rendered(TubeDisplay.from_estimator(model, AT, SINE))
    outside = np.abs(SINE - model.predict(AT)) > 0.2 + 1e-3
    np.testing.assert_array_equal(outside, outside & display.support.bounded)
    assert len(display.bounded_.get_offsets()) == model.certificate_.n_support_bounded


def test_the_tube_of_a_nu_machine_is_the_one_it_found():
    model = NuSVR(nu=0.3).fit(AT, SINE)
    display = rendered(TubeDisplay.from_estimator(model, AT, SINE))
    assert display.epsilon == model.epsilon_


def test_a_tube_along_one_feature_of_several():
    rows, targets = regression()
    model = SVR(epsilon=0.2).fit(rows, targets)
    assert (
        rendered(TubeDisplay.from_estimator(model, rows, targets, feature=2)).label == "feature 2"
    )


def test_the_legend_of_a_tube_covers_no_samples():
    model = SVR(epsilon=0.2).fit(AT, SINE)
    display = rendered(TubeDisplay.from_estimator(model, AT, SINE))
    box = display.ax_.get_legend().get_window_extent()
    assert box.y1 <= display.ax_.get_window_extent().y0
