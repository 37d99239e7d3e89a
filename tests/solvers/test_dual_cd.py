"""The compiled epochs of dual coordinate descent equal their NumPy twin, seed by seed."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from made import DTYPES, INTERCEPTS, LOSSES, REGULARIZED, STORAGES, objective_of, store, weights_for
from made import solve as solve_by
from maxmargin import Intercept, Problem, _core
from maxmargin.losses import HINGE
from maxmargin.solvers import DualCD, Monitor, Start, Stopping
from reference import dual_cd as twin
from reference.random import Random

REGULARIZED_LOSSES = pytest.mark.parametrize(
    "loss", [LOSSES[name] for name in REGULARIZED], ids=REGULARIZED
)
FEATURE, ANCHOR = 1.5, 0.25
FOREVER = 1e9


class Core:
    """What the compiled epoch needs, and a call for one more."""

    def __init__(self, objective, seed, X=None):
        problem = objective.problem
        self.problem = Problem(problem.X if X is None else X, problem.y, problem.cost)
        self.terms = objective.terms
        n, d = problem.n_samples, problem.n_features
        self.beta, self.w = np.zeros(n), np.zeros(d + 1)
        self.order = np.arange(n, dtype=np.int32)
        self.bias, self.sweep = _core.Bias(FEATURE, ANCHOR), _core.Sweep(n)
        self.random = _core.Random(seed)

    def run(self, epochs, target=0.0, seconds=FOREVER):
        _core.dual_cd(
            self.problem.rows, self.terms, self.problem.squared_norms, self.bias, False, self.beta,
            self.w, self.order, self.sweep, self.random, epochs, target, seconds,
        )  # fmt: skip


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
        np.testing.assert_allclose(core.w, state.w, rtol=1e-9, atol=1e-12)
        close = [core.sweep.violation, core.sweep.last_gap, core.sweep.dual]
        np.testing.assert_allclose(
            close, [state.violation, state.gap, state.dual], rtol=1e-9, atol=1e-12
        )


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
    np.testing.assert_array_equal(together.w, apart.w)
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
    np.testing.assert_array_equal(whole.w, parts.w)


@REGULARIZED_LOSSES
def test_w_stays_the_combination_of_the_rows(loss):
    objective = make(loss)
    core = Core(objective, 0)
    core.run(10)
    rows = np.c_[objective.problem.X, np.full(60, FEATURE)]
    np.testing.assert_allclose(core.w, core.beta @ rows, rtol=1e-10, atol=1e-12)


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
    for _ in range(3000):
        full.run(1)
        full.sweep.threshold = math.inf
    # What was set aside comes back, as the solver does whenever the certificate disagrees.
    for _ in range(20):
        shrunk.run(300)
        shrunk.sweep.n_active, shrunk.sweep.threshold = 60, math.inf
    assert shrunk.sweep.dual == pytest.approx(full.sweep.dual, rel=1e-10)


def test_the_first_epoch_ends_at_its_best_multiple():
    y = np.resize([1.0, 1.0, -1.0], 40)
    X = y[:, None] * np.c_[np.eye(40), np.full(40, 0.5)]  # what helps one row helps the others
    objective = objective_of(LOSSES["squared_hinge"], Intercept.NONE, X=X, y=y)
    core = Core(objective, 0)
    core.bias = _core.Bias(0.0, 0.0)
    core.run(1)
    values = [objective.dual(scale * core.beta) for scale in (0.99, 1.0, 1.01)]
    assert max(values) == values[1] == pytest.approx(core.sweep.dual)
    np.testing.assert_allclose(core.w[:-1], X.T @ core.beta)


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


@pytest.mark.parametrize("intercept", INTERCEPTS, ids=lambda i: i.value)
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
    core.w = np.zeros(4)
    with pytest.raises(ValueError, match="w has length 4, expected 5"):
        core.run(1)


def test_a_sweep_beyond_the_rows_is_refused():
    core = Core(make(HINGE), 0)
    core.sweep.n_active = 61
    with pytest.raises(ValueError, match="sweep out of bounds"):
        core.run(1)
