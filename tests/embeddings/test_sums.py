"""Sums of kernel values, tile by tile."""

import signal

import numpy as np
import pytest
from scipy import sparse

import maxmargin.embeddings._sums as sums
from maxmargin.embeddings._sums import kernel_sums, own_sums
from maxmargin.kernels import Gaussian, Laplacian, Polynomial, Precomputed

KERNELS = [Gaussian(0.3), Polynomial(0.2, 3, 1.0), Laplacian(0.5)]


def rows(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 4))


@pytest.fixture(params=[7, 40, 512])
def side(request, monkeypatch):
    monkeypatch.setattr(sums, "_SIDE", request.param)
    monkeypatch.setattr(sums, "_SPARSE_SIDE", request.param)


@pytest.mark.usefixtures("side")
@pytest.mark.parametrize("n_jobs", [1, 2, 3])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_tiles_sum_what_the_whole_matrix_does(kernel, storage, n_jobs):
    A, B = rows(41), rows(97, seed=1)
    coef = np.random.default_rng(2).normal(size=(97, 2))
    expected = kernel(A, B) @ coef
    found = kernel_sums(kernel, storage(A), storage(B), coef, n_jobs)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
    found = own_sums(kernel, storage(B), coef, n_jobs)
    np.testing.assert_allclose(found, kernel(B, B) @ coef, rtol=1e-11, atol=1e-11)


@pytest.mark.usefixtures("side")
def test_a_kernel_matrix_is_read_by_positions():
    X = rows(60)
    K, coef = Gaussian(0.3)(X, X), np.ones((60, 1))
    places = np.arange(60.0)[:, np.newaxis]
    np.testing.assert_allclose(own_sums(Precomputed(K), places, coef, 2), K @ coef)


def test_no_rows_have_no_sums():
    none = kernel_sums(Gaussian(1.0), rows(0), rows(5), np.ones((5, 1)), 2)
    assert none.shape == (0, 1)
    assert not kernel_sums(Gaussian(1.0), rows(3), rows(0), np.ones((0, 1)), 1).any()
    assert own_sums(Gaussian(1.0), rows(0), np.ones((0, 1)), 1).shape == (0, 1)


@pytest.mark.usefixtures("side")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_threads_give_the_same_bits_each_time(n_jobs):
    X, coef = rows(300), np.random.default_rng(3).normal(size=(300, 1))
    first = own_sums(Gaussian(0.3), X, coef, n_jobs)
    np.testing.assert_array_equal(own_sums(Gaussian(0.3), X, coef, n_jobs), first)


def test_ctrl_c_is_heard_between_stripes(monkeypatch):
    monkeypatch.setattr(sums, "_SIDE", 10)
    asked = []

    class Pressing(Gaussian):
        def __call__(self, A, B):
            asked.append(len(A))
            signal.raise_signal(signal.SIGINT)
            return np.zeros((len(A), len(B)))

    with pytest.raises(KeyboardInterrupt):
        kernel_sums(Pressing(1.0), rows(100), rows(10), np.ones((10, 1)), 1)
    assert len(asked) == 1
