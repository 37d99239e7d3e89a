"""‖w‖₁ with the squared hinge: its compiled epochs equal their twin, its optimum that of others."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import l1_min_c

from choices import ALL_INTERCEPTS
from maxmargin import Intercept, LinearObjective, LinearSVC, Problem, Status, _core
from maxmargin.losses import HINGE, SQUARED_HINGE
from maxmargin.objectives.base import PrimalDual
from maxmargin.objectives.l1 import L1Objective
from maxmargin.runtime.interrupt import Interrupt
from maxmargin.solvers import Monitor, Start, Stopping
from maxmargin.solvers.linear.l1 import L1
from reference.linear import l1 as textbook
from synthetic import DTYPES, STORAGES, overlapping, store, weights_for

ALL_STORAGES = pytest.mark.parametrize("storage", STORAGES)
EXTENDED = np.longdouble


def go_on():
    return False


def posed(data, C=1.0, intercept=Intercept.PENALIZED, *, scaling=1.0, weights=None):
    X, y = data
    cost = np.full(len(y), C) if weights is None else C * weights
    return L1Objective(Problem(X, y, cost), SQUARED_HINGE, intercept, scaling)


def solve(objective, tol=1e-9, max_iter=20_000, max_time=None, **start):
    monitor = Monitor(objective, Stopping(tol, max_iter, max_time))
    return L1().solve(objective, monitor, Start(**start))


def pair(storage, dtype, intercept, n=40, d=12, scaling=2.0):
    """The core's working set of all columns, and its twin."""
    X, y = overlapping(n, d)
    cost = 0.7 * weights_for(n)
    rows = Problem(store(X, storage, dtype), y, cost).rows
    core = _core.L1WorkingSet(rows, y, cost)
    if intercept is not Intercept.NONE:
        free = intercept is Intercept.FREE
        core.append_constant(1.0 if free else scaling, 0.0 if free else 1.0)
    core.append(rows, np.arange(d, dtype=np.int32))
    A, penalty = textbook.with_intercept(X, intercept, scaling)
    twin = textbook.WorkingSet(A, y, cost, penalty)
    core.restart(np.zeros(len(penalty)))
    return core, twin


def assert_agree(core, twin):
    np.testing.assert_allclose(core.w, twin.w, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(core.residual, twin.r, rtol=1e-7, atol=1e-8)
    assert core.primal == pytest.approx(twin.primal, rel=1e-9)
    assert core.dual == pytest.approx(twin.dual, rel=1e-7)


# ---- the core and its twin


@ALL_INTERCEPTS
@ALL_STORAGES
@pytest.mark.parametrize("dtype", DTYPES)
def test_epochs_equal_their_twin(storage, dtype, intercept):
    core, twin = pair(storage, dtype, intercept)
    assert_agree(core, twin)
    for _ in range(3):
        core.descend(10, 0.0, go_on)
        twin.descend()
        assert_agree(core, twin)
    assert core.epochs == 30


@ALL_INTERCEPTS
@ALL_STORAGES
def test_a_proximal_newton_step_equals_its_twin(storage, intercept):
    core, twin = pair(storage, np.float64, intercept)
    core.descend(10, 0.0, go_on)
    twin.descend()
    core.newton(1e-13, 500, go_on)
    twin.proximal_newton()
    assert_agree(core, twin)


@ALL_INTERCEPTS
@ALL_STORAGES
def test_a_newton_step_on_a_support_of_few_columns_equals_its_twin(storage, intercept):
    core, twin = pair(storage, np.float64, intercept, d=60)
    w = np.zeros(len(twin.w))
    w[[3, 7, 20]] = 0.3, -0.2, 0.1
    core.restart(w)
    twin.restart(w)
    core.newton(1e-13, 20, go_on)
    twin.newton()
    assert_agree(core, twin)


def test_columns_may_be_packed_in_parts():
    X, y = overlapping(40, 12)
    cost = np.ones(40)
    for storage in STORAGES:
        rows = Problem(store(X, storage), y, cost).rows
        whole, parts = (_core.L1WorkingSet(rows, y, cost) for _ in range(2))
        whole.append(rows, np.array([5, 2, 9], dtype=np.int32))
        for j in (5, 2, 9):
            parts.append(rows, np.array([j], dtype=np.int32))
        for core in (whole, parts):
            core.restart(np.zeros(3))
            core.descend(10, 0.0, go_on)
        np.testing.assert_array_equal(whole.w, parts.w)


def test_scaled_costs_are_other_costs():
    X, y = overlapping(40, 12)
    rows, cost = Problem(X, y, np.ones(40)).rows, weights_for(40)
    scaled, plain = _core.L1WorkingSet(rows, y, cost), _core.L1WorkingSet(rows, y, 3.0 * cost)
    scaled.scale_costs(3.0)
    for core in (scaled, plain):
        core.append(rows, np.arange(12, dtype=np.int32))
        core.restart(np.zeros(12))
        core.descend(10, 0.0, go_on)
    np.testing.assert_allclose(scaled.w, plain.w, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("features", [[-1], [12]])
def test_columns_that_do_not_exist_are_refused(features):
    X, y = overlapping(40, 12)
    rows = Problem(X, y, np.ones(40)).rows
    with pytest.raises(ValueError, match="features out of bounds"):
        _core.L1WorkingSet(rows, y, np.ones(40)).append(rows, np.array(features, dtype=np.int32))


# ---- the optimum


@ALL_INTERCEPTS
@pytest.mark.parametrize("C", [1e-2, 1.0, 100.0])
@pytest.mark.parametrize("shape", [(60, 4), (25, 60)])
def test_the_optimum_is_that_of_the_quadratic_program(shape, C, intercept):
    X, y = overlapping(*shape)
    weights = weights_for(len(y))
    objective = posed((X, y), C, intercept, scaling=2.0, weights=weights)
    solution = solve(objective)
    value, alpha = textbook.optimum(X, y, objective.problem.cost, intercept, 2.0)
    assert solution.status is Status.OPTIMAL
    assert solution.certificate.primal == pytest.approx(value, rel=1e-7)
    assert solution.certificate.dual <= value * (1.0 + 1e-9)
    np.testing.assert_allclose(y * solution.beta, alpha, atol=1e-3 * np.abs(alpha).max() + 1e-9)


@ALL_INTERCEPTS
def test_more_columns_than_a_working_set_holds(intercept):
    X, y = overlapping(30, 3000)
    solution = solve(posed((X, y), 0.05, intercept), tol=1e-8)
    assert solution.status is Status.OPTIMAL
    assert 0 < np.count_nonzero(solution.w) <= 31


def test_large_costs_are_proven_too():
    X, y = overlapping(30, 300)
    solution = solve(posed((X, y), 1e4), tol=1e-6)
    assert solution.status is Status.OPTIMAL


@ALL_INTERCEPTS
def test_a_warm_start_at_the_optimum_ends_at_once(intercept):
    objective = posed(overlapping(60, 8), 1.0, intercept)
    first = solve(objective)
    again = solve(objective, w=first.w, b=first.b, beta=first.beta)
    assert again.n_iter == 0
    assert again.status is Status.OPTIMAL


def test_a_warm_start_without_losses_leaves_them():
    X, y = overlapping(20, 40)
    separating = 10.0 * np.linalg.lstsq(X, y, rcond=None)[0]
    objective = posed((X, y), 1.0, Intercept.NONE)
    assert objective.primal(separating, 0.0) == pytest.approx(np.abs(separating).sum())
    solution = solve(objective, w=separating, beta=np.zeros(20))
    assert solution.status is Status.OPTIMAL
    assert solution.certificate.primal < np.abs(separating).sum()


@ALL_INTERCEPTS
def test_all_storages_have_one_optimum(intercept):
    X, y = overlapping(60, 8)
    values = [
        solve(posed((store(X, storage, dtype), y), 1.0, intercept)).certificate.primal
        for storage in STORAGES
        for dtype in DTYPES
    ]
    np.testing.assert_allclose(values, values[0], rtol=1e-8)


def test_scaling_the_columns_scales_the_problem():
    X, y = overlapping(60, 8)
    plain = solve(posed((X, y), 2.0, Intercept.NONE), tol=1e-11)
    scaled = solve(posed((4.0 * X, y), 0.5, Intercept.NONE), tol=1e-11)
    np.testing.assert_allclose(4.0 * scaled.certificate.primal, plain.certificate.primal / 1.0)
    np.testing.assert_allclose(16.0 * scaled.w, 4.0 * plain.w, atol=1e-6)


# ---- w = 0


@pytest.mark.parametrize("intercept", [Intercept.PENALIZED, Intercept.NONE], ids=lambda i: i.value)
def test_costs_too_small_for_any_weight_are_proven_to_be_exactly(intercept):
    X, y = overlapping(60, 8)
    columns = np.abs(X.T @ y).max()
    if intercept is Intercept.PENALIZED:
        columns = max(columns, abs(y.sum()))
    below, above = (solve(posed((X, y), k * 0.5 / columns, intercept)) for k in (0.999, 1.01))
    assert below.certificate.gap == 0.0
    assert below.n_iter == 0
    assert not below.w.any()
    assert above.w.any() or above.b != 0.0


def test_with_a_free_intercept_the_means_of_the_classes_decide():
    X, y = overlapping(60, 8)
    up, down = (y > 0).sum(), (y < 0).sum()
    apart = np.abs(X[y > 0].mean(axis=0) - X[y < 0].mean(axis=0)).max()
    least = 60 / (4 * up * down * apart)
    below, above = (solve(posed((X, y), k * least, Intercept.FREE)) for k in (0.999, 1.01))
    assert not below.w.any()
    assert below.b == pytest.approx((up - down) / 60)
    assert above.w.any()


# ---- the certificate


def extended_bounds(objective, w, b, beta):
    """P of (w, b), D of β shrunk into its bounds, in extended precision."""
    problem = objective.problem
    X, y, cost = (np.asarray(v, dtype=EXTENDED) for v in (problem.X, problem.y, problem.cost))
    w, b, beta = w.astype(EXTENDED), EXTENDED(b), beta.astype(EXTENDED)
    scaling = EXTENDED(objective.intercept_scaling)
    primal = np.abs(w).sum() + cost @ np.maximum(0, 1 - y * (X @ w + b)) ** 2
    largest = np.abs(X.T @ beta).max()
    if objective.intercept is Intercept.PENALIZED:
        primal += abs(b) / scaling
        largest = max(largest, scaling * abs(beta.sum()))
    if objective.intercept is Intercept.FREE:
        heavy = np.sign(beta) == np.sign(beta.sum())
        if beta.sum() != 0:
            beta[heavy] *= 1 - abs(beta.sum()) / np.abs(beta[heavy]).sum()
        largest = np.abs(X.T @ beta).max()
    beta = beta / max(EXTENDED(1), largest)
    used = cost > 0
    dual = np.abs(beta).sum() - (beta[used] ** 2 / (4 * cost[used])).sum()
    return primal, dual


@ALL_INTERCEPTS
@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1))
def test_certificates_hold_in_extended_precision(intercept, seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 30)), int(rng.integers(1, 12))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-3, 3, size=d)
    X += rng.choice([0.0, 1e3]) * rng.random(d)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    weights = rng.exponential(size=n) * (rng.random(n) < 0.9)
    weights[:2] = 1.0
    objective = posed((X, y), 10.0 ** rng.uniform(-4, 4), intercept, scaling=1.5, weights=weights)
    solution = solve(objective, tol=1e-10, max_iter=300)
    certificate = solution.certificate
    primal, dual = extended_bounds(objective, solution.w, solution.b, solution.beta)
    slack = 1e-13 * primal
    assert abs(primal - EXTENDED(certificate.primal)) <= slack + 0.01 * certificate.gap
    assert EXTENDED(certificate.gap) >= primal - dual - slack
    assert EXTENDED(certificate.dual) <= dual + slack


@ALL_INTERCEPTS
def test_any_dual_point_bounds_any_primal_point(intercept):
    X, y = overlapping(40, 6)
    objective, rng = posed((X, y), 1.0, intercept, scaling=2.0), np.random.default_rng(0)
    best = solve(objective).certificate.primal
    for _ in range(50):
        w, b = rng.normal(size=6), rng.normal() if intercept is not Intercept.NONE else 0.0
        beta = objective.feasible(rng.normal(size=40))
        certificate = objective.certify(PrimalDual(w, b, beta))
        assert certificate.dual <= best * (1 + 1e-9) <= certificate.primal * (1 + 2e-9)
        assert certificate.gap == pytest.approx(objective.primal(w, b) - objective.dual(beta))


def test_the_best_multiple_of_a_dual_point_is_taken():
    X, y = overlapping(40, 6)
    objective = posed((X, y), 1.0, Intercept.NONE)
    beta = objective.feasible(y * np.random.default_rng(0).random(40))
    assert np.abs(X.T @ beta).max() <= 1.0
    for scale in (0.9, 1.1):
        inside = np.abs(X.T @ (scale * beta)).max() <= 1.0
        assert not inside or objective.dual(scale * beta) < objective.dual(beta)


def test_a_point_without_beta_is_judged_by_its_own():
    X, y = overlapping(40, 6)
    objective = posed((X, y), 0.1, Intercept.FREE)
    judged = objective.judge(PrimalDual(solve(objective).w, 0.0, None))
    assert judged.certificate.relative_gap < 1e-3


def test_an_intercept_is_refused_where_there_is_none():
    objective = posed(overlapping(40, 6), 1.0, Intercept.NONE)
    with pytest.raises(ValueError, match="b must be 0"):
        objective.certify(PrimalDual(np.zeros(6), 1.0, np.zeros(40)))


def test_another_loss_is_refused():
    X, y = overlapping(40, 6)
    with pytest.raises(ValueError, match="goes with the squared hinge, got loss='hinge'"):
        L1Objective(Problem(X, y, np.ones(40)), HINGE)


def test_another_objective_is_refused():
    X, y = overlapping(40, 6)
    objective = LinearObjective(Problem(X, y, np.ones(40)), SQUARED_HINGE)
    with pytest.raises(ValueError, match="takes a L1Objective, got a LinearObjective"):
        solve(objective)


# ---- stopping


@pytest.mark.parametrize(
    ("limits", "status"),
    [
        ({"max_iter": 10}, Status.STOPPED_BY_ITERATIONS),
        ({"max_time": 1e-9}, Status.STOPPED_BY_TIME),
    ],
)
def test_a_fit_that_is_stopped_returns_its_best_point(limits, status):
    objective = posed(overlapping(60, 40), 1e4)
    solution = solve(objective, tol=1e-12, **limits)
    assert solution.status is status
    assert np.isfinite(solution.certificate.primal)
    assert solution.certificate.primal <= objective.at_zero


def test_an_interrupt_ends_the_fit():
    objective, interrupt = posed(overlapping(60, 40), 1e4), Interrupt()
    interrupt.requested = True
    solution = L1().solve(objective, Monitor(objective, Stopping(1e-12), interrupt), Start())
    assert solution.status is Status.INTERRUPTED


@pytest.mark.parametrize("excess", [1.001, 1.01, 1.1])
def test_weights_are_found_just_above_the_least_cost_of_use(excess):
    """There w = 0 is within the default tol of the optimum."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 8)), np.where(rng.random(60) < 0.5, -1, 1)
    least = l1_min_c(X, y, fit_intercept=False)
    model = LinearSVC(penalty="l1", C=excess * least, fit_intercept=False).fit(X, y)
    assert model.coef_.any()
    assert not LinearSVC(penalty="l1", C=0.99 * least, fit_intercept=False).fit(X, y).coef_.any()
