"""ν-problems whose optimum is w = 0, or nearly: the answer is the same for every tol."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from maxmargin import NuObjective, NuSVC, OneClassSVM
from maxmargin.certificate import Status
from maxmargin.data.problem import Problem
from maxmargin.kernels import Gaussian
from maxmargin.losses import HINGE
from maxmargin.objectives import PrimalDual
from maxmargin.objectives.base import Intercept, SumError
from maxmargin.runtime.monitor import Monitor, Stopping

TOLS = [1e-2, 1e-3, 1e-6, 1e-9]


def overlapping(seed=0):
    r = np.random.default_rng(seed)
    return r.normal(size=(200, 2)), r.integers(0, 2, 200)


@pytest.mark.parametrize("tol", TOLS)
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_no_margin_at_any_tol(tol, scale):
    X, y = overlapping()
    with pytest.raises(ValueError, match="leaves no margin"):
        NuSVC(nu=0.3, kernel="linear", tol=tol).fit(scale * X, y)


def test_rows_with_both_labels_leave_no_margin():
    X, _ = overlapping()
    with pytest.raises(ValueError, match=r"leaves no margin.* coincide, to 6e-08 of the size"):
        NuSVC(nu=0.5).fit(np.vstack([X, X]), np.repeat([0, 1], len(X)))


def test_an_optimum_of_nearly_0_is_found_in_few_iterations():
    X, y = make_blobs(300, centers=3, n_features=4, random_state=0, cluster_std=4.0)
    X, y = X[y < 2, :2], y[y < 2]
    with pytest.raises(ValueError, match="leaves no margin"):
        NuSVC(nu=0.2).fit(X, y)
    model = NuSVC(nu=0.5, tol=1e-6).fit(X, y)
    assert model.certificate_.status is Status.OPTIMAL
    assert model.n_iter_.max() < 1000


@pytest.mark.parametrize("gap", [1e-4, 1e-5])
@pytest.mark.parametrize("seed", range(4))
def test_classes_that_nearly_coincide_are_told_apart_in_few_iterations(gap, seed):
    s = np.random.default_rng(seed).normal(size=10)
    X, y = np.c_[np.repeat([-gap / 2, gap / 2], 10), np.tile(s, 2)], np.repeat([0, 1], 10)
    model = NuSVC(nu=0.5, max_iter=10_000).fit(X, y)
    assert model.certificate_.status is Status.OPTIMAL
    assert model.n_iter_.max() < 100


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("tol", [1e-6, 1e-12])
def test_a_dual_value_that_only_rounding_moves_is_a_stall(tol):
    s = np.random.default_rng(0).normal(size=30)
    X, y = np.c_[np.repeat([-5e-7, 5e-7], 30), np.tile(s, 2)], np.repeat([0, 1], 30)
    model = NuSVC(nu=0.5, tol=tol, max_iter=100_000).fit(X, y)
    assert model.certificate_.status is Status.STALLED
    assert model.n_iter_.max() < 2000


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("nu", [1e-100, 1e-12, 1e-6])
def test_a_small_nu_tends_to_the_hard_margin(kernel, nu):
    X, y = make_blobs(100, centers=[[0, 0], [9, 9]], random_state=0)
    model, tiny = (NuSVC(nu=some, kernel=kernel, tol=1e-8).fit(X, y) for some in (1e-4, nu))
    assert tiny.certificate_.status is Status.OPTIMAL
    np.testing.assert_allclose(
        tiny.decision_function(X), model.decision_function(X), rtol=1e-3, atol=1e-3
    )


def test_a_nu_whose_square_underflows_is_refused():
    X, y = overlapping()
    with pytest.raises(ValueError, match="too small for float64"):
        NuSVC(nu=1e-300).fit(X, y)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_largest_nu_of_balanced_classes(kernel):
    X, y = make_blobs(100, centers=[[0, 0], [9, 9]], random_state=0)
    assert NuSVC(nu=1.0, kernel=kernel).fit(X, y).certificate_.status is Status.OPTIMAL


@pytest.mark.parametrize("tol", TOLS)
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_one_class_around_the_origin(tol, scale):
    X, _ = overlapping()
    X = scale * (X - X.mean(axis=0))
    with pytest.warns(UserWarning, match="No direction separates"):
        model = OneClassSVM(kernel="linear", tol=tol).fit(X)
    assert not model.coef_.any()
    assert model.offset_ == 0.0
    assert model.certificate_.status is Status.OPTIMAL
    assert not model.decision_function(X).any()
    assert (model.predict(X) == 1).all()


def test_sums_with_errors_do_not_make_w_vanish():
    X = np.array([[0.0, 1.0], [0.0, -1.0], [1e-9, 1.0], [1e-9, -1.0]])
    problem = Problem(X, np.array([1.0, 1.0, -1.0, -1.0]), np.ones(4))
    objective = NuObjective(problem, HINGE, Intercept.FREE, kernel=Gaussian(1.0), nu_sum=2.0)
    beta = 0.5 * problem.y
    z = objective.kernel_values(beta)
    for error, vanishes in ((SumError(0.0, 1e-7), False), (None, True)):
        monitor = Monitor(objective, Stopping(tol=1e-3))
        monitor.judge(PrimalDual(None, 0.0, beta, z, error=error), 1)
        assert (monitor.latest.relative_gap == 0.0) is vanishes


@pytest.mark.parametrize("intercept", [Intercept.FREE, Intercept.NONE])
def test_a_dual_point_of_too_little_mass_proves_nothing(intercept):
    n = 10
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0) if intercept is Intercept.FREE else np.ones(n)
    problem = Problem(np.random.default_rng(0).normal(size=(n, 2)), y, np.ones(n))
    objective = NuObjective(problem, HINGE, intercept, Gaussian(1.0), 5.0)
    nothing = np.zeros(n)
    certificate = objective.judge(PrimalDual(None, 0.0, nothing, nothing)).certificate
    assert certificate.gap == certificate.relative_gap == np.inf
