"""The core's random numbers are the published ones."""

import numpy as np
import pytest

from maxmargin import _core
from reference.random import Random


@pytest.mark.parametrize("seed", [0, 1, 12345, 2**64 - 1])
def test_draws_equal_the_reference(seed):
    core, reference = _core.Random(seed), Random(seed)
    for bound in (1, 2, 3, 10, 1000, 2**31):
        assert [core.below(bound) for _ in range(20)] == [reference.below(bound) for _ in range(20)]


@pytest.mark.parametrize("n", [0, 1, 2, 17])
def test_shuffles_equal_the_reference(n):
    core, reference = _core.Random(7), Random(7)
    ours, theirs = np.arange(n, dtype=np.int32), list(range(n))
    for _ in range(3):
        core.shuffle(ours)
        reference.shuffle(theirs, n)
    assert ours.tolist() == theirs


def test_draws_cover_their_range_evenly():
    core = _core.Random(0)
    counts = np.bincount([core.below(10) for _ in range(10_000)], minlength=10)
    assert counts.sum() == 10_000
    assert (np.abs(counts - 1000) < 150).all()
