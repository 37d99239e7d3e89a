"""Predictions of few rows do not wake the threads of BLAS, which wait for busy cores."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from maxmargin import SVC, SVR, OneClassSVM
from maxmargin.embeddings._base import in_blocks
from maxmargin.kernels import Gaussian
from maxmargin.runtime.blas_threads import blas_threads_for


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


class Watched:
    """A Gaussian kernel that notes how many threads BLAS may use."""

    def __init__(self):
        self.seen = []

    def __call__(self, a, b):
        self.seen.append(max(blas_threads()))
        return Gaussian(0.3)(a, b)


@pytest.mark.parametrize("rows", [30, 100, 500])
@pytest.mark.parametrize("kind", ["two classes", "three classes", "regression", "one class"])
def test_few_rows_are_predicted_in_one_blas_thread(kind, rows):
    rng = np.random.default_rng(0)
    X, kernel = rng.normal(size=(400, 20)), Watched()
    classes = 3 if kind == "three classes" else 2
    models = {"regression": SVR(kernel=kernel), "one class": OneClassSVM(kernel=kernel, nu=0.9)}
    model = models.get(kind, SVC(kernel=kernel))
    model.fit(X, X[:, 0] if kind == "regression" else rng.integers(classes, size=400))
    with threadpool_limits(2, "blas"):
        before = blas_threads()
        kernel.seen.clear()
        model.predict(rng.normal(size=(rows, 20)))
        assert set(kernel.seen) == {1}
        assert blas_threads() == before


def test_threads_are_left_alone_where_they_do_no_harm_or_are_worth_it():
    with threadpool_limits(2, "blas"):
        before = blas_threads()
        for work in (100, 2**40):
            with blas_threads_for(work):
                assert blas_threads() == before
        with blas_threads_for(10**6):
            assert set(blas_threads()) == {1}
        assert blas_threads() == before


def test_blocks_of_an_embedding_are_multiplied_by_one_thread():
    seen = []

    def embed(rows):
        seen.append(max(blas_threads()))
        return np.zeros((rows.stop - rows.start, 1))

    in_blocks(embed, np.empty((2**17, 1)), 64, None)
    assert set(seen) == {1}
