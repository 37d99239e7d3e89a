"""Paths of weights and duals along C."""

import numpy as np
import pytest

from drawing import CLASSES, MOONS, SEVERAL, SIDES, X, Y, rendered
from maxmargin import SVC
from maxmargin.plots import PathDisplay
from synthetic import free_svc


def test_a_path_of_weights():
    Cs = [1.0, 0.01, 0.1]
    display = rendered(PathDisplay.from_estimator(free_svc(), X, Y, Cs=Cs, quantity="weights"))
    np.testing.assert_array_equal(display.Cs, [0.01, 0.1, 1.0])
    last = free_svc(1.0).fit(X, Y).coef_[0]
    np.testing.assert_allclose(display.weights[-1], last)
    assert len(display.lines_) == X.shape[1]


def test_a_path_of_duals_lies_between_zero_and_one():
    display = rendered(PathDisplay.from_estimator(SVC(), MOONS, SIDES, Cs=[0.1, 1.0, 10.0]))
    assert display.shares.shape == (3, 60)
    assert display.shares.min() >= 0.0
    assert display.shares.max() <= 1.0 + 1e-12


def test_a_path_of_kernel_weights_is_refused():
    with pytest.raises(ValueError, match="quantity='duals'"):
        PathDisplay.from_estimator(SVC(), MOONS, SIDES, Cs=[1.0], quantity="weights")


def test_a_path_of_several_classes_is_refused():
    with pytest.raises(ValueError, match="one problem"):
        PathDisplay.from_estimator(free_svc(), SEVERAL, CLASSES, Cs=[1.0])
