"""Each kernel is what its formula says, in NumPy and in the core."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import pairwise

from maxmargin.kernels import (
    ChiSquared,
    Cosine,
    Gaussian,
    HistogramIntersection,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
    User,
    gamma_of,
    mercer_check,
)
from maxmargin.solvers.kernel_samples import KernelSamples

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(7, 5)), RNG.normal(size=(9, 5))
COUNTS = RNG.integers(0, 6, size=(40, 5)).astype(float)

TEXTBOOK = {
    Linear(): lambda x, z: x @ z,
    Polynomial(0.3, 2, 1.0): lambda x, z: (0.3 * (x @ z) + 1.0) ** 2,
    Gaussian(0.4): lambda x, z: np.exp(-0.4 * ((x - z) ** 2).sum()),
    Laplacian(0.2): lambda x, z: np.exp(-0.2 * np.abs(x - z).sum()),
    Sigmoid(0.1, 0.5): lambda x, z: np.tanh(0.1 * (x @ z) + 0.5),
    Cosine(): lambda x, z: x @ z / np.sqrt((x @ x) * (z @ z)),
}
KERNELS = pytest.mark.parametrize("kernel", TEXTBOOK, ids=lambda k: type(k).__name__)
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


def test_sums_products_and_multiples_are_kernels():
    kernel = 2.0 * Gaussian(0.5) + Linear() * Polynomial(1.0, 2)
    expected = 2.0 * Gaussian(0.5)(A, B) + Linear()(A, B) * Polynomial(1.0, 2)(A, B)
    np.testing.assert_allclose(kernel(A, B), expected)
    np.testing.assert_allclose(kernel.diagonal(A), np.diag(kernel(A, A)))
    assert kernel.mercer
    with pytest.raises(ValueError, match="factor"):
        -1.0 * Linear()


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
    assert Gaussian("scale").fitted(X).gamma == pytest.approx(1 / (5 * A.var()))


def test_gamma_of_constant_samples_is_one():
    for rule in ("scale", "median"):
        assert gamma_of(rule, np.ones((4, 3))) == 1.0


@pytest.mark.parametrize("gamma", [0.0, -1.0, np.nan, "wide", None])
def test_a_wrong_gamma_is_named(gamma):
    with pytest.raises(ValueError, match="gamma"):
        Gaussian(gamma)


def test_the_width_of_a_gaussian():
    assert Gaussian.of_width(2.0).gamma == pytest.approx(1 / 8)


@KERNELS
def test_mercer_check_agrees_with_what_is_known(kernel):
    report = mercer_check(kernel, np.vstack([A, B]))
    if kernel.mercer:
        assert report.passed
    assert not mercer_check(Sigmoid(1.0, -2.0), np.vstack([A, B])).passed


def test_the_witness_shows_the_negative_direction():
    X = np.vstack([A, B])
    report = mercer_check(Sigmoid(1.0, -2.0), X, n_samples=100)
    rows = np.random.default_rng(0).permutation(16)[:100]
    K = Sigmoid(1.0, -2.0)(X[rows], X[rows])
    assert report.witness @ K @ report.witness == pytest.approx(report.smallest)
    assert report.smallest < 0


def test_mercer_check_refuses_an_asymmetric_function():
    with pytest.raises(ValueError, match="not symmetric"):
        mercer_check(lambda A, B: A @ B.T + A[:, :1], A)
