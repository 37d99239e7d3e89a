"""K classes by Pegasos and SGD: steps equal to a twin."""

import numpy as np
import pytest

from choices import ALL_INTERCEPTS, AVERAGES
from compiled.stochastic.multiclass_epochs import Core, make
from maxmargin import Intercept, _core
from maxmargin.solvers.stochastic.multiclass_epochs import Layout
from maxmargin.solvers.stochastic.pegasos import Pegasos
from maxmargin.solvers.stochastic.schedules import Decay
from maxmargin.solvers.stochastic.sgd import SGD
from reference.stochastic import multiclass_epochs as textbook
from reference.stochastic.sgd import RULES
from synthetic import DTYPES, STORAGES

SOLVERS = [Pegasos(), Pegasos(projection=True, batch_size=4), SGD(), SGD(rule="adam")]


def assert_equal_to_twin(core, reference, epochs, seed, move, **settings):
    W, average, beta = textbook.descend(
        reference, epochs, seed, move, feature=core.descent.feature,
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
    reference = make(K=K, storage="wide" if storage == "wide" else "dense")
    assert_equal_to_twin(core, reference, 5, 1, textbook.pegasos())


@AVERAGES
@pytest.mark.parametrize("sampling", ["shuffle", "uniform"])
@pytest.mark.parametrize("batch_size", [1, 7, 1000])
def test_settings_of_pegasos_equal_the_twin(averaging, sampling, batch_size):
    solver = Pegasos(sampling, batch_size, averaging=averaging)
    core = Core(make(), 2, solver)
    reference = core.objective
    assert_equal_to_twin(
        core, reference, 6, 2, textbook.pegasos(), batch_size=batch_size,
        uniform=sampling == "uniform", averaging=averaging,
    )  # fmt: skip


@ALL_INTERCEPTS
@AVERAGES
@pytest.mark.parametrize("storage", ["dense", "csr32"])
@pytest.mark.parametrize("batch_size", [1, 7])
def test_the_projection_equals_the_twin(intercept, averaging, storage, batch_size):
    """A free intercept is not in the ball."""
    solver = Pegasos("shuffle", batch_size, projection=True, averaging=averaging)
    core = Core(make(intercept, storage=storage), 3, solver)
    reference = make(intercept)
    radius = solver.radius(core.objective)
    move = textbook.pegasos(radius, bias_in_ball=intercept is not Intercept.FREE)
    assert_equal_to_twin(core, reference, 4, 3, move, batch_size=batch_size, averaging=averaging)
    assert np.linalg.norm(core.matrix(core.method.iterate.last()[0])[:, :-1]) <= radius * (1 + 1e-9)


@pytest.mark.parametrize("rule", list(RULES))
@pytest.mark.parametrize("storage", ["dense", "csr64"])
@pytest.mark.parametrize("batch_size", [1, 7])
def test_every_rule_of_sgd_equals_the_twin(rule, storage, batch_size):
    schedule = Decay(0.05)
    solver = SGD(schedule, rule, batch_size)
    core = Core(make(storage=storage), 4, solver, schedule)
    reference = make()
    total = float(core.objective.problem.cost.sum())
    move = textbook.sgd(lambda t: schedule.step(t, 1.0 / total), total, rule=rule)
    assert_equal_to_twin(core, reference, 5, 4, move, batch_size=batch_size)


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


# ---- refused


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
