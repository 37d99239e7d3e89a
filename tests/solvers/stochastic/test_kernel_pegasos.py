"""Kernel Pegasos equals its NumPy twin, the linear one on explicit features, and the optimum."""

import pickle

import numpy as np
import pytest

from choices import HINGES, REGULARIZED_LOSSES
from maxmargin import (
    SMO,
    SVC,
    Intercept,
    KernelObjective,
    KernelPegasos,
    LinearObjective,
    Pegasos,
    Problem,
    Status,
    _core,
)
from maxmargin.kernels import Gaussian, Laplacian, Linear, Precomputed
from maxmargin.losses import HINGE, PERCEPTRON
from maxmargin.objectives import certify
from maxmargin.solvers import Monitor, Start, Stopping
from maxmargin.solvers.kernel import row_source as kernel_samples
from maxmargin.solvers.stochastic.epochs import Iterate, curvature
from maxmargin.solvers.stochastic.kernel_pegasos import KernelDescent, KernelPegasosStream
from maxmargin.solvers.stochastic.pegasos import PegasosMethod
from reference.stochastic.kernel_pegasos import kernel_pegasos as twin
from synthetic import STORAGES, TUBE, as_float32, data_for, store, weights_for

FEATURE, ANCHOR = 1.5, 0.25


def make(loss=HINGE, intercept=Intercept.NONE, kernel=None, *, C=0.8, storage="dense"):
    X, y = data_for(loss)
    problem = Problem(store(X, storage), y, C * weights_for(60))
    return KernelObjective(problem, loss, intercept, kernel=kernel or Gaussian(0.3))


def rounded(loss=HINGE):
    """A kernel matrix of float32 numbers, so that the tiles have it without an error."""
    X, y = data_for(loss)
    K = as_float32(Gaussian(0.3)(X, X))
    positions = np.arange(60.0)[:, np.newaxis]
    problem = Problem(positions, y, 0.8 * weights_for(60))
    return KernelObjective(problem, loss, Intercept.NONE, kernel=Precomputed(K)), K


class Core:
    """Kernel Pegasos without its judge."""

    def __init__(self, objective, seed, **settings):
        self.settings = KernelPegasos(**settings)
        self.descent = KernelDescent(self.settings, objective, seed)
        self.iterate, self.n = Iterate(self.descent.dimension), objective.problem.n_samples
        self.iterate.core.b = ANCHOR
        self.offset = curvature(objective)
        bias = _core.Bias(FEATURE, ANCHOR)
        self.method = PegasosMethod(self.settings, objective, self.iterate, bias, self.offset)

    def run(self, epochs, seconds=1e9):
        descent, budget = self.descent, _core.EpochBudget(epochs, False, seconds)
        state = _core.EpochState(descent.sampler, descent.window, descent.random)
        _core.descend(descent.rows, descent.objective.terms, self.method.core, state, budget)


def assert_equal_to_twin(loss, epochs, seed, **settings):
    objective, K = rounded(loss)
    core = Core(objective, seed, **settings)
    uniform = settings.pop("sampling", "shuffle") == "uniform"
    settings.pop("cache_size", None)
    last, average, beta = twin(
        objective, K, epochs, seed, uniform=uniform, feature=FEATURE, anchor=ANCHOR,
        offset=core.offset, **settings,
    )  # fmt: skip
    core.run(epochs)
    size = np.abs(last).max()
    for (ours, b), theirs in ((core.iterate.last(), last), (core.iterate.average(), average)):
        np.testing.assert_allclose(ours[: core.n], theirs, rtol=1e-9, atol=1e-9 * size)
        np.testing.assert_allclose(ours[core.n :], K @ theirs, rtol=1e-9, atol=1e-8 * size)
        assert b - ANCHOR == pytest.approx(FEATURE**2 * theirs.sum(), rel=1e-9, abs=1e-9 * size)
    np.testing.assert_allclose(core.descent.beta(), beta, rtol=1e-10, atol=1e-12)


@REGULARIZED_LOSSES
def test_steps_equal_the_twin(loss):
    assert_equal_to_twin(loss, 5, 1)


@pytest.mark.parametrize("averaging", ["none", "uniform", "suffix", "weighted"])
@pytest.mark.parametrize("sampling", ["shuffle", "uniform"])
@pytest.mark.parametrize("batch_size", [1, 7, 60])
def test_settings_equal_the_twin(averaging, sampling, batch_size):
    assert_equal_to_twin(HINGE, 6, 2, averaging=averaging, sampling=sampling, batch_size=batch_size)


def test_a_small_cache_changes_nothing():
    assert_equal_to_twin(HINGE, 6, 3, cache_size=1e-6)


@pytest.mark.parametrize("cache_size", [None, 1e-6])
def test_bits_do_not_depend_on_where_the_deadline_cuts(cache_size):
    whole, parts = (Core(make(), 3, batch_size=3, cache_size=cache_size) for _ in range(2))
    whole.run(20)
    calls = 0
    while parts.descent.sampler.epochs < 20:
        parts.run(20 - parts.descent.sampler.epochs, seconds=0.0)
        calls += 1
    assert calls > 20
    np.testing.assert_array_equal(whole.iterate.average()[0], parts.iterate.average()[0])
    np.testing.assert_array_equal(whole.descent.beta(), parts.descent.beta())


def test_only_violators_cost_a_kernel_row():
    core = Core(make(), 0)
    core.run(50)
    violators = np.count_nonzero(core.iterate.v[: core.n])
    assert violators <= core.descent.rows.rows_computed < core.n


# ---- the solver


def fit(objective, tol=2e-2, max_iter=400, start=None, solver=None, **settings):
    monitor = Monitor(objective, Stopping(tol, max_iter))
    return (solver or KernelPegasos(**settings)).solve(objective, monitor, start or Start(0))


@REGULARIZED_LOSSES
@pytest.mark.parametrize("intercept", [Intercept.FREE, Intercept.NONE], ids=lambda i: i.value)
def test_a_linear_kernel_is_the_linear_solver(loss, intercept):
    """Draw by draw, up to the float32 of the kernel values."""
    objective = make(loss, intercept, Linear())
    linear = LinearObjective(objective.problem, loss, intercept)
    kernel, plain = (
        fit(one, max_iter=8, tol=1e-9, solver=solver)
        for one, solver in ((objective, KernelPegasos()), (linear, Pegasos()))
    )
    assert kernel.certificate.primal == pytest.approx(plain.certificate.primal, rel=1e-3)
    assert kernel.certificate.dual == pytest.approx(plain.certificate.dual, rel=1e-3)
    assert kernel.info.bound == pytest.approx(plain.info.bound)
    np.testing.assert_allclose(
        kernel.w @ objective.problem.X, plain.w, rtol=1e-2, atol=1e-2 * abs(plain.w).max()
    )


@REGULARIZED_LOSSES
@pytest.mark.parametrize("intercept", [Intercept.FREE, Intercept.NONE], ids=lambda i: i.value)
def test_the_gap_is_proven_to_fall(loss, intercept):
    solution = fit(make(loss, intercept), tol=0.1 if intercept is Intercept.NONE else 0.2)
    assert solution.status is Status.OPTIMAL
    gaps = [record.gap for record in solution.history]
    assert min(gaps) >= 0.0
    assert gaps == sorted(gaps, reverse=True)


@pytest.mark.parametrize("kernel", [Gaussian(0.3), Laplacian(0.3), Linear()], ids=str)
@pytest.mark.parametrize("loss", [HINGE, TUBE], ids=["hinge", "tube"])
@pytest.mark.parametrize("intercept", [Intercept.FREE, Intercept.NONE], ids=lambda i: i.value)
def test_the_optimum_lies_between_its_bounds(kernel, loss, intercept):
    objective = make(loss, intercept, kernel)
    ours, smo = fit(objective, tol=0.1).certificate, fit(objective, 1e-6, solver=SMO()).certificate
    assert ours.dual <= smo.primal
    assert smo.dual <= ours.primal
    assert ours.primal <= smo.primal * 1.1


@pytest.mark.parametrize("storage", STORAGES)
def test_storage_does_not_change_the_model(storage):
    dense, other = (fit(make(storage=one), max_iter=4, tol=1e-9) for one in ("dense", storage))
    assert other.certificate.primal == pytest.approx(dense.certificate.primal, rel=1e-4)


def test_the_certificate_is_that_of_certify():
    objective = make(HINGE, Intercept.FREE)
    solution = fit(objective, max_iter=6)
    again = certify(objective, solution.w, solution.b, solution.beta)
    assert again.primal == pytest.approx(solution.certificate.primal, rel=1e-12)
    assert again.gap == pytest.approx(solution.certificate.gap, rel=1e-9)


def test_the_bound_holds_where_the_theorem_applies():
    objective = make()
    solution = fit(objective, max_iter=50, tol=1e-9, sampling="uniform", averaging="uniform")
    best = fit(objective, 1e-8, solver=SMO()).certificate.primal
    assert 0.0 <= solution.certificate.primal - best <= solution.info.bound < np.inf


def test_the_same_seed_gives_the_same_bits():
    first, again, other = (fit(make(), max_iter=6, start=Start(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.w, again.w)
    assert (first.w != other.w).any()


@pytest.mark.parametrize("intercept", [Intercept.FREE, Intercept.NONE], ids=lambda i: i.value)
def test_a_start_is_used(intercept):
    objective = make(HINGE, intercept)
    best = fit(objective, 1e-6, solver=SMO())
    warm = fit(objective, 1e-4, max_iter=1, start=Start(0, best.beta, best.b))
    assert warm.status is Status.OPTIMAL


def test_samples_without_a_say_have_no_coefficient():
    objective = make()
    solution = fit(objective, max_iter=5)
    assert (solution.w[objective.problem.cost == 0.0] == 0.0).all()


def test_limits_stop_it():
    assert fit(make(), 1e-12, max_iter=3).n_iter == 3
    monitor = Monitor(make(), Stopping(1e-12, None, 0.05))
    stopped = KernelPegasos().solve(monitor.objective, monitor, Start(0))
    assert stopped.status is Status.STOPPED_BY_TIME


@pytest.mark.parametrize(
    ("objective", "message"),
    [
        (make(PERCEPTRON), "needs a regularised objective"),
        (LinearObjective(make().problem, HINGE), "takes a KernelObjective, got a LinearObjective"),
    ],
    ids=["perceptron", "linear"],
)
def test_what_it_cannot_solve_is_refused(objective, message):
    with pytest.raises(ValueError, match=message):
        fit(objective)


@pytest.mark.parametrize(
    "settings", [{"projection": True}, {"n_threads": 0}, {"cache_size": -1.0}, {"batch_size": 0}]
)
def test_wrong_settings_are_named(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        KernelPegasos(**settings)


# ---- streams


def stream(max_support=None, **options):
    return KernelPegasosStream(
        Gaussian(0.3), 0.02, KernelPegasos(), max_support, **({"seed": 5} | options)
    )


def expansion(one, X):
    coef, b = one.point()
    return one.kernel(X, one.support) @ coef + b


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("intercept", list(Intercept)[:2], ids=lambda i: i.value)
@HINGES
def test_a_stream_learns(loss, storage, intercept):
    X, y = data_for(HINGE, 400)
    X, one = store(X, storage), stream(loss=loss, intercept=intercept)
    for batch in np.array_split(np.arange(400), 8) * 2:
        one.step(X[batch], y[batch])
    assert one.t == 800
    assert len(one.point()[0]) == one.support.shape[0] < 800
    assert (np.sign(expansion(one, X)) == y).mean() > 0.8


def test_one_batch_is_the_first_epoch_of_a_fit():
    X, y = data_for(HINGE)
    one = stream(intercept=Intercept.NONE)
    one.step(X, y)
    objective = KernelObjective(
        one.objective(X, y).problem, HINGE, Intercept.NONE, kernel=one.kernel
    )
    core = Core(objective, int(np.random.SeedSequence([5, 0]).generate_state(1, np.uint64)[0]))
    core.iterate.core.b, core.method.core.bias = 0.0, _core.Bias(0.0, 0.0)
    core.run(1)
    kept = core.iterate.last()[0][: core.n] != 0.0
    np.testing.assert_array_equal(one.support, X[kept])
    whole = core.iterate.average()[0][: core.n]
    np.testing.assert_allclose(one.point()[0], whole[kept], rtol=1e-12)


def test_a_stream_can_be_stored_between_two_batches():
    X, y = data_for(HINGE, 200)
    whole, first = stream(), stream()
    for begin in (0, 100):
        whole.step(X[begin : begin + 100], y[begin : begin + 100])
    first.step(X[:100], y[:100])
    again = pickle.loads(pickle.dumps(first))
    again.step(X[100:], y[100:])
    np.testing.assert_array_equal(again.point()[0], whole.point()[0])
    np.testing.assert_array_equal(again.support, whole.support)


def test_a_full_stream_forgets_the_least():
    X, y = data_for(HINGE, 400)
    one = stream(max_support=100, intercept=Intercept.NONE)
    for batch in np.array_split(np.arange(400), 8) * 3:
        one.step(X[batch], y[batch])
        assert one.support.shape[0] <= 100
    assert (np.sign(expansion(one, X)) == y).mean() > 0.8


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_certificate_takes_no_float32_where_float64_is_not_felt(monkeypatch):
    X, y = data_for(HINGE, 200)

    def certificate():
        model = SVC(gamma=0.3, solver=KernelPegasos(), max_iter=3, random_state=0)
        return model.fit(X, y).certificate_

    expected = certificate()
    monkeypatch.setattr(kernel_samples, "_EXACT_PREDICTED", 0)
    assert certificate() == expected
