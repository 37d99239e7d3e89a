"""solver=, random_state= and the choice that `auto` makes for linear machines."""

import numpy as np
import pytest
from scipy import sparse

from choices import BOTH, EXACT
from comparisons import same_bits
from maxmargin import LinearSVC, LinearSVR, Status
from maxmargin.solvers import DualCD, Newton
from synthetic import free_svc, overlapping

X, Y = overlapping(80, 5)


@pytest.mark.parametrize("solver", [Newton(shrink=0.25), DualCD()], ids=["newton", "dual_cd"])
def test_a_solver_can_be_given_with_its_settings(solver):
    model = free_svc(solver=solver).fit(X, Y)
    assert model.solution_.solver == solver.name
    assert model.certificate_.status is Status.OPTIMAL


@pytest.mark.parametrize("solver", ["newton", "dual_cd"])
def test_a_solver_can_be_named(solver):
    assert free_svc(solver=solver).fit(X, Y).solution_.solver == solver


def test_auto_goes_by_features_and_stored_values():
    rng = np.random.default_rng(0)
    wide, dense = rng.normal(size=(20, 3000)), rng.normal(size=(1500, 200))
    few_values = sparse.random_array((1500, 200), density=0.01, rng=rng, format="csr") * 20.0
    for rows, solver in ((X, "newton"), (wide, "dual_cd"), (dense, "newton")):
        y = Y if rows is X else np.arange(len(rows)) % 2
        assert free_svc(tol=0.1).fit(rows, y).solution_.solver == solver
    some_values = np.where(rng.random(dense.shape) < 0.1, dense, 0.0)
    for rows, solver in ((few_values, "dual_cd"), (some_values, "newton")):
        for stored in (sparse.csr_array(rows), sparse.csr_array(rows).toarray()):
            model = free_svc(tol=0.1, max_iter=None).fit(stored, np.arange(1500) % 2)
            assert model.solution_.solver == solver


@pytest.mark.parametrize(("loss", "solver"), [("hinge", "newton"), ("squared_hinge", "dual_cd")])
def test_auto_takes_newton_where_coordinate_descent_would_not_end(loss, solver):
    """Rows as long as unscaled pixels."""
    rng = np.random.default_rng(0)
    rows = sparse.random_array((1500, 200), density=0.01, rng=rng, format="csr") * 100.0
    model = free_svc(loss=loss, tol=0.1, max_iter=None).fit(rows, np.arange(1500) % 2)
    assert model.solution_.solver == solver


@pytest.mark.parametrize(
    ("Model", "n", "solver"),
    [
        (LinearSVC, 240, "newton"),
        (LinearSVC, 220, "dual_cd"),
        (LinearSVR, 140, "newton"),
        (LinearSVR, 110, "dual_cd"),
    ],
)
def test_auto_takes_newton_where_rows_are_seldom_separable_or_met(Model, n, solver):
    """Two rows a feature, or one in regression."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n, 120))
    model = Model(tol=0.1).fit(rows, np.sign(rows[:, 0] + rng.normal(size=n)))
    assert model.solution_.solver == solver


@BOTH
@EXACT
def test_random_state_of_numpy_is_like_pythons(Model, data, solver):
    first, second = (Model(solver=solver, random_state=s).fit(*data) for s in (3, np.int64(3)))
    same_bits(first, second)


@BOTH
@EXACT
def test_random_state_fixes_every_bit(Model, data, solver):
    first, second = (Model(solver=solver, random_state=3).fit(*data) for _ in range(2))
    same_bits(first, second)
    np.testing.assert_array_equal(first.solution_.beta, second.solution_.beta)


def test_other_seeds_take_other_ways():
    first, second = (
        free_svc(solver="dual_cd", tol=1e-2, random_state=seed).fit(X, Y) for seed in (0, 1)
    )
    assert not np.array_equal(first.coef_, second.coef_)


def test_fits_leave_the_global_generator_alone():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    free_svc(solver="dual_cd", random_state=0).fit(X, Y)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
