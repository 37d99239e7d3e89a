"""The compiled steps of SGD equal their NumPy twin; schedules, the perceptron, and the solver."""

import math
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from maxmargin import Intercept, Problem, Status, _core, certify
from maxmargin.certificate import total
from maxmargin.losses import HINGE, PERCEPTRON, SQUARED_HINGE
from maxmargin.runtime.interrupt import Interrupt
from maxmargin.solvers import Monitor, Start, Stopping
from maxmargin.solvers.stochastic.epochs import Descent, curvature
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
from synthetic import (
    INTERCEPTS,
    LOSSES,
    REGULARIZED,
    STORAGES,
    free_svc,
    objective_of,
    overlapping,
    separable,
    solve,
    store,
    weights_for,
)

REGULARIZED_LOSSES = pytest.mark.parametrize(
    "loss", [LOSSES[name] for name in REGULARIZED], ids=REGULARIZED
)
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
    monitor = None  # nothing is tried out
    for loss in (HINGE, SQUARED_HINGE):
        objective = larger(loss)
        found = SGD(schedule="inverse_time").steps(objective, monitor, 0)
        assert found == InverseTime(t0=curvature(objective))
        assert SGD(schedule=InverseTime(t0=7.0)).steps(objective, monitor, 0).t0 == 7.0


# ---- the solver


def fit(objective, tol=5e-2, max_iter=200, start=None, **settings):
    monitor = Monitor(objective, Stopping(tol, max_iter))
    return SGD(**settings).solve(objective, monitor, start or Start(0))


def larger(loss=HINGE, intercept=Intercept.FREE, C=0.1):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 20))
    y = X @ rng.normal(size=20) / 2 + 0.5 + rng.normal(size=2000)
    y = np.where(y > 0, 1.0, -1.0) if loss.one_sided else y
    return objective_of(loss, intercept, C=C, X=X, y=y)


@REGULARIZED_LOSSES
@pytest.mark.parametrize("intercept", INTERCEPTS, ids=lambda i: i.value)
def test_the_gap_is_proven_to_fall(loss, intercept):
    solution = fit(larger(loss, intercept))
    assert solution.status is Status.OPTIMAL
    assert 0.0 <= solution.certificate.relative_gap <= 5e-2
    gaps = [record.gap for record in solution.history]
    assert min(gaps) >= 0.0
    assert (np.diff(gaps) <= 1e-12 * gaps[0]).all()


@ALL_RULES
@pytest.mark.parametrize("loss", [HINGE, SQUARED_HINGE], ids=["hinge", "squared_hinge"])
@pytest.mark.parametrize("intercept", INTERCEPTS, ids=lambda i: i.value)
def test_every_rule_gets_there(rule, loss, intercept):
    solution = fit(larger(loss, intercept), rule=rule, max_iter=400)
    assert solution.status is Status.OPTIMAL


@pytest.mark.parametrize("schedule", ["inverse_time", "decay", Constant(1e-3)], ids=str)
@pytest.mark.parametrize("loss", [HINGE, SQUARED_HINGE], ids=["hinge", "squared_hinge"])
def test_every_schedule_gets_there(schedule, loss):
    assert fit(larger(loss), schedule=schedule).status is Status.OPTIMAL


@pytest.mark.parametrize("schedule", SCHEDULES)
@ALL_RULES
def test_every_pair_of_schedule_and_rule_runs(schedule, rule):
    objective = larger()
    solution = fit(objective, tol=0.0, max_iter=4, schedule=schedule, rule=rule)
    assert solution.status is Status.STOPPED_BY_ITERATIONS
    assert solution.certificate.primal <= objective.primal(np.zeros(20), 0.0)


@pytest.mark.parametrize("setting", ["schedule", "rule"])
def test_unknown_settings_are_named(setting):
    with pytest.raises(ValueError, match=f"{setting} must be one of .*, got 'some'"):
        SGD(**{setting: "some"})


@pytest.mark.parametrize("batch_size", [0, -1, 2.5, True, "8"])
def test_a_bad_batch_size_is_named(batch_size):
    with pytest.raises(ValueError, match="batch_size must be a whole number of at least 1, got "):
        SGD(batch_size=batch_size)


@pytest.mark.parametrize("momentum", [-0.1, 1.0, math.nan, "0.9", True])
def test_a_bad_momentum_is_named(momentum):
    with pytest.raises(ValueError, match="momentum must be a number of at least 0 and below 1,"):
        SGD(momentum=momentum)


def test_averaging_is_on_or_off():
    with pytest.raises(ValueError, match="averaging must be True or False, got 'none'"):
        SGD(averaging="none")


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
@pytest.mark.parametrize("intercept", INTERCEPTS, ids=lambda i: i.value)
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


def test_a_perceptron_that_runs_away_at_once_has_a_model():
    X = 1e99 * np.random.default_rng(0).normal(size=(50, 3))
    y = np.resize([1.0, -1.0], 50)
    solution = fit(objective_of(LOSSES["perceptron"], X=X, y=y), max_iter=4)
    assert solution.status is Status.DIVERGED
    assert solution.w.shape == (3,)


def test_rows_with_a_weight_may_all_be_left_out_of_the_trial():
    n = 20_000
    X = np.random.default_rng(1).normal(size=(n, 2))
    y, weights = np.sign(X[:, 0]), np.zeros(n)
    drawn = np.random.default_rng(0).choice(n, _TRIAL_ROWS, replace=False)
    weights[np.setdiff1d(np.arange(n), drawn)[:4]] = 1.0
    objective = objective_of(HINGE, X=X, y=y, weights=weights)
    assert _sample(objective, 0) is objective
    assert np.isfinite(fit(objective, max_iter=2).certificate.primal)


def test_the_perceptron_keeps_its_last_point_on_data_that_overlap():
    """The loss is least at w = 0: choosing by it would undo the learning."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.where(X[:, 0] + 0.7 * rng.normal(size=300) > 0, 1.0, -1.0)
    objective = objective_of(LOSSES["perceptron"], X=X, y=y)
    short, long = (fit(objective, tol=1e-9, max_iter=m) for m in (1, 12))
    assert long.history[-1].primal == long.certificate.primal
    assert np.linalg.norm(long.w) > np.linalg.norm(short.w)


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


@pytest.mark.parametrize("intercept", INTERCEPTS, ids=lambda i: i.value)
@pytest.mark.parametrize("batch_size", [1, 5])
def test_the_perceptron_separates(intercept, batch_size):
    X, y = separable()
    objective = objective_of(PERCEPTRON, intercept, X=X, y=y)
    solution = fit(objective, batch_size=batch_size, max_iter=1000)
    assert solution.status is Status.OPTIMAL
    assert solution.certificate.gap == 0.0
    assert (y * (X @ solution.w + solution.b) > 0.0).all()


@pytest.mark.parametrize("seed", range(5))
def test_mistakes_keep_to_novikoffs_bound(seed):
    """At most (R/γ)², for rows no longer than R and a margin γ of some unit vector."""
    X, y = separable(seed=seed)
    objective = objective_of(PERCEPTRON, Intercept.NONE, X=X, y=y)
    mistakes = fit(objective, max_iter=10_000, start=Start(seed)).info.mistakes
    radius = np.linalg.norm(X, axis=1).max()
    hard = solve(objective_of(HINGE, Intercept.NONE, X=X, y=y, C=1e6), tol=1e-6).w
    margin = (y * (X @ hard)).min() / np.linalg.norm(hard)
    assert 0 < mistakes <= (radius / margin) ** 2


def test_the_perceptron_moves_by_the_rows_that_it_gets_wrong():
    """One epoch from w = 0: the boundary counts as wrong."""
    X, y = np.array([[2.0, 1.0]]), np.array([-1.0])
    solution = fit(objective_of(PERCEPTRON, Intercept.NONE, X=X, y=y))
    np.testing.assert_array_equal(solution.w, [-2.0, -1.0])
    assert solution.info.mistakes == 1


def test_data_that_are_not_separable_are_not_called_solved():
    X, y = overlapping()
    solution = fit(objective_of(PERCEPTRON, X=X, y=y), max_iter=50)
    assert solution.status is Status.STOPPED_BY_ITERATIONS
    assert solution.certificate.primal > 0.0
    assert solution.certificate.relative_gap == np.inf


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("intercept", INTERCEPTS, ids=lambda i: i.value)
@pytest.mark.parametrize("n_weightless", [0, 1])
def test_a_perceptron_does_not_end_on_the_boundary(seed, intercept, n_weightless):
    """Corners of a cube are often met by f = 0 exactly."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, size=(9, 4)).astype(float)
    y = np.where(X @ rng.permutation([1.0, 2.0, -3.0, 1.0]) > 0.5, 1.0, -1.0)
    y[:n_weightless] *= -1.0
    weights = np.ones(9)
    weights[:n_weightless] = 0.0
    objective = objective_of(PERCEPTRON, intercept, X=X, y=y, weights=weights)
    solution = fit(objective, max_iter=500)
    mistakes = y * (X @ solution.w + solution.b) <= 0.0
    assert (solution.status is Status.OPTIMAL) == (not mistakes[n_weightless:].any())
    if intercept is not Intercept.NONE:
        assert solution.status is Status.OPTIMAL


def test_zero_is_no_answer_of_a_perceptron():
    X, y = separable()
    certificate = certify(objective_of(PERCEPTRON, X=X, y=y), np.zeros(3), 0.0, np.zeros(len(y)))
    assert certificate.gap == 0.0
    assert certificate.relative_gap == np.inf
    assert "not every sample is on its side" in certificate.sentence()
    assert total([certificate, certificate]).relative_gap == np.inf


def test_a_warm_perceptron_goes_on_until_it_separates():
    X, y = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]), [0, 0, 0, 1]
    model = free_svc(loss="perceptron", warm_start=True, max_iter=1, random_state=0)
    for _ in range(50):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
        strictly = (np.where(y, 1.0, -1.0) * model.decision_function(X) > 0.0).all()
        assert (model.certificate_.status is Status.OPTIMAL) == strictly
    assert model.score(X, y) == 1.0


def test_a_run_that_diverges_is_not_said_to_be_proven():
    X = np.random.default_rng(0).normal(size=(50, 3))
    model = free_svc(loss="perceptron", solver=SGD(schedule=Constant(1e100)))
    with pytest.warns(ConvergenceWarning, match=r"diverged .*best before: no separator found"):
        model.fit(X, np.resize([1, 0], 50))
    assert model.certificate_.status is Status.DIVERGED


def test_the_size_of_the_perceptrons_features_does_not_matter():
    X, y = separable()
    small, large = (
        fit(objective_of(PERCEPTRON, Intercept.FREE, X=size * X, y=y)) for size in (1.0, 1024.0)
    )
    assert small.info.mistakes == large.info.mistakes


@pytest.mark.parametrize("rule", ["plain", "adam"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_first_step_does_not_vanish_where_there_is_nothing_to_learn(rule, loss):
    """A short run gains next to nothing on random labels, with any step."""
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(1000, 20)), rng.integers(0, 2, 1000)
    model = free_svc(solver=SGD(rule=rule), loss=loss, tol=0.02, max_iter=500, random_state=0)
    assert model.fit(rows, y).certificate_.relative_gap <= 0.02
    assert model.solution_.info.step0 > 1e-5
