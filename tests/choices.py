"""The settings that many tests run through, as pytest's parameters."""

import pytest

from maxmargin import LinearSVC, LinearSVR
from maxmargin.losses import HINGE, SQUARED_HINGE
from synthetic import INTERCEPTS, LOSSES, REGULARIZED, overlapping, regression

EXACT = pytest.mark.parametrize("solver", ["newton", "dual_cd"])
SVC_LOSSES = pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
SVR_LOSSES = pytest.mark.parametrize(
    "loss", ["epsilon_insensitive", "squared_epsilon_insensitive", "squared"]
)
REGULARIZED_LOSSES = pytest.mark.parametrize(
    "loss", [LOSSES[name] for name in REGULARIZED], ids=REGULARIZED
)
ALL_INTERCEPTS = pytest.mark.parametrize("intercept", INTERCEPTS, ids=lambda i: i.value)
HINGES = pytest.mark.parametrize("loss", [HINGE, SQUARED_HINGE], ids=["hinge", "squared_hinge"])
AVERAGES = pytest.mark.parametrize("averaging", ["none", "uniform", "suffix", "weighted"])
BOTH = pytest.mark.parametrize(
    ("Model", "data"),
    [(LinearSVC, overlapping(80, 5)), (LinearSVR, regression(80, 5))],
    ids=["SVC", "SVR"],
)
