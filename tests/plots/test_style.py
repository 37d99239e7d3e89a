"""What all pictures have in common."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from drawing import X, Y, matplotlib
from maxmargin import SVC, SVR, plots
from maxmargin.plots import ConvergenceDisplay, InfluenceDisplay, TubeDisplay
from synthetic import free_svc


def test_matplotlib_is_not_imported_before_a_picture_is_drawn():
    code = "import sys, maxmargin.plots; assert 'matplotlib' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"maxmargin\[plot\]"):
        ConvergenceDisplay.from_estimator(free_svc().fit(X, Y))


def test_colours_differ_in_lightness_too():
    colours = [matplotlib.colors.to_rgb(c) for c in plots._style.COLOURS[:2]]
    lightness = [0.21 * r + 0.72 * g + 0.07 * b for r, g, b in colours]
    assert abs(lightness[0] - lightness[1]) > 0.05


def test_data_frames_are_drawn_as_arrays_are():
    """A warning about the names of features would be an error."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 2)), columns=["a", "b"])
    rows, targets = frame.to_numpy(), frame["b"].to_numpy()
    y = np.where(rows[:, 0] + 0.5 * rng.normal(size=40) > 0.0, 1, 0)
    influence, expected = (
        InfluenceDisplay.from_estimator(SVC().fit(X, y), X, y, candidates=2) for X in (frame, rows)
    )
    np.testing.assert_array_equal(influence.influence, expected.influence)
    assert np.nansum(influence.influence > 0.0) == 2
    tube = TubeDisplay.from_estimator(SVR().fit(frame, frame["b"]), frame, frame["b"])
    x, f = tube.line_.get_data()
    np.testing.assert_array_equal(tube.x, rows[:, 0])
    np.testing.assert_array_equal(tube.y, targets)
    along = np.column_stack([x, np.full(len(x), np.median(rows[:, 1]))])
    np.testing.assert_allclose(f, SVR().fit(rows, targets).predict(along))


def test_no_colour_fades_on_white():
    for name in plots._style.COLOURS:
        r, g, b = matplotlib.colors.to_rgb(name)
        assert 0.21 * r + 0.72 * g + 0.07 * b < 0.75
