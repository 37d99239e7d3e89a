"""The passes over the rows equal NumPy's, whatever the storage; nothing is copied or trusted."""

import numpy as np
import pytest
from scipy import sparse

from maxmargin import Problem, _core
from synthetic import DTYPES, STORAGES, csr, overlapping, store

ALL_STORAGES = pytest.mark.parametrize("storage", STORAGES)
ALL_DTYPES = pytest.mark.parametrize("dtype", DTYPES, ids=["float32", "float64"])


def problem_of(X):
    nothing = np.zeros(X.shape[0])
    return Problem(X, nothing, nothing)


def shapes():
    """Lengths around the number of lanes, rows of one stream and of several, some of them empty."""
    small = [(1, 1), (3, 2), (7, 15), (9, 16), (5, 17), (4, 67), (1, 20)]
    for n, d in [*small, (259, 40), (1030, 33), (70, 150), (4101, 3)]:
        X, _ = overlapping(max(n, 2), d, seed=d)
        X = X[:n].copy()
        X[n // 2] = 0.0
        yield X


SHAPES = pytest.mark.parametrize("X", [*shapes()], ids=lambda X: f"{X.shape[0]}x{X.shape[1]}")


@SHAPES
@ALL_STORAGES
@ALL_DTYPES
def test_predict_equals_numpy(X, storage, dtype):
    w = np.linspace(-1.0, 1.0, X.shape[1])
    z = problem_of(store(X, storage, dtype)).predict(w, 0.5)
    np.testing.assert_allclose(z, X @ w + 0.5, rtol=1e-13, atol=1e-14)


@SHAPES
@ALL_STORAGES
@ALL_DTYPES
def test_combine_equals_numpy(X, storage, dtype):
    beta = np.linspace(-1.0, 1.0, X.shape[0])
    w = problem_of(store(X, storage, dtype)).combine(beta)
    np.testing.assert_allclose(w, beta @ X, rtol=1e-13, atol=1e-14 * len(X))


@SHAPES
@ALL_STORAGES
@ALL_DTYPES
def test_both_products_of_one_pass_are_those_of_two(X, storage, dtype):
    problem = problem_of(store(X, storage, dtype))
    w, beta = np.linspace(-1.0, 1.0, X.shape[1]), np.linspace(-1.0, 1.0, X.shape[0])
    beta[::3] = 0.0
    z, combined = problem.products(w, beta)
    np.testing.assert_array_equal(z, problem.predict(w, 0.0))
    np.testing.assert_array_equal(combined, problem.combine(beta))


@SHAPES
@ALL_STORAGES
@ALL_DTYPES
def test_squared_norms_equal_numpy(X, storage, dtype):
    norms = problem_of(store(X, storage, dtype)).squared_norms
    np.testing.assert_allclose(norms, (X**2).sum(axis=1), rtol=1e-13)


@ALL_STORAGES
def test_float32_sums_are_accumulated_in_double(storage):
    X = np.full((1, 20_001), 0.1, dtype=np.float32)
    X[0, 0] = 1e8
    z = problem_of(store(X, storage, np.float32)).predict(np.ones(20_001), -1e8)
    np.testing.assert_allclose(z, 20_000 * float(np.float32(0.1)), rtol=1e-6)


@ALL_STORAGES
def test_no_features_leave_the_intercept(storage):
    problem = problem_of(store(np.zeros((3, 0)), storage))
    np.testing.assert_array_equal(problem.predict(np.zeros(0), 2.0), [2.0, 2.0, 2.0])
    assert problem.combine(np.ones(3)).shape == (0,)
    np.testing.assert_array_equal(problem.squared_norms, 0.0)


@ALL_STORAGES
def test_no_rows_give_empty_results(storage):
    problem = problem_of(store(np.zeros((0, 3)), storage))
    assert problem.blocks() == []
    assert problem.predict(np.zeros(3), 1.0).shape == (0,)
    np.testing.assert_array_equal(problem.combine(np.zeros(0)), np.zeros(3))


def test_explicit_zeros_change_nothing():
    X, _ = overlapping()
    stored = csr(np.ones_like(X))
    stored.data[:] = X.ravel()
    assert stored.nnz == X.size
    w = np.arange(4.0)
    np.testing.assert_allclose(problem_of(stored).predict(w, 0.0), X @ w, rtol=1e-13)


@ALL_STORAGES
@ALL_DTYPES
def test_the_input_is_not_copied(storage, dtype):
    X = store(overlapping()[0], storage, dtype)
    problem = problem_of(X)
    assert problem.X is X
    before = problem.predict(np.ones(4), 0.0)[0]
    values = X if storage == "dense" else X.data
    values *= 2  # the view reads the user's own memory
    assert problem.predict(np.ones(4), 0.0)[0] == 2 * before


def test_a_read_only_memory_map_is_read_in_place(tmp_path):
    X, _ = overlapping()
    X.tofile(tmp_path / "rows")
    mapped = np.memmap(tmp_path / "rows", dtype=np.float64, mode="r", shape=X.shape)
    problem = problem_of(mapped)
    assert np.shares_memory(problem.X, mapped)
    np.testing.assert_allclose(problem.predict(np.ones(4), 0.0), X.sum(axis=1), rtol=1e-13)


def test_the_view_keeps_the_arrays_alive():
    rows = _core.Rows(np.ones((1000, 100)))
    junk = [np.zeros((1000, 100)) for _ in range(5)]
    out = np.empty(1000)
    rows.predict(np.ones(100), 0.0, 0, 1000, out)
    assert len(junk) == 5
    np.testing.assert_array_equal(out, 100.0)


@ALL_STORAGES
@pytest.mark.parametrize("values_per_call", [1, 7, 50, 10**9])
def test_blocks_cover_every_row_once(storage, values_per_call):
    problem = problem_of(store(overlapping()[0], storage))
    blocks = problem.blocks(values_per_call)
    rows = [i for begin, end in blocks for i in range(begin, end)]
    assert rows == list(range(60))


@SHAPES
@ALL_STORAGES
@ALL_DTYPES
def test_a_pass_in_blocks_equals_one_pass_to_the_bit(X, storage, dtype):
    problem = problem_of(store(X, storage, dtype))
    w, out = np.linspace(0.1, 3.0, X.shape[1]), np.empty(len(X))
    for begin, end in problem.blocks(values_per_call=7 * X.shape[1]):
        problem.rows.predict(w, 1.0, begin, end, out)
    np.testing.assert_array_equal(out, problem.predict(w, 1.0))


def test_n_stored_counts_what_is_stored():
    X, _ = overlapping()
    assert problem_of(X).n_stored == X.size
    assert problem_of(csr(X)).n_stored == np.count_nonzero(X)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize(
    ("columns", "offsets", "message"),
    [
        ([0, 3], [0, 1, 2], "column indices"),
        ([0, -1], [0, 1, 2], "column indices"),
        ([0, 1], [0, 2, 1], "offsets"),
        ([0, 1], [1, 1, 2], "offsets"),
        ([0, 1], [0, 1, 3], "offsets"),
        ([0, 1], [0, -1, 2], "offsets"),
        ([0, 1], [], "offsets"),
        ([0], [0, 1, 1], "columns"),
    ],
)
def test_unsound_csr_is_refused(columns, offsets, message, index):
    with pytest.raises(ValueError, match=message):
        _core.Rows(np.ones(2), np.array(columns, index), np.array(offsets, index), 3)


@pytest.mark.parametrize(
    "X",
    [
        np.ones((2, 3), dtype=np.int64),
        np.ones((2, 3), dtype=np.float16),
        np.asfortranarray(np.ones((2, 3))),
        np.ones((2, 6))[:, ::2],
        np.ones(3),
    ],
    ids=["int", "float16", "F-order", "strided", "1-D"],
)
def test_what_would_need_a_copy_is_refused_by_the_core(X):
    with pytest.raises(TypeError):
        _core.Rows(X)


@pytest.mark.parametrize(
    ("begin", "end"), [(-1, 1), (0, 61), (5, 4)], ids=["before", "beyond", "backwards"]
)
def test_rows_out_of_range_are_refused(begin, end):
    rows = problem_of(overlapping()[0]).rows
    with pytest.raises(ValueError, match="row range"):
        rows.predict(np.zeros(4), 0.0, begin, end, np.empty(60))


def test_arrays_of_wrong_length_are_refused():
    rows = problem_of(overlapping()[0]).rows
    with pytest.raises(ValueError, match="w is shorter"):
        rows.predict(np.zeros(3), 0.0, 0, 60, np.empty(60))
    with pytest.raises(ValueError, match="out has length 59"):
        rows.predict(np.zeros(4), 0.0, 0, 60, np.empty(59))
    with pytest.raises(ValueError, match="beta has length 59"):
        rows.combine(np.zeros(59), 0, 60, np.zeros(4))
    with pytest.raises(ValueError, match="w has length 3"):
        rows.products(np.zeros(3), np.zeros(60), 0, 60, np.zeros(60), np.zeros(4))
    with pytest.raises(ValueError, match="v has length 5"):
        rows.products(np.zeros(4), np.zeros(60), 0, 60, np.zeros(60), np.zeros(5))


def wide(dtype, index):
    """CSR rows with more columns than weights fit in a cache; one is empty, one has one value."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((50, 20_000), density=0.005, rng=rng, format="lil")
    X[7], X[49] = 0.0, 0.0
    X[49, 3] = 2.0
    stored = X.tocsr().astype(dtype)
    stored.eliminate_zeros()
    stored.indices, stored.indptr = stored.indices.astype(index), stored.indptr.astype(index)
    return stored


@ALL_DTYPES
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_wide_csr_rows_are_read_to_the_last(dtype, index):
    """Weights are fetched ahead, but not beyond the last value."""
    X, rng = wide(dtype, index), np.random.default_rng(1)
    problem, w, beta = problem_of(X), rng.normal(size=20_000), rng.normal(size=50)
    beta[3:9] = 0.0
    exact = X.astype(np.float64)
    np.testing.assert_allclose(problem.predict(w, 0.5), exact @ w + 0.5, rtol=1e-12)
    z, combined = problem.products(w, beta)
    np.testing.assert_array_equal(z, problem.predict(w, 0.0))
    np.testing.assert_allclose(combined, beta @ exact, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(combined, problem.combine(beta), rtol=1e-12, atol=1e-15)


@ALL_DTYPES
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_wide_rows_are_predicted_alike_whatever_comes_after_them(dtype, index):
    X, w = wide(dtype, index), np.random.default_rng(1).normal(size=20_000)
    alone = [problem_of(X[i : i + 1]).predict(w, 0.0)[0] for i in range(50)]
    np.testing.assert_array_equal(problem_of(X).predict(w, 0.0), alone)


def test_pairs_of_weights_are_checked():
    rows, beta, z = problem_of(wide(np.float64, np.int32)).rows, np.zeros(50), np.zeros(50)
    with pytest.raises(ValueError, match="pairs has length 7"):
        rows.products_of_pairs(np.zeros((7, 2)), beta, 0, 50, z)
    with pytest.raises(ValueError, match="two columns"):
        rows.products_of_pairs(np.zeros((20_000, 3)), beta, 0, 50, z)
    with pytest.raises(ValueError, match="beta has length 49"):
        rows.products_of_pairs(np.zeros((20_000, 2)), beta[1:], 0, 50, z)
    with pytest.raises(ValueError, match="row range"):
        rows.products_of_pairs(np.zeros((20_000, 2)), beta, 0, 51, z)
    with pytest.raises(ValueError, match="CSR"):
        problem_of(np.zeros((50, 20_000))).rows.products_of_pairs(
            np.zeros((20_000, 2)), beta, 0, 50, z
        )


@pytest.mark.parametrize(
    ("columns", "sound"),
    [
        ([2, 4, 0, 1, 3], True),  # falls at the start of a row only
        ([2, 4, 4, 1, 3], False),  # and within one
        ([4, 2, 0, 1, 3], False),
        ([2, 2, 0, 1, 3], False),
        ([2, 4, 4, 5, 6], True),  # the same column in two rows
        ([2, 4, 0, 1, 7], False),  # out of bounds
        ([-1, 4, 0, 1, 3], False),
    ],
)
def test_the_order_of_columns_is_checked_within_rows(columns, sound):
    """Rows: empty, two entries, empty, three entries, empty."""
    offsets = np.array([0, 0, 2, 2, 5, 5], dtype=np.int32)
    values = np.ones(5), np.array(columns, dtype=np.int32), offsets
    if sound:
        assert _core.Rows(*values, 7).n_samples == 5
    else:
        with pytest.raises(ValueError, match="column indices"):
            _core.Rows(*values, 7)


# ---- how far labels and costs reach


def extent_of(y, cost):
    return _core.TargetSummary(np.array(y, dtype=float), np.array(cost, dtype=float))


@pytest.mark.parametrize("n", [1, 2, 7, 16, 4095, 4096, 4097, 10_000])
def test_the_extent_is_what_numpy_says(n):
    rng = np.random.default_rng(n)
    y, cost = rng.normal(size=n), rng.uniform(0.0, 2.0, size=n)
    target_summary = _core.TargetSummary(y, cost)
    assert target_summary.max_abs == np.abs(y).max()
    assert target_summary.total_cost == pytest.approx(cost.sum(), rel=1e-14)
    assert target_summary.valid
    assert not target_summary.is_binary
    assert target_summary.constant == (n == 1)


@pytest.mark.parametrize("place", [0, 4095, 4096, 8999])
@pytest.mark.parametrize("value", [-1e-300, np.nan, np.inf, -np.inf])
def test_no_cost_is_negative_or_not_finite(place, value):
    cost = np.ones(9000)
    cost[place] = value
    assert not _core.TargetSummary(np.ones(9000), cost).valid


@pytest.mark.parametrize("place", [0, 4095, 4096, 8999])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_labels_that_are_not_finite_reach_beyond_everything(place, value):
    y = np.ones(9000)
    y[place] = value
    target_summary = _core.TargetSummary(y, np.ones(9000))
    assert target_summary.max_abs == np.inf
    assert not target_summary.is_binary


def test_signs_are_minus_one_and_one():
    assert extent_of([1, -1, 1], [1, 1, 0]).signs
    assert not extent_of([1, -1, 0], [1, 1, 0]).signs
    assert not extent_of([1, -1, 2], [1, 1, 1]).signs


def test_who_has_no_cost_is_like_everybody():
    assert extent_of([3, 1, 1], [0, 1, 2]).alike
    assert extent_of([3, 1, 2], [0, 0, 0]).alike
    assert not extent_of([3, 1, 1], [1, 0, 2]).alike
    assert extent_of([], []).alike


def test_the_extent_needs_a_cost_for_each_label():
    with pytest.raises(ValueError, match="cost has length 2, expected 3"):
        extent_of([1, 1, 1], [1, 1])


def test_the_same_targets_are_the_same_problem():
    X, y = overlapping(20, 3)
    cost = np.ones(20)
    problem = Problem(X, y, cost)
    assert problem.with_targets(y, cost) is problem
    other = problem.with_targets(-y, 2.0 * cost)
    assert other.rows is problem.rows
    assert other.target_summary.total_cost == 40.0
    assert problem.target_summary.total_cost == 20.0
