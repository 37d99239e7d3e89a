"""Newton steps in the free dual variables: the optimum at once, or as far as the box allows."""

import numpy as np
import pytest

from maxmargin import SMO, KernelObjective, Problem, Status
from maxmargin.kernels import Gaussian
from maxmargin.losses import HINGE
from maxmargin.solvers import Monitor, Start, Stopping
from maxmargin.solvers.kernel.free_variables import moved, polished
from synthetic import overlapping


@pytest.fixture(name="near")
def near_the_optimum():
    """An objective, its optimum to 1e-10, and a point with other free variables beside it."""
    X, y = overlapping(80, 3)
    objective = KernelObjective(Problem(X, y, np.full(80, 2.0)), HINGE, kernel=Gaussian(0.5))
    monitor = Monitor(objective, Stopping(1e-10))
    solution = SMO().solve(objective, monitor, Start())
    assert solution.status is Status.OPTIMAL
    free = np.flatnonzero(objective.edge(solution.beta))
    assert len(free) >= 2
    beta = solution.beta.copy()
    beta[free] *= 0.99
    beta[free[0]] -= beta.sum()  # still balanced
    return objective, solution.beta, beta, free


def dual(objective, beta):
    K = objective.kernel(objective.problem.X, objective.problem.X)
    return np.abs(beta).sum() - 0.5 * beta @ K @ beta


def products(objective, beta):
    return objective.kernel(objective.problem.X, objective.problem.X) @ beta


def test_the_optimum_follows_from_the_pieces(near):
    objective, best, beta, free = near
    (found,) = polished(objective, beta, products(objective, beta))
    np.testing.assert_allclose(found[free], best[free], rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(np.delete(found, free), np.delete(beta, free))
    assert found.sum() == pytest.approx(beta.sum(), abs=1e-12)


def test_a_step_stays_in_the_box_and_raises_the_dual(near):
    objective, best, beta, _ = near
    form = objective.standard_form()
    variables = moved(objective, form, beta, products(objective, beta))
    after = form.fold(variables)
    assert (after >= objective.box.lower - 1e-12).all()
    assert (after <= objective.box.upper + 1e-12).all()
    assert dual(objective, beta) < dual(objective, after) <= dual(objective, best) * (1 + 1e-8)


def test_without_free_variables_nothing_moves(near):
    objective, *_ = near
    beta = np.zeros(80)
    z = np.zeros(80)
    assert polished(objective, beta, z) == []
    np.testing.assert_array_equal(moved(objective, objective.standard_form(), beta, z), beta)
