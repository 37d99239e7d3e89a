"""mercer_check: what is known of each kernel, a witness, and what it refuses."""

import numpy as np
import pytest
from scipy import sparse

from formulas import KERNELS, A, B
from maxmargin.kernels import Gaussian, Precomputed, Sigmoid, mercer_check


@KERNELS
def test_mercer_check_agrees_with_what_is_known(kernel):
    report = mercer_check(kernel, np.vstack([A, B]))
    if kernel.mercer:
        assert report.passed
    assert not mercer_check(Sigmoid(1.0, -2.0), np.vstack([A, B])).passed


def test_the_witness_shows_the_negative_direction():
    X = np.vstack([A, B])
    report = mercer_check(Sigmoid(1.0, -2.0), X, n_samples=100)
    K = Sigmoid(1.0, -2.0)(X[report.rows], X[report.rows])
    assert report.witness is not None
    assert report.witness @ K @ report.witness == pytest.approx(report.smallest)
    assert report.smallest < 0
    assert len(report.rows) == report.n_samples == 16
    few = mercer_check(Sigmoid(1.0, -2.0), X, n_samples=5)
    assert len(set(few.rows.tolist())) == few.n_samples == 5


def test_mercer_check_refuses_an_asymmetric_function():
    with pytest.raises(ValueError, match="not symmetric"):
        mercer_check(lambda A, B: A @ B.T + A[:, :1], A)


def test_mercer_check_takes_lists_and_sparse_matrices():
    for X in (A.tolist(), sparse.csc_array(A)):
        assert mercer_check(Gaussian(), X).smallest == pytest.approx(
            mercer_check(Gaussian(), A).smallest
        )


@pytest.mark.parametrize("n_samples", [0, -3, 2.5])
def test_mercer_check_needs_a_sample(n_samples):
    with pytest.raises(ValueError, match="n_samples must be a whole number of at least 1"):
        mercer_check(Gaussian(), A, n_samples=n_samples)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_mercer_check_refuses_what_is_not_finite(value):
    X = A.copy()
    X[3, 1] = value
    with pytest.raises(ValueError, match="X contains"):
        mercer_check(Gaussian(), X)
    K = np.eye(4)
    K[2, 2] = value
    with pytest.raises(ValueError, match="NaN or infinity"):
        mercer_check(Precomputed(K), np.arange(4.0)[:, np.newaxis])


@pytest.mark.parametrize(
    ("kernel", "message"), [(Gaussian, r"write kernel=Gaussian\(\)"), ("rbf", r"Gaussian\(\) for")]
)
def test_mercer_check_says_what_a_kernel_is(kernel, message):
    with pytest.raises(ValueError, match=message):
        mercer_check(kernel, A)


def test_float32_does_not_hide_an_indefinite_matrix():
    """An eigenvalue of −1e-3 of the largest is none of rounding, also among 1,000 samples."""
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(600, 600)))[0]
    values = np.linspace(0.01, 1.0, 600)
    values[0] = -3e-3
    K = (Q * values) @ Q.T
    for dtype in (np.float32, np.float64):
        report = mercer_check(Precomputed(K.astype(dtype)), np.arange(600.0)[:, None], 600)
        assert not report.passed


def test_a_small_scale_hides_no_asymmetry():
    K = 1e-6 * np.array([[1.0, 0.5], [0.1, 1.0]])
    with pytest.raises(ValueError, match="not symmetric"):
        mercer_check(Precomputed(K), np.arange(2.0)[:, None])
