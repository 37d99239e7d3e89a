"""The sigmoid of a score."""

import itertools

import numpy as np

from maxmargin.calibration.sigmoid import fit_sigmoid


def test_a_sigmoid_increases_and_is_0_at_0():
    rng = np.random.default_rng(0)
    for n, seed in itertools.product([1, 2, 30, 1000], range(5)):
        s = np.random.default_rng(seed).normal(size=n)
        fitted = fit_sigmoid(s, s + rng.normal(size=n) > 0.3, rng.uniform(0.1, 2.0, size=n))
        z = fitted.log_odds(np.linspace(-5.0, 5.0, 101))
        assert (np.diff(z) >= 0.0).all()
        assert z[50] == 0.0
