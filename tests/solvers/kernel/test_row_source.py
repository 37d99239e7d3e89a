"""Kernel rows and predictions are the formula's, in any storage, with any number of threads."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from maxmargin import SVC
from maxmargin.kernels import Cosine, Gaussian, Linear, Polynomial, Sigmoid
from maxmargin.solvers.kernel import float32_rows
from maxmargin.solvers.kernel.row_source import KernelSamples
from synthetic import overlapping, store

KERNELS = [Linear(), Gaussian(0.3), Polynomial(0.2, 3, 1.0), Sigmoid(0.1, 0.2), Cosine()]
EACH_KERNEL = pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
STORAGES = ("dense", "csr32", "csr64")


def many(n=3100, m=2800, d=6):
    """So many rows and samples that tiles are worth while, empty rows among them."""
    X = overlapping(n + m, d)[0]
    X[::50] = 0.0
    return X[:n], X[n:]


def rows_of(samples, index):
    out = np.empty((len(index), samples.X.shape[0]), dtype=np.float32)
    samples.rows().rows(np.asarray(index, dtype=np.int32), out)
    return out


@EACH_KERNEL
@pytest.mark.parametrize("storage", STORAGES)
def test_rows_have_the_same_bits_for_any_number_of_threads(kernel, storage):
    X = store(many()[0], storage)
    index = np.r_[0, 3099:2950:-1, 50]
    one, two, five = (rows_of(KernelSamples(kernel, X, threads), index) for threads in (1, 2, 5))
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(one, five)
    np.testing.assert_allclose(one, kernel(X[index], X), rtol=1e-4, atol=1e-5)


@EACH_KERNEL
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("asked", STORAGES)
def test_predictions_are_the_formulas(kernel, storage, asked):
    X, Z = many()
    coef = np.random.default_rng(0).normal(size=(2, len(X)))
    expected = kernel(Z, X) @ coef.T
    values = KernelSamples(kernel, store(X, storage)).predict(store(Z, asked), coef)
    np.testing.assert_allclose(values, expected, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("storage", STORAGES)
def test_predictions_have_the_same_bits_for_any_number_of_threads(storage):
    X, Z = many()
    coef = np.random.default_rng(0).normal(size=(3, len(X)))
    one, four = (
        KernelSamples(Gaussian(0.3), store(X, storage), threads).predict(store(Z, storage), coef)
        for threads in (1, 4)
    )
    np.testing.assert_array_equal(one, four)


def indicators(n):
    """Standardised indicators of two categories beside two measurements: no value is 0."""
    rng = np.random.default_rng(0)
    X = np.hstack([np.eye(4)[rng.integers(4, size=n)], np.eye(30)[rng.integers(30, size=n)]])
    X = np.hstack([X, rng.normal(size=(n, 2))])
    return (X - X.mean(axis=0)) / X.std(axis=0)


@pytest.mark.parametrize("asked", STORAGES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_gaussian_sees_indicators_from_their_commonest_values(asked, dtype):
    X, Z = np.split(indicators(5900).astype(dtype), [3100])
    samples = KernelSamples(Gaussian(0.03), X)
    assert samples.sparse
    assert samples.own[0].nnz < 5.5 * len(X)
    coef = np.random.default_rng(0).normal(size=(2, len(X)))
    expected = Gaussian(0.03)(Z.astype(np.float64), X.astype(np.float64)) @ coef.T
    np.testing.assert_allclose(
        samples.predict(store(Z, asked), coef), expected, atol=1e-5 * np.abs(expected).max()
    )
    np.testing.assert_allclose(
        rows_of(samples, [0, 7, 3099]), Gaussian(0.03)(X[[0, 7, 3099]], X), rtol=1e-4, atol=1e-6
    )


def test_a_column_far_from_0_beside_indicators_does_not_cancel():
    """A year, indicators and measurements: few columns, many zeros."""
    rng = np.random.default_rng(0)
    year = rng.integers(1990, 2026, size=(3000, 1))
    X = np.hstack([year, np.eye(6)[rng.integers(6, size=3000)], rng.normal(size=(3000, 3))])
    kernel = Gaussian(0.1)
    samples = KernelSamples(kernel, X)
    np.testing.assert_allclose(rows_of(samples, range(40)), kernel(X[:40], X), atol=3e-5)


def test_a_rare_value_is_not_what_samples_are_seen_from():
    """Seen from an outlier, values that differ little would not differ in float32."""
    X = indicators(3000)
    X[::97, -1] = 1e4
    samples = KernelSamples(Gaussian(0.03), X)
    assert samples.sparse
    np.testing.assert_allclose(
        rows_of(samples, [1, 2]), Gaussian(0.03)(X[[1, 2]], X), rtol=1e-4, atol=1e-5
    )


def test_other_kernels_see_indicators_from_the_origin():
    kernel, X = Polynomial(0.2, 3, 1.0), indicators(300)
    samples = KernelSamples(kernel, X)
    assert not samples.sparse
    np.testing.assert_array_equal(samples.own[0], (X * kernel.unit).astype(np.float32))


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_sums_of_parts_whatever_their_lengths_and_the_size_of_their_coefficients(storage, scale):
    X, Z = many()
    parts = np.array([3, 0, 30, 16, 15, len(X) - 64], dtype=np.int32)
    coef = np.random.default_rng(0).normal(size=(3, len(X))) * scale
    values = KernelSamples(Gaussian(0.3), store(X, storage)).predict(store(Z, storage), coef, parts)
    K = Gaussian(0.3)(Z, X)
    for p, (begin, end) in enumerate(zip(np.cumsum(parts) - parts, np.cumsum(parts), strict=True)):
        expected = K[:, begin:end] @ coef[:, begin:end].T
        np.testing.assert_allclose(values[:, p], expected, atol=1e-5 * scale * max(1, end - begin))


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("m", [*range(1, 13), 16, 17, 23, 25, 33, 39, 41, 48, 49, 63, 64, 65, 100])
def test_any_number_of_rows_is_predicted(storage, m):
    """Tiles of every height and width."""
    X, Z = many(n=50)
    kernel = Gaussian(0.3)
    samples, rows = KernelSamples(kernel, store(X, storage)), store(Z[:m], storage)
    values, square = samples.prepared(rows)
    parts = float32_rows.core_arrays(values)
    coef = np.random.default_rng(0).normal(size=(2, len(X)))
    out = np.full((m, 2), np.nan)
    source: Any = samples.rows()
    source.predict(*parts, square, coef, np.array([len(X)], dtype=np.int32), out, 1)
    np.testing.assert_allclose(out, kernel(Z[:m], X) @ coef.T, atol=1e-4)


@pytest.mark.parametrize("d", [1, 40, 300, 1200], ids="{} columns".format)
@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 200])
@pytest.mark.parametrize("index", [np.int32, np.int64], ids=["32 bits", "64 bits"])
def test_pairs_of_sparse_samples_are_the_formula_whatever_the_window_and_the_strips(n, d, index):
    """Samples are paired in windows of 64, and of many columns a strip is used at a time."""
    rng = np.random.default_rng(n)
    X = np.where(rng.random((n, d)) < rng.random((n, 1)), rng.normal(size=(n, d)), 0.0)
    X[1 :: max(2, n // 3)] = 0.0
    kernel, rows = Gaussian(1.0 / d), sparse.csr_array(X)
    rows.indices, rows.indptr = rows.indices.astype(index), rows.indptr.astype(index)
    samples = KernelSamples(kernel, rows)
    K = rows_of(samples, range(n))
    np.testing.assert_allclose(K, kernel(X, X), atol=2e-6)
    np.testing.assert_array_equal(K, K.T)  # both sums go by rising columns
    parts = np.array([n // 3, 0, n - n // 3], dtype=np.int32)
    coef, out = rng.normal(size=(2, n)), np.empty((n, 6))
    own, square = samples.own
    samples.rows().predict(own.data, own.indices, own.indptr, square, coef, parts, out, 2)
    exact = np.split(kernel(X, X), [n // 3], axis=1), np.split(coef, [n // 3], axis=1)
    expected = [values @ c.T for values, c in zip(*exact, strict=True)]
    np.testing.assert_allclose(out[:, [0, 1, 4, 5]], np.hstack(expected), atol=1e-4)
    np.testing.assert_array_equal(out[:, 2:4], 0.0)


def test_samples_are_compressed_block_by_block(monkeypatch):
    X = indicators(500)
    whole, square = KernelSamples(Gaussian(0.03), X).own
    monkeypatch.setattr(float32_rows, "_VALUES_PER_BLOCK", 1000)
    monkeypatch.setattr(float32_rows, "_MIN_THREADED", 1)
    for n_threads in (1, 3):
        parts, again = KernelSamples(Gaussian(0.03), X, n_threads).own
        np.testing.assert_array_equal(parts.toarray(), whole.toarray())
        np.testing.assert_array_equal(again, square)


def test_sums_far_smaller_than_another_are_not_lost():
    X, Z = many()
    coef = np.random.default_rng(0).normal(size=(2, len(X))) * np.array([[1e-60], [1e60]])
    values = KernelSamples(Gaussian(0.3), X).predict(Z, coef)
    np.testing.assert_allclose(
        values / [1e-60, 1e60], Gaussian(0.3)(Z, X) @ coef.T / [1e-60, 1e60], atol=1e-3
    )


def test_values_beyond_float32_spoil_no_other_part():
    X, Z = many(d=2)
    Z[7] = 1e15
    kernel = Polynomial(1.0, 3, 0.0)
    parts = np.array([20, len(X) - 20], dtype=np.int32)
    coef = np.ones((1, len(X)))
    coef[:, :20] = 0.0
    values = KernelSamples(kernel, X).predict(Z, coef, parts)
    assert (values[:, 0] == 0.0).all()


def test_coefficients_that_are_all_0_sum_to_0():
    X, Z = many()
    assert not KernelSamples(Gaussian(0.3), X).predict(Z, np.zeros((1, len(X)))).any()


def test_more_columns_than_a_block_has_room_for():
    """Wide rows go block by block, down to one row at a time."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((3000, 2**23), density=2e-7, rng=rng, format="csr")
    coef = rng.normal(size=(1, 3000))
    values = KernelSamples(Gaussian(0.3), X).predict(X[:2900], coef)
    expected = Gaussian(0.3)(X[:2900], X) @ coef.T
    np.testing.assert_allclose(values, expected, atol=1e-4)


def test_unsorted_and_repeated_columns_are_put_in_order():
    X, y = overlapping(3000, 4)
    model = SVC(gamma=0.1).fit(store(X, "csr32"), y)
    rows = store(X, "csr32")
    for begin, end in zip(rows.indptr, rows.indptr[1:], strict=False):
        rows.indices[begin:end] = rows.indices[begin:end][::-1].copy()
        rows.data[begin:end] = rows.data[begin:end][::-1].copy()
    rows.has_sorted_indices = False
    values = KernelSamples(model._fitted_kernel, model.support_vectors_).predict(
        rows, model.dual_coef_.toarray()
    )
    np.testing.assert_allclose(
        values[:, 0] + model.intercept_, model.decision_function(X), atol=1e-4
    )
