"""The K-class problem of kernel machines: its steps equal their twin, its optimum a QP solver's."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin import Intercept, KernelObjective, Problem, Status, _core
from maxmargin.kernels import Gaussian, Laplacian, Linear, Polynomial, Precomputed, Sigmoid, User
from maxmargin.losses import HINGE
from maxmargin.objectives import PrimalDual
from maxmargin.objectives.crammer_singer import CrammerSingerObjective
from maxmargin.objectives.kernel_crammer_singer import KernelCrammerSingerObjective
from maxmargin.solvers import SMO, ClassSMO, CrammerSinger, Monitor, Start, Stopping
from maxmargin.solvers.kernel import crammer_singer as class_smo
from maxmargin.solvers.kernel.row_source import KernelSamples
from reference.kernel import crammer_singer as textbook
from reference.linear import crammer_singer as linear_textbook
from synthetic import DTYPES, STORAGES, as_float32, classes, store, weights_for

INTERCEPTS = [Intercept.NONE, Intercept.FREE]
BOTH_INTERCEPTS = pytest.mark.parametrize("intercept", INTERCEPTS, ids=lambda i: i.value)
KERNELS = [Gaussian(0.3), Polynomial(0.5, 3, 1.0), Linear(), Laplacian(0.3)]
ALL_KERNELS = pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
SEEDS = st.integers(0, 2**32 - 1)


def joint(X, y, kernel, intercept=Intercept.FREE, *, C=1.0, weights=None, n_classes=None):
    cost = np.full(len(y), C) if weights is None else C * np.asarray(weights, dtype=np.float64)
    n_classes = n_classes or int(y.max()) + 1
    problem = Problem(X, y.astype(np.float64), cost)
    return KernelCrammerSingerObjective(problem, n_classes, intercept, kernel=kernel)


def solve(objective, tol=1e-8, max_iter=None, max_time=300.0, start=None, **setting):
    monitor = Monitor(objective, Stopping(tol, max_iter, max_time))
    return ClassSMO(**setting).solve(objective, monitor, start or Start(0))


# ---- the steps


@pytest.mark.parametrize("n_classes", [2, 3, 5, 10, 17])
@pytest.mark.parametrize("penalty", [0.0, 0.7])
def test_outer_steps_equal_the_twin(n_classes, penalty):
    X, y = classes(40, 4, n_classes)
    objective = joint(X, y, Gaussian(0.3), C=2.0, weights=weights_for(40))
    K, cost = objective.kernel(X, X), objective.problem.cost
    rows = KernelSamples(objective.kernel, X).rows()
    engine = _core.ClassSmo(rows, objective.classes, penalty > 0, penalty, 512, 40, K)
    alpha, anchor = textbook.start(y, cost, n_classes)
    for _ in range(6):
        engine.run(0.0, -1.0, 1, lambda: False)
        b = textbook.outer_step(K, y, cost, penalty, alpha, anchor)
        np.testing.assert_allclose(engine.alpha.reshape(n_classes, 40).T, alpha, atol=1e-9)
        np.testing.assert_allclose(engine.b, b, atol=1e-9)
    assert engine.outer_steps == 6
    if penalty:
        assert anchor.any()


@BOTH_INTERCEPTS
def test_alpha_stays_in_its_simplex_and_the_pulls_belong_to_it(intercept):
    X, y = classes(80)
    objective = joint(X, y, Gaussian(0.3), intercept, C=2.0, weights=weights_for(80))
    K, cost = objective.kernel(X, X), objective.problem.cost
    rows = KernelSamples(objective.kernel, X).rows()
    engine = _core.ClassSmo(rows, objective.classes, intercept is Intercept.FREE, 1.0, 16, 16)
    own = np.arange(5) == y[:, None]
    for _ in range(12):
        engine.run(0.0, -1.0, 1, lambda: False)
        alpha = engine.alpha.reshape(5, 80).T
        assert (alpha >= 0.0).all()
        np.testing.assert_allclose(alpha.sum(axis=1), cost, rtol=1e-12)
        pull = ~own + K @ (cost[:, None] * own - alpha)
        np.testing.assert_allclose(engine.scores.reshape(5, 80).T, pull, atol=1e-5)


def test_centred_rows_are_those_of_the_samples_seen_from_a_point():
    X, _ = classes(30)
    centre = X[:7].mean(axis=0)
    rows = KernelSamples(Linear(), X).rows().centred(X @ centre, float(centre @ centre))
    index, out = np.array([3, 29, 0], np.int32), np.empty((3, 30), np.float32)
    rows.rows(index, out)
    np.testing.assert_allclose(out, (X[index] - centre) @ (X - centre).T, atol=1e-5)


# ---- the optimum


@ALL_KERNELS
@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
@BOTH_INTERCEPTS
def test_the_optimum_is_that_of_a_qp_solver(kernel, C, intercept):
    X, y = classes(40, 3, 4)
    cost, K = C * weights_for(40), kernel(X, X)
    solution = solve(joint(X, y, kernel, intercept, weights=cost), 1e-6)
    free = intercept is Intercept.FREE
    points = textbook.features(K)
    W, b, bound = linear_textbook.optimum(points, y, cost, 4, free=free)
    value = linear_textbook.primal(points, y, cost, W, b if free else 0.0)
    assert solution.status is Status.OPTIMAL
    assert solution.certificate.primal == pytest.approx(value, rel=2e-6)
    assert solution.certificate.dual <= value * (1 + 1e-8)
    assert bound <= solution.certificate.primal * (1 + 1e-6)


@BOTH_INTERCEPTS
@pytest.mark.parametrize("C", [0.1, 2.0])
def test_a_linear_kernel_is_the_linear_problem(intercept, C):
    X, y = classes()
    ours = solve(joint(X, y, Linear(), intercept, C=C), 1e-7)
    linear = CrammerSingerObjective(Problem(X, y.astype(np.float64), np.full(60, C)), 5, intercept)
    monitor = Monitor(linear, Stopping(1e-7, 100_000))
    theirs = CrammerSinger().solve(linear, monitor, Start(0))
    assert ours.certificate.primal == pytest.approx(theirs.certificate.primal, rel=3e-7)
    reach = sum(math.sqrt(2 * s.certificate.gap) for s in (ours, theirs))
    W = ours.w @ X
    assert np.linalg.norm(W - theirs.w) <= reach + 1e-10
    judged = linear.certify(PrimalDual(W, ours.b, ours.beta))
    assert judged.gap == pytest.approx(ours.certificate.gap, abs=1e-9 * judged.primal)


@ALL_KERNELS
@BOTH_INTERCEPTS
def test_two_classes_are_the_hinge_loss_with_twice_the_cost(kernel, intercept):
    X, y = classes(60, 4, 2)
    weights = weights_for(60)
    both = solve(joint(X, y, kernel, intercept, weights=weights), 1e-8)
    problem = Problem(X, 2.0 * y - 1.0, 2.0 * weights)
    binary = KernelObjective(problem, HINGE, intercept, kernel=kernel)
    one = SMO().solve(binary, Monitor(binary, Stopping(1e-8)), Start(0))
    assert both.certificate.primal == pytest.approx(one.certificate.primal / 2, rel=1e-7)
    K = kernel(X, X)
    values = K @ (both.w[1] - both.w[0]) + both.b[1] - both.b[0]
    np.testing.assert_allclose(values, K @ one.w + one.b, atol=2e-3)
    np.testing.assert_allclose(both.w.sum(axis=0), 0.0, atol=1e-12)


@BOTH_INTERCEPTS
@pytest.mark.parametrize("kernel", [Gaussian(0.2), Polynomial(0.2, 2, 1.0)], ids=["rbf", "poly"])
@pytest.mark.parametrize("cache_size", [None, 1e-3], ids=["ample", "scarce"])
def test_working_sets_find_the_optimum_of_the_whole(intercept, kernel, cache_size):
    X, y = classes(200, 4, 6)
    objective = joint(X, y, kernel, intercept, C=3.0, weights=weights_for(200))
    whole = solve(objective, 1e-6)
    sets = solve(objective, 1e-6, small=0, working_set=24, cache_size=cache_size)
    assert sets.status is Status.OPTIMAL
    assert sets.info.rows > 0
    assert sets.certificate.primal == pytest.approx(whole.certificate.primal, rel=2e-6)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("dtype", DTYPES, ids=["float32", "float64"])
@pytest.mark.parametrize("small", [0, 1024])
def test_storage_does_not_matter(storage, dtype, small):
    X, y = classes()
    first = solve(joint(X, y, Gaussian(0.3)), 1e-7)
    second = solve(joint(store(X, storage, dtype), y, Gaussian(0.3)), 1e-6, small=small)
    assert second.status is Status.OPTIMAL
    assert second.certificate.primal == pytest.approx(first.certificate.primal, rel=2e-6)


@pytest.mark.parametrize("precomputed", [False, True], ids=["function", "matrix"])
def test_kernels_of_the_caller_give_the_same_model(precomputed):
    X, y = classes()
    gaussian = Gaussian(0.3)
    named = solve(joint(X, y, gaussian), 1e-7)
    positions = np.arange(60.0)[:, None]
    matrix = joint(positions, y, Precomputed(gaussian(X, X)))
    caller = solve(matrix if precomputed else joint(X, y, User(gaussian)), 1e-6)
    assert caller.status is Status.OPTIMAL
    assert caller.certificate.primal == pytest.approx(named.certificate.primal, rel=2e-6)


@settings(max_examples=20)
@given(seed=SEEDS, intercept=st.sampled_from(INTERCEPTS), C=st.sampled_from([0.05, 0.5, 3.0]))
def test_a_duplicate_equals_double_weight(seed, intercept, C):
    X, y = classes(20, 3, 3, seed)
    times = np.random.default_rng(seed).integers(0, 4, size=20)
    times[:3] = 1
    kernel = Gaussian(0.3)
    first = solve(joint(X, y, kernel, intercept, C=C, weights=times), max_iter=3000)
    repeated = np.repeat(X, times, axis=0), np.repeat(y, times)
    second = solve(joint(*repeated, kernel, intercept, C=C), max_iter=3000)
    gaps = [s.certificate.gap for s in (first, second)]
    apart = abs(first.certificate.primal - second.certificate.primal)
    assert apart <= max(gaps) + 1e-11 * first.certificate.primal


@pytest.mark.parametrize("shift", [0.0, 100.0])
def test_free_intercepts_do_not_mind_where_the_origin_is(shift):
    X, y = classes()
    near = solve(joint(X, y, Linear()), 1e-6)
    far = solve(joint(as_float32(X + shift), y, Linear()), 1e-6)
    assert far.status is Status.OPTIMAL
    assert far.certificate.primal == pytest.approx(near.certificate.primal, rel=1e-4)


# ---- the certificate


@settings(max_examples=60)
@given(
    seed=SEEDS,
    intercept=st.sampled_from(INTERCEPTS),
    size=st.sampled_from([1e-8, 1.0, 1e8]),
    kernel=st.sampled_from(KERNELS),
)
def test_any_point_is_certified_by_its_true_values(seed, intercept, size, kernel):
    X, y = classes(15, 3, 4, seed)
    rng = np.random.default_rng(seed)
    weights = rng.choice([0.0, 1.0, 2.0], size=15)
    objective = joint(X, y, kernel, intercept, C=size, weights=weights)
    K, cost = kernel(X, X), objective.problem.cost
    b = rng.normal(size=4) if intercept is Intercept.FREE else np.zeros(4)
    noise = size * rng.normal(size=(15, 4))
    beta = objective.feasible(noise, noise, b)
    certificate = objective.certify(PrimalDual(None, b, beta))
    value, bound = textbook.primal(K, y, cost, beta, b), textbook.dual(K, y, beta)
    rounding = 1e-9 * (abs(value) + abs(bound)) + 1e-300
    assert certificate.gap >= 0.0
    assert certificate.primal == pytest.approx(value, abs=rounding)
    assert certificate.dual == pytest.approx(bound, abs=rounding)
    assert certificate.gap == pytest.approx(value - bound, abs=rounding)
    assert objective.primal(beta, b) == pytest.approx(value, abs=rounding)
    assert objective.dual(beta) == pytest.approx(bound, abs=rounding)


def test_a_point_that_is_not_balanced_proves_nothing():
    X, y = classes()
    objective = joint(X, y, Gaussian(0.3))
    beta = np.zeros((60, 5))
    beta[0, y[0]], beta[0, (y[0] + 1) % 5] = 0.5, -0.5
    certificate = objective.certify(PrimalDual(None, np.zeros(5), beta))
    assert certificate.gap == certificate.relative_gap == math.inf


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_sums_of_float32_rows_are_not_trusted_beyond_their_errors(monkeypatch, C):
    monkeypatch.setattr(class_smo, "affords_float64", lambda *_: False)
    X, y = classes(400, 4, 5)
    objective = joint(X, y, Gaussian(0.3), C=C)
    for tol in (1e-3, 1e-6):
        solution = solve(objective, tol, small=0, working_set=64)
        exact = objective.certify(PrimalDual(None, solution.b, solution.beta))
        assert solution.status is Status.OPTIMAL
        assert exact.gap <= solution.certificate.gap * (1 + 1e-9)
        assert exact.primal == pytest.approx(solution.certificate.primal, rel=1e-4)


def test_errors_of_the_values_are_allowed_for():
    X, y = classes()
    objective = joint(X, y, Gaussian(0.3))
    solution = solve(objective, 1e-6)
    beta, b = solution.beta, solution.b
    z, rng = objective.kernel_values(beta), np.random.default_rng(0)
    exact = objective.certify(PrimalDual(None, b, beta)).gap
    for size in (1e-6, 1e-3):
        for _ in range(20):
            noise = size * rng.normal(size=z.shape)
            seen = objective.certify(
                PrimalDual(None, b, beta, z + noise, error=(np.zeros(5), size))
            )
            assert seen.gap >= exact


@BOTH_INTERCEPTS
@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
@pytest.mark.parametrize("max_iter", [1, 3, 20_000])
def test_optimal_means_that_the_gap_is_proven(intercept, tol, max_iter):
    X, y = classes()
    solution = solve(joint(X, y, Gaussian(0.3), intercept), tol, max_iter)
    assert (solution.status is Status.OPTIMAL) == (solution.certificate.relative_gap <= tol)
    assert solution.n_iter <= max_iter
    _, steps, _, _, gap = (np.array(c) for c in zip(*solution.history, strict=True))
    assert (np.diff(steps) >= 0).all()
    assert (np.diff(gap) <= 0).all()
    assert (gap >= 0).all()


@pytest.mark.parametrize("small", [0, 1024])
@pytest.mark.parametrize("exact", [False, True])
def test_a_time_limit_leaves_a_proven_model(monkeypatch, small, exact):
    monkeypatch.setattr(class_smo, "affords_float64", lambda *_: exact)
    X, y = classes(1000, 20, 10)
    objective = joint(X, y, Gaussian(0.05), C=1e4)
    solution = solve(objective, 1e-12, max_time=0.05, small=small)
    assert solution.status is Status.STOPPED_BY_TIME
    again = objective.certify(PrimalDual(None, solution.b, solution.beta))
    claimed = solution.certificate
    assert again.gap <= claimed.gap * (1 + 1e-6)
    assert again.primal == pytest.approx(claimed.primal, rel=1e-4, abs=claimed.gap)


@pytest.mark.parametrize("small", [0, 1024])
def test_a_start_at_the_optimum_is_recognised(small):
    X, y = classes()
    objective = joint(X, y, Gaussian(0.3))
    first = solve(objective, 1e-6)
    again = solve(objective, 1e-5, start=Start(0, first.beta, first.b), small=small)
    assert again.status is Status.OPTIMAL
    assert again.n_iter == 0


# ---- unusual kernels


@BOTH_INTERCEPTS
@pytest.mark.parametrize("small", [0, 1024])
def test_samples_of_zeros_and_a_constant_kernel_are_solved(intercept, small):
    X, y = classes()
    X[::2] = 0.0
    assert solve(joint(X, y, Linear(), intercept), 1e-4, small=small).status is Status.OPTIMAL
    zeros = np.zeros((60, 4))
    for kernel in (Linear(), Gaussian(1.0)):
        assert solve(joint(zeros, y, kernel, intercept), 1e-4, small=small).status is Status.OPTIMAL


@BOTH_INTERCEPTS
@pytest.mark.parametrize("scale", [1e-5, 1e5])
def test_kernels_of_any_size_are_solved(intercept, scale):
    X, y = classes()
    objective = joint(X, y, scale * Gaussian(0.3), intercept, C=1.0 / scale)
    assert solve(objective, 1e-4).status is Status.OPTIMAL


def test_an_indefinite_kernel_proves_nothing():
    X, y = classes()
    solution = solve(joint(X, y, Sigmoid(0.1, -1.0)), 1e-3, max_iter=2000)
    assert not solution.certificate.convex
    assert solution.status is not Status.OPTIMAL


def test_what_is_no_kernel_is_refused():
    X, y = classes()
    with pytest.raises(ValueError, match="negative on its diagonal"):
        solve(joint(X, y, User(lambda A, B: -(A @ B.T))))
    with pytest.raises(ValueError, match="beyond what float32"):
        solve(joint(1e20 * X, y, Linear()))
    with pytest.raises(ValueError, match="free or absent"):
        joint(X, y, Linear(), Intercept.PENALIZED)


@pytest.mark.parametrize("setting", [{"working_set": 1}, {"n_threads": 0}, {"cache_size": 0.0}])
def test_wrong_settings_are_named(setting):
    with pytest.raises(ValueError, match=next(iter(setting))):
        ClassSMO(**setting)


def test_threads_give_the_same_bits():
    X, y = classes(300)
    objective = joint(X, y, Gaussian(0.3))
    one, two = (solve(objective, 1e-4, small=0, n_threads=t) for t in (1, 2))
    np.testing.assert_array_equal(one.beta, two.beta)
