"""Streams of K classes by Pegasos."""

import pickle

import numpy as np
import pytest

from choices import ALL_INTERCEPTS
from compiled.stochastic.multiclass_epochs import Core, exact, larger
from maxmargin import Intercept
from maxmargin.solvers.stochastic.epochs import batch_seed
from maxmargin.solvers.stochastic.pegasos import Pegasos
from maxmargin.solvers.stochastic.pegasos_stream import ClassPegasosStream
from synthetic import csr


def stream_of(objective, settings=None, **options):
    lam = 1.0 / float(objective.problem.cost.sum())
    K, d = objective.n_classes, objective.problem.n_features
    return ClassPegasosStream(
        K, d, lam, settings or Pegasos(), intercept=objective.intercept, **options
    )


@ALL_INTERCEPTS
@pytest.mark.parametrize("averaging", ["none", "weighted", "suffix"])
def test_a_stream_learns(intercept, averaging):
    objective = larger(intercept)
    X, y = objective.problem.X, objective.problem.y
    stream = stream_of(objective, Pegasos(averaging=averaging))
    for _ in range(20):
        for begin in range(0, 1000, 100):
            stream.step(X[begin : begin + 100], y[begin : begin + 100])
    assert stream.t == 20 * 1000
    best = exact(objective).certificate.primal
    assert objective.primal(*stream.point()) <= best * (1.1 if averaging == "none" else 1.03)


def test_one_batch_of_a_stream_is_one_epoch():
    objective = larger(Intercept.PENALIZED)
    stream = stream_of(objective, seed=4)
    stream.step(objective.problem.X, objective.problem.y)
    core = Core(objective, batch_seed(4, 0), Pegasos(), anchor=0.0)
    core.run(1)
    np.testing.assert_allclose(
        np.c_[stream.point()], core.matrix(core.method.point()[0]), rtol=1e-9
    )


@ALL_INTERCEPTS
def test_dense_and_sparse_batches_may_alternate(intercept):
    objective = larger(intercept)
    X, y = objective.problem.X, objective.problem.y
    dense, mixed = stream_of(objective), stream_of(objective)
    for k, begin in enumerate(range(0, 1000, 200)):
        batch = slice(begin, begin + 200)
        dense.step(X[batch], y[batch])
        mixed.step(csr(X[batch], np.int64) if k % 2 else X[batch], y[batch])
        for ours, theirs in zip(mixed.point(), dense.point(), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def test_a_stream_can_be_stored_and_taken_up_again():
    objective = larger(storage="csr32")
    X, y = objective.problem.X, objective.problem.y
    kept, stored = stream_of(objective), stream_of(objective)
    for begin in range(0, 1000, 250):
        batch = slice(begin, begin + 250)
        kept.step(X[batch], y[batch])
        stored.step(X[batch], y[batch])
        stored = pickle.loads(pickle.dumps(stored))
    for ours, theirs in zip(stored.point(), kept.point(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@ALL_INTERCEPTS
def test_a_stream_goes_on_from_a_point(intercept):
    objective = larger(intercept)
    best = exact(objective)
    stream = stream_of(objective, Pegasos(averaging="none"))
    stream.resume(best.w, best.b, 10**7)
    stream.step(objective.problem.X, objective.problem.y)
    for ours, theirs in zip(stream.point(), (best.w, best.b), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-2)


def test_a_stream_goes_on_to_penalise_the_intercepts():
    """A row of zeros that asks for nothing: every weight is scaled by 1 − 1/t."""
    stream = ClassPegasosStream(
        3, 2, 1.0, Pegasos(averaging="none"), intercept=Intercept.PENALIZED, intercept_scaling=2.0
    )
    W, b = np.ones((3, 2)), np.array([0.0, 4.0, 1.0])
    stream.resume(W, b, 9)
    stream.step(np.zeros((1, 2)), np.ones(1))
    np.testing.assert_allclose(stream.point()[0], 0.9 * W)
    np.testing.assert_allclose(stream.point()[1], 0.9 * b)
