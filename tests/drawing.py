"""What tests of pictures share: data, and a display that was really drawn."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

from synthetic import classes, overlapping

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

MOONS, SIDES = make_moons(60, noise=0.25, random_state=0)
X, Y = overlapping()
SEVERAL, CLASSES = classes(d=2, n_classes=3)
AT = np.random.default_rng(0).uniform(0.0, 6.0, (60, 1))
SINE = np.sin(AT[:, 0]) + 0.3 * np.random.default_rng(1).normal(size=60)


def rendered(display):
    """Draw it: what cannot be drawn fails only then."""
    display.figure_.canvas.draw()
    assert display.ax_.figure is display.figure_
    assert display.describe().endswith(".")
    return display


def legend(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]
