"""A large C with few columns: pairs would crawl, and the linear problem of the same K is solved."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from maxmargin import SVC, SVR, KernelObjective, NuSVR, Problem, Status
from maxmargin.kernels import Linear, Polynomial
from maxmargin.losses import HINGE
from maxmargin.solvers import Monitor, Stopping
from maxmargin.solvers.kernel.low_rank import low_rank_optimum


def noise(n, d, n_classes=2):
    """Rows that nothing tells apart, their labels and targets."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)), rng.integers(0, n_classes, n), rng.normal(size=n)


LIMITS: dict[str, Any] = {"max_iter": 500, "max_time": 60.0}


@pytest.mark.parametrize("C", [1e6, 1e8, 1e10])
@pytest.mark.parametrize("shape", [(50, 2), (200, 5), (1500, 10)], ids=str)
def test_a_huge_cost_of_inseparable_rows_is_proven(C, shape):
    X, y, _ = noise(*shape)
    model = SVC(kernel="linear", C=C, **LIMITS).fit(X, y)
    assert model.certificate_.status is Status.OPTIMAL
    assert model.certificate_.relative_gap < 1e-3


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (SVR(kernel="linear", C=1e6), np.asarray),
        (SVC(kernel="poly", degree=2, C=1e6), np.asarray),
        (SVC(kernel="linear", C=1e6, fit_intercept=False), np.asarray),
        (SVC(kernel="linear", C=1e6), sparse.csr_matrix),
        (SVC(kernel="linear", C=1e6), np.float32),
    ],
    ids=str,
)
def test_so_are_other_machines_of_low_rank(model, kind):
    X, y, targets = noise(200, 5)
    model.set_params(**LIMITS).fit(kind(X), targets if isinstance(model, SVR) else y)
    assert model.certificate_.status is Status.OPTIMAL


def test_so_are_pairs_of_classes():
    X, y, _ = noise(300, 5, n_classes=3)
    model = SVC(kernel="linear", C=1e6, **LIMITS).fit(X, y)
    assert {found.status for found in model.solutions_} == {Status.OPTIMAL}


def test_flat_directions_end_at_a_bound():
    """K of 200 rows has rank 5: pairs alone took 24,000 steps from set to set."""
    X, _, targets = noise(200, 5)
    model = NuSVR(kernel="linear", C=1e4, max_iter=500).fit(X, targets)
    assert model.certificate_.status is Status.OPTIMAL


def objective(kernel, C, n=80):
    X, y, _ = noise(n, 3)
    return KernelObjective(Problem(X, 2.0 * y - 1.0, np.full(n, C)), HINGE, kernel=kernel)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(1.0, 2, 1.0)], ids=["linear", "poly"])
def test_the_optimum_is_feasible_and_that_of_the_kernel(kernel):
    posed = objective(kernel, 1e5)
    beta = low_rank_optimum(posed, Monitor(posed, Stopping(1e-6)))
    assert beta is not None
    np.testing.assert_array_equal(posed.feasible(beta), beta)
    z = posed.kernel_values(beta)
    fitted = SVC(kernel=kernel, C=1e5, tol=1e-6).fit(posed.problem.X, posed.problem.y)
    slack = np.maximum(0.0, 1.0 - posed.problem.y * (z + posed.best_offsets(z)[0]))
    primal = 0.5 * beta @ z + 1e5 * slack.sum()
    assert primal == pytest.approx(fitted.certificate_.primal, rel=1e-5)


def test_a_small_cost_or_a_high_rank_is_left_to_pairs():
    for kernel, C in ((Linear(), 10.0), (Polynomial(1.0, 5, 1.0), 1e5)):
        posed = objective(kernel, C)
        assert low_rank_optimum(posed, Monitor(posed, Stopping())) is None
