"""The bias weights of SGD with a memory, as the anchor of the intercept moves."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from maxmargin.solvers.stochastic.sgd import _Dense


@pytest.mark.parametrize("averaging", [False, True])
def test_the_intercept_stays_where_the_anchor_moves(averaging):
    bias = SimpleNamespace(anchor=0.5, feature=2.0)
    core: Any = SimpleNamespace(problem=SimpleNamespace(bias=bias), averaged=True, steps=0)
    memory = np.arange(20.0).reshape(5, 4)
    iterate = _Dense(memory, core, 0, averaging=averaging)
    w, b = iterate.point()
    iterate.follow(3.0)
    after = iterate.point()
    np.testing.assert_array_equal(after[0], w)
    assert after[1] == b
    assert bias.anchor == 3.0
    assert (memory[2:] == np.arange(20.0).reshape(5, 4)[2:]).all()
