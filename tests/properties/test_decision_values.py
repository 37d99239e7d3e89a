"""Decision values are those of the plain sums, whatever the kernel, storage, batch and offset."""

from typing import NamedTuple

import numpy as np
import pytest
from scipy import sparse

from extended import EXTENDED, kernel_values
from maxmargin import SVC, SVR, NuSVC, OneClassSVM
from maxmargin.kernels import (
    ChiSquared,
    Cosine,
    Gaussian,
    HistogramIntersection,
    Laplacian,
    Linear,
    Polynomial,
    Sigmoid,
)
from maxmargin.kernels.pairwise import plain
from maxmargin.solvers.kernel.row_source import RESOLUTION

N_TRAIN, N_TEST = 500, 3000  # enough for float32 tiles: far more than 2²⁰ kernel values


def plain_sums(model, X, gamma):
    """Σ c_j k(x_j, x) + b in extended precision, distances from differences."""
    vectors = model.support_vectors_
    vectors = vectors.toarray() if sparse.issparse(vectors) else vectors
    V, coef = vectors.astype(EXTENDED), plain(model.dual_coef_)[0].astype(EXTENDED)
    values = []
    for x in X.astype(EXTENDED):
        if model.kernel == "rbf":
            k = np.exp(-EXTENDED(gamma) * ((V - x) ** 2).sum(axis=1))
        elif model.kernel == "poly":
            k = (EXTENDED(gamma) * (V @ x) + EXTENDED(model.coef0)) ** model.degree
        else:
            k = V @ x
        values.append(coef @ k + EXTENDED(model.intercept_[0]))
    return np.array(values, dtype=np.float64)


class Case(NamedTuple):
    kernel: str
    offset: float
    scale: float
    C: float
    outliers: bool

    def rows(self):
        X = np.random.default_rng(0).normal(size=(N_TRAIN + N_TEST, 3))
        signal = X[:, 0] + X[:, 1] if self.kernel == "linear" else X[:, 0] * X[:, 1]
        X *= self.scale
        X[:, 2] += self.offset * self.scale
        if self.outliers:
            X[::100] *= 1e4
        return X, signal

    def model(self, kind, gamma):
        options = {"kernel": self.kernel, "gamma": gamma, "coef0": 1.0, "max_time": 2.0}
        if kind in (SVC, SVR):
            options["C"] = self.C
        if kind is SVR:
            options["epsilon"] = 0.01
        return kind(**options) if kind in (SVC, SVR) else kind(nu=0.3, **options)


CASES = [
    Case("rbf", offset=0.0, scale=1.0, C=1.0, outliers=False),
    Case("rbf", offset=2000.0, scale=1.0, C=1.0, outliers=False),
    Case("rbf", offset=1e4, scale=100.0, C=10.0, outliers=False),
    Case("rbf", offset=0.0, scale=1.0, C=1e5, outliers=False),
    Case("rbf", offset=0.0, scale=1.0, C=10.0, outliers=True),
    Case("rbf", offset=1e6, scale=0.01, C=100.0, outliers=True),
    Case("poly", offset=10.0, scale=1.0, C=10.0, outliers=False),
    Case("linear", offset=1e4, scale=1.0, C=10.0, outliers=False),
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", [SVC, SVR, NuSVC, OneClassSVM])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("case", CASES)
def test_decision_values_do_not_depend_on_the_batch(kind, storage, case):
    X, signal = case.rows()
    gamma = 0.5 / case.scale**2
    model = case.model(kind, gamma)
    y = signal if kind is SVR else (signal > 0.0).astype(int)
    train, test = X[:N_TRAIN], X[N_TRAIN:]
    model.fit(storage(train), y[:N_TRAIN])
    values = model.predict if kind is SVR else model.decision_function
    margin = np.abs(y[:N_TRAIN] - y[:N_TRAIN].mean()).mean() if kind is SVR else 1.0
    margin = abs(float(model.offset_[0])) if kind is OneClassSVM else margin
    whole, batch = values(storage(test)), values(storage(test[:50]))
    some = np.r_[0:50, 100:N_TEST:100]  # with the outliers
    off = RESOLUTION * margin
    expected = plain_sums(model, test[some], gamma)
    np.testing.assert_allclose(whole[some], expected, rtol=1e-6, atol=off)
    np.testing.assert_allclose(batch, whole[:50], rtol=1e-6, atol=off)


@pytest.mark.parametrize("offset", [2000.0, 1e4])
def test_an_offset_column_in_csr_rows_changes_no_label(offset):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    X[:, 2] += offset
    model = SVC(gamma=0.5).fit(sparse.csr_matrix(X[:1000]), y[:1000])
    dense = SVC(gamma=0.5).fit(X[:1000], y[:1000])
    assert model.score(sparse.csr_matrix(X[1000:]), y[1000:]) > 0.95
    assert np.mean(model.predict(sparse.csr_matrix(X[1000:])) != dense.predict(X[1000:])) < 0.005


@pytest.mark.parametrize(("C", "gamma"), [(1e6, 0.001), (1e5, 0.1)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_large_coefficients_are_summed_in_float64(C, gamma):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(26000, 5))
    y = (X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=len(X)) > 0).astype(int)
    model = SVC(C=C, gamma=gamma, tol=1e-2, max_time=3.0)
    model.fit(X[:1000], y[:1000])
    whole = model.decision_function(X[1000:])
    parts = np.concatenate([model.decision_function(X[b : b + 50]) for b in range(1000, 3000, 50)])
    assert np.abs(whole[:2000] - parts).max() <= RESOLUTION


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("kind", [SVC, SVR])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_weights_of_a_linear_kernel_predict_the_same_far_from_the_samples(kind, storage):
    """What rounding leaves of Σ c = 0, times the origin, must not be in one of them only."""
    rng = np.random.default_rng(0)
    X = 1e7 + 10.0 * rng.normal(size=(300, 1))
    X[:120] = 0.0
    y = rng.normal(size=300) if kind is SVR else rng.integers(0, 2, size=300)
    model = kind(kernel="linear", C=1e3, max_iter=20).fit(storage(X), y)
    values = model.predict if kind is SVR else model.decision_function
    w = plain(model.coef_)[0]
    expected = X @ w + model.intercept_[0]
    size = np.abs(X @ w).max() + abs(model.intercept_[0])
    np.testing.assert_allclose(values(storage(X)), expected, rtol=0, atol=1e-4 + 1e-12 * size)


KERNELS = [
    "linear", "poly", "rbf", "sigmoid", "laplacian", "cosine", "chi2", "histogram_intersection",
    Linear(), Polynomial(0.5, 2, 1.0), Gaussian("median"), Laplacian(0.3), Sigmoid(0.05, -1.0),
    Cosine(), ChiSquared(0.5), HistogramIntersection(), Gaussian(0.5) + Linear(),
    Gaussian(0.5) * Polynomial(0.1, 2, 1.0), 3.0 * Laplacian(0.3),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize(
    ("kind", "C", "offset"), [(SVC, 1.0, 0.0), (SVC, 1e5, 100.0), (SVR, 1e5, 0.0), (SVR, 1, 100.0)]
)
def test_values_of_every_kernel_are_the_plain_sums(kernel, kind, C, offset, storage):
    X = np.random.default_rng(0).normal(size=(400 + N_TEST, 3))
    signal = X[:, 0] * X[:, 1]
    if kernel in ("chi2", "histogram_intersection", ChiSquared(0.5), HistogramIntersection()):
        X = np.abs(X)
    X[:, 2] += offset
    y = signal if kind is SVR else (signal > 0.0).astype(int)
    model = kind(kernel=kernel, C=C, max_iter=50).fit(storage(X[:400]), y[:400])
    values = model.predict if kind is SVR else model.decision_function
    test, some = X[400:], np.r_[0:50, N_TEST - 20 : N_TEST]
    K = kernel_values(model._fitted_kernel, test[some], model.support_vectors_)
    coef = plain(model.dual_coef_)[0].astype(EXTENDED)
    expected = (K @ coef + EXTENDED(model._offsets[0])).astype(np.float64)
    lost = 2.0**-51 * float((np.abs(K) @ np.abs(coef)).max())  # in a sum in float64
    margin = np.abs(y[:400] - y[:400].mean()).mean() if kind is SVR else 1.0
    off = RESOLUTION * margin + lost
    np.testing.assert_allclose(values(storage(test))[some], expected, rtol=0, atol=off)
    for size in (1, 7, 50):
        np.testing.assert_allclose(
            values(storage(test[:size])), expected[:size], rtol=0, atol=1e-3 * off + lost
        )


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_pairs_of_a_linear_kernel_keep_their_digits_far_from_the_origin(storage):
    """Time stamps, say: the sums of the two classes of a pair are large and nearly cancel."""
    r = np.random.default_rng(2)
    X = r.normal(size=(460, 4))
    y = (X[:60, 0] > 0) * 1 + (X[:60, 1] > 0)
    X += 1e9
    model = SVC(kernel="linear", C=1e3, decision_function_shape="ovo").fit(X[:60], y)
    weights = model.coef_.astype(EXTENDED)
    relative = (X.astype(EXTENDED) - X[0]) @ weights.T  # of an intercept the digits are few
    f = model.decision_function(storage(X))
    np.testing.assert_allclose(f - f[0], relative.astype(np.float64), rtol=0, atol=1e-5)
