"""The scales that gaps, margins and targets are compared with, and shares of what is given."""

import math
from dataclasses import replace

import numpy as np
import pytest

from maxmargin import SVC, Intercept, NotSeparableError, Problem, certify
from maxmargin.kernels import Gaussian, Linear
from maxmargin.losses import EPSILON_INSENSITIVE, HINGE
from maxmargin.objectives import HardMarginObjective, KernelObjective, LinearObjective
from maxmargin.objectives.base import NEGLIGIBLE
from maxmargin.objectives.expansion import expansion_blocks
from maxmargin.objectives.scalar import spread
from maxmargin.runtime.memory import free_memory
from maxmargin.solvers import SMO, Monitor, Stopping
from recording import recording
from synthetic import free_svc, joint, overlapping, regression

X, Y = overlapping(40, 3)
LONGEST = float((X**2).sum(axis=1).max())


def posed(rows=X, y=Y, C=1.0, loss=HINGE, intercept=Intercept.FREE, *, kernel=None, hard=False):
    kind = LinearObjective if kernel is None else HardMarginObjective if hard else KernelObjective
    options = {} if kernel is None else {"kernel": kernel}
    return kind(Problem(rows, y, np.full(len(y), C)), loss, intercept, **options)


@pytest.mark.parametrize("C", [1e-6, 1e3])
def test_a_negligible_value_is_that_of_zero_or_of_the_weights_that_reach_the_targets(C):
    constant = 2 * min((Y > 0.0).sum(), (Y < 0.0).sum()) * C
    expected = NEGLIGIBLE * min(constant, 0.5 / LONGEST)
    assert posed(C=C).negligible == pytest.approx(expected, rel=1e-9, abs=0.0)
    assert posed(C=C, kernel=Linear()).negligible == pytest.approx(expected, rel=1e-9, abs=0.0)
    constant = pytest.approx(NEGLIGIBLE * constant, rel=1e-9, abs=0.0)
    assert posed(X * 0.0, C=C).negligible == constant
    rows, y = regression(40, 3)
    tube = replace(EPSILON_INSENSITIVE, epsilon=0.0)
    residuals = np.abs(y - np.median(y))
    reach = 0.5 * residuals.mean() ** 2 / (rows**2).sum(axis=1).max()
    expected = NEGLIGIBLE * min(C * residuals.sum(), reach)
    assert posed(rows, y, C, tube).negligible == pytest.approx(expected, rel=1e-9, abs=0.0)


@pytest.mark.parametrize("C", [1e-6, 1e3])
def test_a_negligible_value_of_several_classes(C):
    labels = np.arange(40) % 3
    expected = 1e-11 * min(40 * C, 0.25 / LONGEST)
    assert joint(X, labels, 3, C=C).negligible == pytest.approx(expected, rel=1e-9, abs=0.0)
    at_zero = pytest.approx(4e-10 * C, rel=1e-9, abs=0.0)
    assert joint(0.0 * X, labels, 3, C=C).negligible == at_zero


def test_a_hard_margin_is_hopeless_below_a_millionth_of_the_widest_distance():
    widest = ((X - X[0]) ** 2).sum(axis=1).max()
    hard = posed(kernel=Linear(), hard=True)
    assert hard.infeasible_above == pytest.approx(0.5e12 / widest)
    assert posed(X + 1.0, kernel=Linear(), hard=True).infeasible_above == pytest.approx(
        0.5e12 / widest
    )
    assert posed(kernel=Linear()).infeasible_above == math.inf
    assert posed(0.0 * X, kernel=Linear(), hard=True).infeasible_above == math.inf


def test_slacks_of_a_hard_margin_are_none_or_without_end():
    rows, y = np.array([[0.0], [2.0]]), np.array([-1.0, 1.0])
    objective = posed(rows, y, kernel=Linear(), hard=True)
    beta = np.array([-0.5, 0.5])
    found = certify(objective, beta, -1.0, beta)
    assert (found.slack_sum, found.margin) == (0.0, pytest.approx(1.0))
    wrong = certify(objective, -beta, 1.0, beta)
    assert (wrong.slack_sum, wrong.primal, wrong.margin) == (math.inf, math.inf, 0.0)


@pytest.mark.parametrize("size", [1, 60, 119, 120, 121, 10**6])
def test_blocks_of_kernel_sums_take_no_more_values_than_asked_for(size):
    coef = np.where(np.arange(40) % 2 == 0, 1.0, 0.0)
    kernel = Gaussian(0.5)
    blocks = list(expansion_blocks(kernel, X, coef, size))
    assert max(len(values) for _, values in blocks) == min(40, max(1, size // 20))
    np.testing.assert_allclose(np.concatenate([v for _, v in blocks]), kernel(X, X) @ coef)


def test_the_spread_of_equal_targets_is_one():
    cost = np.ones(5)
    assert spread(np.full(5, 0.1), cost) == 1.0
    assert spread(np.array([0.0, 0.2]), np.ones(2)) == pytest.approx(0.1)
    constant = np.zeros(40)
    for intercept in (Intercept.FREE, Intercept.NONE):
        assert posed(X, constant, loss=EPSILON_INSENSITIVE, intercept=intercept).unit == 1.0


def cache_of(model, n_tasks, jobs):
    solver = model._kernel_solver(n_tasks, jobs)
    assert isinstance(solver, SMO)
    return solver.cache_size


@pytest.mark.parametrize(("jobs", "expected"), [(1, 20.0), (2, 10.0), (8, 20.0 / 3.0)])
def test_the_cache_that_is_given_is_that_of_all_pairs(jobs, expected):
    """Half of it for what they share, half for those that are solved at a time."""
    assert cache_of(SVC(cache_size=40.0), 3, jobs) == pytest.approx(expected)
    assert cache_of(SVC(cache_size=40.0), 1, jobs) == 40.0


@pytest.mark.parametrize(
    ("n_tasks", "jobs", "share"),
    [(1, 1, 1.0), (1, 4, 1.0), (3, 1, 0.5), (3, 2, 0.25), (2, 8, 0.25)],
)
def test_several_problems_share_half_of_the_cache(n_tasks, jobs, share):
    assert cache_of(SVC(cache_size=80.0), n_tasks, jobs) == 80.0 * share


def test_without_a_given_cache_several_threads_share_half_of_what_is_free(monkeypatch):
    monkeypatch.setattr("maxmargin.estimators._kernel.free_memory", lambda: 8e9)
    assert cache_of(SVC(), 3, 2) == pytest.approx(0.5 * 8000.0 / 2)
    assert cache_of(SVC(), 1, 2) is None
    assert cache_of(SVC(), 3, 1) is None
    assert free_memory() > 0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_warm_start_counts_the_epochs_of_the_same_problem_only():
    model = free_svc(solver="pegasos", max_iter=3, warm_start=True, random_state=0).fit(X, Y)
    cost = np.ones(40)
    assert model._starts([cost], [0], 3)[0].past == 3
    assert model._starts([2.0 * cost], [0], 3)[0].past == 1
    newton = free_svc(solver="newton", warm_start=True).fit(X, Y)
    assert newton._starts([cost], [0], 3)[0].past == 1


def test_who_waits_is_told_now_and_then(monkeypatch):
    now = [50.0]
    report, told = recording(lambda *_: False)
    monkeypatch.setattr("maxmargin.runtime.monitor.time.perf_counter", lambda: now[0])
    monitor = Monitor(posed(), Stopping(1e-3, 10), None, report, 0.0)
    monitor.stopped()
    assert told == []  # nothing to tell of
    monitor.follow(lambda: (7, 0.5))
    for now[0] in np.arange(100.0, 110.0, 0.01):
        monitor.stopped()
    assert 9 <= len(told) <= 11
    record, *_ = told[0]
    assert (record.epoch, record.dual, record.gap) == (7, 0.5, math.inf)


def test_a_hard_margin_that_is_not_there_is_refused():
    with pytest.raises(NotSeparableError):
        SVC(C=math.inf, kernel="linear").fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
