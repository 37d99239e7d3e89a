"""Where few samples matter, SMO starts from those; the optimum is the same."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from maxmargin import SMO, Intercept, KernelObjective, Problem, Status
from maxmargin.kernels import Gaussian, Kernel, Linear, User
from maxmargin.losses import HINGE, Loss, regression_loss
from maxmargin.runtime.interrupt import Interrupt
from maxmargin.solvers import Monitor, Start, Stopping
from maxmargin.solvers.kernel import row_cache
from maxmargin.solvers.kernel import subset_start as screening
from maxmargin.solvers.kernel.row_source import KernelSamples

TUBE = regression_loss("epsilon_insensitive", 0.2)


@pytest.fixture
def from_few(monkeypatch):
    """Screen small problems too."""
    monkeypatch.setattr(screening, "_MIN_SAMPLES", 64)


def objective(
    loss: Loss = HINGE,
    *,
    noise=0.02,
    margin=0.0,
    kernel: Kernel | None = None,
    storage=np.asarray,
    n=1200,
):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 3))
    y = np.sign(X[:, 0] + 0.3 * X[:, 1] ** 2 - 0.3)
    X[:, 0] += margin * y
    y[rng.random(n) < noise] *= -1.0
    if loss is TUBE:
        y = X[:, 0] + np.where(rng.random(n) < noise, 1.0, 0.0)
    cost = np.where(rng.random(n) < 0.1, 0.0, 5.0)
    kernel = kernel or Gaussian(0.5)
    return KernelObjective(Problem(storage(X), y, cost), loss, Intercept.FREE, kernel=kernel)


def part_of(problem):
    form, samples = problem.standard_form(), KernelSamples(problem.kernel, problem.problem.X)
    engine = partial(SMO().engine, form, samples)
    return screening.Screening(form, samples, engine, Monitor(problem, Stopping(1e-3)))


def solve(problem, stopping=None, **settings):
    monitor = Monitor(problem, stopping or Stopping(1e-6))
    return SMO(small=0, **settings).solve(problem, monitor, Start())


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("loss", [HINGE, TUBE], ids=["hinge", "tube"])
@pytest.mark.parametrize("noise", [0.0, 0.02, 0.5], ids=["few", "some", "many"])
def test_the_optimum_is_the_same(from_few, monkeypatch, loss, storage, noise):
    problem = objective(loss, noise=noise, storage=storage)
    started = solve(problem)
    monkeypatch.setattr(screening, "_MIN_SAMPLES", 10**9)
    plain = solve(problem)
    assert started.status is plain.status is Status.OPTIMAL
    assert started.certificate.dual == pytest.approx(plain.certificate.dual, rel=2e-6)
    assert not started.beta[problem.problem.cost == 0.0].any()


def test_few_support_vectors_need_few_whole_rows(from_few, monkeypatch):
    problem = objective(noise=0.0, n=6000, kernel=Gaussian(0.05), margin=0.5)
    started = solve(problem, Stopping(1e-3))
    monkeypatch.setattr(screening, "_MIN_SAMPLES", 10**9)
    plain = solve(problem, Stopping(1e-3))
    assert started.info.rows < 0.2 * plain.info.rows
    assert started.n_iter > 0
    assert np.isfinite(started.info.violation)


def test_many_support_vectors_are_left_to_whole_rows(from_few):
    assert not part_of(objective(noise=0.5)).run()


@pytest.mark.parametrize(
    ("stopping", "status"),
    [
        (Stopping(1e-9, max_iter=1), Status.STOPPED_BY_ITERATIONS),
        (Stopping(1e-9, max_time=1e-9), Status.STOPPED_BY_TIME),
    ],
    ids=["iterations", "time"],
)
def test_limits_hold_while_screening(from_few, stopping, status):
    solution = solve(objective(), stopping)
    assert solution.status is status
    assert solution.certificate.gap >= 0.0


def test_what_was_found_before_a_stop_is_kept(from_few, monkeypatch):
    problem, interrupt = objective(noise=0.0), Interrupt()
    whole_round = screening.Screening._round

    def round_and_stop(self, part):
        others = whole_round(self, part)
        interrupt.requested = True
        return others

    monkeypatch.setattr(screening.Screening, "_round", round_and_stop)
    solution = SMO(small=0).solve(problem, Monitor(problem, Stopping(1e-6), interrupt), Start())
    assert solution.status is Status.INTERRUPTED
    assert 0.0 < solution.certificate.dual < solution.certificate.primal
    assert solution.certificate.primal < 0.5 * problem.at_zero


def test_a_callers_function_is_not_screened(from_few):
    assert not part_of(objective(kernel=User(lambda A, B: A @ B.T))).applies()
    assert part_of(objective(kernel=Linear())).applies()


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(1.0)], ids=["linear", "gaussian"])
def test_repeated_rows_leave_nothing_to_gain(from_few, kernel):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (600, 2)).astype(float)
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    problem = KernelObjective(Problem(X, y, np.ones(600)), HINGE, Intercept.FREE, kernel=kernel)
    assert solve(problem).status is Status.OPTIMAL


def test_parts_without_weight_are_passed_over(from_few):
    problem = objective()
    cost = np.zeros(1200)
    cost[np.random.default_rng(5).permutation(1200)[:8]] = 5.0
    posed = KernelObjective(
        Problem(problem.problem.X, problem.problem.y, cost), HINGE, Intercept.FREE,
        kernel=problem.kernel,
    )  # fmt: skip
    solution = solve(posed)
    assert solution.status is Status.OPTIMAL
    assert not solution.beta[cost == 0.0].any()


@pytest.fixture
def short_of_rows(monkeypatch):
    """Make the cache of cheap rows so small that it does not hold all of 1200."""
    monkeypatch.setattr(row_cache, "_CACHE_IF_CHEAP", {32: 0.2})


def shrunk(problem, monkeypatch, stopping=None):
    """Solve it, and return the solution and the sizes of the parts at the end."""
    parts, whole_round = [], screening.Screening._round

    def watched(self, part, far=1.0):
        others = whole_round(self, part, far)
        if far > 1.0:
            parts.append(len(self.beta) - len(others) if others is not None else None)
        return others

    monkeypatch.setattr(screening.Screening, "_round", watched)
    return solve(problem, stopping or Stopping(1e-4), working_set=32), parts


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("loss", [HINGE, TUBE], ids=["hinge", "tube"])
@pytest.mark.parametrize("intercept", [Intercept.FREE, Intercept.NONE], ids=["free", "none"])
def test_samples_that_no_longer_matter_are_left_out(
    from_few, short_of_rows, monkeypatch, loss, storage, intercept
):
    problem = objective(loss, noise=0.3, storage=storage)
    problem = KernelObjective(problem.problem, loss, intercept, kernel=problem.kernel)
    monkeypatch.setattr(screening, "_SHARE", 0.8)
    shorter, parts = shrunk(problem, monkeypatch)
    assert parts
    assert max(parts) < 0.8 * 1200
    monkeypatch.setattr(screening, "_MIN_SAMPLES", 10**9)
    plain = solve(problem, Stopping(1e-4), working_set=32)
    assert shorter.status is plain.status is Status.OPTIMAL
    assert shorter.certificate.dual == pytest.approx(plain.certificate.dual, rel=2e-4)
    assert shorter.info.rows < plain.info.rows
    assert not shorter.beta[problem.problem.cost == 0.0].any()


def test_nothing_is_left_out_where_all_rows_are_kept(from_few, monkeypatch):
    monkeypatch.delattr(screening.Screening, "shrink")
    assert solve(objective(noise=0.3)).status is Status.OPTIMAL


def test_nothing_is_left_out_where_most_samples_matter(from_few, short_of_rows, monkeypatch):
    monkeypatch.setattr(screening, "_SHARE", 0.0)
    solution, parts = shrunk(objective(noise=0.3), monkeypatch)
    assert solution.status is Status.OPTIMAL
    assert not parts


@pytest.mark.parametrize("moment", [0, 10**9], ids=["as before the round", "as after it"])
@pytest.mark.parametrize("rounds", [1, 2])
def test_a_stop_while_samples_are_left_out_keeps_what_can_be_told(
    from_few, short_of_rows, monkeypatch, rounds, moment
):
    problem, interrupt = objective(noise=0.3), Interrupt()
    tell, calls = screening.Screening._update, []

    def tell_and_stop(self, some, change):
        calls.append(self.before)
        interrupt.requested = sum(before > 0 for before in calls) >= rounds
        return tell(self, some, change)

    monkeypatch.setattr(screening.Screening, "_update", tell_and_stop)
    monkeypatch.setattr(screening, "_SUMMED_AFTER_STOP", moment)
    monitor = Monitor(problem, Stopping(1e-9), interrupt)
    solution = SMO(small=0, working_set=32).solve(problem, monitor, Start())
    assert solution.status is Status.INTERRUPTED
    first, *_, last = solution.history
    assert first.gap <= 0.03 * first.dual  # the look before samples are left out
    assert last.gap >= 0.0
    assert (last.gap < 0.5 * first.gap) == (rounds == 2 or moment > 0)


def test_the_iterations_of_all_parts_count(from_few, short_of_rows, monkeypatch):
    solution, parts = shrunk(objective(noise=0.3), monkeypatch, Stopping(1e-9, max_iter=200))
    assert parts
    assert solution.status is Status.STOPPED_BY_ITERATIONS
    assert solution.n_iter == 200


def test_samples_are_kept_where_most_of_them_matter():
    problem = objective()
    part, form = part_of(problem), problem.standard_form()
    inside = 0.5 * (form.lower + form.upper)  # of every box: each is a support vector
    state = SimpleNamespace(beta=inside, residual=form.target, thresholds=[0.0], outer_steps=7)
    assert part.shrink(state) is False
