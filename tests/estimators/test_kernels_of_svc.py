"""kernel= of SVC and SVR: by name, by matrix, as a function or an object."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from maxmargin import SVC, SVR, Status
from maxmargin.estimators import _kernel
from maxmargin.kernels import ChiSquared, Gaussian, Linear
from real_data import CANCER, DIGITS, IRIS
from synthetic import STORAGES, store

DATA = pytest.mark.parametrize("data", [CANCER, IRIS, DIGITS], ids=["cancer", "iris", "digits"])


@DATA
def test_precomputed_kernels_and_functions_give_the_same_model(data):
    X, y = data
    K = rbf_kernel(X, gamma=0.05)
    named = SVC(gamma=0.05, tol=1e-6).fit(X, y)
    given = SVC(kernel="precomputed", tol=1e-6).fit(K, y)
    called = SVC(kernel=lambda A, B: rbf_kernel(A, B, gamma=0.05), tol=1e-6).fit(X, y)
    typed = SVC(kernel=Gaussian(0.05), tol=1e-6).fit(X, y)
    expected = named.decision_function(X)
    np.testing.assert_allclose(given.decision_function(K), expected, atol=1e-3)
    np.testing.assert_allclose(called.decision_function(X), expected, atol=1e-3)
    np.testing.assert_allclose(typed.decision_function(X), expected, atol=1e-3)
    np.testing.assert_array_equal(given.predict(K), named.predict(X))


def test_sums_of_kernels_can_be_used():
    X, y = CANCER
    model = SVC(kernel=0.5 * Linear() + Gaussian("scale")).fit(X, y)
    assert model.score(X, y) > 0.97
    assert model.certificate_.status is Status.OPTIMAL


def test_a_kernel_matrix_must_be_square():
    X, y = IRIS
    for K in (X, sparse.csr_array(X)):
        with pytest.raises(ValueError, match="square"):
            SVC(kernel="precomputed").fit(K, y)


# ---- what a fresh pair of eyes found


def test_an_indefinite_kernel_proves_nothing():
    X, y = IRIS
    with pytest.warns(ConvergenceWarning, match="nothing is proven"):
        model = SVC(kernel="sigmoid", gamma=0.05, coef0=-1.0).fit(X, y)
    assert model.certificate_.status is Status.STATIONARY
    assert not model.certificate_.convex
    with pytest.warns(ConvergenceWarning, match="nothing is proven"):
        SVC(kernel="precomputed").fit(3.0 * rbf_kernel(X) - 2.0 * np.eye(150), y)


def test_a_kernel_that_is_none_is_refused():
    X, y = IRIS
    with pytest.raises(ValueError, match="symmetric"):
        SVC(kernel=lambda A, B: A @ B.T + np.abs(A[:, :1])).fit(X, y)
    with pytest.raises(ValueError, match="diagonal"):
        SVC(kernel="precomputed").fit(-X @ X.T, y)
    with pytest.raises(ValueError, match="Scale X"):
        SVC(kernel="linear").fit(1e25 * X, y)
    with pytest.raises(ValueError, match="coef0"):
        SVC(kernel="sigmoid", coef0=np.nan).fit(X, y)


@pytest.mark.parametrize("scale", [1e-12, 1e10])
def test_the_cosine_does_not_mind_the_scale(scale):
    X, y = load_iris(return_X_y=True)
    model = SVC(kernel="cosine", C=100.0).fit(scale * X, y)
    assert model.certificate_.status is Status.OPTIMAL


def test_a_precomputed_model_does_not_carry_its_matrix():
    X, y = IRIS
    model = SVC(kernel="precomputed").fit(rbf_kernel(X), y)
    assert len(pickle.dumps(model)) < 100_000


# ---- solver=


@pytest.mark.parametrize("shift", [2.0**20, 2.0**30])
def test_a_gaussian_does_not_see_a_shift(shift):
    rng = np.random.default_rng(0)
    X = rng.integers(-8, 9, size=(200, 2)).astype(float)
    y = X[:, 0] * X[:, 1] + 8 * rng.normal(size=200) > 0
    here, there = (SVC(gamma=0.05, tol=1e-6).fit(X + by, y) for by in (0.0, shift))
    assert there.certificate_.primal == pytest.approx(here.certificate_.primal, rel=1e-5)
    np.testing.assert_array_equal(here.predict(X), there.predict(X + shift))


def test_a_kernel_matrix_is_tried_whole_where_that_is_cheap():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), np.arange(300) % 2
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    K[0, 18] = K[18, 0] = 10.0  # no inner product of two unit vectors is
    with pytest.warns(ConvergenceWarning, match="nothing is proven"):
        model = SVC(kernel="precomputed").fit(K, y)
    assert model.certificate_.status is Status.STATIONARY
    assert not model.certificate_.convex


HISTOGRAMS = (load_digits().data[:300], load_digits().target[:300])


# ---- kernels of all kinds


@pytest.mark.parametrize("gamma", ["scale", "auto", "median", 0.01])
@pytest.mark.parametrize("kernel", ["chi2", "histogram_intersection", "laplacian"])
@pytest.mark.parametrize("storage", STORAGES)
def test_kernels_of_histograms_by_name(kernel, gamma, storage):
    X, y = store(HISTOGRAMS[0], storage), HISTOGRAMS[1]
    model = SVC(kernel=kernel, gamma=gamma).fit(X, y)
    assert model.certificate_.status is Status.OPTIMAL
    assert np.isfinite(model.decision_function(X)).all()
    values = SVR(kernel=kernel, gamma=gamma).fit(X, y).predict(X)
    assert np.isfinite(values).all()


def test_the_gamma_of_chi_squared():
    X, y = HISTOGRAMS[0] / 16.0, HISTOGRAMS[1]
    for gamma in ("scale", "auto", "median", 1.0):
        model = SVC(kernel="chi2", gamma=gamma).fit(X, y)
        assert model._fitted_kernel == ChiSquared(1.0)
    assert SVC(kernel="chi2", gamma=0.3).fit(X, y)._fitted_kernel == ChiSquared(0.3)
    with pytest.raises(ValueError, match="gamma"):
        SVC(kernel="chi2", gamma="wide").fit(X, y)


@pytest.mark.parametrize("Model", [SVC, SVR])
def test_the_class_of_a_kernel_is_none(Model):
    with pytest.raises(ValueError, match=r"write kernel=Gaussian\(\)"):
        Model(kernel=Gaussian).fit(*IRIS)


@pytest.mark.parametrize("n", [40, 200])
@pytest.mark.parametrize("multi_class", ["ovo", "crammer_singer"])
def test_kernel_values_in_float32_are_proven(n, multi_class):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)).astype(np.float32)
    y = np.sign(X[:, 0] + 0.5 * rng.normal(size=n))
    functions = (lambda A, B: A @ B.T, lambda A, B: np.tanh(A) @ np.tanh(B).T)
    for function in functions:
        K = function(X, X)
        assert K.dtype == np.float32
        for kernel, rows in (("precomputed", K), (function, X)):
            model = SVC(kernel=kernel, multi_class=multi_class).fit(rows, y)
            assert model.certificate_.convex
            assert model.certificate_.status is Status.OPTIMAL


@pytest.mark.parametrize("multi_class", ["ovo", "ovr", "crammer_singer"])
def test_a_function_that_is_no_kernel_is_refused_at_once(multi_class):
    X, y = IRIS
    calls = []

    def kernel(A, B):
        calls.append(A.shape)
        return A @ B.T + np.abs(A[:, :1])

    with pytest.raises(ValueError, match="symmetric"):
        SVC(kernel=kernel, multi_class=multi_class).fit(X, y)
    assert len(calls) <= 2


def test_a_given_matrix_is_predicted_from_in_blocks(monkeypatch):
    X, y = IRIS
    K = rbf_kernel(X)
    model = SVC(kernel="precomputed").fit(K, y)
    whole = model.decision_function(K)
    monkeypatch.setattr(_kernel, "_VALUES_PER_BLOCK", 300)
    np.testing.assert_allclose(model.decision_function(K), whole, rtol=1e-12)
