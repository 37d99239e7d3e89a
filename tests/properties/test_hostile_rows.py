"""Certificates of Gaussian machines hold in extended precision, on rows that make digits cancel."""

import numpy as np
import pytest
from scipy import sparse

from extended import duplicates, tiny_spread, two_far_clusters
from maxmargin import SVC, SVR, Status
from maxmargin.kernels import Gaussian
from maxmargin.kernels.pairwise import plain

EXTENDED = np.longdouble


def gaussian(A, B, gamma):
    """exp(−γ‖a − b‖²) in extended precision, from differences."""
    A, B = A.astype(EXTENDED), B.astype(EXTENDED)
    return np.exp(-EXTENDED(gamma) * np.stack([((a - B) ** 2).sum(axis=1) for a in A]))


def primal(X, y, coef, b, gamma, C):
    K, coef = gaussian(X, X, gamma), coef.astype(EXTENDED)
    slack = np.maximum(0, 1 - y * (K @ coef + EXTENDED(b)))
    return float(0.5 * coef @ K @ coef + EXTENDED(C) * slack.sum())


def dual(X, y, beta, gamma):
    beta = beta.astype(EXTENDED)
    return float((y * beta).sum() - 0.5 * beta @ gaussian(X, X, gamma) @ beta)


def offset_rows(rng, n):
    return rng.normal(size=(n, 4)) + 1e5


def huge_grid(rng, n):
    return 1e5 * rng.integers(0, 3, size=(n, 6)).astype(float)


def outliers(rng, n):
    X = rng.normal(size=(n, 2))
    X[:5] = 1e7 + rng.normal(size=(5, 2))
    return X


def one_outlier_first(rng, n):
    X = rng.normal(size=(n, 2))
    X[0] = 1e8
    return X


ROWS = [
    offset_rows, tiny_spread, huge_grid, two_far_clusters, outliers, one_outlier_first, duplicates,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("make", ROWS)
@pytest.mark.parametrize("C", [1.0, 3e4])
def test_primal_and_dual_are_those_of_extended_precision(make, storage, C):
    rng = np.random.default_rng(0)
    X = make(rng, 120)
    y = np.where(rng.random(120) < 0.5, -1.0, 1.0)
    gamma = 1.0 / (X.shape[1] * X.var(axis=0).min()) if make is tiny_spread else 2.0
    model = SVC(C=C, gamma=gamma, tol=1e-6, max_time=3.0).fit(storage(X), y)
    claim, solution = model.certificate_, model.solution_
    beta = np.zeros(120)
    beta[model.support_] = plain(model.dual_coef_)[0]
    true = primal(X, y, beta, model.intercept_[0], gamma, C)
    bound = dual(X, y, -solution.beta if solution.beta @ beta < 0 else solution.beta, gamma)
    # the allowance is for the coefficients that are stored, as they are rounded themselves
    assert abs(claim.primal - true) <= 1e-8 * true
    assert abs(claim.dual - bound) <= claim.gap + 1e-8 * abs(bound)
    if claim.status is Status.OPTIMAL:
        assert true - bound <= 1.01e-6 * bound + 1e-9 * true


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("make", ROWS)
def test_gaussian_values_are_those_of_differences(make, storage):
    X = make(np.random.default_rng(1), 80)
    gamma = 0.5 if make is not tiny_spread else 1e14
    kernel = Gaussian(gamma).fitted(storage(X))
    np.testing.assert_allclose(
        kernel(storage(X[:30]), storage(X)), gaussian(X[:30], X, gamma).astype(float), atol=1e-10
    )
    np.testing.assert_allclose(
        Gaussian(gamma)(storage(X), storage(X)), gaussian(X, X, gamma).astype(float), atol=1e-10
    )


@pytest.mark.slow
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("value", [1e7, 1e8])
def test_outliers_do_not_spoil_the_others(storage, value):
    """Of 3,000 rows, so that kernel rows are computed in float32."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    X[0] = value
    X[50:80] = rng.choice([-1.0, 1.0], size=(30, 1)) * 1e6 + rng.normal(size=(30, 2))
    model = SVC(gamma=1.0, C=10.0).fit(storage(X[:3000]), y[:3000])
    assert model.certificate_.status is Status.OPTIMAL
    assert model.score(storage(X[3000:]), y[3000:]) > 0.96
    beta = np.zeros(3000)
    beta[model.support_] = plain(model.dual_coef_)[0]
    true = primal(X[:3000], 2.0 * y[:3000] - 1.0, beta, model.intercept_[0], 1.0, 10.0)
    assert abs(model.certificate_.primal - true) <= 1e-3 * true


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
def test_rows_beyond_the_range_of_their_squares_are_far_apart(storage):
    X = np.array([[0.0, 1.0], [1e200, 1.0], [-1e200, 0.0], [1e200, 1.0]])
    expected = np.eye(4)
    expected[1, 3] = expected[3, 1] = 1.0
    assert np.array_equal(Gaussian(1.0).fitted(storage(X))(storage(X), storage(X)), expected)


@pytest.mark.parametrize("shift", [1e3, 5e3, 1e6])
def test_a_linear_kernel_with_an_intercept_does_not_see_an_offset(shift):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 5))
    y = X[:, 0] + 0.5 * rng.normal(size=1200)
    at_zero, shifted = (
        kind.fit(X + s, t)
        for kind, t, s in ((SVC(kernel="linear"), y > 0, 0.0), (SVC(kernel="linear"), y > 0, shift))
    )
    assert shifted.certificate_.status is Status.OPTIMAL
    assert abs(shifted.certificate_.primal / at_zero.certificate_.primal - 1.0) < 2e-3
    np.testing.assert_allclose(
        (X + shift) @ shifted.coef_[0] + shifted.intercept_[0],
        shifted.decision_function(X + shift),
        atol=1e-4,
    )
    regression = SVR(kernel="linear").fit(X + shift, y)
    assert np.abs(regression.predict(X + shift) - y).mean() < 0.6
