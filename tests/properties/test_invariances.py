"""What must not matter does not matter, and what was proven stays proven."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from choices import EXACT, REGULARIZED_LOSSES
from maxmargin import Status
from synthetic import INTERCEPTS, data_for, objective_of, store
from synthetic import solve as solve_by

FEW = settings(max_examples=40)
SEEDS = st.integers(0, 2**32 - 1)
SIZES = st.integers(4, 30)
MODES = st.sampled_from(INTERCEPTS)
COSTS = st.sampled_from([0.05, 0.5, 3.0])
TOL = 1e-9
solve = partial(solve_by, max_iter=2000)  # whatever is reached by then has its proven gap


def same_model(first, second, w=None):
    """½‖w − w*‖² ≤ gap for both, so that this is all the difference there can be."""
    gaps = first.certificate.gap, second.certificate.gap
    reach = sum(np.sqrt(2 * gap) for gap in gaps) + 1e-10
    return np.linalg.norm(first.w - (second.w if w is None else w)) <= reach


def same_value(first, second):
    gap = max(first.certificate.gap, second.certificate.gap)
    difference = abs(first.certificate.primal - second.certificate.primal)
    return difference <= gap + 1e-12 * first.certificate.primal


@EXACT
@REGULARIZED_LOSSES
@FEW
@given(seed=SEEDS, n=SIZES, intercept=MODES, C=COSTS)
def test_the_order_of_the_rows_does_not_matter(solver, loss, seed, n, intercept, C):
    X, y = data_for(loss, n, 3, seed)
    order = np.random.default_rng(seed).permutation(n)
    first = solve(objective_of(loss, intercept, X=X, y=y, C=C), solver, TOL)
    second = solve(objective_of(loss, intercept, X=X[order], y=y[order], C=C), solver, TOL)
    assert same_value(first, second)
    assert same_model(first, second)


@EXACT
@REGULARIZED_LOSSES
@FEW
@given(seed=SEEDS, n=SIZES, intercept=MODES, C=COSTS)
def test_the_order_of_the_features_does_not_matter(solver, loss, seed, n, intercept, C):
    X, y = data_for(loss, n, 3, seed)
    order = np.random.default_rng(seed).permutation(3)
    first = solve(objective_of(loss, intercept, X=X, y=y, C=C), solver, TOL)
    shuffled = np.ascontiguousarray(X[:, order])
    second = solve(objective_of(loss, intercept, X=shuffled, y=y, C=C), solver, TOL)
    restored = np.empty(3)
    restored[order] = second.w
    assert same_value(first, second)
    assert same_model(first, second, restored)


@EXACT
@REGULARIZED_LOSSES
@FEW
@given(seed=SEEDS, n=SIZES, intercept=MODES, C=COSTS)
def test_opposite_labels_give_the_opposite_model(solver, loss, seed, n, intercept, C):
    X, y = data_for(loss, n, 3, seed)
    first = solve(objective_of(loss, intercept, X=X, y=y, C=C), solver, TOL)
    second = solve(objective_of(loss, intercept, X=X, y=-y, C=C), solver, TOL)
    assert same_value(first, second)
    assert same_model(first, second, -second.w)


@EXACT
@REGULARIZED_LOSSES
@FEW
@given(seed=SEEDS, n=SIZES, intercept=MODES, C=COSTS)
def test_a_duplicate_equals_double_weight(solver, loss, seed, n, intercept, C):
    X, y = data_for(loss, n, 3, seed)
    times = np.random.default_rng(seed).integers(0, 4, size=n)
    times[:2] = 1
    first = solve(objective_of(loss, intercept, X=X, y=y, C=C, weights=times), solver, TOL)
    repeated = np.repeat(X, times, axis=0), np.repeat(y, times)
    second = solve(objective_of(loss, intercept, X=repeated[0], y=repeated[1], C=C), solver, TOL)
    assert same_value(first, second)
    assert same_model(first, second)


@EXACT
@REGULARIZED_LOSSES
@FEW
@given(seed=SEEDS, n=SIZES, intercept=MODES, C=COSTS)
def test_storage_does_not_matter(solver, loss, seed, n, intercept, C):
    X, y = data_for(loss, n, 3, seed)
    first = solve(objective_of(loss, intercept, X=X, y=y, C=C), solver, TOL)
    for storage, dtype in [("csr32", np.float64), ("csr64", np.float32), ("dense", np.float32)]:
        stored = store(X, storage, dtype)
        second = solve(objective_of(loss, intercept, X=stored, y=y, C=C), solver, TOL)
        assert same_value(first, second)
        assert same_model(first, second)


@EXACT
@REGULARIZED_LOSSES
@FEW
@given(seed=SEEDS, intercept=MODES, C=COSTS, tol=st.sampled_from([1e-1, 1e-3, 1e-6]))
def test_history_only_improves(solver, loss, seed, intercept, C, tol):
    X, y = data_for(loss, 20, 3, seed)
    history = solve(objective_of(loss, intercept, X=X, y=y, C=C), solver, tol, max_iter=300).history
    times, epochs, primal, dual, gap = (np.array(column) for column in zip(*history, strict=True))
    assert (np.diff(times) >= 0).all()
    assert (np.diff(epochs) >= 0).all()
    assert (np.diff(primal) <= 0).all()
    assert (np.diff(dual) >= 0).all()
    assert (gap >= -1e-12 * np.abs(primal)).all()


@EXACT
@REGULARIZED_LOSSES
@FEW
@given(
    seed=SEEDS,
    intercept=MODES,
    tol=st.sampled_from([1e-1, 1e-3, 1e-6]),
    max_iter=st.sampled_from([1, 2, 5, 10_000]),
)
def test_optimal_means_that_the_gap_is_proven(solver, loss, seed, intercept, tol, max_iter):
    X, y = data_for(loss, 20, 3, seed)
    solution = solve(objective_of(loss, intercept, X=X, y=y), solver, tol, max_iter=max_iter)
    assert (solution.status is Status.OPTIMAL) == (solution.certificate.relative_gap <= tol)


@EXACT
@REGULARIZED_LOSSES
@FEW
@given(seed=SEEDS, intercept=MODES)
def test_the_solutions_dual_point_is_the_one_judged(solver, loss, seed, intercept):
    X, y = data_for(loss, 20, 3, seed)
    objective = objective_of(loss, intercept, X=X, y=y)
    solution = solve(objective, solver, 1e-4)
    assert objective.dual(solution.beta) == pytest.approx(solution.certificate.dual, rel=1e-9)
    assert objective.primal(solution.w, solution.b) == pytest.approx(
        solution.certificate.primal, rel=1e-12
    )
