"""K classes by Pegasos and SGD: steps equal to a twin, the optimum of the exact solver, a proof."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from maxmargin import Intercept, Status, _core
from maxmargin.losses import HINGE
from maxmargin.objectives import PrimalDual
from maxmargin.solvers import CrammerSinger, KernelPegasos, Monitor, Start, Stopping
from maxmargin.solvers.stochastic.epochs import Iterate, batch_seed
from maxmargin.solvers.stochastic.multiclass_epochs import ClassDescent, Layout
from maxmargin.solvers.stochastic.pegasos import Pegasos, PegasosMethod
from maxmargin.solvers.stochastic.pegasos_stream import ClassPegasosStream
from maxmargin.solvers.stochastic.schedules import Constant, Decay, InverseTime
from maxmargin.solvers.stochastic.sgd import SGD
from reference.stochastic import multiclass_epochs as textbook
from reference.stochastic.sgd import RULES
from synthetic import (
    DTYPES,
    INTERCEPTS,
    STORAGES,
    classes,
    csr,
    joint,
    objective_of,
    store,
    weights_for,
)

ALL_INTERCEPTS = pytest.mark.parametrize("intercept", INTERCEPTS, ids=lambda i: i.value)
AVERAGES = pytest.mark.parametrize("averaging", ["none", "uniform", "suffix", "weighted"])
SOLVERS = [Pegasos(), Pegasos(projection=True, batch_size=4), SGD(), SGD(rule="adam")]
ALL_SOLVERS = pytest.mark.parametrize(
    "solver", SOLVERS, ids=["pegasos", "projected", "sgd", "adam"]
)
SCALING = 1.5


def make(intercept=Intercept.PENALIZED, K=5, storage="dense", dtype=np.float64):
    wide = storage == "wide"  # dense rows of many features have weights laid out by class
    X, y = classes(d=70 if wide else 11, n_classes=K)
    return joint(
        store(X, "dense" if wide else storage, dtype),
        y,
        K,
        intercept,
        C=0.1,
        weights=weights_for(60),
        scaling=SCALING,
    )


class Core:
    """A method without its judge."""

    def __init__(self, objective, seed, solver, schedule=None, anchor=0.25):
        self.objective, self.solver = objective, solver
        if isinstance(solver, Pegasos):
            uniform = solver.sampling == "uniform"
            size = solver.rows_a_step(objective.problem.n_samples)
            self.descent = ClassDescent(objective, size, seed, uniform=uniform)
            iterate = Iterate(self.descent.dimension, self.descent.n_biases)
            self.method = PegasosMethod(solver, objective, iterate, self.descent.bias, 0.0)
        else:
            self.descent = solver._descent(objective, seed)
            self.method = solver._method(self.descent, schedule)
        self.descent.anchor[:] = anchor * np.arange(objective.n_classes)

    def run(self, epochs, seconds=1e9):
        descent = self.descent
        _core.descend(
            descent.rows, self.objective.terms, self.method.core, descent.sampler, descent.window,
            descent.random, epochs, False, seconds,
        )  # fmt: skip

    def matrix(self, v):
        """The weights with the bias weights in the last column."""
        return np.c_[self.descent.layout.coef(v), self.descent.layout.parts(v)[1]]


def assert_equal_to_twin(core, epochs, seed, move, **settings):
    W, average, beta = textbook.descend(
        core.reference, epochs, seed, move, feature=core.descent.feature,
        anchor=core.descent.anchor.copy(), **settings,
    )  # fmt: skip
    core.run(epochs)
    close = {"rtol": 1e-9, "atol": 1e-9 * np.abs(W).max()}
    np.testing.assert_allclose(core.matrix(core.method.point()[0]), average, **close)
    core.method.averaging = False
    last = core.method.iterate.last() if hasattr(core.method, "iterate") else core.method.point()
    np.testing.assert_allclose(core.matrix(last[0]), W, **close)
    np.testing.assert_allclose(core.descent.beta(), beta, rtol=1e-9, atol=1e-12)


# ---- the steps


@pytest.mark.parametrize("K", [2, 3, 5, 10, 26])
@pytest.mark.parametrize("storage", [*STORAGES, "wide"])
@pytest.mark.parametrize("dtype", DTYPES, ids=["float32", "float64"])
def test_steps_of_pegasos_equal_the_twin(K, storage, dtype):
    core = Core(make(K=K, storage=storage, dtype=dtype), 1, Pegasos())
    core.reference = make(K=K, storage="wide" if storage == "wide" else "dense")
    assert_equal_to_twin(core, 5, 1, textbook.pegasos())


@AVERAGES
@pytest.mark.parametrize("sampling", ["shuffle", "uniform"])
@pytest.mark.parametrize("batch_size", [1, 7, 1000])
def test_settings_of_pegasos_equal_the_twin(averaging, sampling, batch_size):
    solver = Pegasos(sampling, batch_size, averaging=averaging)
    core = Core(make(), 2, solver)
    core.reference = core.objective
    assert_equal_to_twin(
        core, 6, 2, textbook.pegasos(), batch_size=batch_size, uniform=sampling == "uniform",
        averaging=averaging,
    )  # fmt: skip


@ALL_INTERCEPTS
@AVERAGES
@pytest.mark.parametrize("storage", ["dense", "csr32"])
@pytest.mark.parametrize("batch_size", [1, 7])
def test_the_projection_equals_the_twin(intercept, averaging, storage, batch_size):
    """A free intercept is not in the ball."""
    solver = Pegasos("shuffle", batch_size, projection=True, averaging=averaging)
    core = Core(make(intercept, storage=storage), 3, solver)
    core.reference = make(intercept)
    radius = solver.radius(core.objective)
    move = textbook.pegasos(radius, bias_in_ball=intercept is not Intercept.FREE)
    assert_equal_to_twin(core, 4, 3, move, batch_size=batch_size, averaging=averaging)
    assert np.linalg.norm(core.matrix(core.method.iterate.last()[0])[:, :-1]) <= radius * (1 + 1e-9)


@pytest.mark.parametrize("rule", list(RULES))
@pytest.mark.parametrize("storage", ["dense", "csr64"])
@pytest.mark.parametrize("batch_size", [1, 7])
def test_every_rule_of_sgd_equals_the_twin(rule, storage, batch_size):
    schedule = Decay(0.05)
    solver = SGD(schedule, rule, batch_size)
    core = Core(make(storage=storage), 4, solver, schedule)
    core.reference = make()
    total = float(core.objective.problem.cost.sum())
    move = textbook.sgd(lambda t: schedule.step(t, 1.0 / total), total, rule=rule)
    assert_equal_to_twin(core, 5, 4, move, batch_size=batch_size)


@pytest.mark.parametrize("solver", SOLVERS, ids=["pegasos", "projected", "sgd", "adam"])
def test_bits_do_not_depend_on_where_the_deadline_cuts(solver):
    whole, parts = (Core(make(), 3, solver, Decay(0.05)) for _ in range(2))
    whole.run(40)
    calls = 0
    while parts.descent.sampler.epochs < 40:
        parts.run(40 - parts.descent.sampler.epochs, seconds=0.0)
        calls += 1
    assert calls > 1
    np.testing.assert_array_equal(whole.method.point()[0], parts.method.point()[0])
    np.testing.assert_array_equal(whole.descent.tally, parts.descent.tally)


@pytest.mark.parametrize("projection", [False, True])
def test_a_small_scale_is_folded_away(projection):
    core = Core(make(Intercept.FREE), 0, Pegasos(projection=projection, averaging="weighted"))
    core.run(20_000)
    iterate = core.method.iterate
    assert iterate.core.scale > 1e-6
    np.testing.assert_allclose(iterate.last()[0], iterate.average()[0], rtol=2e-2, atol=2e-3)


@pytest.mark.parametrize("solver", SOLVERS, ids=["pegasos", "projected", "sgd", "adam"])
def test_a_moved_anchor_leaves_the_intercepts(solver):
    core = Core(make(Intercept.FREE), 0, solver, Decay(0.05))
    core.run(3)
    before = core.descent._point(*core.method.point())
    core.descent.follow(core.method, core.method.point())
    after = core.descent._point(*core.method.point())
    np.testing.assert_allclose(after[0], before[0])
    np.testing.assert_allclose(after[1], before[1], rtol=1e-12)
    np.testing.assert_allclose(core.descent.anchor, before[1], rtol=1e-12)


# ---- the solver


def fit(objective, solver, tol=2e-2, max_iter=200, start=None):
    monitor = Monitor(objective, Stopping(tol, max_iter))
    return solver.solve(objective, monitor, start or Start(0))


def exact(objective, tol=1e-7):
    return CrammerSinger().solve(objective, Monitor(objective, Stopping(tol)), Start(0))


def larger(intercept=Intercept.FREE, storage="dense", C=0.02):
    X, y = classes(1000, 10, 4)
    return joint(store(X, storage), y, 4, intercept, C=C)


def assert_feasible(objective, beta):
    own = objective.own
    others = beta.copy()
    others[own] = 0.0
    cost = objective.problem.cost
    assert (others <= 0.0).all()
    assert (beta[own] <= cost).all()
    np.testing.assert_allclose(beta.sum(axis=1), 0.0, atol=1e-12 * cost.max())
    if objective.intercept is Intercept.FREE:
        np.testing.assert_allclose(beta.sum(axis=0), 0.0, atol=1e-9 * cost.sum())


@ALL_SOLVERS
@ALL_INTERCEPTS
@pytest.mark.parametrize("storage", ["dense", "csr32"])
def test_the_gap_is_proven_around_the_exact_optimum(solver, intercept, storage):
    objective = larger(intercept, storage)
    solution, best = fit(objective, solver), exact(objective).certificate
    assert solution.status is Status.OPTIMAL
    certificate = solution.certificate
    assert 0.0 <= certificate.relative_gap <= 2e-2
    assert certificate.dual <= best.primal
    assert best.dual <= certificate.primal <= 1.02 * best.primal
    assert_feasible(objective, solution.beta)
    gaps = [record.gap for record in solution.history]
    assert min(gaps) >= 0.0
    assert gaps == sorted(gaps, reverse=True)


@ALL_INTERCEPTS
@pytest.mark.parametrize("rule", list(RULES))
def test_the_certificate_is_of_what_is_returned(intercept, rule):
    objective = make(intercept)
    solution = fit(objective, SGD(rule=rule), max_iter=4, tol=1e-9)
    W, b = objective.lay_out(solution.w), solution.b
    again = objective.certify(PrimalDual(objective.coef(W), b, solution.beta))
    assert again.gap == pytest.approx(solution.certificate.gap)
    assert again.primal == pytest.approx(objective.primal(solution.w, b))
    assert again.dual == pytest.approx(objective.dual(solution.beta))
    assert solution.status is Status.STOPPED_BY_ITERATIONS


@AVERAGES
def test_every_average_gets_there(averaging):
    tol = 0.2 if averaging == "none" else 2e-2
    solution = fit(larger(Intercept.NONE), Pegasos(averaging=averaging), tol=tol)
    assert solution.status is Status.OPTIMAL


@ALL_SOLVERS
def test_the_same_seed_gives_the_same_bits(solver):
    first, second = (fit(make(), solver, max_iter=8, tol=1e-9) for _ in range(2))
    np.testing.assert_array_equal(first.w, second.w)
    np.testing.assert_array_equal(first.beta, second.beta)
    assert (fit(make(), solver, max_iter=8, tol=1e-9, start=Start(1)).w != first.w).any()


@pytest.mark.parametrize("intercept", [Intercept.NONE, Intercept.PENALIZED], ids=lambda i: i.value)
@pytest.mark.parametrize("solver", [Pegasos(), SGD(InverseTime())], ids=["pegasos", "sgd"])
def test_two_classes_are_the_binary_problem_of_twice_c(intercept, solver):
    """Step by step: w_1 − w_0 moves by 2 C_i x_i where w moves by that."""
    X, y = classes(n_classes=2)
    both = joint(X, y, 2, intercept, C=0.1, weights=weights_for(60), scaling=SCALING)
    binary = objective_of(
        HINGE, intercept, C=0.2, weights=weights_for(60), scaling=SCALING, X=X, y=2.0 * y - 1.0
    )
    ours = fit(both, solver, tol=1e-9, max_iter=6)
    theirs = solver.solve(binary, Monitor(binary, Stopping(1e-9, 6)), Start(0))
    np.testing.assert_allclose(ours.w[1] - ours.w[0], theirs.w, rtol=1e-9, atol=1e-12)
    assert ours.b[1] - ours.b[0] == pytest.approx(theirs.b, rel=1e-9)
    assert 2.0 * ours.certificate.primal == pytest.approx(theirs.certificate.primal)
    assert 2.0 * ours.certificate.dual == pytest.approx(theirs.certificate.dual)


@ALL_SOLVERS
@ALL_INTERCEPTS
def test_a_start_is_not_lost(solver, intercept):
    objective = larger(intercept)
    best = exact(objective)
    start = Start(0, best.beta, best.b)
    assert fit(objective, solver, tol=1e-5, start=start).n_iter == 0
    again = fit(objective, solver, tol=1e-12, max_iter=2, start=start)
    # W is made again of a beta that was balanced for the proof: not quite the W of the solution.
    slack = 1e-7 if intercept is Intercept.FREE else 1e-10
    assert again.certificate.gap <= 1.001 * best.certificate.gap + slack * best.certificate.primal


@ALL_INTERCEPTS
def test_short_steps_stay_at_the_start(intercept):
    objective = larger(intercept)
    best = exact(objective)
    solver = SGD(Constant(1e-9))
    near = fit(objective, solver, tol=1e-12, max_iter=1, start=Start(0, best.beta, best.b))
    np.testing.assert_allclose(near.w, best.w, rtol=1e-3, atol=1e-4)


def test_steps_that_are_too_long_leave_the_best_point():
    objective = larger(Intercept.NONE)
    solution = fit(objective, SGD(Constant(1e4)), max_iter=1000)
    assert solution.status is Status.DIVERGED
    assert np.isfinite(solution.w).all()
    assert solution.certificate.primal <= objective.primal(np.zeros((4, 10)), np.zeros(4))


@pytest.mark.parametrize("averaging", ["uniform", "weighted"])
def test_the_bound_holds_in_the_mean(averaging):
    objective = make(Intercept.NONE)
    best, solver = exact(objective).certificate.primal, Pegasos("uniform", averaging=averaging)
    excess = []
    for seed in range(20):
        core = Core(objective, seed, solver, anchor=0.0)
        core.run(4)
        excess.append(core.descent.primal(*core.method.point()) - best)
    assert np.mean(excess) <= solver.bound(objective, 240) < math.inf


def test_there_is_no_bound_with_a_free_intercept():
    assert fit(larger(), Pegasos(), max_iter=2).info.bound == math.inf


@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.sampled_from(INTERCEPTS))
@settings(max_examples=25)
def test_the_gap_is_never_negative(seed, K, intercept):
    X, y = classes(20, 3, K, seed)
    objective = joint(X, y, K, intercept, C=2.0, weights=weights_for(20, seed))
    for solver in (Pegasos(), SGD()):
        solution = fit(objective, solver, tol=1e-6, max_iter=3)
        assert min(record.gap for record in solution.history) >= 0.0
        assert_feasible(objective, solution.beta)


@pytest.mark.parametrize("shares", [[1, 1, 1], [5, 2, 2], [1, 7, 2], [3, 3, 0], [0, 1, 0]])
def test_no_constant_is_better_than_the_start(shares):
    y = np.repeat([0, 1, 2], np.maximum(shares, 1))
    cost = np.repeat([float(share > 0) for share in shares], np.maximum(shares, 1))
    objective = joint(np.ones((len(y), 1)), y, 3, Intercept.FREE, weights=cost)
    start = objective.primal(np.zeros((3, 1)), objective.best_constant())
    # The linear program: slacks of at least 0 and of at least 1 + b_j − b_y, Σ C ξ least.
    others = [(own, j) for own in range(3) for j in range(3) if j != own]
    rows = np.zeros((6, 6))
    for row, (own, j) in zip(rows, others, strict=True):
        row[[j, own, 3 + own]] = 1.0, -1.0, -1.0
    best = linprog(
        np.r_[np.zeros(3), shares], rows, -np.ones(6), bounds=[(None, None)] * 3 + [(0, None)] * 3
    )
    assert start == pytest.approx(best.fun)


@ALL_SOLVERS
@ALL_INTERCEPTS
def test_rows_of_zeros_and_one_row_a_class_end(solver, intercept):
    X = np.zeros((3, 2))
    X[0, 0] = 1.0
    objective = joint(X, np.arange(3), 3, intercept, C=0.5)
    solution = fit(objective, solver, tol=1e-3, max_iter=300)
    assert np.isfinite(solution.w).all()
    assert solution.certificate.gap >= 0.0
    assert solution.certificate.dual <= exact(objective).certificate.primal


# ---- streams


def stream_of(objective, settings=None, **options):
    lam = 1.0 / float(objective.problem.cost.sum())
    K, d = objective.n_classes, objective.problem.n_features
    return ClassPegasosStream(
        K, d, lam, settings or Pegasos(), intercept=objective.intercept, **options
    )


@ALL_INTERCEPTS
@pytest.mark.parametrize("averaging", ["none", "weighted", "suffix"])
def test_a_stream_learns(intercept, averaging):
    objective = larger(intercept)
    X, y = objective.problem.X, objective.problem.y
    stream = stream_of(objective, Pegasos(averaging=averaging))
    for _ in range(20):
        for begin in range(0, 1000, 100):
            stream.step(X[begin : begin + 100], y[begin : begin + 100])
    assert stream.t == 20 * 1000
    best = exact(objective).certificate.primal
    assert objective.primal(*stream.point()) <= best * (1.1 if averaging == "none" else 1.03)


def test_one_batch_of_a_stream_is_one_epoch():
    objective = larger(Intercept.PENALIZED)
    stream = stream_of(objective, seed=4)
    stream.step(objective.problem.X, objective.problem.y)
    core = Core(objective, batch_seed(4, 0), Pegasos(), anchor=0.0)
    core.run(1)
    np.testing.assert_allclose(
        np.c_[stream.point()], core.matrix(core.method.point()[0]), rtol=1e-9
    )


@ALL_INTERCEPTS
def test_dense_and_sparse_batches_may_alternate(intercept):
    objective = larger(intercept)
    X, y = objective.problem.X, objective.problem.y
    dense, mixed = stream_of(objective), stream_of(objective)
    for k, begin in enumerate(range(0, 1000, 200)):
        batch = slice(begin, begin + 200)
        dense.step(X[batch], y[batch])
        mixed.step(csr(X[batch], np.int64) if k % 2 else X[batch], y[batch])
        for ours, theirs in zip(mixed.point(), dense.point(), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def test_a_stream_can_be_stored_and_taken_up_again():
    objective = larger(storage="csr32")
    X, y = objective.problem.X, objective.problem.y
    kept, stored = stream_of(objective), stream_of(objective)
    for begin in range(0, 1000, 250):
        batch = slice(begin, begin + 250)
        kept.step(X[batch], y[batch])
        stored.step(X[batch], y[batch])
        stored = pickle.loads(pickle.dumps(stored))
    for ours, theirs in zip(stored.point(), kept.point(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@ALL_INTERCEPTS
def test_a_stream_goes_on_from_a_point(intercept):
    objective = larger(intercept)
    best = exact(objective)
    stream = stream_of(objective, Pegasos(averaging="none"))
    stream.resume(best.w, best.b, 10**7)
    stream.step(objective.problem.X, objective.problem.y)
    for ours, theirs in zip(stream.point(), (best.w, best.b), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-2)


def test_a_stream_goes_on_to_penalise_the_intercepts():
    """A row of zeros that asks for nothing: every weight is scaled by 1 − 1/t."""
    stream = ClassPegasosStream(
        3, 2, 1.0, Pegasos(averaging="none"), intercept=Intercept.PENALIZED, intercept_scaling=2.0
    )
    W, b = np.ones((3, 2)), np.array([0.0, 4.0, 1.0])
    stream.resume(W, b, 9)
    stream.step(np.zeros((1, 2)), np.ones(1))
    np.testing.assert_allclose(stream.point()[0], 0.9 * W)
    np.testing.assert_allclose(stream.point()[1], 0.9 * b)


# ---- refused


def test_a_kernel_solver_is_refused():
    with pytest.raises(ValueError, match="takes a KernelObjective"):
        fit(make(), KernelPegasos())


def test_the_core_checks_its_arrays():
    objective, solver = make(), Pegasos()
    rows, labels = objective.problem.rows, objective.labels
    with pytest.raises(ValueError, match="a class that does not exist"):
        _core.RivalRows(rows, labels, 3, 0.0, np.zeros(3))
    with pytest.raises(ValueError, match="anchor has length 4"):
        _core.RivalRows(rows, labels, 5, 0.0, np.zeros(4))
    core = Core(objective, 0, solver)
    core.descent.window = _core.Window(np.zeros((60, 2)), 60)
    with pytest.raises(ValueError, match="columns"):
        core.run(1)
    core = Core(objective, 0, solver)
    core.descent.rows = Core(make(storage="wide"), 0, solver).descent.rows
    with pytest.raises(ValueError, match="n_features"):
        core.run(1)


@pytest.mark.parametrize("by_feature", [False, True])
def test_a_layout_and_back(by_feature):
    coef, w_bias = np.arange(15.0).reshape(3, 5), np.arange(3.0)
    layout = Layout(3, 5, by_feature)
    v = layout.vector(coef, w_bias)
    assert v.shape == (layout.size,)
    np.testing.assert_array_equal(layout.coef(v), coef)
    np.testing.assert_array_equal(layout.parts(v)[1], w_bias)
