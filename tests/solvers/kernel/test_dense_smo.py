"""SMO on the whole kernel matrix: the optimum, its pieces, and the hard cases."""

import os

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.preprocessing import scale

from maxmargin import SVC, NuSVC, OneClassSVM, Status, _core
from maxmargin.kernels import Gaussian, Precomputed
from maxmargin.solvers.kernel import row_source as kernel_samples
from maxmargin.solvers.kernel.row_source import KernelSamples, summed


def never():
    return False


def pairwise(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    return Gaussian(0.5)(X, X), y


@pytest.mark.parametrize("n", [2, 3, 5, 8, 41])
def test_lanes_and_what_is_left_of_them_see_every_sample(n):
    """The optimum does not depend on where in the matrix a sample stands."""
    K, y = pairwise(n)
    y[0], y[-1] = 1.0, -1.0
    values = []
    for order in (np.arange(n), np.arange(n)[::-1], np.roll(np.arange(n), 1)):
        signs = y[order]
        smo = _core.DenseSmo(
            np.ascontiguousarray(K[np.ix_(order, order)]), signs,
            np.minimum(signs, 0.0)[None], np.maximum(signs, 0.0)[None], 0.0, True,
        )  # fmt: skip
        assert smo.run(1e-10, 0.0, 1000, never)
        beta = smo.beta
        np.testing.assert_allclose(smo.values, K[np.ix_(order, order)] @ beta, atol=1e-12)
        assert abs(beta.sum()) < 1e-12
        values.append(signs @ beta - 0.5 * beta @ smo.values)
    np.testing.assert_allclose(values, values[0], rtol=1e-9)


def test_sums_of_every_group_are_kept():
    K, y = pairwise(40)
    lower, upper = np.zeros((2, 40)), (np.array([[1.0], [-1.0]]) == y).astype(float)
    begin = np.zeros((2, 40))
    for group in range(2):
        begin[group, np.flatnonzero(upper[group])[:3]] = 1.0
    smo = _core.DenseSmo(K, np.zeros(40), lower, upper, 0.0, True)
    smo.start(begin)
    smo.run(1e-8, 0.0, 1000, never)
    for group in range(2):
        inside = upper[group] > 0
        assert smo.beta[inside].sum() == pytest.approx(3.0)


def test_a_singular_matrix_is_no_obstacle():
    """Columns of a thousandfold size, in a linear kernel: 4 directions for 100 samples."""
    X, y = load_iris(return_X_y=True)
    model = SVC(kernel="linear").fit(1e3 * X, y)
    assert model.certificate_.status is Status.OPTIMAL
    assert model.score(1e3 * X, y) > 0.97


@pytest.mark.parametrize("Model", [SVC, NuSVC])
def test_a_table_of_all_values_changes_nothing(Model):
    """Pairs that share one matrix have the optimum of those that make their own."""
    X, y = load_iris(return_X_y=True)
    X = scale(X)
    nu = {"nu": 0.2} if Model is NuSVC else {}
    shared = Model(tol=1e-9, **nu).fit(X, y)
    for solution, (a, b) in zip(shared.solutions_, [(0, 1), (0, 2), (1, 2)], strict=True):
        rows = (y == a) | (y == b)
        gamma = shared._fitted_kernel.gamma
        alone = Model(tol=1e-9, gamma=gamma, **nu).fit(X[rows], y[rows])
        assert alone.certificate_.primal == pytest.approx(solution.certificate.primal, rel=1e-8)


def test_a_table_knows_of_the_kernel_that_it_is_of():
    K, _ = pairwise(6)
    places = np.arange(6.0)[:, None]
    table = Precomputed(K, mercer=True)
    np.testing.assert_array_equal(table(places[2:4], places), K[2:4])
    assert table.mercer
    assert Precomputed(K).mercer is None


@pytest.mark.parametrize("power", [-20, -6, 6, 20])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_float32_rows_do_not_mind_the_scale_that_gamma_undoes(power, storage):
    rng = np.random.default_rng(0)
    X, unit = rng.normal(size=(60, 4)), 10.0**power
    source = KernelSamples(Gaussian(0.3 / unit**2), storage(unit * X)).rows()
    values = np.empty((60, 60), dtype=np.float32)
    source.rows(np.arange(60, dtype=np.int32), values)
    np.testing.assert_allclose(values, Gaussian(0.3)(X, X), rtol=1e-4, atol=1e-6)


def test_sums_by_part_are_the_sums_in_parts():
    rng = np.random.default_rng(0)
    K, coef = rng.normal(size=(5, 9)), rng.normal(size=(2, 9))
    parts = np.array([4, 0, 5], dtype=np.int32)
    by_part = summed(K, coef, parts)
    assert by_part.shape == (5, 3, 2)
    np.testing.assert_allclose(by_part[:, 0], K[:, :4] @ coef[:, :4].T)
    np.testing.assert_allclose(by_part.sum(axis=1), summed(K, coef))


@pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="ASAN ends the program")
def test_memory_that_a_thread_lacks_is_an_error():
    """Room for all columns of a panel of sparse rows is not to be had, in any of the threads."""
    n, width = 100, 2**44
    X = sparse.csr_array(
        (np.ones(n), np.arange(n, dtype=np.int64), np.arange(n + 1, dtype=np.int64)),
        shape=(n, width),
    )
    source = KernelSamples(Gaussian(1.0), X, n_threads=2).rows()
    with pytest.raises(MemoryError):
        source.rows(np.arange(n, dtype=np.int32), np.empty((n, n), dtype=np.float32))


def test_float32_takes_no_sample_on_the_edge_out_of_the_region(monkeypatch):
    X = np.random.default_rng(0).normal(size=(300, 3))
    model = OneClassSVM(nu=0.1, tol=1e-9).fit(X)
    monkeypatch.setattr(kernel_samples, "_EXACT_VALUES", 0)
    assert (model.predict(X) < 0).mean() == pytest.approx(model.margin_errors_)
