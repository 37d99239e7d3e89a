"""The compiled steps of Pegasos equal their NumPy twin, and do what the theorem says."""

import math
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge
from sklearn.preprocessing import scale

from choices import ALL_INTERCEPTS, AVERAGES, REGULARIZED_LOSSES
from compiled.stochastic.pegasos import ANCHOR, FEATURE, Core
from maxmargin import Intercept, Status, _core
from maxmargin.losses import HINGE
from maxmargin.objectives import certify
from maxmargin.solvers import Monitor, Start, Stopping
from maxmargin.solvers.stochastic.epochs import Descent
from maxmargin.solvers.stochastic.pegasos import Pegasos
from reference.stochastic.pegasos import pegasos as twin
from synthetic import LOSSES, STORAGES, free_svr, larger, objective_of, solve, store, weights_for


def make(loss=HINGE, intercept=Intercept.PENALIZED, **kwargs):
    return objective_of(loss, intercept, C=0.8, weights=weights_for(60), **kwargs)


def assert_equal_to_twin(core, epochs, seed):
    settings = core.settings
    w, average, beta = twin(
        core.objective,
        epochs,
        seed,
        batch_size=settings.rows_a_step(core.objective.problem.n_samples),
        uniform=settings.sampling == "uniform",
        radius=settings.radius(core.objective),
        averaging=settings.averaging,
        feature=FEATURE,
        anchor=ANCHOR,
        offset=core.offset,
    )
    core.run(epochs)
    size = np.abs(w).max()
    for (ours, b), theirs in ((core.iterate.last(), w), (core.iterate.average(), average)):
        np.testing.assert_allclose(ours, theirs[:-1], rtol=1e-10, atol=1e-10 * size)
        assert b == pytest.approx(ANCHOR + FEATURE * theirs[-1], rel=1e-10, abs=1e-10 * size)
    np.testing.assert_allclose(core.descent.beta(), beta, rtol=1e-10, atol=1e-12)


@REGULARIZED_LOSSES
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
def test_steps_equal_the_twin(loss, storage, dtype):
    objective = make(loss)
    core = Core(objective, 1, store(objective.problem.X, storage, dtype))
    assert_equal_to_twin(core, 5, 1)


@AVERAGES
@pytest.mark.parametrize("sampling", ["shuffle", "uniform"])
@pytest.mark.parametrize("projection", [False, True])
@pytest.mark.parametrize("batch_size", [1, 7, 60, 1000])
def test_settings_equal_the_twin(averaging, sampling, projection, batch_size):
    core = Core(
        make(), 2, sampling=sampling, averaging=averaging, projection=projection,
        batch_size=batch_size,
    )  # fmt: skip
    assert_equal_to_twin(core, 6, 2)


@pytest.mark.parametrize("projection", [False, True])
def test_a_small_scale_is_folded_away(projection):
    """After 10⁶ steps and more v would be too long; 1/t must then start from 1 again."""
    core = Core(make(), 0, averaging="weighted", projection=projection)
    core.run(20_000)
    assert core.iterate.core.scale > 1e-6
    assert core.iterate.core.steps == 20_000 * 60
    w, _ = core.iterate.last()
    np.testing.assert_allclose(w, core.iterate.average()[0], rtol=1e-2, atol=1e-3)


@AVERAGES
@pytest.mark.parametrize("projection", [False, True])
def test_bits_do_not_depend_on_where_the_deadline_cuts(averaging, projection):
    settings = {"averaging": averaging, "projection": projection, "batch_size": 3}
    whole, parts = Core(make(), 3, **settings), Core(make(), 3, **settings)
    whole.run(40)
    calls = 0
    while parts.descent.sampler.epochs < 40:
        parts.run(40 - parts.descent.sampler.epochs, seconds=0.0)
        calls += 1
    assert calls > 1
    np.testing.assert_array_equal(whole.iterate.last()[0], parts.iterate.last()[0])
    np.testing.assert_array_equal(whole.iterate.average()[0], parts.iterate.average()[0])
    np.testing.assert_array_equal(whole.descent.beta(), parts.descent.beta())


@REGULARIZED_LOSSES
def test_w_is_the_sum_of_the_subgradients(loss):
    """t w = n Σ g_i x_i: after the first epoch, where every row was met once, w = Σ β_i x_i."""
    objective = make(loss)
    core = Core(objective, 0)
    core.run(1)
    t = core.offset + 60
    w, b = core.iterate.last()
    beta = core.descent.beta() * 60 / t
    np.testing.assert_allclose(w, beta @ objective.problem.X, rtol=1e-10, atol=1e-12)
    assert b - ANCHOR == pytest.approx(FEATURE**2 * beta.sum(), rel=1e-10)


@REGULARIZED_LOSSES
@pytest.mark.parametrize("sampling", ["shuffle", "uniform"])
def test_the_dual_point_lies_in_its_box(loss, sampling):
    core = Core(make(loss), 0, sampling=sampling)
    for _ in range(10):
        core.run(1)
        beta, box = core.descent.beta(), core.objective.box
        assert (beta >= box.lower).all()
        assert (beta <= box.upper).all()


@REGULARIZED_LOSSES
def test_the_projected_point_stays_in_a_ball_around_the_optimum(loss):
    objective = make(loss)
    core = Core(objective, 0, projection=True)
    radius = core.settings.radius(objective)
    assert np.linalg.norm(solve(objective).w) <= radius
    for _ in range(5):
        core.run(1)
        assert np.linalg.norm(core.iterate.last()[0]) <= radius * (1 + 1e-9)


def test_the_radius_is_the_lectures_for_the_hinge():
    objective = make(HINGE)
    lam = 1 / objective.problem.cost.sum()
    assert Pegasos(projection=True).radius(objective) == pytest.approx(1 / math.sqrt(lam))


# ---- the solver


def fit(objective, tol=5e-2, max_iter=200, start=None, **settings):
    monitor = Monitor(objective, Stopping(tol, max_iter))
    return Pegasos(**settings).solve(objective, monitor, start or Start(0))


@REGULARIZED_LOSSES
@ALL_INTERCEPTS
def test_the_gap_is_proven_to_fall(loss, intercept):
    solution = fit(larger(loss, intercept))
    assert solution.status is Status.OPTIMAL
    assert 0.0 <= solution.certificate.relative_gap <= 5e-2
    gaps = [record.gap for record in solution.history]
    assert min(gaps) >= 0.0
    assert gaps == sorted(gaps, reverse=True)


@AVERAGES
@pytest.mark.parametrize("settings", [{}, {"projection": True}, {"batch_size": 16}], ids=str)
def test_every_setting_gets_there(averaging, settings):
    tol = 0.2 if averaging == "none" else 5e-2
    solution = fit(larger(), tol=tol, averaging=averaging, **settings)
    assert solution.status is Status.OPTIMAL


def test_independent_draws_get_there_more_slowly():
    shuffled = fit(larger(), max_iter=32, tol=0.0)
    drawn = fit(larger(), max_iter=32, tol=0.0, sampling="uniform")
    assert shuffled.certificate.gap < drawn.certificate.gap
    assert drawn.certificate.relative_gap < 1.0


def test_the_certificate_is_of_what_is_returned():
    objective = larger()
    solution = fit(objective)
    again = certify(objective, solution.w, solution.b, solution.beta)
    assert again.gap == pytest.approx(solution.certificate.gap)


def test_the_same_seed_gives_the_same_bits():
    first, second = fit(larger()), fit(larger())
    np.testing.assert_array_equal(first.w, second.w)
    np.testing.assert_array_equal(first.beta, second.beta)
    other = fit(larger(), start=Start(1))
    assert (other.w != first.w).any()


@pytest.mark.parametrize("averaging", ["uniform", "suffix", "weighted", "none"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_bound_holds_in_the_mean(averaging, weighted):
    objective = objective_of(
        HINGE, Intercept.PENALIZED, C=0.05, weights=weights_for(60) if weighted else None
    )
    best = solve(objective).certificate.primal
    settings = Pegasos(sampling="uniform", averaging=averaging)
    for epochs in (1, 2, 4, 16):
        excess = []
        for seed in range(20):
            core = Core(objective, seed, sampling="uniform", averaging=averaging)
            core.method.core.bias = _core.Bias(1.0, 0.0)
            core.iterate.core.b = 0.0
            core.run(epochs)
            excess.append(objective.primal(*core.iterate.average()) - best)
        bound = settings.bound(objective, 60 * epochs, core.descent.window.horizon // 2)
        assert np.mean(excess) <= bound
        assert np.isfinite(bound)


def test_the_bound_is_the_lectures():
    """2 X² (1 + ln T)/(λT) for the mean of all points, in units of P."""
    objective = objective_of(HINGE, Intercept.NONE, C=0.5)
    lam, T = 1 / objective.problem.cost.sum(), 600
    X = np.linalg.norm(objective.problem.X, axis=1).max()
    expected = 2 * X**2 * (1 + math.log(T)) / (lam * T) / lam
    bound = Pegasos(averaging="uniform").bound(objective, T)
    assert bound == pytest.approx(expected)
    assert bound >= 2 * X**2 * math.log(T + 1) / (lam * T) / lam


def test_a_run_tells_its_bound_and_its_steps():
    solution = fit(larger(intercept=Intercept.NONE), tol=0.0, max_iter=4)
    assert solution.info.steps == 4 * 2000
    assert solution.info.bound >= solution.certificate.gap
    assert solution.status is Status.STOPPED_BY_ITERATIONS
    assert fit(larger(), tol=0.0, max_iter=4).info.bound == math.inf


@ALL_INTERCEPTS
def test_a_start_is_not_lost(intercept):
    objective = larger(intercept=intercept)
    optimum = solve(objective, tol=1e-6)
    again = fit(objective, tol=1e-5, max_iter=2, start=Start(0, optimum.beta, optimum.b))
    assert again.certificate.gap <= optimum.certificate.gap * (1 + 1e-3) + 1e-9
    assert again.n_iter == 0


def test_a_start_nearby_is_a_head_start():
    objective = larger()
    rough = solve(objective, "dual_cd", tol=0.1)
    near = fit(objective, 0.0, max_iter=2, start=Start(0, rough.beta, rough.b))
    far = fit(objective, 0.0, max_iter=2)
    assert near.certificate.gap < far.certificate.gap


@REGULARIZED_LOSSES
def test_one_row_is_enough(loss):
    objective = objective_of(loss, Intercept.NONE, X=np.array([[2.0, 1.0]]), y=np.array([1.0]))
    solution = fit(objective, tol=1e-2, max_iter=3000, batch_size=5)
    assert solution.status is Status.OPTIMAL


@pytest.mark.parametrize("solver", ["sgd", "pegasos"])
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared"])
def test_targets_far_from_zero_are_reached(solver, loss):
    """A free intercept starts at the best constant: from 0 the steps would be spent on the way."""
    X, y = load_diabetes(return_X_y=True)
    X, y = scale(X), y + 1e4
    model = free_svr(loss=loss, solver=solver, tol=5e-2, max_iter=300, random_state=0).fit(X, y)
    assert model.certificate_.relative_gap <= 5e-2
    assert model.score(X, y) == pytest.approx(Ridge().fit(X, y).score(X, y), abs=0.02)


@REGULARIZED_LOSSES
def test_no_constant_is_better_than_the_start(loss):
    """The mean knows of no insensitive zone, and so is only near."""
    objective = make(loss, Intercept.FREE)
    w, b = Descent(objective, 1, 0).start_point(Start(0))
    others = b + np.linspace(-1.0, 1.0, 41)
    best = min(objective.primal(w, other) for other in others)
    exact = loss.bounded or loss.epsilon == 0.0
    assert objective.primal(w, b) <= best * (1 + (1e-12 if exact else 1e-2))


def test_the_perceptron_is_refused():
    with pytest.raises(ValueError, match="solver='pegasos' needs a regularised objective"):
        fit(objective_of(LOSSES["perceptron"]))


# ---- streams


@pytest.mark.parametrize("batch_size", [0, -1, 2.5, True, "8"])
def test_a_bad_batch_size_is_named(batch_size):
    with pytest.raises(ValueError, match="batch_size must be a whole number of at least 1, got "):
        Pegasos(batch_size=batch_size)


def test_a_projection_is_on_or_off():
    wrong: Any = "ball"
    with pytest.raises(ValueError, match="projection must be True or False, got 'ball'"):
        Pegasos(projection=wrong)


@pytest.mark.parametrize("setting", ["sampling", "averaging"])
def test_unknown_settings_are_named(setting):
    wrong: dict[str, Any] = {setting: "some"}
    with pytest.raises(ValueError, match=f"{setting} must be one of .*, got 'some'"):
        Pegasos(**wrong)
