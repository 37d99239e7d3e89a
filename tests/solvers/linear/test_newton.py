"""The compiled Newton steps follow their NumPy twin."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from choices import ALL_INTERCEPTS, HINGES, REGULARIZED_LOSSES
from compiled.linear.newton import FEATURE, Core, go_on, make, sized, some_weights
from maxmargin import Intercept
from maxmargin.losses import HINGE, SQUARED_HINGE
from maxmargin.solvers import Monitor, Newton, Start, Stopping
from synthetic import DTYPES, STORAGES, free_svc, objective_of, store
from synthetic import solve as solve_by


@REGULARIZED_LOSSES
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("dtype", DTYPES, ids=["float32", "float64"])
def test_steps_go_in_the_twins_direction(loss, storage, dtype):
    """To where the slope along it is a fraction of what it was; the whole step if that does."""
    X = store(objective_of(loss).problem.X, storage, dtype)
    _, core, twin = make(loss, X)
    core.go_to(np.zeros(5))
    for _ in range(6):
        w = core.level.w
        gradient, direction = twin.gradient(w), twin.direction(w)
        if np.linalg.norm(gradient) < 1e-6:
            break
        core.level.step(go_on)
        moved = core.level.w - w
        length = (moved @ direction) / (direction @ direction)
        np.testing.assert_allclose(moved, length * direction, rtol=1e-7, atol=1e-9)
        slopes = [abs(twin.gradient(w + s * direction) @ direction) for s in (0.0, length, 1.0)]
        assert slopes[1] <= 0.3 * slopes[0] + 1e-12
        if slopes[2] <= 0.29 * slopes[0]:
            assert length == pytest.approx(1.0)


@HINGES
@pytest.mark.parametrize("storage", ["dense", "csr32"])
def test_large_matrices_are_made_by_panels(loss, storage):
    objective, _, twin = sized(loss, 1300, 1100)
    X = store(objective.problem.X, storage, np.float64)
    core = Core(objective, twin.centre, X)
    w = 0.02 * some_weights(1100)
    core.go_to(w)
    np.testing.assert_allclose(core.hessian(), twin.hessian(w), rtol=1e-9, atol=1e-9)
    direction = twin.direction(w)
    core.level.step(go_on)
    moved = core.level.w - w
    length = (moved @ direction) / (direction @ direction)
    np.testing.assert_allclose(moved, length * direction, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("calls", [1, 2, 4, 8])
def test_a_halt_within_a_step_leaves_the_point(calls):
    """Wherever it comes: while rows are added, columns copied or panels factorised."""
    _, core, twin = sized(SQUARED_HINGE, 1600, 1500)
    w = 0.02 * some_weights(1500)
    core.go_to(w)
    asked = []

    def stop():
        asked.append(1)
        return len(asked) >= calls

    core.level.step(stop)
    assert (core.level.w == w).all() == (len(asked) >= calls)
    np.testing.assert_allclose(core.hessian(), twin.hessian(core.level.w), rtol=1e-8, atol=1e-8)


@REGULARIZED_LOSSES
def test_steps_reach_the_minimum(loss):
    _, core, twin = make(loss)
    core.go_to(np.zeros(5))
    for _ in range(20):
        core.level.step(go_on)
    np.testing.assert_allclose(twin.gradient(core.level.w), 0.0, atol=1e-9)


@REGULARIZED_LOSSES
@pytest.mark.parametrize("shape", [(60, 4), (259, 20)], ids=str)
def test_the_state_belongs_to_the_point(loss, shape):
    """Whatever moved it there: a start, a whole step at once or a line search."""
    _, core, twin = sized(loss, *shape)
    for seed in range(5):
        core.go_to(10.0 * some_weights(shape[1], seed=seed))
        for _ in range(4):
            w, level = core.level.w, core.level
            beta, sloped = twin.beta(twin.z(w))
            np.testing.assert_allclose(level.z, twin.z(w), rtol=1e-10, atol=1e-11)
            np.testing.assert_allclose(level.beta, beta, rtol=1e-8, atol=1e-10)
            np.testing.assert_allclose(level.combination, beta @ twin.X, rtol=1e-8, atol=1e-9)
            np.testing.assert_array_equal(level.flags & 1, sloped)
            assert level.n_sloped == sloped.sum()
            level.step(go_on)


@REGULARIZED_LOSSES
@pytest.mark.parametrize("shape", [(60, 4), (1, 20), (3, 20), (259, 20), (1030, 33)], ids=str)
def test_the_level_sums_losses_and_gaps(loss, shape):
    objective, core, twin = sized(loss, *shape)
    w = some_weights(shape[1])
    core.go_to(w)
    np.testing.assert_allclose(core.level.z, twin.z(w), rtol=1e-10, atol=1e-11)
    combination = core.level.beta @ twin.X
    np.testing.assert_allclose(core.level.combination, combination, rtol=1e-8, atol=1e-9)
    y, cost, z = objective.problem.y, objective.problem.cost, twin.z(w)
    losses = loss.value(y, cost, z)
    assert core.level.primal == pytest.approx(0.5 * w @ w + losses.sum(), rel=1e-12)
    gap = (losses + z * core.level.beta - loss.conjugate(y, cost, core.level.beta)).sum()
    assert core.level.softening == pytest.approx(gap, rel=1e-10, abs=1e-12 * (1 + losses.sum()))
    gradient = twin.gradient(w)
    assert core.level.imbalance == pytest.approx(0.5 * gradient @ gradient, rel=1e-10)


@REGULARIZED_LOSSES
@pytest.mark.parametrize("factor", [1e-8, 1e-3, 1.0, 1e3])
def test_line_search_ends_where_the_slope_vanishes(loss, factor):
    """Also when the step is too long or too short by orders of magnitude."""
    _, core, twin = make(loss)
    w = some_weights()
    gradient = twin.gradient(w)
    direction = -factor * gradient
    s = core.line_search(twin.z(w), twin.X @ direction, w, gradient, direction, precision=1e-3)
    slope = twin.gradient(w + s * direction) @ direction
    assert abs(slope) <= 1.001e-3 * abs(gradient @ direction)


@ALL_INTERCEPTS
def test_the_same_seed_gives_the_same_bits(intercept):
    objective = objective_of(HINGE, intercept)
    first, second = (solve_by(objective, "newton", tol=1e-6, seed=5) for _ in range(2))
    np.testing.assert_array_equal(first.w, second.w)
    np.testing.assert_array_equal(first.beta, second.beta)


@HINGES
def test_errors_of_the_hessian_do_not_add_up_in_the_combination(loss):
    """An outlying row comes and goes, and leaves its rounding errors in the Gram matrix."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 6)), rng.choice([-1.0, 1.0], 300)
    X[0] *= 1e8
    objective = objective_of(loss, X=X, y=y)
    core = Core(objective, 0.5 * objective.problem.cost * y)
    core.go_to(np.zeros(7))
    for _ in range(12):
        core.level.step(go_on)
        beta, z = core.level.beta, core.level.combination
        exact = np.append(beta @ X, FEATURE * beta.sum())
        error = np.linalg.norm(z - exact)
        assert error <= 0.2 * np.linalg.norm(core.level.w - exact) + 1e-6


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("spoil", "tol"),
    [
        (lambda X: X[:1].__imul__(1e7), 1e-3),
        (lambda X: X[:1].__imul__(1e8), 1e-3),
        (lambda X: X[:10].__imul__(1e6), 1e-3),
        (lambda X: X.__setitem__((slice(None), 0), 1.6e9 + 1e7 * X[:, 0]), 1e-6),
    ],
    ids=["1e7", "1e8", "ten of 1e6", "timestamps"],
)
@pytest.mark.filterwarnings("ignore:.*is fitted:UserWarning")
def test_outlying_rows_and_columns_are_proven(loss, seed, spoil, tol):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(600, 6))
    y = np.sign(X[:, 1] + rng.normal(size=600))
    spoil(X)
    model = free_svc(loss=loss, solver="newton", tol=tol, random_state=0).fit(X, y)
    assert model.certificate_.relative_gap <= tol


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.filterwarnings("ignore")
def test_where_nothing_can_be_proven_the_model_is_no_worse_than_0(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(900, 40))
    y = np.sign(X[:, 0] + rng.normal(size=900))
    X[3] *= 1e12
    model = free_svc(
        loss="squared_hinge", solver="newton", penalized_intercept=True, random_state=0
    ).fit(X, y)
    assert model.certificate_.primal <= 900.0
    assert model.certificate_.dual >= 0.0


def test_a_problem_without_weight_has_nothing_to_start_from():
    X, y = np.ones((2000, 2)), np.resize([-1.0, 1.0], 2000)
    objective = objective_of(SQUARED_HINGE, Intercept.FREE, C=0.0, X=X, y=y)
    assert solve_by(objective).certificate.primal == 0.0


def test_a_start_at_the_optimum_needs_few_steps():
    objective = objective_of(HINGE, Intercept.FREE)
    optimum = solve_by(objective, "newton", tol=1e-9)
    start = Start(0, optimum.beta, optimum.b)
    again = Newton().solve(objective, Monitor(objective, Stopping(1e-6, 100)), start)
    assert again.n_iter <= 3


def test_a_level_asks_now_and_then_whether_to_go_on():
    _, core, _ = make(HINGE)
    core.go_to(np.zeros(5))
    core.level.solve(1e-9, 0.5, 10, lambda: True)
    assert core.level.n_steps == 0
    core.level.solve(1e-9, 0.5, 10, go_on)
    assert core.level.n_steps > 0


def test_an_error_while_asking_is_passed_on():
    _, core, _ = make(HINGE)
    core.go_to(np.zeros(5))
    with pytest.raises(ZeroDivisionError):
        core.level.solve(1e-9, 0.5, 10, lambda: 1 / 0)


@pytest.mark.parametrize("name", ["w", "centre"])
def test_a_start_of_the_wrong_length_is_refused(name):
    _, core, _ = make(HINGE)
    given = {"w": np.zeros(5), "centre": np.zeros(60)} | {name: np.zeros(3)}
    with pytest.raises(ValueError, match=name):
        core.level.start(given["w"], 1.0, given["centre"], go_on)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_gap_below_rounding_is_given_up(loss):
    X = np.random.default_rng(0).normal(size=(300, 5))
    y = np.where(X[:, 0] + np.random.default_rng(1).normal(size=300) > 0.0, 1.0, -1.0)
    model = free_svc(loss=loss, solver="newton", tol=1e-30, max_iter=None)
    with pytest.warns(ConvergenceWarning, match="stalled at the precision of the arithmetic"):
        model.fit(X, y)
    assert model.certificate_.relative_gap < 1e-9


def test_a_warm_start_makes_the_steps_that_max_iter_allows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = np.where(X[:, 0] + rng.normal(size=80) > 0.0, 1.0, -1.0)
    model = free_svc(C=1e-3, solver="newton", warm_start=True).fit(X, y)
    with pytest.warns(ConvergenceWarning):
        model.set_params(C=100.0, max_iter=1, tol=1e-12).fit(X, y)
    _, start, *_, last = model.history_
    assert model.n_iter_ == last.epoch == 1
    assert last.gap < start.gap
