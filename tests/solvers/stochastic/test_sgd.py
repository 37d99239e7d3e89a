"""The compiled steps of SGD equal their NumPy twin; the solver."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from choices import ALL_INTERCEPTS, HINGES, REGULARIZED_LOSSES
from compiled.stochastic.sgd import fit
from maxmargin import Intercept, Problem, Status, _core
from maxmargin.losses import HINGE, SQUARED_HINGE
from maxmargin.runtime.interrupt import Interrupt
from maxmargin.solvers import Monitor, Start, Stopping
from maxmargin.solvers.stochastic.epochs import Descent
from maxmargin.solvers.stochastic.schedules import (
    SCHEDULES,
    Constant,
    Decay,
    InverseSqrt,
    InverseTime,
)
from maxmargin.solvers.stochastic.sgd import _TRIAL_ROWS, SGD, _sample
from reference.stochastic.sgd import RULES
from reference.stochastic.sgd import sgd as twin
from synthetic import LOSSES, STORAGES, free_svc, larger, objective_of, solve, store, weights_for

ALL_RULES = pytest.mark.parametrize("rule", list(RULES))
STEPS = [InverseTime(), InverseTime(t0=50.0), Decay(0.05), Constant(0.02), InverseSqrt(0.1)]
SCALING = 1.5


def make(loss=HINGE, intercept=Intercept.PENALIZED):
    return objective_of(loss, intercept, C=0.8, weights=weights_for(60), scaling=SCALING)


class Core:
    """SGD without its judge."""

    def __init__(self, objective, seed, schedule, X=None, **settings):
        self.settings, self.schedule = SGD(**settings), schedule
        self.objective = objective
        problem = objective.problem
        self.rows = problem.rows if X is None else Problem(X, problem.y, problem.cost).rows
        self.descent = self.settings._descent(objective, seed)
        self.method = self.settings._method(self.descent, schedule)

    def run(self, epochs, seconds=1e9):
        descent, budget = self.descent, _core.EpochBudget(epochs, False, seconds)
        state = _core.EpochState(descent.sampler, descent.window, descent.random)
        _core.descend(self.rows, self.objective.terms, self.method.core, state, budget)

    def points(self):
        found = []
        for averaging in (False, True):
            self.method.averaging = averaging
            found.append(self.method.point())
        return found


def assert_equal_to_twin(core, epochs, seed):
    loss, cost = core.objective.loss, core.objective.problem.cost
    lam = 1 / cost.sum() if loss.regularized else 0.0
    rule, batch_size = core.settings.rule, core.settings.batch_size
    w, average, beta, mistakes = twin(
        core.objective,
        epochs,
        seed,
        lambda t: core.schedule.step(t, lam),
        rule=rule,
        batch_size=batch_size or (1 if rule == "plain" else 32),
        momentum=core.settings.momentum,
        feature=SCALING,
    )
    core.run(epochs)
    size = np.abs(w).max()
    for (ours, b), theirs in zip(core.points(), (w, average), strict=True):
        np.testing.assert_allclose(ours, theirs[:-1], rtol=1e-10, atol=1e-10 * size)
        assert b == pytest.approx(SCALING * theirs[-1], rel=1e-10, abs=1e-10 * size)
    np.testing.assert_allclose(core.descent.beta(), beta, rtol=1e-10, atol=1e-12)
    assert core.descent.window.mistakes == mistakes


@ALL_RULES
@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize("batch_size", [None, 7])
def test_rules_equal_the_twin(rule, loss, batch_size):
    objective = make(loss)
    assert_equal_to_twin(Core(objective, 1, Decay(0.01), rule=rule, batch_size=batch_size), 5, 1)


@pytest.mark.parametrize("schedule", STEPS, ids=str)
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
def test_schedules_and_storages_equal_the_twin(schedule, storage, dtype):
    objective = make()
    X = store(objective.problem.X, storage, dtype)
    assert_equal_to_twin(Core(objective, 2, schedule, X), 5, 2)


@ALL_RULES
def test_bits_do_not_depend_on_where_the_deadline_cuts(rule):
    whole = Core(make(), 3, Decay(0.01), rule=rule, batch_size=3)
    parts = Core(make(), 3, Decay(0.01), rule=rule, batch_size=3)
    whole.run(40)
    calls = 0
    while parts.descent.sampler.epochs < 40:
        parts.run(40 - parts.descent.sampler.epochs, seconds=0.0)
        calls += 1
    assert calls > 1
    for (ours, b), (theirs, c) in zip(whole.points(), parts.points(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
        assert b == c
    np.testing.assert_array_equal(whole.descent.beta(), parts.descent.beta())


@ALL_RULES
def test_the_clock_is_looked_at_after_so_much_work(rule):
    """A row of few values, but 100,000 weights: a dense rule looks after each step."""
    n = 600
    X = sparse.eye_array(n, 100_000, format="csr")
    objective = objective_of(HINGE, Intercept.NONE, X=X, y=np.resize([1.0, -1.0], n))
    core = Core(objective, 0, Constant(0.1), rule=rule, batch_size=1)
    core.run(1, seconds=0.0)
    assert core.descent.sampler.cursor == (256 if rule == "plain" else 1)


def test_long_steps_fold_the_scale_away():
    """With a strong regulariser the scale falls fast: nothing is lost by it."""
    objective = objective_of(HINGE, Intercept.PENALIZED, C=1e-3, scaling=SCALING)
    assert_equal_to_twin(Core(objective, 0, Constant(0.02)), 20, 0)


# ---- the solver


@REGULARIZED_LOSSES
@ALL_INTERCEPTS
def test_the_gap_is_proven_to_fall(loss, intercept):
    solution = fit(larger(loss, intercept))
    assert solution.status is Status.OPTIMAL
    assert 0.0 <= solution.certificate.relative_gap <= 5e-2
    gaps = [record.gap for record in solution.history]
    assert min(gaps) >= 0.0
    assert (np.diff(gaps) <= 1e-12 * gaps[0]).all()


@ALL_RULES
@HINGES
@ALL_INTERCEPTS
def test_every_rule_gets_there(rule, loss, intercept):
    solution = fit(larger(loss, intercept), rule=rule, max_iter=400)
    assert solution.status is Status.OPTIMAL


@pytest.mark.parametrize("schedule", SCHEDULES)
@ALL_RULES
def test_every_pair_of_schedule_and_rule_runs(schedule, rule):
    objective = larger()
    solution = fit(objective, tol=0.0, max_iter=4, schedule=schedule, rule=rule)
    assert solution.status is Status.STOPPED_BY_ITERATIONS
    assert solution.certificate.primal <= objective.primal(np.zeros(20), 0.0)


@pytest.mark.parametrize("setting", ["schedule", "rule"])
def test_unknown_settings_are_named(setting):
    wrong: dict[str, Any] = {setting: "some"}
    with pytest.raises(ValueError, match=f"{setting} must be one of .*, got 'some'"):
        SGD(**wrong)


@pytest.mark.parametrize("batch_size", [0, -1, 2.5, True, "8"])
def test_a_bad_batch_size_is_named(batch_size):
    with pytest.raises(ValueError, match="batch_size must be a whole number of at least 1, got "):
        SGD(batch_size=batch_size)


@pytest.mark.parametrize("momentum", [-0.1, 1.0, math.nan, "0.9", True])
def test_a_bad_momentum_is_named(momentum):
    with pytest.raises(ValueError, match="momentum must be a number of at least 0 and below 1,"):
        SGD(momentum=momentum)


def test_averaging_is_on_or_off():
    wrong: Any = "none"
    with pytest.raises(ValueError, match="averaging must be True or False, got 'none'"):
        SGD(averaging=wrong)


def test_numbers_of_numpy_will_do():
    settings = {"batch_size": np.int64(4), "momentum": np.float64(0.5), "averaging": np.True_}
    assert fit(larger(), rule="momentum", **settings).status is Status.OPTIMAL


def test_the_trial_of_the_first_step_ends_with_the_fit(monkeypatch):
    interrupt, calls = Interrupt(), []

    def descend(self, method, monitor, epoch):
        calls.append(epoch)
        interrupt.requested = True
        return monitor.halted(0)

    monkeypatch.setattr(Descent, "descend", descend)
    objective = larger()
    solution = SGD().solve(objective, Monitor(objective, Stopping(), interrupt), Start(0))
    assert solution.status is Status.INTERRUPTED
    assert calls == [1]


def test_the_same_seed_gives_the_same_bits():
    first, second = fit(larger()), fit(larger())
    np.testing.assert_array_equal(first.w, second.w)
    np.testing.assert_array_equal(first.beta, second.beta)


@ALL_RULES
@ALL_INTERCEPTS
def test_a_start_is_not_lost(rule, intercept):
    objective = larger(intercept=intercept)
    optimum = solve(objective, tol=1e-6)
    start = Start(0, optimum.beta, optimum.b)
    assert fit(objective, tol=1e-5, start=start, rule=rule).n_iter == 0
    moved = fit(objective, tol=0.0, max_iter=1, start=start, rule=rule, schedule=Constant(1e-9))
    np.testing.assert_allclose(moved.w, optimum.w, rtol=1e-3, atol=1e-4)


def test_steps_that_are_too_long_leave_the_best_point():
    objective = larger(SQUARED_HINGE)
    solution = fit(objective, schedule=Constant(1e3), max_iter=1000)
    assert solution.status is Status.DIVERGED
    assert solution.certificate.primal <= objective.primal(np.zeros_like(solution.w), 0.0)


def test_divergence_warns_and_says_what_to_do():
    model = free_svc(loss="squared_hinge", solver=SGD(schedule=Constant(1e3)))
    with pytest.warns(ConvergenceWarning, match=r"diverged .* smaller step0"):
        model.fit(larger(SQUARED_HINGE).problem.X, larger(SQUARED_HINGE).problem.y)
    assert np.isfinite(model.coef_).all()


def test_rows_with_a_weight_may_all_be_left_out_of_the_trial():
    n = 20_000
    X = np.random.default_rng(1).normal(size=(n, 2))
    y, weights = np.sign(X[:, 0]), np.zeros(n)
    drawn = np.random.default_rng(0).choice(n, _TRIAL_ROWS, replace=False)
    weights[np.setdiff1d(np.arange(n), drawn)[:4]] = 1.0
    objective = objective_of(HINGE, X=X, y=y, weights=weights)
    assert _sample(objective, 0) is objective
    assert np.isfinite(fit(objective, max_iter=2).certificate.primal)


@REGULARIZED_LOSSES
@ALL_RULES
def test_one_row_is_enough(loss, rule):
    objective = objective_of(loss, Intercept.NONE, X=np.array([[2.0, 1.0]]), y=np.array([1.0]))
    solution = fit(objective, tol=1e-2, max_iter=4, rule=rule, batch_size=5)
    assert solution.certificate.gap >= 0.0


@ALL_RULES
def test_rows_of_zeros_do_no_harm(rule):
    objective = objective_of(HINGE, X=np.zeros((6, 2)), y=np.array([1.0, 1, 1, 1, -1, -1]))
    solution = fit(objective, rule=rule, max_iter=4)
    np.testing.assert_array_equal(solution.w, 0.0)
    assert np.isfinite(solution.b)


# ---- the perceptron


@pytest.mark.parametrize("rule", ["plain", "adam"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_first_step_does_not_vanish_where_there_is_nothing_to_learn(rule, loss):
    """A short run gains next to nothing on random labels, with any step."""
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(1000, 20)), rng.integers(0, 2, 1000)
    model = free_svc(solver=SGD(rule=rule), loss=loss, tol=0.02, max_iter=500, random_state=0)
    assert model.fit(rows, y).certificate_.relative_gap <= 0.02
    assert model.solution_.info.step0 > 1e-5
