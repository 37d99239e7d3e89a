"""The K-class problem: its compiled epochs equal their twin, its optimum that of a QP solver."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import svm

from choices import ALL_INTERCEPTS
from maxmargin import Intercept, Status, _core
from maxmargin.losses import HINGE
from maxmargin.objectives import PrimalDual
from maxmargin.objectives.balance import balance
from maxmargin.solvers import CrammerSinger, Monitor, Start, Stopping
from reference.linear import crammer_singer as textbook
from reference.random import Random
from synthetic import DTYPES, INTERCEPTS, STORAGES, classes, joint, objective_of, store, weights_for
from synthetic import solve as solve_binary

FOREVER = 1e9
SEEDS = st.integers(0, 2**32 - 1)


def solve(objective, tol=1e-8, max_iter=20_000, seed=0, max_time=None):
    monitor = Monitor(objective, Stopping(tol, max_iter, max_time))
    return CrammerSinger().solve(objective, monitor, Start(seed))


class Core:
    def __init__(self, objective, seed, feature=1.5, anchor=0.25, *, narrow=False):
        n, K = objective.problem.n_samples, objective.n_classes
        self.objective, self.feature = objective, feature
        self.alpha, self.W = np.zeros((n, _core.padded(K))), objective.zero(narrow=narrow)
        self.alpha[objective.own] = objective.problem.cost
        self.w_bias, self.anchor = np.zeros(K), anchor * np.arange(K)
        self.order = np.arange(n, dtype=np.int32)
        self.sweep, self.random = _core.Sweep(n), _core.Random(seed)

    def run(self, epochs, target=0.0, seconds=FOREVER):
        rows, classes = self.objective.problem.rows, self.objective.classes
        bias = _core.ClassBias(self.feature, False, self.w_bias, self.anchor)
        state = _core.ClassState(self.alpha, bias, self.order, self.sweep, self.random)
        budget = _core.SweepBudget(epochs, target, seconds)
        _core.crammer_singer(rows, classes, state, self.W, textbook.RELAX, budget)


def made_core(K=5, seed=0, storage="dense", dtype=np.float64, d=11, *, narrow=False):
    X, y = classes(d=d, n_classes=K)
    objective = joint(store(X, storage, dtype), y, K, C=0.8, weights=weights_for(60))
    return Core(objective, seed, narrow=narrow)


# ---- the epoch


def assert_equal_to_twin(core, K, epochs, close):
    X, y = classes(d=11, n_classes=K)
    cost = core.objective.problem.cost
    alpha = np.zeros((60, K))
    alpha[np.arange(60), y] = cost
    state = SimpleNamespace(
        alpha=alpha, W=np.zeros((K, 11)), w_bias=np.zeros(K), anchor=core.anchor.copy(),
        order=list(range(60)), n_active=60, threshold=math.inf, dual=0.0,
    )  # fmt: skip
    random = Random(1)
    for _ in range(epochs):
        core.run(1)
        textbook.sweep(X, y, cost, core.feature, state, random)
        assert core.order.tolist() == state.order
        assert core.sweep.n_active == state.n_active
        np.testing.assert_allclose(core.alpha[:, :K], state.alpha, **close)
        coef = core.objective.coef(core.objective.widened(core.W))
        np.testing.assert_allclose(coef, state.W, **close)
        np.testing.assert_allclose(core.w_bias, state.w_bias, **close)
        numbers = [core.sweep.violations, core.sweep.last_gap, core.sweep.dual]
        np.testing.assert_allclose(numbers, [state.violation, state.gap, state.dual], **close)
    assert state.n_active < 60


@pytest.mark.parametrize("K", [2, 3, 5, 10, 26, 30])
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("dtype", DTYPES, ids=["float32", "float64"])
def test_epochs_equal_the_twin(K, storage, dtype):
    core = made_core(K, 1, storage, dtype)
    assert_equal_to_twin(core, K, 6, {"rtol": 1e-9, "atol": 1e-11})


@pytest.mark.parametrize("K", [2, 3, 8, 10, 30, 60])
@pytest.mark.parametrize("storage", ["csr32", "csr64"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_epochs_in_float32_are_those_of_the_twin_but_for_rounding(K, storage, dtype):
    core = made_core(K, 1, storage, dtype, narrow=True)
    assert core.W.dtype == np.float32
    assert_equal_to_twin(core, K, 4, {"rtol": 1e-4, "atol": 1e-4})


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weights_in_float32_are_refused_for_dense_rows(dtype):
    with pytest.raises(ValueError, match="float32"):
        made_core(5, 1, "dense", dtype, narrow=True).run(1)


def test_an_epoch_left_at_the_deadline_is_taken_up_again():
    whole, parts = made_core(), made_core()
    whole.run(20)
    calls = 0
    while parts.sweep.epochs < 20:
        parts.run(20 - parts.sweep.epochs, seconds=0.0)
        calls += 1
    assert calls > 1
    np.testing.assert_array_equal(whole.alpha, parts.alpha)
    np.testing.assert_array_equal(whole.W, parts.W)


def test_alpha_stays_in_its_simplex_and_the_dual_never_falls():
    core = made_core(10)
    dual = 0.0
    for _ in range(20):
        core.run(1)
        assert (core.alpha >= 0.0).all()
        assert (core.alpha[:, 10:] == 0.0).all()
        np.testing.assert_allclose(core.alpha.sum(axis=1), core.objective.problem.cost, rtol=1e-12)
        assert core.sweep.dual >= dual - 1e-12
        dual = core.sweep.dual


def test_shrinking_does_not_change_the_answer():
    shrunk, full = made_core(), made_core()
    for _ in range(3000):
        full.run(1)
        full.sweep.n_active, full.sweep.threshold = 60, math.inf
    for _ in range(20):
        shrunk.run(300)
        shrunk.sweep.n_active, shrunk.sweep.threshold = 60, math.inf
    assert shrunk.sweep.dual == pytest.approx(full.sweep.dual, rel=1e-9)


# ---- the optimum


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("C", [0.01, 1.0, 5.0])
@ALL_INTERCEPTS
def test_the_optimum_is_that_of_a_qp_solver(n_classes, C, intercept):
    X, y = classes(40, 3, n_classes)
    weights = weights_for(40)
    objective = joint(X, y, n_classes, intercept, C=C, weights=weights, scaling=2.0)
    solution = solve(objective, 1e-6, 100_000)
    features = np.c_[X, np.full(40, 2.0)] if intercept is Intercept.PENALIZED else X
    free = intercept is Intercept.FREE
    W, b, bound = textbook.optimum(features, y, C * weights, n_classes, free=free)
    value = textbook.primal(features, y, C * weights, W, b if free else 0.0)
    assert solution.status is Status.OPTIMAL
    assert solution.certificate.primal == pytest.approx(value, rel=2e-6)
    assert solution.certificate.dual <= value * (1 + 1e-9)
    assert bound <= solution.certificate.primal * (1 + 1e-6)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("dtype", DTYPES, ids=["float32", "float64"])
@ALL_INTERCEPTS
def test_storage_does_not_matter(storage, dtype, intercept):
    X, y = classes()
    first = solve(joint(X, y, 5, intercept), 1e-7)
    second = solve(joint(store(X, storage, dtype), y, 5, intercept), 1e-7)
    reach = sum(math.sqrt(2 * s.certificate.gap) for s in (first, second)) + 1e-10
    assert np.linalg.norm(first.w - second.w) <= reach


@pytest.mark.parametrize("scale", [1e-20, 1e-3, 1.0, 1e4, 1e20])
def test_float32_epochs_do_not_limit_the_proof(scale):
    """What comes first, where the values allow it; far from 1 they do not."""
    X, y = classes(200, 11, 8)
    objective = joint(store(scale * X, "csr32"), y, 8, C=0.5 / scale**2)
    assert objective.problem.fits_float32 == (scale not in (1e-20, 1e20))
    solution = solve(objective, 1e-9)
    assert solution.status is Status.OPTIMAL
    one = solve(joint(X, y, 8, C=0.5), 1e-9)
    assert solution.certificate.primal * scale**2 == pytest.approx(one.certificate.primal, rel=3e-9)


@ALL_INTERCEPTS
def test_two_classes_are_the_hinge_loss_with_twice_the_cost(intercept):
    """w_1 = −w_0 = u/2 makes ½‖W‖² = ¼‖u‖²: half of ½‖u‖² + Σ 2 C_i max(0, 1 − y <u, x>)."""
    X, y = classes(60, 4, 2)
    weights = weights_for(60)
    both = solve(joint(X, y, 2, intercept, weights=weights), 1e-8)
    signs = 2.0 * y - 1.0
    binary = objective_of(HINGE, intercept, C=2.0, weights=weights, X=X, y=signs)
    one = solve_binary(binary, tol=1e-8)
    assert both.certificate.primal == pytest.approx(one.certificate.primal / 2, rel=1e-7)
    np.testing.assert_allclose(both.w[1] - both.w[0], one.w, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(both.w.sum(axis=0), 0.0, atol=1e-8)
    value = binary.primal(both.w[1] - both.w[0], float(both.b[1] - both.b[0]))
    assert value == pytest.approx(one.certificate.primal, rel=1e-6)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("C", [0.1, 1.0])
def test_liblinear_finds_the_same_weights(fit_intercept, C):
    X, y = classes(80, 5, 4)
    mode = Intercept.PENALIZED if fit_intercept else Intercept.NONE
    ours = solve(joint(X, y, 4, mode, C=C, scaling=2.0), 1e-9, 50_000)
    theirs = svm.LinearSVC(
        multi_class="crammer_singer", C=C, tol=1e-9, max_iter=10_000_000, random_state=0,
        fit_intercept=fit_intercept, intercept_scaling=2.0,
    ).fit(X, y)  # fmt: skip
    np.testing.assert_allclose(ours.w, theirs.coef_, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(ours.b, theirs.intercept_ if fit_intercept else 0.0, atol=1e-4)


@settings(max_examples=30)
@given(seed=SEEDS, intercept=st.sampled_from(INTERCEPTS), C=st.sampled_from([0.05, 0.5, 3.0]))
def test_a_duplicate_equals_double_weight(seed, intercept, C):
    X, y = classes(20, 3, 3, seed)
    times = np.random.default_rng(seed).integers(0, 4, size=20)
    times[:3] = 1
    first = solve(joint(X, y, 3, intercept, C=C, weights=times), max_iter=2000)
    repeated = np.repeat(X, times, axis=0), np.repeat(y, times)
    second = solve(joint(*repeated, 3, intercept, C=C), max_iter=2000)
    gaps = [s.certificate.gap for s in (first, second)]
    apart = abs(first.certificate.primal - second.certificate.primal)
    assert apart <= max(gaps) + 1e-11 * first.certificate.primal
    assert np.linalg.norm(first.w - second.w) <= sum(np.sqrt(2 * np.array(gaps))) + 1e-10


# ---- the certificate


@settings(max_examples=60)
@given(
    seed=SEEDS,
    intercept=st.sampled_from(INTERCEPTS),
    scale=st.sampled_from([0.0, 1e-3, 1.0, 1e3]),
    size=st.sampled_from([1e-8, 1.0, 1e8]),
)
def test_any_pair_is_certified_by_its_true_values(seed, intercept, scale, size):
    X, y = classes(15, 3, 4, seed)
    rng = np.random.default_rng(seed)
    objective = joint(X, y, 4, intercept, C=size, weights=rng.choice([0.0, 1.0, 2.0], size=15))
    cost = objective.problem.cost
    coef, b = scale * rng.normal(size=(4, 3)), scale * rng.normal(size=4)
    b = np.zeros(4) if intercept is Intercept.NONE else b
    W = objective.lay_out(coef)
    beta = objective.feasible(size * rng.normal(size=(15, 4)), W, b)
    others = beta.copy()
    others[objective.own] = 0.0
    assert (others <= 0.0).all()
    assert (beta[objective.own] <= cost * (1 + 1e-12)).all()
    np.testing.assert_allclose(beta.sum(axis=1), 0.0, atol=1e-12 * size)
    if intercept is Intercept.FREE:
        np.testing.assert_allclose(beta.sum(axis=0), 0.0, atol=1e-12 * size)
    certificate = objective.certify(PrimalDual(objective.coef(W), b, beta))
    features, weights = X, coef
    if intercept is Intercept.PENALIZED:
        features, weights, b = np.c_[X, np.ones(15)], np.c_[coef, b], np.zeros(4)
    value = textbook.primal(features, y, cost, weights, b)
    bound = textbook.dual(features, y, beta)
    rounding = 1e-9 * (abs(value) + abs(bound)) + 1e-300
    assert certificate.gap >= 0.0
    assert certificate.primal == pytest.approx(value, abs=rounding)
    assert certificate.dual == pytest.approx(bound, abs=rounding)
    assert certificate.gap == pytest.approx(value - bound, abs=rounding)
    assert objective.primal(coef, weights[:, 3] if intercept is Intercept.PENALIZED else b) == (
        pytest.approx(value, abs=rounding)
    )
    assert objective.dual(beta) == pytest.approx(bound, abs=rounding)


@settings(max_examples=40)
@given(seed=SEEDS, n_classes=st.integers(2, 30), n=st.integers(1, 12))
def test_balancing_keeps_the_point_feasible(seed, n_classes, n):
    rng = np.random.default_rng(seed)
    y, cost = rng.integers(n_classes, size=n), rng.choice([0.0, 0.5, 2.0], size=n)
    alpha = rng.dirichlet(np.full(n_classes, 0.2), size=n) * cost[:, None]
    own = np.arange(n), y
    beta = -alpha
    beta[own] += cost
    balance(beta, own, cost, rng.normal(size=(n, n_classes)))
    np.testing.assert_allclose(beta.sum(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(beta.sum(axis=1), 0.0, atol=1e-12)
    upper = np.zeros_like(beta)
    upper[own] = cost
    assert (beta <= upper + 1e-12).all()


@ALL_INTERCEPTS
@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
@pytest.mark.parametrize("max_iter", [1, 3, 20_000])
def test_optimal_means_that_the_gap_is_proven(intercept, tol, max_iter):
    X, y = classes()
    solution = solve(joint(X, y, 5, intercept), tol, max_iter)
    assert (solution.status is Status.OPTIMAL) == (solution.certificate.relative_gap <= tol)
    _, epochs, primal, dual, gap = (np.array(c) for c in zip(*solution.history, strict=True))
    assert (np.diff(epochs) >= 0).all()
    assert (np.diff(primal) <= 0).all()
    assert (np.diff(dual) >= 0).all()
    assert (gap >= 0).all()


def test_a_time_limit_leaves_a_proven_model():
    X, y = classes(2000, 20, 10)
    solution = solve(joint(10.0 * X, y, 10, C=100.0), 1e-12, None, max_time=0.05)
    assert solution.status is Status.STOPPED_BY_TIME
    assert np.isfinite(solution.w).all()
    assert solution.certificate.gap >= 0.0


@ALL_INTERCEPTS
def test_rows_of_zeros_are_solved(intercept):
    X, y = classes()
    X[::2] = 0.0
    assert solve(joint(X, y, 5, intercept), 1e-4).status is Status.OPTIMAL
    nothing = solve(joint(np.zeros((60, 4)), y, 5, intercept), 1e-4)
    assert nothing.status is Status.OPTIMAL
    assert (nothing.w == 0.0).all()


def test_a_start_at_the_optimum_is_recognised():
    X, y = classes()
    objective = joint(X, y, 5, Intercept.FREE)
    first = solve(objective, 1e-6)
    monitor = Monitor(objective, Stopping(1e-5, 100))
    again = CrammerSinger().solve(objective, monitor, Start(0, first.beta, first.b))
    assert again.status is Status.OPTIMAL
    assert again.n_iter <= 20
