"""The compiled epochs of dual coordinate descent equal their NumPy twin, seed by seed."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from choices import ALL_INTERCEPTS, REGULARIZED_LOSSES
from maxmargin import Intercept, Problem, Status, _core
from maxmargin.losses import HINGE
from maxmargin.solvers import DualCD, Monitor, Start, Stopping
from reference.linear import dual_cd as twin
from reference.random import Random
from synthetic import DTYPES, LOSSES, STORAGES, objective_of, store, weights_for
from synthetic import solve as solve_by

FEATURE, ANCHOR = 1.5, 0.25
FOREVER = 1e9


class Core:
    """What the compiled epoch needs, and a call for one more."""

    def __init__(self, objective, seed, X=None, weights=np.float64):
        problem = objective.problem
        self.problem = Problem(problem.X if X is None else X, problem.y, problem.cost)
        self.terms = objective.terms
        n, d = problem.n_samples, problem.n_features
        self.beta, self.w = np.zeros(n), np.zeros(d, weights)
        self.order = np.arange(n, dtype=np.int32)
        self.bias, self.sweep = _core.Bias(FEATURE, ANCHOR), _core.Sweep(n)
        self.random = _core.Random(seed)

    @property
    def weights(self):
        return np.append(self.w, self.sweep.bias_weight)

    def run(self, epochs, target=0.0, seconds=FOREVER, *, free=False):
        problem = _core.DualProblem(self.problem.rows, self.terms, self.problem.squared_norms)
        self.bias = _core.Bias(self.bias.feature, self.bias.anchor, free)
        state = _core.DualState(self.beta, self.order, self.bias, self.sweep, self.random)
        _core.dual_cd(problem, state, self.w, _core.SweepBudget(epochs, target, seconds))


def twin_state(objective):
    n, d = objective.problem.n_samples, objective.problem.n_features
    return SimpleNamespace(
        beta=np.zeros(n), w=np.zeros(d + 1), order=list(range(n)), n_active=n,
        threshold=math.inf, dual=0.0, first=True,
    )  # fmt: skip


def make(loss):
    return objective_of(loss, C=0.8, weights=weights_for(60))


@REGULARIZED_LOSSES
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("dtype", DTYPES, ids=["float32", "float64"])
@pytest.mark.parametrize("seed", [0, 1])
def test_epochs_equal_the_twin(loss, storage, dtype, seed):
    objective = make(loss)
    core = Core(objective, seed, store(objective.problem.X, storage, dtype))
    state, random = twin_state(objective), Random(seed)
    for _ in range(6):
        core.run(1)
        twin.sweep(objective, FEATURE, ANCHOR, state, random)
        assert core.order.tolist() == state.order
        assert core.sweep.n_active == state.n_active
        np.testing.assert_allclose(core.beta, state.beta, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(core.weights, state.w, rtol=1e-9, atol=1e-12)
        sweep = core.sweep
        numbers = [sweep.violation, sweep.violations, sweep.last_gap, sweep.dual]
        expected = [state.violation, state.violations, state.gap, state.dual]
        np.testing.assert_allclose(numbers, expected, rtol=1e-9, atol=1e-12)
        # Of the violations that a mean is of, one may be nothing but rounding.
        assert sweep.threshold == pytest.approx(state.threshold, rel=0.05)


@REGULARIZED_LOSSES
@pytest.mark.parametrize("storage", STORAGES)
def test_weights_in_float32_follow_the_twin(loss, storage):
    objective = make(loss)
    X = store(objective.problem.X, storage, np.float64)
    core = Core(objective, 1, X, weights=np.float32)
    state, random = twin_state(objective), Random(1)
    for _ in range(2):
        core.run(1)
        twin.sweep(objective, FEATURE, ANCHOR, state, random)
    assert core.w.dtype == np.float32
    np.testing.assert_allclose(core.weights, state.w, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(core.sweep.bias_weight, FEATURE * core.beta.sum(), rtol=1e-12)
    np.testing.assert_allclose(core.beta, state.beta, rtol=1e-4, atol=1e-5)


def wide_objective(loss, intercept, C=1.0, scale=1.0):
    """Text-like rows: more columns than weights fit in a cache."""
    random = np.random.default_rng(0)
    X = sparse.random(300, 20_000, density=2e-3, format="csr", random_state=0)
    X.data = scale * (1.0 + X.data)
    y = np.where(random.random(300) < 0.5, 1.0, -1.0)
    return objective_of(loss, intercept, X=X, y=y, C=C)


@REGULARIZED_LOSSES
@ALL_INTERCEPTS
@pytest.mark.parametrize("tol", [1e-3, 1e-5, 9e-6, 1e-9])
def test_wide_rows_are_proven_to_any_tolerance(loss, intercept, tol):
    solution = solve_by(wide_objective(loss, intercept), "dual_cd", tol=tol)
    assert solution.certificate.relative_gap <= tol
    assert solution.w.dtype == np.float64


@pytest.mark.parametrize(("C", "scale"), [(1e-40, 1.0), (1e22, 1e-3), (1.0, 1e-12), (1e6, 1e3)])
def test_wide_rows_of_any_size_are_proven(C, scale):
    objective = wide_objective(LOSSES["squared_hinge"], Intercept.NONE, C, scale)
    solution = solve_by(objective, "dual_cd", tol=1e-4)
    assert solution.certificate.relative_gap <= 1e-4
    assert solution.w.any()


def test_weights_are_summed_anew_after_a_look_that_is_no_proof(monkeypatch):
    kinds = []
    sweep = _core.dual_cd

    def spied(*arguments):
        kinds.append(arguments[2].dtype)
        sweep(*arguments)

    statuses, judge = [], Monitor.judge

    def doubting(self, *arguments):
        statuses.append(judge(self, *arguments))
        return Status.RUNNING if len(statuses) == 1 else statuses[-1]

    monkeypatch.setattr(_core, "dual_cd", spied)
    monkeypatch.setattr(Monitor, "judge", doubting)
    solution = solve_by(wide_objective(HINGE, Intercept.NONE), "dual_cd", tol=1e-4)
    first = kinds.index(np.float64)
    assert first > 0
    assert set(kinds[:first]) == {np.dtype(np.float32)}
    assert set(kinds[first:]) == {np.dtype(np.float64)}
    assert solution.certificate.relative_gap <= 1e-4


def test_the_twin_sees_rows_set_aside():
    objective = make(HINGE)
    state, random = twin_state(objective), Random(0)
    for _ in range(6):
        twin.sweep(objective, FEATURE, ANCHOR, state, random)
    assert state.n_active < 60


@REGULARIZED_LOSSES
def test_many_epochs_in_one_call_equal_one_at_a_time(loss):
    together, apart = Core(make(loss), 3), Core(make(loss), 3)
    together.run(5)
    for _ in range(5):
        apart.run(1)
    np.testing.assert_array_equal(together.beta, apart.beta)
    np.testing.assert_array_equal(together.weights, apart.weights)
    assert together.sweep.epochs == apart.sweep.epochs == 5


@REGULARIZED_LOSSES
def test_an_epoch_left_at_the_deadline_is_taken_up_again(loss):
    whole, parts = Core(make(loss), 3), Core(make(loss), 3)
    whole.run(20)
    calls = 0
    while parts.sweep.epochs < 20:
        parts.run(20 - parts.sweep.epochs, seconds=0.0)
        calls += 1
    assert calls > 1
    np.testing.assert_array_equal(whole.beta, parts.beta)
    np.testing.assert_array_equal(whole.weights, parts.weights)


@REGULARIZED_LOSSES
def test_w_stays_the_combination_of_the_rows(loss):
    objective = make(loss)
    core = Core(objective, 0)
    core.run(10)
    rows = np.c_[objective.problem.X, np.full(60, FEATURE)]
    np.testing.assert_allclose(core.weights, core.beta @ rows, rtol=1e-10, atol=1e-12)


@REGULARIZED_LOSSES
def test_beta_stays_in_its_box(loss):
    objective = make(loss)
    core = Core(objective, 0)
    for _ in range(10):
        core.run(1)
        assert (core.beta >= objective.box.lower).all()
        assert (core.beta <= objective.box.upper).all()


@REGULARIZED_LOSSES
def test_the_dual_never_falls(loss):
    core = Core(make(loss), 0)
    duals = [0.0]
    for _ in range(20):
        core.run(1)
        duals.append(core.sweep.dual)
    assert (np.diff(duals) >= -1e-12).all()


@REGULARIZED_LOSSES
def test_shrinking_does_not_change_the_answer(loss):
    shrunk, full = Core(make(loss), 0), Core(make(loss), 0)
    full.sweep.share = 1.0
    for _ in range(3000):
        full.run(1)
        full.sweep.threshold = math.inf
    # What was shrunk comes back, as the solver does whenever the certificate disagrees.
    for _ in range(20):
        shrunk.run(300)
        shrunk.sweep.n_active, shrunk.sweep.threshold = 60, math.inf
    assert shrunk.sweep.dual == pytest.approx(full.sweep.dual, rel=1e-10)


def test_a_cold_start_tastes_a_fifth_of_the_rows():
    cold, warm = Core(make(HINGE), 0), Core(make(HINGE), 0)
    warm.sweep.share = 1.0
    cold.run(1)
    warm.run(1)
    assert (cold.sweep.steps, warm.sweep.steps) == (12 + 60, 60)
    assert cold.sweep.epochs == warm.sweep.epochs == 1


@REGULARIZED_LOSSES
def test_the_dual_is_kept_while_the_anchor_moves(loss):
    objective = make(loss)
    core = Core(objective, 0)
    problem = objective.problem
    for _ in range(5):
        core.run(1, free=True)
        value = objective.loss.conjugate(problem.y, problem.cost, core.beta).sum()
        value -= core.bias.anchor * core.beta.sum() + 0.5 * core.weights @ core.weights
        assert core.sweep.dual == pytest.approx(value, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_targets_far_from_0_cost_no_epochs(loss, C):
    random = np.random.default_rng(0)
    X = random.standard_normal((300, 10))
    y = X @ random.standard_normal(10) + random.standard_normal(300)
    near, far = (
        solve_by(objective_of(LOSSES[loss], Intercept.FREE, X=X, y=y + b, C=C), "dual_cd", tol=1e-4)
        for b in (0.0, 1000.0)
    )
    assert near.status is far.status is Status.OPTIMAL
    assert far.n_iter <= 3 * near.n_iter + 10
    assert far.b == pytest.approx(near.b + 1000.0, abs=0.2)


@pytest.mark.parametrize("share", [0.0, 1.5, math.nan])
def test_a_share_beyond_the_rows_is_refused(share):
    core = Core(make(HINGE), 0)
    core.sweep.share = share
    with pytest.raises(ValueError, match="share"):
        core.run(1)


def test_an_early_end_is_taken_up_again_after_the_deadline():
    random = np.random.default_rng(0)
    X, y = random.standard_normal((2000, 5)), random.choice([-1.0, 1.0], 2000)
    cores = [Core(objective_of(HINGE, X=X, y=y), 3) for _ in range(2)]
    whole, parts = cores
    whole.run(1000, target=1e-2)
    while parts.sweep.epochs < whole.sweep.epochs:
        parts.run(1, target=1e-2, seconds=0.0)
    assert whole.sweep.left == 1e-2 * whole.sweep.dual  # by a share of an epoch
    np.testing.assert_array_equal(whole.beta, parts.beta)


def test_while_the_anchor_moves_rows_need_more_slack_to_be_set_aside():
    tied, free = Core(make(HINGE), 0), Core(make(HINGE), 0)
    tied.sweep.share = free.sweep.share = 1.0
    tied.run(1)
    free.run(1, free=True)
    shift = FEATURE * free.sweep.bias_weight
    assert free.bias.anchor == pytest.approx(ANCHOR + shift)
    assert free.sweep.threshold == pytest.approx(tied.sweep.threshold + 2 * abs(shift))


def test_a_last_epoch_may_be_a_share_of_one():
    core = Core(make(LOSSES["squared_hinge"]), 0)
    sweep, target = core.sweep, 1e-3
    for _ in range(100):
        core.run(1, target)
        if sweep.share < 1.0:
            break
    assert 0.3 <= sweep.share < 0.9
    epochs, steps, active, share = sweep.epochs, sweep.steps, sweep.n_active, sweep.share
    core.run(100, target)
    assert sweep.epochs == epochs + 1
    assert sweep.share == 1.0
    assert share * active <= sweep.steps - steps < share * active + 1
    assert sweep.left == target * sweep.dual


def test_the_forecast_multiplies_by_what_the_last_epoch_left():
    core = Core(make(LOSSES["squared_hinge"]), 0)
    gaps, lefts = [], []
    for _ in range(4):
        core.run(1)
        gaps.append(core.sweep.last_gap)
        lefts.append(core.sweep.left)
    rates = [1.0, math.sqrt(gaps[1] / gaps[0]), gaps[2] / gaps[1], gaps[3] / gaps[2]]
    assert max(rates[1:]) < 1.0
    np.testing.assert_allclose(lefts, np.multiply(gaps, rates))
    core.sweep.share = 0.5
    core.run(1)
    core.run(1)  # the one before, of a share, is no measure: the rate is the one before that
    np.testing.assert_allclose(core.sweep.left, core.sweep.last_gap * rates[3])


@pytest.mark.parametrize("loss", [LOSSES["hinge"], LOSSES["squared_hinge"]], ids=lambda x: x.name)
def test_a_looser_tolerance_costs_no_more_epochs(loss):
    random = np.random.default_rng(3)
    X = sparse.random(3000, 20_000, density=2e-3, format="csr", random_state=3)
    X.data = 1.0 + X.data
    y = np.sign(X @ random.normal(size=20_000) + 3.0 * random.normal(size=3000))
    objective = objective_of(loss, Intercept.NONE, X=X, y=y, C=0.1)
    solutions = [solve_by(objective, "dual_cd", tol=tol) for tol in (1e-1, 1e-2, 1e-3, 1e-4)]
    epochs = [solution.n_iter for solution in solutions]
    assert epochs == sorted(epochs)
    assert [len(solution.history) for solution in solutions] == [1, 1, 1, 1]


def test_the_epoch_stops_at_its_target():
    core = Core(make(HINGE), 0)
    core.run(10_000, target=1e-3)
    assert core.sweep.epochs < 10_000
    assert core.sweep.left <= 1e-3 * core.sweep.dual


def test_samples_of_cost_zero_stay_at_zero():
    objective = make(HINGE)
    core = Core(objective, 0)
    core.run(10)
    np.testing.assert_array_equal(core.beta[objective.problem.cost == 0.0], 0.0)


@ALL_INTERCEPTS
def test_the_same_seed_gives_the_same_bits(intercept):
    objective = objective_of(HINGE, intercept)
    first, second = (solve_by(objective, "dual_cd", tol=1e-6, seed=5) for _ in range(2))
    np.testing.assert_array_equal(first.w, second.w)
    np.testing.assert_array_equal(first.beta, second.beta)


def test_a_start_at_the_optimum_needs_no_epoch():
    objective = objective_of(HINGE, Intercept.NONE)
    optimum = solve_by(objective, "dual_cd", tol=1e-8)
    again = DualCD().solve(
        objective, Monitor(objective, Stopping(1e-6, 100)), Start(0, optimum.beta, optimum.b)
    )
    assert again.n_iter == 0


def test_wrong_lengths_are_refused():
    core = Core(make(HINGE), 0)
    core.w = np.zeros(5)
    with pytest.raises(ValueError, match="w has length 5, expected 4"):
        core.run(1)


def test_a_sweep_beyond_the_rows_is_refused():
    core = Core(make(HINGE), 0)
    core.sweep.n_active = 61
    with pytest.raises(ValueError, match="sweep out of bounds"):
        core.run(1)
