"""The sigmoid of a score."""

import itertools

import numpy as np
from numpy.testing import assert_allclose
from scipy.special import expit

from maxmargin.calibration.sigmoid import fit_sigmoid


def test_a_sigmoid_increases_and_is_0_at_0():
    rng = np.random.default_rng(0)
    for n, seed in itertools.product([1, 2, 30, 1000], range(5)):
        s = np.random.default_rng(seed).normal(size=n)
        fitted = fit_sigmoid(s, s + rng.normal(size=n) > 0.3, rng.uniform(0.1, 2.0, size=n))
        z = fitted.log_odds(np.linspace(-5.0, 5.0, 101))
        assert (np.diff(z) >= 0.0).all()
        assert z[50] == 0.0


def test_what_is_as_likely_as_not_may_lie_off_0():
    """Platt's line, cut off at 0: labels of either kind have scores below 0, down to −0.5."""
    rng = np.random.default_rng(0)
    scores = rng.uniform(-1.0, 1.0, size=4000)
    right = rng.random(4000) < expit(12.0 * (scores + 0.5))
    found = fit_sigmoid(scores, right, np.ones(4000)).log_odds(np.array([-0.9, -0.7, -0.4, -0.2]))
    assert_allclose(found, [-4.8, -2.4, 0.0, 0.0], atol=0.5)
