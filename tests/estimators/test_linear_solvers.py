"""solver= and random_state= of linear machines."""

import numpy as np
import pytest

from choices import BOTH, EXACT
from comparisons import assert_same_bits
from maxmargin import Status
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


@BOTH
@EXACT
def test_random_state_of_numpy_is_like_pythons(Model, data, solver):
    first, second = (Model(solver=solver, random_state=s).fit(*data) for s in (3, np.int64(3)))
    assert_same_bits(first, second)


@BOTH
@EXACT
def test_random_state_fixes_every_bit(Model, data, solver):
    first, second = (Model(solver=solver, random_state=3).fit(*data) for _ in range(2))
    assert_same_bits(first, second)
    np.testing.assert_array_equal(first.solution_.beta, second.solution_.beta)


def test_other_seeds_take_other_ways():
    first, second = (
        free_svc(solver="dual_cd", tol=1e-2, random_state=seed).fit(X, Y) for seed in (0, 1)
    )
    assert not np.array_equal(first.coef_, second.coef_)


def test_fits_leave_the_global_generator_alone():
    before = np.random.get_state(legacy=False)["state"]["key"].copy()  # noqa: NPY002
    free_svc(solver="dual_cd", random_state=0).fit(X, Y)
    np.testing.assert_array_equal(np.random.get_state(legacy=False)["state"]["key"], before)  # noqa: NPY002
