"""K classes by Pegasos and SGD: the optimum of the exact solver, and a proof."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from choices import ALL_INTERCEPTS, AVERAGES
from compiled.stochastic.multiclass_epochs import SCALING, Core, exact, larger, make
from maxmargin import Intercept, Status
from maxmargin.losses import HINGE
from maxmargin.objectives import PrimalDual
from maxmargin.solvers import KernelPegasos, Monitor, Start, Stopping
from maxmargin.solvers.stochastic.pegasos import Pegasos
from maxmargin.solvers.stochastic.schedules import Constant, InverseTime
from maxmargin.solvers.stochastic.sgd import SGD
from reference.stochastic.sgd import RULES
from synthetic import INTERCEPTS, classes, joint, objective_of, weights_for

SOLVERS = [Pegasos(), Pegasos(projection=True, batch_size=4), SGD(), SGD(rule="adam")]
ALL_SOLVERS = pytest.mark.parametrize(
    "solver", SOLVERS, ids=["pegasos", "projected", "sgd", "adam"]
)


# ---- the solver


def fit(objective, solver, tol=2e-2, max_iter=200, start=None):
    monitor = Monitor(objective, Stopping(tol, max_iter))
    return solver.solve(objective, monitor, start or Start(0))


def assert_feasible(objective, beta):
    own = objective.own
    others = beta.copy()
    others[own] = 0.0
    cost = objective.problem.cost
    assert (others <= 0.0).all()
    assert (beta[own] <= cost).all()
    np.testing.assert_allclose(beta.sum(axis=1), 0.0, atol=1e-12 * cost.max())
    if objective.intercept is Intercept.FREE:
        np.testing.assert_allclose(beta.sum(axis=0), 0.0, atol=1e-9 * cost.sum())


@ALL_SOLVERS
@ALL_INTERCEPTS
@pytest.mark.parametrize("storage", ["dense", "csr32"])
def test_the_gap_is_proven_around_the_exact_optimum(solver, intercept, storage):
    objective = larger(intercept, storage)
    solution, best = fit(objective, solver), exact(objective).certificate
    assert solution.status is Status.OPTIMAL
    certificate = solution.certificate
    assert 0.0 <= certificate.relative_gap <= 2e-2
    assert certificate.dual <= best.primal
    assert best.dual <= certificate.primal <= 1.02 * best.primal
    assert_feasible(objective, solution.beta)
    gaps = [record.gap for record in solution.history]
    assert min(gaps) >= 0.0
    assert gaps == sorted(gaps, reverse=True)


@ALL_INTERCEPTS
@pytest.mark.parametrize("rule", list(RULES))
def test_the_certificate_is_of_what_is_returned(intercept, rule):
    objective = make(intercept)
    solution = fit(objective, SGD(rule=rule), max_iter=4, tol=1e-9)
    W, b = objective.lay_out(solution.w), solution.b
    again = objective.certify(PrimalDual(objective.coef(W), b, solution.beta))
    assert again.gap == pytest.approx(solution.certificate.gap)
    assert again.primal == pytest.approx(objective.primal(solution.w, b))
    assert again.dual == pytest.approx(objective.dual(solution.beta))
    assert solution.status is Status.STOPPED_BY_ITERATIONS


@AVERAGES
def test_every_average_gets_there(averaging):
    tol = 0.2 if averaging == "none" else 2e-2
    solution = fit(larger(Intercept.NONE), Pegasos(averaging=averaging), tol=tol)
    assert solution.status is Status.OPTIMAL


@ALL_SOLVERS
def test_the_same_seed_gives_the_same_bits(solver):
    first, second = (fit(make(), solver, max_iter=8, tol=1e-9) for _ in range(2))
    np.testing.assert_array_equal(first.w, second.w)
    np.testing.assert_array_equal(first.beta, second.beta)
    assert (fit(make(), solver, max_iter=8, tol=1e-9, start=Start(1)).w != first.w).any()


@pytest.mark.parametrize("intercept", [Intercept.NONE, Intercept.PENALIZED], ids=lambda i: i.value)
@pytest.mark.parametrize("solver", [Pegasos(), SGD(InverseTime())], ids=["pegasos", "sgd"])
def test_two_classes_are_the_binary_problem_of_twice_c(intercept, solver):
    """Step by step: w_1 − w_0 moves by 2 C_i x_i where w moves by that."""
    X, y = classes(n_classes=2)
    both = joint(X, y, 2, intercept, C=0.1, weights=weights_for(60), scaling=SCALING)
    binary = objective_of(
        HINGE, intercept, C=0.2, weights=weights_for(60), scaling=SCALING, X=X, y=2.0 * y - 1.0
    )
    ours = fit(both, solver, tol=1e-9, max_iter=6)
    theirs = solver.solve(binary, Monitor(binary, Stopping(1e-9, 6)), Start(0))
    np.testing.assert_allclose(ours.w[1] - ours.w[0], theirs.w, rtol=1e-9, atol=1e-12)
    assert ours.b[1] - ours.b[0] == pytest.approx(theirs.b, rel=1e-9)
    assert 2.0 * ours.certificate.primal == pytest.approx(theirs.certificate.primal)
    assert 2.0 * ours.certificate.dual == pytest.approx(theirs.certificate.dual)


@ALL_SOLVERS
@ALL_INTERCEPTS
def test_a_start_is_not_lost(solver, intercept):
    objective = larger(intercept)
    best = exact(objective)
    start = Start(0, best.beta, best.b)
    assert fit(objective, solver, tol=1e-5, start=start).n_iter == 0
    again = fit(objective, solver, tol=1e-12, max_iter=2, start=start)
    # W is made again of a beta that was balanced for the proof: not quite the W of the solution.
    slack = 1e-7 if intercept is Intercept.FREE else 1e-10
    assert again.certificate.gap <= 1.001 * best.certificate.gap + slack * best.certificate.primal


@ALL_INTERCEPTS
def test_short_steps_stay_at_the_start(intercept):
    objective = larger(intercept)
    best = exact(objective)
    solver = SGD(Constant(1e-9))
    near = fit(objective, solver, tol=1e-12, max_iter=1, start=Start(0, best.beta, best.b))
    np.testing.assert_allclose(near.w, best.w, rtol=1e-3, atol=1e-4)


def test_steps_that_are_too_long_leave_the_best_point():
    objective = larger(Intercept.NONE)
    solution = fit(objective, SGD(Constant(1e4)), max_iter=1000)
    assert solution.status is Status.DIVERGED
    assert np.isfinite(solution.w).all()
    assert solution.certificate.primal <= objective.primal(np.zeros((4, 10)), np.zeros(4))


@pytest.mark.parametrize("averaging", ["uniform", "weighted"])
def test_the_bound_holds_in_the_mean(averaging):
    objective = make(Intercept.NONE)
    best, solver = exact(objective).certificate.primal, Pegasos("uniform", averaging=averaging)
    excess = []
    for seed in range(20):
        core = Core(objective, seed, solver, anchor=0.0)
        core.run(4)
        excess.append(core.descent.primal(*core.method.point()) - best)
    assert np.mean(excess) <= solver.bound(objective, 240) < math.inf


def test_there_is_no_bound_with_a_free_intercept():
    assert fit(larger(), Pegasos(), max_iter=2).info.bound == math.inf


@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.sampled_from(INTERCEPTS))
@settings(max_examples=25)
def test_the_gap_is_never_negative(seed, K, intercept):
    X, y = classes(20, 3, K, seed)
    objective = joint(X, y, K, intercept, C=2.0, weights=weights_for(20, seed))
    for solver in (Pegasos(), SGD()):
        solution = fit(objective, solver, tol=1e-6, max_iter=3)
        assert min(record.gap for record in solution.history) >= 0.0
        assert_feasible(objective, solution.beta)


@pytest.mark.parametrize("shares", [[1, 1, 1], [5, 2, 2], [1, 7, 2], [3, 3, 0], [0, 1, 0]])
def test_no_constant_is_better_than_the_start(shares):
    y = np.repeat([0, 1, 2], np.maximum(shares, 1))
    cost = np.repeat([float(share > 0) for share in shares], np.maximum(shares, 1))
    objective = joint(np.ones((len(y), 1)), y, 3, Intercept.FREE, weights=cost)
    start = objective.primal(np.zeros((3, 1)), objective.best_constant())
    # The linear program: slacks of at least 0 and of at least 1 + b_j − b_y, Σ C ξ least.
    others = [(own, j) for own in range(3) for j in range(3) if j != own]
    rows = np.zeros((6, 6))
    for row, (own, j) in zip(rows, others, strict=True):
        row[[j, own, 3 + own]] = 1.0, -1.0, -1.0
    best = linprog(
        np.r_[np.zeros(3), shares], rows, -np.ones(6), bounds=[(None, None)] * 3 + [(0, None)] * 3
    )
    assert start == pytest.approx(best.fun)


@ALL_SOLVERS
@ALL_INTERCEPTS
def test_rows_of_zeros_and_one_row_a_class_end(solver, intercept):
    X = np.zeros((3, 2))
    X[0, 0] = 1.0
    objective = joint(X, np.arange(3), 3, intercept, C=0.5)
    solution = fit(objective, solver, tol=1e-3, max_iter=300)
    assert np.isfinite(solution.w).all()
    assert solution.certificate.gap >= 0.0
    assert solution.certificate.dual <= exact(objective).certificate.primal


# ---- refused


def test_a_kernel_solver_is_refused():
    with pytest.raises(ValueError, match="takes a KernelObjective"):
        fit(make(), KernelPegasos())
