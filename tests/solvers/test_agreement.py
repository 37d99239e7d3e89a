"""Every exact solver, storage and dtype reaches the one optimum, which others find as well."""

from functools import cache

import numpy as np
import pytest
from sklearn import svm
from sklearn.linear_model import Ridge

from choices import ALL_INTERCEPTS, EXACT, HINGES, REGULARIZED_LOSSES
from maxmargin import Intercept, Status
from maxmargin.losses import HINGE
from reference import objective as textbook
from synthetic import (
    DTYPES,
    LOSSES,
    STORAGES,
    data_for,
    objective_of,
    overlapping,
    regression,
    separable,
    solve,
    store,
    weights_for,
)

TOL = 1e-8


def make(loss, intercept, weighted=True, storage="dense", dtype=np.float64):
    X, y = data_for(loss)
    weights = weights_for(60) if weighted else None
    return objective_of(
        loss, intercept, X=store(X, storage, dtype), y=y, scaling=2.0, weights=weights
    )


@cache
def best(loss, intercept, weighted=True):
    """(lower, upper) bounds of the optimum from the QP solver; upper is the value of a model."""
    objective = make(loss, intercept, weighted)
    w, b, dual = textbook.optimum(objective)
    return dual, textbook.primal(objective, w, b)


@EXACT
@REGULARIZED_LOSSES
@ALL_INTERCEPTS
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("dtype", DTYPES, ids=["float32", "float64"])
def test_the_optimum_is_the_qp_solvers(solver, loss, intercept, storage, dtype):
    objective = make(loss, intercept, storage=storage, dtype=dtype)
    certificate = solve(objective, solver, TOL).certificate
    lower, upper = best(loss, intercept)
    assert certificate.status is Status.OPTIMAL
    assert certificate.relative_gap <= TOL
    assert certificate.dual <= upper * (1 + 1e-12)
    assert certificate.primal == pytest.approx(upper, rel=1e-6)
    assert lower <= certificate.primal * (1 + 1e-7)


@REGULARIZED_LOSSES
@ALL_INTERCEPTS
@pytest.mark.parametrize("weighted", [False, True])
def test_solvers_agree_within_their_gaps(loss, intercept, weighted):
    objective = make(loss, intercept, weighted)
    newton, dual_cd = (solve(objective, name, TOL) for name in ("newton", "dual_cd"))
    difference = newton.certificate.primal - dual_cd.certificate.primal
    rounding = 1e-13 * newton.certificate.primal
    assert -newton.certificate.gap - rounding <= -difference
    assert -difference <= dual_cd.certificate.gap + rounding


@REGULARIZED_LOSSES
@ALL_INTERCEPTS
def test_solvers_agree_on_the_weights(loss, intercept):
    """P is 1-strongly convex in w, so that ½‖w − w*‖² ≤ gap."""
    objective = make(loss, intercept)
    newton, dual_cd = (solve(objective, name, 1e-10) for name in ("newton", "dual_cd"))
    apart = np.linalg.norm(newton.w - dual_cd.w)
    gaps = newton.certificate.gap, dual_cd.certificate.gap
    assert apart <= sum(np.sqrt(2 * gap) for gap in gaps) + 1e-12


@EXACT
@REGULARIZED_LOSSES
@ALL_INTERCEPTS
@pytest.mark.parametrize("C", [1e-6, 1e4])
def test_extreme_costs_are_solved(solver, loss, intercept, C):
    X, y = data_for(loss, 30, 3)
    objective = objective_of(loss, intercept, X=X, y=y, C=C)
    certificate = solve(objective, solver, 1e-4, max_iter=3000).certificate
    w, b, _ = textbook.optimum(objective)
    value = textbook.primal(objective, w, b)
    if solver == "newton" or C < 1.0:  # coordinates alone creep where C is large
        assert certificate.status is Status.OPTIMAL
        assert certificate.primal <= value * (1 + 1e-4)
    assert certificate.dual <= value * (1 + 1e-9)
    assert certificate.primal - certificate.gap <= value * (1 + 1e-9)


@EXACT
@REGULARIZED_LOSSES
@pytest.mark.parametrize("size", [0.0, 1e-6, 1e-3])
def test_a_free_intercept_does_not_depend_on_the_size_of_the_features(solver, loss, size):
    X, y = data_for(loss)
    certificate = solve(objective_of(loss, X=size * X, y=y), solver, 1e-3, 1000).certificate
    assert certificate.status is Status.OPTIMAL


@REGULARIZED_LOSSES
@ALL_INTERCEPTS
@pytest.mark.parametrize("size", [1e3, 1e6])
def test_newton_does_not_depend_on_the_size_of_the_features(loss, intercept, size):
    X, y = data_for(loss)
    objective = objective_of(loss, intercept, X=size * X, y=y)
    assert solve(objective, "newton", 1e-3, 100).status is Status.OPTIMAL


@EXACT
@HINGES
@ALL_INTERCEPTS
def test_separable_data_are_solved(solver, loss, intercept):
    X, y = separable()
    objective = objective_of(loss, intercept, X=X, y=y, C=100.0)
    certificate = solve(objective, solver, 1e-6, max_iter=3000).certificate
    w, b, _ = textbook.optimum(objective)
    assert certificate.status is Status.OPTIMAL
    assert certificate.primal == pytest.approx(textbook.primal(objective, w, b), rel=1e-5)


@EXACT
@REGULARIZED_LOSSES
@pytest.mark.parametrize("C", [1e12, 1e15, 1e20])
def test_optimal_is_honest_where_the_costs_dwarf_the_optimum(solver, loss, C):
    """Data that can be fitted without loss: P* hardly depends on C, P(0, 0) grows with it."""
    X, y = separable()
    y = y if loss.one_sided else X @ np.array([0.5, -1.0, 2.0])
    best = solve(objective_of(loss, X=X, y=y, C=1e8), "newton", 1e-8, 300).certificate
    assert best.status is Status.OPTIMAL
    reached = solve(objective_of(loss, X=X, y=y, C=C), solver, 1e-3, 1000).certificate
    if reached.status is Status.OPTIMAL:
        assert reached.primal <= best.primal * (1 + 2e-3)
    assert reached.relative_gap >= 0.999 * (reached.primal - best.primal) / best.primal - 1e-6


@EXACT
@pytest.mark.parametrize("shape", [(10, 40), (40, 1), (2, 1)], ids=["wide", "one column", "two"])
@REGULARIZED_LOSSES
@ALL_INTERCEPTS
def test_odd_shapes_are_solved(solver, shape, loss, intercept):
    X, y = data_for(loss, *shape)
    objective = objective_of(loss, intercept, X=X, y=y)
    certificate = solve(objective, solver, 1e-6, max_iter=3000).certificate
    w, b, _ = textbook.optimum(objective)
    assert certificate.status is Status.OPTIMAL
    assert certificate.primal == pytest.approx(textbook.primal(objective, w, b), rel=1e-5, abs=1e-9)


# ---- scikit-learn, where it solves the same problem


@EXACT
@pytest.mark.parametrize("C", [0.01, 1.0, 10.0])
def test_hinge_with_a_free_intercept_is_svc(solver, C):
    X, y = overlapping()
    weights = weights_for(60)
    ours = solve(objective_of(HINGE, X=X, y=y, C=C, weights=weights), solver, 1e-9)
    theirs = svm.SVC(kernel="linear", C=C, tol=1e-8).fit(X, y, weights)
    np.testing.assert_allclose(ours.w, theirs.coef_[0], rtol=1e-3, atol=1e-3 * abs(ours.w).max())
    objective = objective_of(HINGE, X=X, y=y, C=C, weights=weights)
    value = objective.primal(theirs.coef_[0], float(theirs.intercept_[0]))
    assert ours.certificate.primal == pytest.approx(value, rel=1e-6)
    assert ours.certificate.primal <= value * (1 + 1e-9)


@EXACT
@HINGES
@pytest.mark.parametrize("intercept", [Intercept.NONE, Intercept.PENALIZED], ids=lambda i: i.value)
def test_liblinear_classifies_alike(solver, loss, intercept):
    X, y = overlapping()
    objective = objective_of(loss, intercept, X=X, y=y, scaling=2.0)
    ours = solve(objective, solver, 1e-9)
    theirs = svm.LinearSVC(
        loss=loss.name, dual=True, tol=1e-8, max_iter=10_000_000, random_state=0,
        fit_intercept=intercept is Intercept.PENALIZED, intercept_scaling=2.0,
    ).fit(X, y)  # fmt: skip
    b = float(np.ravel(theirs.intercept_)[0])
    value = objective.primal(theirs.coef_[0].copy(), b)
    assert ours.certificate.primal == pytest.approx(value, rel=1e-6)
    assert ours.certificate.primal <= value * (1 + 1e-9)
    np.testing.assert_allclose(ours.w, theirs.coef_[0], rtol=1e-3, atol=1e-4)


@EXACT
@pytest.mark.parametrize("name", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("intercept", [Intercept.NONE, Intercept.PENALIZED], ids=lambda i: i.value)
def test_liblinear_regresses_alike(solver, name, intercept):
    X, y = regression()
    objective = objective_of(LOSSES[name], intercept, X=X, y=y, scaling=2.0)
    ours = solve(objective, solver, 1e-9)
    theirs = svm.LinearSVR(
        loss=name, epsilon=LOSSES[name].epsilon, dual=True, tol=1e-8, max_iter=10_000_000,
        random_state=0, fit_intercept=intercept is Intercept.PENALIZED, intercept_scaling=2.0,
    ).fit(X, y)  # fmt: skip
    value = objective.primal(np.ravel(theirs.coef_).copy(), float(np.ravel(theirs.intercept_)[0]))
    assert ours.certificate.primal == pytest.approx(value, rel=1e-5)
    assert ours.certificate.primal <= value * (1 + 1e-9)


@EXACT
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_squared_loss_with_a_free_intercept_is_ridge(solver, C):
    X, y = regression()
    weights = weights_for(60)
    objective = objective_of(LOSSES["squared"], X=X, y=y, C=C, weights=weights)
    ours = solve(objective, solver, 1e-12)
    theirs = Ridge(alpha=1 / (2 * C), tol=1e-12).fit(X, y, weights)
    np.testing.assert_allclose(ours.w, theirs.coef_, rtol=1e-4, atol=1e-5)
    assert ours.b == pytest.approx(theirs.intercept_, rel=1e-4)
