"""SMO reaches the optimum that the lecture's SMO, scikit-learn and a QP solver reach."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import svm

from maxmargin import SMO, SVC, Intercept, Problem, Status, _core, certify
from maxmargin.kernels import Gaussian, Laplacian, Linear, Polynomial, Precomputed, User
from maxmargin.losses import HINGE, SQUARED_HINGE, regression_loss
from maxmargin.objectives import KernelObjective, LinearObjective
from maxmargin.runtime import monitor as base
from maxmargin.runtime.stall import StallDetector
from maxmargin.solvers import Monitor, Start, Stopping
from maxmargin.solvers.kernel import kernel_sums
from maxmargin.solvers.kernel import smo as smo_module
from maxmargin.solvers.kernel.row_source import KernelSamples
from reference.kernel.smo import simplified_smo

KERNELS = [Linear(), Gaussian(0.3), Polynomial(0.2, 3, 1.0), Laplacian(0.3)]
EACH_KERNEL = pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
TUBE = regression_loss("epsilon_insensitive", 0.1)


def samples(n=120, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] * X[:, 1] + 0.4 * rng.normal(size=n) > 0, 1.0, -1.0)


def make(kernel, loss=HINGE, intercept=Intercept.FREE, *, C=1.0, X=None, y=None, n=120):
    if X is None:
        X, y = samples(n)
        y = y if loss is HINGE else X[:, 0] * X[:, 1] + X[:, 2]
    return KernelObjective(Problem(X, y, np.full(len(y), C)), loss, intercept, kernel=kernel)


def solve(objective, tol=1e-7, smo=None, start=None, max_iter=None):
    """Solve by working sets; without any, where neither is asked for, the same must come out."""
    monitor = Monitor(objective, Stopping(tol, max_iter))
    solution = (smo or SMO(small=0)).solve(objective, monitor, start or Start())
    if smo is None and max_iter is None and objective.convex:
        other = solve(objective, tol, SMO(), start)
        assert other.status is solution.status
        gap = other.certificate.gap + solution.certificate.gap
        assert other.certificate.dual == pytest.approx(solution.certificate.dual, rel=1e-9, abs=gap)
    return solution


@EACH_KERNEL
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_reaches_the_optimum_of_libsvm(kernel, C):
    objective = make(kernel, C=C)
    solution = solve(objective)
    assert solution.status is Status.OPTIMAL
    X, y = objective.problem.X, objective.problem.y
    peer = svm.SVC(C=C, kernel=kernel, tol=1e-8).fit(X, y)
    beta = np.zeros(len(y))
    beta[peer.support_] = peer.dual_coef_[0]
    theirs = certify(objective, beta, float(peer.intercept_[0]), beta)
    assert solution.certificate.primal <= theirs.primal + 1e-7 * theirs.primal
    assert solution.certificate.dual >= theirs.dual - 1e-7 * abs(theirs.dual)
    np.testing.assert_allclose(solution.b, peer.intercept_[0], atol=2e-3)


@EACH_KERNEL
def test_reaches_the_optimum_of_the_lectures_smo(kernel):
    objective = make(kernel, n=40)
    y, cost = objective.problem.y, objective.problem.cost
    alpha, b = simplified_smo(kernel(objective.problem.X, objective.problem.X), y, cost)
    theirs = certify(objective, alpha * y, b, alpha * y)
    solution = solve(objective)
    assert theirs.relative_gap < 1e-3
    assert solution.certificate.primal <= theirs.primal * (1 + 1e-6)
    gap = theirs.gap + solution.certificate.gap
    assert solution.certificate.dual == pytest.approx(theirs.dual, rel=1e-12, abs=gap)


@EACH_KERNEL
@pytest.mark.parametrize("intercept", [Intercept.FREE, Intercept.NONE], ids=lambda i: i.value)
@pytest.mark.parametrize("loss", [HINGE, TUBE], ids=["hinge", "tube"])
def test_equals_a_qp_solver(kernel, intercept, loss):
    clarabel = pytest.importorskip("clarabel")
    objective = make(kernel, loss, intercept, n=50)
    y = objective.problem.y
    K = kernel(objective.problem.X, objective.problem.X)
    n = len(y)
    # β = p − q with p, q ≥ 0: ½(p−q)'K(p−q) − y'(p−q) + ε(p+q)
    P = sparse.csc_matrix(np.triu(np.block([[K, -K], [-K, K]]) + 1e-12 * np.eye(2 * n)))
    c = np.concatenate([-y + loss.epsilon, y + loss.epsilon])
    box = objective.box
    bounds = np.concatenate([box.upper, -box.lower])
    rows = [sparse.eye_array(2 * n), -sparse.eye_array(2 * n)]
    limits = [bounds, np.zeros(2 * n)]
    cones = [clarabel.NonnegativeConeT(4 * n)]
    if intercept is Intercept.FREE:
        rows.insert(0, sparse.csr_array(np.concatenate([np.ones(n), -np.ones(n)])[None]))
        limits.insert(0, np.zeros(1))
        cones.insert(0, clarabel.ZeroConeT(1))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solver = clarabel.DefaultSolver(
        P, c, sparse.csc_matrix(sparse.vstack(rows)), np.concatenate(limits), cones, settings
    )
    optimum = -solver.solve().obj_val
    certificate = solve(objective).certificate
    assert certificate.dual == pytest.approx(optimum, rel=1e-5)
    assert certificate.primal == pytest.approx(optimum, rel=1e-5)


@EACH_KERNEL
def test_regression_equals_libsvm(kernel):
    objective = make(kernel, TUBE, C=2.0)
    X, y = objective.problem.X, objective.problem.y
    peer = svm.SVR(C=2.0, epsilon=0.1, kernel=kernel, tol=1e-8).fit(X, y)
    beta = np.zeros(len(y))
    beta[peer.support_] = peer.dual_coef_[0]
    theirs = certify(objective, beta, float(peer.intercept_[0]), beta)
    solution = solve(objective)
    assert solution.status is Status.OPTIMAL
    assert solution.certificate.primal <= theirs.primal * (1 + 1e-6)


@pytest.mark.parametrize("working_set", [2, 5, 64, 512])
@pytest.mark.parametrize(
    "cache_size", [1e-6, 0.06, 0.1, None], ids=["least cache", "75 rows", "125 rows", "all rows"]
)
def test_working_set_and_cache_do_not_change_the_optimum(working_set, cache_size):
    objective = make(Gaussian(0.3), n=200)
    best = solve(objective).certificate
    other = solve(objective, smo=SMO(working_set, cache_size)).certificate
    assert other.status is Status.OPTIMAL
    assert abs(other.primal - best.primal) <= other.gap + best.gap + 1e-12 * abs(best.primal)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_storage_does_not_change_the_optimum(storage, dtype):
    X, y = samples()
    X = X.astype(np.float32)
    best = solve(make(Gaussian(0.3), X=X.astype(float), y=y)).certificate
    other = solve(make(Gaussian(0.3), X=storage(X.astype(dtype)), y=y)).certificate
    assert abs(other.primal - best.primal) <= other.gap + best.gap + 1e-9 * best.primal


def test_user_and_precomputed_kernels_reach_the_same():
    X, y = samples()
    best = solve(make(Gaussian(0.3), X=X, y=y)).certificate
    user = solve(make(User(Gaussian(0.3).__call__), X=X, y=y)).certificate
    places = np.arange(len(y), dtype=float)[:, None]
    given = solve(make(Precomputed(Gaussian(0.3)(X, X)), X=places, y=y)).certificate
    for other in (user, given):
        assert abs(other.primal - best.primal) <= other.gap + best.gap + 1e-12 * best.primal


def test_a_users_kernel_is_asked_for_rows_only():
    seen = []

    def kernel(A, B):
        seen.append(len(A) * len(B))
        return A @ B.T

    X, y = samples(300, 2)
    solve(make(User(kernel), X=X + 3 * y[:, None], y=y), smo=SMO(working_set=8), tol=1e-3)
    assert max(seen) < 0.2 * 300**2


@EACH_KERNEL
def test_the_certificate_is_that_of_certify(kernel):
    objective = make(kernel)
    solution = solve(objective, tol=1e-4)
    again = certify(objective, solution.beta, solution.b, solution.beta)
    assert again.primal == pytest.approx(solution.certificate.primal, rel=1e-9)
    assert again.dual == pytest.approx(solution.certificate.dual, rel=1e-9)
    assert again.gap >= 0.0


def test_certify_takes_a_primal_point_apart_from_the_dual_one():
    objective = make(Gaussian(0.3))
    rng = np.random.default_rng(1)
    w, beta = rng.normal(size=(2, 120))
    certificate = certify(objective, w, 0.3, beta)
    feasible = objective.feasible(beta)
    K = Gaussian(0.3)(objective.problem.X, objective.problem.X)
    y = objective.problem.y
    primal = 0.5 * w @ K @ w + np.maximum(0, 1 - y * (K @ w + 0.3)).sum()
    dual = y @ feasible - 0.5 * feasible @ K @ feasible
    assert certificate.primal == pytest.approx(primal)
    assert certificate.dual == pytest.approx(dual)
    assert certificate.gap == pytest.approx(primal - dual)


def test_a_warm_start_needs_fewer_steps():
    objective = make(Gaussian(0.3), n=400)
    cold = solve(objective, tol=1e-5)
    warm = solve(objective, tol=1e-4, start=Start(0, cold.beta, cold.b))
    assert (warm.info.steps, warm.status) == (0, Status.OPTIMAL)
    on = solve(objective, tol=1e-7, start=Start(0, cold.beta, cold.b))
    assert on.status is Status.OPTIMAL
    assert on.info.steps < solve(objective, tol=1e-7).info.steps


@pytest.mark.parametrize("loss", [HINGE, TUBE], ids=["hinge", "tube"])
def test_doubt_is_met_by_float64_at_the_kinks(loss, monkeypatch):
    """Where float32 is not precise enough, few sums need more, and the proof holds in float64."""

    def dear(*_):
        raise AssertionError("all sums were made in float64")

    objective = make(Gaussian(0.3), loss, n=600, C=10.0)
    monkeypatch.setattr(kernel_sums, "affords_float64", lambda *_: False)
    monkeypatch.setattr(kernel_sums, "exact_values", dear)
    monkeypatch.setattr(smo_module, "values_at", lambda *_: np.zeros(600))
    monkeypatch.setattr(smo_module, "_PAIR_WORK_PER_VALUE", np.inf)  # no float64 matrix either
    solution = solve(objective, 2e-6, SMO(small=0))
    assert solution.status is Status.OPTIMAL
    assert len(solution.history) > 1
    proof = certify(objective, solution.beta, solution.b, solution.beta)
    assert proof.relative_gap <= 2e-6


def test_tight_tolerances_are_reached_in_spite_of_float32_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 30))
    y = np.sign(X[:, 0])
    solution = solve(make(Linear(), X=X, y=y, C=10.0), tol=1e-8)
    assert solution.status is Status.OPTIMAL


def test_duplicates_do_no_harm():
    X, y = samples(60)
    objective = make(Gaussian(0.3), X=np.repeat(X, 4, axis=0), y=np.repeat(y, 4), C=0.25)
    single = solve(make(Gaussian(0.3), X=X, y=y)).certificate
    assert solve(objective).certificate.primal == pytest.approx(single.primal, rel=1e-6)


def test_contradictory_samples_end():
    X = np.ones((6, 2))
    y = np.array([1.0, -1.0, 1.0, -1.0, 1.0, 1.0])
    solution = solve(make(Gaussian(1.0), X=X, y=y))
    assert solution.status is Status.OPTIMAL
    assert solution.certificate.primal == pytest.approx(4.0)


@pytest.mark.parametrize(("smo", "limit"), [(SMO(working_set=4, small=0), 3), (SMO(), 1)])
def test_limits_are_kept(smo, limit):
    solution = solve(make(Gaussian(0.3), n=600), tol=1e-12, smo=smo, max_iter=limit)
    assert solution.status is Status.STOPPED_BY_ITERATIONS
    assert solution.n_iter == limit


@pytest.mark.parametrize(
    ("objective", "message"),
    [
        (lambda: LinearObjective(make(Linear()).problem, HINGE), "got a LinearObjective"),
        (lambda: make(Linear(), SQUARED_HINGE), "squared_hinge"),
        (lambda: make(Linear(), intercept=Intercept.PENALIZED), "penalised"),
    ],
)
def test_what_smo_cannot_take_is_refused(objective, message):
    with pytest.raises(ValueError, match=message):
        solve(objective())


@pytest.mark.parametrize("settings", [{"working_set": 1}, {"cache_size": 0.0}])
def test_settings_are_checked(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        SMO(**settings)


@pytest.mark.parametrize("capacity", [16, 17, 23, 30, 100, 200])
def test_residuals_are_right_however_many_rows_are_kept(capacity):
    X, y = samples(200)
    kernel, objective = Gaussian(0.3), make(Gaussian(0.3), X=X, y=y, C=10.0)
    lower, upper, group = objective.box.lower, objective.box.upper, np.zeros(200, dtype=np.uint8)
    problem = _core.SmoProblem(y, lower, upper, group, 0.0, True)
    smo = _core.Smo(KernelSamples(kernel, X).rows(), problem, 16, capacity)
    for _ in range(30):
        smo.run(0.0, 0.0, 1, lambda: False)
        expected = y - kernel(X, X) @ smo.beta
        np.testing.assert_allclose(smo.residual, expected, atol=1e-4)
    assert smo.rows_computed >= 100


def solved_with_report(monkeypatch, report, n=3000):
    """Solve a problem with something to say at every look at the clock."""
    monkeypatch.setattr(base, "REPORT_INTERVAL", 0.0)
    X, y = samples(n)
    objective = make(Gaussian(1.0), X=X, y=y, C=10.0)
    monitor = Monitor(objective, Stopping(1e-4), report=report)
    return SMO().solve(objective, monitor, Start(0))


@pytest.mark.parametrize("n", [3000, 9000])  # 9,000: with parts of the samples first
def test_listeners_are_told_of_work_between_gap_checks(monkeypatch, n):
    told = []

    def report(record, w, *_):
        told.append((record, w is None))
        return False

    solution = solved_with_report(monkeypatch, report, n)
    between = [record for record, unproven in told if unproven]
    assert between
    assert all(record.gap == record.primal == np.inf for record in between)
    assert all(record.dual <= solution.certificate.primal for record in between)
    assert [record for record, unproven in told if not unproven] == solution.history
    silent = solved_with_report(monkeypatch, None, n)
    np.testing.assert_array_equal(solution.beta, silent.beta)


def test_listeners_can_stop_the_work(monkeypatch):
    solution = solved_with_report(monkeypatch, lambda *_: True)
    assert solution.status is Status.INTERRUPTED
    assert solution.certificate.gap >= 0.0


def test_verbose_reports_between_gap_checks(monkeypatch, capfd):
    monkeypatch.setattr(base, "REPORT_INTERVAL", 0.0)
    model = SVC(verbose=1).fit(*samples(3000))
    lines = capfd.readouterr().err.splitlines()
    assert sum("gap" in line for line in lines) == len(model.history_)
    assert any("dual" in line and "gap" not in line for line in lines)


def test_sums_go_to_float64_before_a_stall_is_reported(monkeypatch):
    """With float32 sums, points that get no better are a reason for better sums."""
    sharpness = []
    sums = kernel_sums.values_with_error

    def spied(objective, beta, z, doubts, monitor):
        sharpness.append(doubts)
        return sums(objective, beta, z, doubts, monitor)

    monkeypatch.setattr(smo_module, "values_with_error", spied)
    monkeypatch.setattr(kernel_sums, "affords_float64", lambda *_: False)
    monkeypatch.setattr(KernelObjective, "gap_check_interval", 1)
    monkeypatch.setattr(StallDetector, "count", lambda *_: len(sharpness) == 2)
    X, y = samples(1500)
    solution = solve(make(Gaussian(1.0), X=X, y=y), tol=1e-4)
    assert solution.status is Status.OPTIMAL
    assert sharpness[:3] == [0, 0, 2]


def test_a_working_set_without_a_pair_of_one_group_is_not_the_end():
    """What rises best is nearly all of one group, what falls best of the other."""
    n = 1000
    X = np.random.default_rng(0).normal(size=(2 * n, 3))
    group = np.repeat(np.array([0, 1], dtype=np.uint8), n)
    beta, residual = np.zeros(2 * n), np.ones(2 * n)
    beta[0], residual[0] = 1.0, 0.0  # the one of the first group that may fall
    beta[n:-1], residual[n:-1] = 1.0, 0.0  # and the last one alone may rise
    zeros, ones = np.zeros(2 * n), np.ones(2 * n)
    problem = _core.SmoProblem(zeros, zeros, ones, group, 0.0, True)
    smo = _core.Smo(KernelSamples(Gaussian(1.0), X).rows(), problem, 4, 100)
    smo.go_on(beta, residual, 0.0)
    smo.run(1e-9, 0.0, 1, lambda: False)
    assert smo.steps > 0
    for g in (0, 1):
        assert smo.beta[group == g].sum() == pytest.approx(beta[group == g].sum())
