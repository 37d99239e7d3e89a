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
        core.shuffle_rows(ours, n)
        reference.shuffle(theirs, n)
    assert ours.tolist() == theirs


def test_draws_cover_their_range_evenly():
    core = _core.Random(0)
    counts = np.bincount([core.below(10) for _ in range(10_000)], minlength=10)
    assert counts.sum() == 10_000
    assert (np.abs(counts - 1000) < 150).all()


@pytest.mark.parametrize("count", [4096, 5000, 20_000])
def test_many_rows_come_in_streams(count):
    """Each of the first rows once, no two orders alike, and neighbours not far from each other."""
    core, n = _core.Random(3), 20_000
    rows = np.random.default_rng(0).permutation(n).astype(np.int32)
    orders = []
    for _ in range(2):
        order = rows.copy()
        core.shuffle_rows(order, count)
        np.testing.assert_array_equal(order[count:], rows[count:])
        np.testing.assert_array_equal(np.sort(order[:count]), np.sort(rows[:count]))
        place = np.argsort(order[:count])  # of the rows, from the first to the last
        apart = np.abs(np.diff(place))
        assert np.median(apart) < 80
        assert (apart > 8).mean() > 0.9
        orders.append(order)
    assert (orders[0][:count] == orders[1][:count]).mean() < 0.05


def test_streams_are_drawn_from_everywhere():
    """Rows sorted by label: every stretch of an epoch has both labels."""
    order = np.arange(20_000, dtype=np.int32)
    _core.Random(5).shuffle_rows(order, len(order))
    share = (order.reshape(-1, 100) < 10_000).mean(axis=1)
    assert share.min() > 0.1
    assert share.max() < 0.9


def test_no_row_comes_early_in_every_order():
    """Two orders of 64 runs in two groups: where in its group a row comes says nothing of later."""
    core, n, group = _core.Random(1), 4096, 2048
    phases = []
    for _ in range(2):
        order = np.arange(n, dtype=np.int32)
        core.shuffle_rows(order, n)
        phases.append(np.argsort(order) % group)
    assert abs(np.asarray(np.corrcoef(phases))[0, 1]) < 0.3


@pytest.mark.parametrize("row", [-1, 5000], ids=["negative", "beyond the rows"])
def test_orders_out_of_bounds_are_refused(row):
    order = np.arange(5000, dtype=np.int32)
    order[7] = row
    with pytest.raises(ValueError, match="order out of bounds"):
        _core.Random(0).shuffle_rows(order, 5000)


@pytest.mark.parametrize("n", [0, 1, 100, 4096, 5000])
def test_rows_are_drawn_by_their_chances(n):
    rng = np.random.default_rng(n)
    cost, squares = rng.uniform(0.0, 2.0, size=n), rng.uniform(0.0, 2.0, size=n)
    draw, reference = (
        _core.PoissonSample(cost, squares, 0.1, 0.2, n // 3, _core.Random(3)),
        Random(3),
    )
    numbers = np.array([reference.uniform() for _ in range(n)])
    chances = 0.1 + 0.2 * cost * squares
    drawn = np.flatnonzero(numbers < chances)
    np.testing.assert_array_equal(draw.indices, drawn)
    np.testing.assert_array_equal(draw.numbers, numbers[drawn])
    np.testing.assert_allclose(draw.chances, chances[drawn], rtol=1e-15)


def test_a_draw_needs_a_length_for_each_row():
    with pytest.raises(ValueError, match="squared_norms has length 2, expected 3"):
        _core.PoissonSample(np.ones(3), np.ones(2), 0.1, 0.2, 1, _core.Random(3))
