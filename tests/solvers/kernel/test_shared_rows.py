"""Pairs of classes share kernel rows within a class; every row is what it would be alone."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse

from maxmargin import SMO, SVC, _core
from maxmargin.kernels import Cosine, Gaussian, Polynomial, User
from maxmargin.multiclass import kernel_problems
from maxmargin.solvers.kernel.row_source import KernelSamples, SharedSamples


def long_csr(X):
    X = sparse.csr_array(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


STORAGES = pytest.mark.parametrize(
    "storage", [np.asarray, sparse.csr_array, long_csr], ids=["dense", "csr", "csr64"]
)


def several(n=150, d=60, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, d)) + np.eye(n_classes, d)[y]
    return np.where(rng.random((n, d)) < 0.3, 0.0, X), y


def rows_of(source, index, n):
    out = np.empty((len(index), n), dtype=np.float32)
    source.rows(np.asarray(index, dtype=np.int32), out)
    return out


@STORAGES
@pytest.mark.parametrize("kernel", [Gaussian(0.02), Polynomial(0.1, 2, 1.0), Cosine()])
@pytest.mark.parametrize("cache", [0.0, 0.02, 10.0], ids=["nothing", "little", "all"])
def test_rows_are_those_of_the_pair_alone(storage, kernel, cache):
    X, y = several()
    X, members = storage(X), [np.flatnonzero(y == label) for label in range(3)]
    shared = SharedSamples(KernelSamples(kernel, X), members, cache)
    rng = np.random.default_rng(1)
    for _ in range(3):  # asked for again, rows come from what is kept
        for place, (first, second) in enumerate([(0, 1), (0, 2), (1, 2)]):
            pair = np.concatenate([members[first], members[second]])
            index = rng.permutation(100)[:37]
            found = rows_of(shared.pair(place, X[pair]).rows(), index, 100)
            np.testing.assert_allclose(found, kernel(X[pair][index], X[pair]), rtol=2e-5, atol=2e-6)
    most = {0.0: 0, 0.02: 33, 10.0: 50}[cache]
    kept = [rows.rows_kept for rows in shared.classes]
    assert all(min(33, most) <= count <= most for count in kept)


def test_threads_may_ask_at_a_time():
    X, y = several(600)
    members = [np.flatnonzero(y == label) for label in range(3)]
    kernel = Gaussian(0.02)
    shared = SharedSamples(KernelSamples(kernel, X), members, 10.0)

    def ask(task):
        place, seed = task
        pair = np.concatenate([members[k] for k in shared.pairs[place]])
        index = np.random.default_rng(seed).permutation(400)[:100]
        return index, pair, rows_of(shared.pair(place, X[pair]).rows(), index, 400)

    with ThreadPoolExecutor(4) as pool:
        for index, pair, found in pool.map(ask, [(k % 3, k) for k in range(24)]):
            np.testing.assert_allclose(found, kernel(X[pair][index], X[pair]), rtol=2e-5, atol=2e-6)


@STORAGES
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_fit_with_shared_rows_is_the_fit_without(monkeypatch, storage, n_jobs):
    X, y = several(600)
    solver = SMO(working_set=64, small=100)
    made = []

    class Counted(SharedSamples):
        def __init__(self, *given):
            super().__init__(*given)
            made.append(self)

    monkeypatch.setattr(kernel_problems, "SharedSamples", Counted)
    shared = SVC(gamma=0.02, solver=solver, n_jobs=n_jobs, tol=1e-5).fit(storage(X), y)
    assert made
    assert all(rows.rows_kept > 0 for rows in made[0].classes)
    monkeypatch.setattr(kernel_problems, "shared_samples", lambda *_: None)
    alone = SVC(gamma=0.02, solver=solver, n_jobs=n_jobs, tol=1e-5).fit(storage(X), y)
    np.testing.assert_allclose(
        shared.decision_function(X), alone.decision_function(X), rtol=1e-3, atol=1e-3
    )
    assert shared.certificate_.dual == pytest.approx(alone.certificate_.dual, rel=2e-5)


def test_a_callers_kernel_has_no_rows_to_share():
    X, _ = several()
    source = KernelSamples(User(lambda A, B: A @ B.T), X).rows()
    with pytest.raises(ValueError, match="compiled"):
        _core.ClassRows(source, 10)
