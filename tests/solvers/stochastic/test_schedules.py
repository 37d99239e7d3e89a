"""Schedules of SGD: the lectures' formulas, the core's steps."""

import math
from typing import Any

import numpy as np
import pytest

from choices import HINGES
from compiled.stochastic.sgd import fit
from maxmargin import Status
from maxmargin.losses import HINGE, SQUARED_HINGE
from maxmargin.solvers.stochastic.epochs import curvature
from maxmargin.solvers.stochastic.schedules import (
    SCHEDULES,
    Constant,
    Decay,
    InverseSqrt,
    InverseTime,
)
from maxmargin.solvers.stochastic.sgd import SGD
from synthetic import larger

STEPS = [InverseTime(), InverseTime(t0=50.0), Decay(0.05), Constant(0.02), InverseSqrt(0.1)]


# ---- schedules


@pytest.mark.parametrize("schedule", STEPS, ids=str)
def test_the_core_has_the_same_steps(schedule):
    core = schedule.core(0.01)
    for t in (1, 2, 10, 1000):
        assert core.step(t) == pytest.approx(schedule.step(t, 0.01))


def test_the_formulas_are_the_lectures():
    lam, t = 0.01, 37
    assert InverseTime().step(t, lam) == pytest.approx(1 / (lam * t))
    assert Decay(0.3).step(t, lam) == pytest.approx(0.3 / (1 + 0.3 * t * lam))
    assert Constant(0.3).step(t, lam) == 0.3
    assert InverseSqrt(0.3).step(t, lam) == pytest.approx(0.3 / t**0.5)


@pytest.mark.parametrize("schedule", STEPS, ids=str)
def test_what_is_said_of_the_sums_is_so(schedule):
    """A sum converges if its tail from T to 10 T does not stay above a constant."""

    def tail(T, power):
        t = np.unique(np.geomspace(T, 10 * T, 2000).astype(np.int64))
        middle = np.array([schedule.step(int(k), 0.01) ** power for k in t])
        return np.trapezoid(middle, t)

    assert (tail(10**8, 1) > 0.5 * tail(10**6, 1)) == (not schedule.summable)
    assert (tail(10**8, 2) > 0.5 * tail(10**6, 2)) == (not schedule.square_summable)


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_describes_itself(name):
    schedule = SCHEDULES[name]()
    sentence = schedule.describe()
    assert "not summable" in sentence
    assert ("not square summable" in sentence) == (not schedule.square_summable)
    assert ("converges to the optimum" in sentence) == schedule.square_summable


def test_a_bad_first_step_is_named():
    with pytest.raises(ValueError, match="step0 must be a positive finite number, got -1"):
        Decay(-1.0)


@pytest.mark.parametrize("t0", [-1.0, math.inf, math.nan, "5", True])
def test_a_bad_offset_is_named(t0):
    with pytest.raises(ValueError, match="t0 must be a number of at least 0 and finite, got "):
        InverseTime(t0=t0)


def test_an_open_offset_is_that_of_pegasos():
    monitor: Any = None  # nothing is tried out
    for loss in (HINGE, SQUARED_HINGE):
        objective = larger(loss)
        found = SGD(schedule="inverse_time").steps(objective, monitor, 0)
        assert found == InverseTime(t0=curvature(objective))
        own = InverseTime(t0=7.0)
        assert SGD(schedule=own).steps(objective, monitor, 0) == own


# ---- the solver


@pytest.mark.parametrize("schedule", ["inverse_time", "decay", Constant(1e-3)], ids=str)
@HINGES
def test_every_schedule_gets_there(schedule, loss):
    assert fit(larger(loss), schedule=schedule).status is Status.OPTIMAL
