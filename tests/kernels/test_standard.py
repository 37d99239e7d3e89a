"""Each kernel is what its formula says, in NumPy and in the core."""

import math
import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import pairwise

from formulas import COUNTS, KERNELS, RNG, TEXTBOOK, A, B, scale_gamma
from maxmargin.kernels import (
    ChiSquared,
    Cosine,
    Gaussian,
    HistogramIntersection,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Sum,
    User,
    mercer_check,
)
from maxmargin.kernels import pairwise as pairwise_values
from maxmargin.kernels.standard import gamma_of
from maxmargin.solvers.kernel.row_source import KernelSamples
from synthetic import STORAGES, store

COMPILED = [kernel for kernel in TEXTBOOK if kernel.formula() is not None]


@KERNELS
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_values_are_the_formula(kernel, storage):
    expected = [[TEXTBOOK[kernel](x, z) for z in B] for x in A]
    np.testing.assert_allclose(kernel(storage(A), storage(B)), expected, rtol=1e-12, atol=1e-14)


@KERNELS
def test_the_diagonal_is_the_diagonal(kernel):
    np.testing.assert_allclose(kernel.diagonal(A), np.diag(kernel(A, A)), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kernel", COMPILED, ids=lambda k: type(k).__name__)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_the_core_computes_the_same_rows(kernel, dtype, storage):
    X = RNG.normal(size=(700, 6)).astype(dtype)
    X[3] = 0.0
    index = np.array([3, 0, 699, 512, *range(100, 260)], dtype=np.int32)
    rows = np.empty((len(index), 700), dtype=np.float32)
    KernelSamples(kernel, storage(X)).rows().rows(index, rows)
    np.testing.assert_allclose(rows, kernel(X[index], X), rtol=2e-5, atol=2e-6)


def test_the_gaussian_in_float32_survives_an_offset():
    """Centring keeps small distances from cancelling."""
    X = RNG.normal(size=(50, 3)) + 1000.0
    index = np.arange(50, dtype=np.int32)
    rows = np.empty((50, 50), dtype=np.float32)
    KernelSamples(Gaussian(0.5), X).rows().rows(index, rows)
    np.testing.assert_allclose(rows, Gaussian(0.5)(X - 1000.0, X - 1000.0), rtol=1e-4, atol=1e-6)


def test_the_gaussian_of_far_points_is_zero():
    X = np.array([[0.0], [1e4]])
    rows = np.empty((2, 2), dtype=np.float32)
    KernelSamples(Gaussian(1.0), X).rows().rows(np.arange(2, dtype=np.int32), rows)
    np.testing.assert_array_equal(rows, np.eye(2))


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 7, 10])
def test_powers_by_squaring(degree):
    A = np.random.default_rng(0).normal(size=(40, 20))
    values = Polynomial(0.5, degree, 1.5)(A, A)
    np.testing.assert_allclose(values, (0.5 * A @ A.T + 1.5) ** degree, rtol=1e-13)


def test_kernels_on_histograms():
    np.testing.assert_allclose(
        ChiSquared(0.5)(COUNTS[:9], COUNTS), pairwise.chi2_kernel(COUNTS[:9], COUNTS, gamma=0.5)
    )
    expected = [[np.minimum(x, z).sum() for z in COUNTS] for x in COUNTS[:9]]
    np.testing.assert_allclose(HistogramIntersection()(COUNTS[:9], COUNTS), expected)
    for kernel in (ChiSquared(), HistogramIntersection()):
        with pytest.raises(ValueError, match="negative"):
            kernel(A, B)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize(
    "kernel", [*TEXTBOOK, ChiSquared(0.1), HistogramIntersection()], ids=lambda k: type(k).__name__
)
def test_every_kernel_takes_every_storage(kernel, storage, dtype):
    few, many = store(COUNTS[:9], storage, dtype), store(COUNTS, storage, dtype)
    np.testing.assert_allclose(kernel(few, many), kernel(COUNTS[:9], COUNTS), rtol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(many), np.diag(kernel(COUNTS, COUNTS)), rtol=1e-12)


@pytest.mark.parametrize("kernel", [ChiSquared(0.1), HistogramIntersection()])
def test_sparse_histograms_are_not_laid_out_all_at_once(kernel, monkeypatch):
    monkeypatch.setattr(pairwise_values, "_DENSE", 2**15)
    rng = np.random.default_rng(0)
    wide = sparse.csr_array((rng.random((300, 10_000)) < 1e-3) * rng.random((300, 10_000)))
    tracemalloc.start()
    try:
        values = kernel(wide[:20], wide)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * 300 * 10_000 / 4
    monkeypatch.undo()
    np.testing.assert_allclose(values, kernel(wide[:20].toarray(), wide.toarray()), atol=1e-12)


@pytest.mark.parametrize("kernel", [ChiSquared(), HistogramIntersection()])
@pytest.mark.parametrize("storage", STORAGES)
def test_negative_values_are_no_histogram(kernel, storage):
    with pytest.raises(ValueError, match="negative"):
        kernel(store(COUNTS, storage), store(-COUNTS, storage))


def test_chi_squared_takes_what_must_not_be_written_to():
    frozen = COUNTS.copy()
    frozen.setflags(write=False)
    np.testing.assert_array_equal(ChiSquared()(frozen, frozen), ChiSquared()(COUNTS, COUNTS))


def test_sums_products_and_multiples_are_kernels():
    kernel = 2.0 * Gaussian(0.5) + Linear() * Polynomial(1.0, 2)
    expected = 2.0 * Gaussian(0.5)(A, B) + Linear()(A, B) * Polynomial(1.0, 2)(A, B)
    np.testing.assert_allclose(kernel(A, B), expected)
    np.testing.assert_allclose(kernel.diagonal(A), np.diag(kernel(A, A)))
    assert kernel.mercer
    with pytest.raises(ValueError, match="factor"):
        -1.0 * Linear()


def test_kernels_can_be_summed():
    assert sum([Gaussian(0.5), Linear(), Cosine()]) == Sum(Sum(Gaussian(0.5), Linear()), Cosine())


@pytest.mark.parametrize(
    "combine",
    [
        lambda: Gaussian() + np.dot,
        lambda: np.sum + Gaussian(),
        lambda: Linear() + 1.0,
        lambda: 1.0 + Linear(),
        lambda: Gaussian() * np.dot,
        lambda: math.sqrt * Gaussian(),
        lambda: Gaussian() * "2",
    ],
)
def test_what_is_no_kernel_cannot_be_combined(combine):
    with pytest.raises(TypeError, match=r"User\(function\).*positive number times a kernel"):
        combine()


def test_a_precomputed_kernel_looks_values_up():
    K = RNG.normal(size=(6, 6))
    rows, columns = np.array([[4.0], [0.0]]), np.array([[1.0], [5.0], [2.0]])
    np.testing.assert_array_equal(Precomputed(K)(rows, columns), K[np.ix_([4, 0], [1, 5, 2])])


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda A, B: np.ones((len(A), len(B) + 1)), "shape"),
        (lambda A, B: np.full((len(A), len(B)), np.nan), "NaN"),
    ],
)
def test_a_users_kernel_is_checked(function, message):
    with pytest.raises(ValueError, match=message):
        User(function)(A, B)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_gamma_rules(storage):
    X = storage(A)
    assert gamma_of("scale", X) == pytest.approx(1 / (5 * A.var()))
    assert gamma_of("auto", X) == pytest.approx(0.2)
    distances = ((A[:, None] - A[None]) ** 2).sum(axis=2)[np.triu_indices(7, 1)]
    assert gamma_of("median", X) == pytest.approx(1 / np.median(distances))
    assert gamma_of(0.7, X) == 0.7
    assert scale_gamma(X) == pytest.approx(1 / (5 * A.var()))


@pytest.mark.parametrize("storage", STORAGES)
def test_gamma_of_float32_rows_has_the_digits_of_float64(storage):
    narrow = store((1e4 * RNG.normal(size=(20, 12))).astype(np.float32), storage)
    assert gamma_of("scale", narrow) == pytest.approx(
        gamma_of("scale", narrow.astype(np.float64)), rel=1e-14
    )


def test_gamma_of_constant_samples_is_one():
    for rule in ("scale", "median"):
        assert gamma_of(rule, np.ones((4, 3))) == 1.0


@pytest.mark.parametrize("gamma", [0.0, -1.0, np.nan, "wide", None])
def test_a_wrong_gamma_is_named(gamma):
    with pytest.raises(ValueError, match="gamma"):
        Gaussian(gamma)


def test_the_width_of_a_gaussian():
    assert Gaussian.of_width(2.0).gamma == pytest.approx(1 / 8)


def test_rounding_is_that_of_the_values():
    X = np.random.default_rng(0).normal(size=(30, 3)).astype(np.float32)
    for kernel in (User(np.inner), User(np.inner) + Linear(), 2.0 * User(np.inner)):
        assert mercer_check(kernel, X).passed
        assert kernel.eps(X) == np.finfo(np.float32).eps
    K, places = X @ X.T, np.arange(30.0)[:, np.newaxis]
    assert mercer_check(Precomputed(K), places).passed
    assert not mercer_check(Precomputed(K.astype(np.float64)), places).passed
    noise = np.random.default_rng(1).normal(size=K.shape).astype(np.float32)
    assert mercer_check(Precomputed(K + 1e-6 * noise), places).passed
    with pytest.raises(ValueError, match="not symmetric"):
        mercer_check(Precomputed(K.astype(np.float64) + 1e-6 * noise), places)
    with pytest.raises(ValueError, match="not symmetric"):
        mercer_check(Precomputed(K + 0.1 * noise), places)
    shifted = K - 3.0 * np.eye(30, dtype=np.float32)
    assert not mercer_check(Precomputed(shifted), places).passed


@pytest.mark.parametrize("kernel", [Laplacian(1.0), HistogramIntersection(), ChiSquared()])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_a_direct_call_leaves_unsorted_rows_as_they_were(kernel, index):
    data = np.array([3.0, 1.0, 2.0])
    A = sparse.csr_array(
        (data, np.array([2, 0, 1], dtype=index), np.array([0, 2, 3], dtype=index)), shape=(2, 3)
    )
    dense = A.toarray()
    np.testing.assert_allclose(kernel(A, A), kernel(dense, dense), rtol=1e-12)
    np.testing.assert_array_equal(A.toarray(), dense)
    np.testing.assert_allclose(kernel(A.tocoo(), A.tocoo()), kernel(dense, dense), rtol=1e-12)
