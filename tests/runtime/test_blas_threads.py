"""Fits hold BLAS to one thread where others would wait for busy cores, and then let go."""

from typing import ClassVar

import numpy as np
import pytest
import scipy.linalg
from sklearn.datasets import load_digits
from threadpoolctl import ThreadpoolController

from maxmargin import SVC, SVR, NuSVC, OneClassSVM
from maxmargin.embeddings import (
    FourierFeatures,
    KernelPCA,
    LaplacianEigenmaps,
    LocallyLinearEmbedding,
    Nystroem,
    _spectra,
    fourier,
)
from maxmargin.kernels import Gaussian, Linear, pairwise
from maxmargin.runtime.blas_threads import one_blas_thread
from maxmargin.solvers import Newton
from synthetic import free_svc, overlapping


def test_fits_side_by_side_leave_the_threads_of_blas_as_they_were():
    """BLAS has one thread meanwhile, whichever fit ends first."""
    blas = ThreadpoolController().select(user_api="blas")

    def threads():
        return {library.num_threads for library in blas.lib_controllers}

    def kernel(A, B):
        during.append(threads())
        return A @ B.T

    during = []
    with blas.limit(limits=2):
        SVC(kernel=kernel).fit(*overlapping(1500, 5))
        assert {1} in during
        assert threads() == {2}
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert threads() == {1}
        second.__exit__(None, None, None)
        assert threads() == {2}


class Watching(Newton):
    """Newton, and how many threads BLAS has meanwhile."""

    seen: ClassVar[list[set[int]]] = []

    def solve(self, objective, monitor, start):
        blas = ThreadpoolController().select(user_api="blas")
        self.seen.append({library.num_threads for library in blas.lib_controllers})
        return super().solve(objective, monitor, start)


def test_weights_of_a_linear_kernel_wake_no_threads(monkeypatch):
    seen, weights = [], Linear.weights

    def watched(kernel, coef, basis):
        blas = ThreadpoolController().select(user_api="blas")
        seen.append({library.num_threads for library in blas.lib_controllers})
        return weights(kernel, coef, basis)

    X, y = load_digits(return_X_y=True)
    model = SVC(kernel="linear").fit(X, y)
    monkeypatch.setattr(Linear, "weights", watched)
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        model._weights()
    assert seen == [{1}]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_newton_with_many_features_keeps_blas_to_one_thread(n_jobs):
    Watching.seen.clear()
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(600, 210)), np.arange(600) % 3
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        free_svc(solver=Watching(), n_jobs=n_jobs, tol=0.1).fit(rows, y)
    assert Watching.seen == [{1}] * 3


@pytest.mark.parametrize("make", [SVC, SVR, NuSVC, OneClassSVM])
def test_kernel_values_of_a_small_fit_wake_no_threads(make, monkeypatch):
    """Threads that were woken spin on: such fits took twice the processor time, or more."""
    blas, seen, values = ThreadpoolController().select(user_api="blas"), [], Gaussian.__call__

    def watched(kernel, A, B):
        if A.shape[0] * B.size > 2**17:
            seen.append({library.num_threads for library in blas.lib_controllers})
        return values(kernel, A, B)

    X, y = load_digits(return_X_y=True)
    monkeypatch.setattr(Gaussian, "__call__", watched)
    with blas.limit(limits=2):
        make().fit(X, y)
    assert seen
    assert all(threads == {1} for threads in seen)


@pytest.mark.parametrize(
    "embedding",
    [
        KernelPCA(3),
        LaplacianEigenmaps(),
        LocallyLinearEmbedding(n_neighbors=10),
        Nystroem(),
        FourierFeatures(),
    ],
    ids=lambda embedding: type(embedding).__name__,
)
def test_small_embeddings_wake_no_threads(embedding, monkeypatch):
    """The threads that were woken spun for as long as ten such fits take."""
    blas, seen = ThreadpoolController().select(user_api="blas"), []

    def watch(module, name):
        function = getattr(module, name)

        def watched(*args, **kwargs):
            seen.append({library.num_threads for library in blas.lib_controllers})
            return function(*args, **kwargs)

        monkeypatch.setattr(module, name, watched)

    for module, names in (
        (_spectra, ["eigsh"]),
        (scipy.linalg, ["eigh", "svd"]),
        (np.linalg, ["eigh", "eigvalsh"]),
        (pairwise, ["dots"]),
        (fourier, ["_waves"]),
    ):
        for name in names:
            watch(module, name)
    X = load_digits().data[:620]
    with blas.limit(limits=2):
        embedding.fit(X[:600]).transform(X)
        embedding.fit(X).transform(X)
    assert seen
    assert all(threads == {1} for threads in seen)
