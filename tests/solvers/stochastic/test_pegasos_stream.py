"""Streams of Pegasos."""

import pickle

import joblib
import numpy as np
import pytest

from choices import ALL_INTERCEPTS, REGULARIZED_LOSSES
from compiled.stochastic.pegasos import Core
from maxmargin import Intercept, _core
from maxmargin.losses import HINGE
from maxmargin.solvers.stochastic.epochs import batch_seed
from maxmargin.solvers.stochastic.pegasos import Pegasos
from maxmargin.solvers.stochastic.pegasos_stream import PegasosStream
from synthetic import larger, solve


@pytest.mark.parametrize("averaging", ["none", "weighted", "suffix"])
@ALL_INTERCEPTS
def test_a_stream_learns(averaging, intercept):
    objective = larger(intercept=intercept, C=0.1)
    X, y = objective.problem.X, objective.problem.y
    stream = PegasosStream(20, 1 / (2000 * 0.1), Pegasos(averaging=averaging), HINGE, intercept)
    for _ in range(20):
        for begin in range(0, 2000, 100):
            stream.step(X[begin : begin + 100], y[begin : begin + 100])
    w, b = stream.point()
    assert stream.t == 20 * 2000
    best = solve(objective).certificate.primal
    assert objective.primal(w, b) <= best * (1.1 if averaging == "none" else 1.02)


def test_one_batch_of_a_stream_is_one_epoch():
    objective = larger(intercept=Intercept.PENALIZED)
    stream = PegasosStream(20, 1 / 200, intercept=Intercept.PENALIZED, seed=4)
    stream.step(objective.problem.X, objective.problem.y)
    core = Core(objective, batch_seed(4, 0))
    core.method.core.bias, core.iterate.core.b = _core.Bias(1.0, 0.0), 0.0
    core.run(1)
    np.testing.assert_allclose(stream.point()[0], core.iterate.average()[0], rtol=1e-9)


def test_weights_of_a_stream_count_like_repetitions_on_average():
    stream = PegasosStream(1, 0.1, intercept=Intercept.NONE)
    X, y = np.array([[1.0], [-1.0]]), np.array([1.0, 1.0])
    for _ in range(500):
        stream.step(X, y, np.array([3.0, 1.0]))
    assert stream.point()[0][0] > 0.0


@REGULARIZED_LOSSES
def test_a_stream_takes_every_loss(loss):
    objective = larger(loss)
    X, y = objective.problem.X, objective.problem.y
    stream = PegasosStream(20, 1 / 200, loss=loss)
    for begin in range(0, 2000, 100):
        stream.step(X[begin : begin + 100], y[begin : begin + 100])
    zero = objective.primal(np.zeros(20), 0.0)
    assert objective.primal(*stream.point()) < zero


def test_a_stream_can_be_stored_and_taken_up_again():
    objective = larger()
    X, y = objective.problem.X, objective.problem.y
    kept = PegasosStream(20, 1 / 200)
    stored = PegasosStream(20, 1 / 200)
    for begin in range(0, 2000, 500):
        batch = slice(begin, begin + 500)
        kept.step(X[batch], y[batch])
        stored.step(X[batch], y[batch])
        stored = pickle.loads(pickle.dumps(stored))
    np.testing.assert_array_equal(kept.point()[0], stored.point()[0])
    assert kept.point()[1] == stored.point()[1]


def test_a_stream_goes_on_from_a_memory_map(tmp_path):
    """Mapped arrays cannot be written to; the steps need their own."""
    problem = larger().problem
    stream = PegasosStream(20, 1 / 200)
    stream.step(problem.X, problem.y)
    joblib.dump(stream, tmp_path / "stream")
    mapped = joblib.load(tmp_path / "stream", mmap_mode="r")
    for each in (stream, mapped):
        each.step(problem.X, problem.y)
    np.testing.assert_array_equal(stream.point()[0], mapped.point()[0])


def test_a_stream_goes_on_to_penalise_the_intercept():
    """A row of zeros that asks for nothing: every weight is scaled by 1 − 1/t."""
    stream = PegasosStream(
        2, 1.0, Pegasos(averaging="none"), intercept=Intercept.PENALIZED, intercept_scaling=2.0
    )
    stream.resume(np.ones(2), 4.0, 9)
    stream.step(np.zeros((1, 2)), np.ones(1))
    np.testing.assert_allclose(stream.point()[0], 0.9)
    assert stream.point()[1] == pytest.approx(3.6)
