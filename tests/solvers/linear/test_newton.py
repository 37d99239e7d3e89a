"""The compiled Newton steps follow their NumPy twin."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from maxmargin import Intercept, Problem, _core, certify
from maxmargin.losses import HINGE, SQUARED_HINGE
from maxmargin.solvers import Monitor, Newton, Start, Stopping
from maxmargin.solvers.linear import newton
from reference.linear.newton import Proximal
from synthetic import (
    DTYPES,
    INTERCEPTS,
    LOSSES,
    REGULARIZED,
    STORAGES,
    free_svc,
    objective_of,
    store,
    weights_for,
)
from synthetic import solve as solve_by

REGULARIZED_LOSSES = pytest.mark.parametrize(
    "loss", [LOSSES[name] for name in REGULARIZED], ids=REGULARIZED
)
FEATURE, ANCHOR = 1.5, 0.25
SOFTNESS = 0.5


def go_on():
    return False


class Core:
    """core/linear/newton.hpp at a point of the caller's choice."""

    def __init__(self, objective, centre, X=None, feature=FEATURE):
        problem = objective.problem
        X = problem.X if X is None else X
        self.objective, self.centre = objective, centre
        rows = Problem(X, problem.y, problem.cost).rows
        bias = _core.Bias(feature, ANCHOR)
        self.level = _core.NewtonLevel(rows, objective.terms, bias, False, newton._BLAS)

    def go_to(self, w):
        self.level.start(w, SOFTNESS, self.centre, go_on)

    def hessian(self):
        dim = self.objective.problem.n_features + 1
        upper = np.triu(self.level.hessian(go_on).reshape(dim, dim, order="F"))
        return upper + np.triu(upper, 1).T

    def line_search(self, z, dz, w, gradient, direction, precision):
        return _core.line_search(
            self.objective.terms, self.centre, SOFTNESS, z, dz, gradient @ direction,
            w @ direction, direction @ direction, precision,
        )  # fmt: skip


def make(loss, X=None):
    objective = objective_of(loss, C=0.8, weights=weights_for(60))
    side = objective.problem.y if loss.one_sided else np.sign(objective.problem.y)
    centre = 0.5 * objective.problem.cost * side
    twin = Proximal(objective, FEATURE, ANCHOR, centre, SOFTNESS)
    return objective, Core(objective, centre, X), twin


def sized(loss, n, d):
    """The same for so many rows, which are read in one stream or in several."""
    rng = np.random.default_rng(n)
    X, y = rng.normal(size=(n, d)), rng.choice([-1.0, 1.0], n)
    objective = objective_of(loss, C=0.8, X=X, y=y, weights=weights_for(n))
    centre = 0.5 * objective.problem.cost * y
    twin = Proximal(objective, FEATURE, ANCHOR, centre, SOFTNESS)
    return objective, Core(objective, centre), twin


def some_weights(d=4, seed=0):
    return np.random.default_rng(seed).normal(size=d + 1)


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


@pytest.mark.parametrize("loss", [HINGE, SQUARED_HINGE], ids=["hinge", "squared_hinge"])
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
@pytest.mark.parametrize("storage", STORAGES)
def test_gram_follows_the_rows_that_change_piece(loss, storage):
    X = store(objective_of(loss).problem.X, storage)
    _, core, twin = make(loss, X)
    for seed in range(5):
        w = some_weights(seed=seed)
        core.go_to(w)
        np.testing.assert_allclose(core.hessian(), twin.hessian(w), rtol=1e-10, atol=1e-10)


def test_gram_of_wide_sparse_rows_equals_numpy():
    """Rows with few values are scattered, the others go through SYRK: both, in one matrix."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((80, 30)) < np.linspace(0.02, 0.9, 80)[:, None], 1.0, 0.0)
    X *= rng.normal(size=X.shape)
    y = np.where(np.arange(80) % 2 == 0, 1.0, -1.0)
    objective = objective_of(SQUARED_HINGE, X=X, y=y)
    twin = Proximal(objective, FEATURE, ANCHOR, np.zeros(80), SOFTNESS)
    core = Core(objective, np.zeros(80), store(X, "csr32"))
    core.go_to(np.zeros(31))
    np.testing.assert_allclose(core.hessian(), twin.hessian(np.zeros(31)), rtol=1e-11, atol=1e-12)


@REGULARIZED_LOSSES
def test_hessian_is_the_derivative_of_the_gradient(loss):
    _, _, twin = make(loss)
    w, step = some_weights(), 1e-7
    differences = [
        (twin.gradient(w + step * e) - twin.gradient(w - step * e)) / (2 * step) for e in np.eye(5)
    ]
    np.testing.assert_allclose(twin.hessian(w), differences, rtol=1e-5, atol=1e-5)


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


@pytest.mark.parametrize("intercept", INTERCEPTS, ids=lambda i: i.value)
def test_the_same_seed_gives_the_same_bits(intercept):
    objective = objective_of(HINGE, intercept)
    first, second = (solve_by(objective, "newton", tol=1e-6, seed=5) for _ in range(2))
    np.testing.assert_array_equal(first.w, second.w)
    np.testing.assert_array_equal(first.beta, second.beta)


@pytest.mark.parametrize("loss", [HINGE, SQUARED_HINGE], ids=["hinge", "squared_hinge"])
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


@REGULARIZED_LOSSES
def test_samples_of_the_rows_lead_to_the_same_optimum(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(18_000, 3))
    y = X[:, 0] + 0.5 + rng.normal(size=18_000)
    y = np.sign(y) if loss.one_sided else y
    objective = objective_of(loss, X=X, y=y)
    assert Newton()._sample_sizes(objective) == [2250]
    sampled = solve_by(objective, tol=1e-6)
    whole = Newton(growth=10_000).solve(objective, Monitor(objective, Stopping(1e-6)), Start())
    worst = max(sampled.certificate.gap, whole.certificate.gap)
    difference = abs(sampled.certificate.primal - whole.certificate.primal)
    assert difference <= worst + 1e-14 * whole.certificate.primal


def test_a_sample_has_the_outlying_rows_and_stands_for_all():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 3))
    X[:5] *= 1000.0
    objective = objective_of(HINGE, X=X, y=np.sign(rng.normal(size=20_000)))
    (small, _), (subset, cost) = newton._samples(objective, [300, 2500], seed=0)
    assert set(range(5)) <= set(small.tolist()) <= set(subset.tolist())
    assert 2000 > len(subset) > 1000  # the outlying rows take up most of their half
    assert cost.sum() == pytest.approx(objective.problem.cost.sum(), rel=0.1)


@pytest.mark.parametrize(("d", "sizes"), [(3, [1000]), (9, [1000, 8000])])
def test_samples_are_small_copies_unless_only_a_large_one_gives_a_hessian(d, sizes, monkeypatch):
    X = np.ones((64_000, d))
    objective = objective_of(HINGE, X=X, y=np.ones(64_000))
    assert Newton()._sample_sizes(objective) == [1000, 8000]
    monkeypatch.setattr(newton, "_SAMPLE_VALUES", 1)
    assert Newton()._sample_sizes(objective) == sizes


@pytest.mark.parametrize(("loss", "sizes"), [(HINGE, [1000, 8000]), (SQUARED_HINGE, [])])
def test_squared_losses_have_no_sample_that_gives_no_hessian(loss, sizes):
    objective = objective_of(loss, X=np.ones((64_000, 50)), y=np.ones(64_000))
    assert Newton()._sample_sizes(objective) == sizes


def descended(objective, feature, free=False, seed=0, stop=go_on):
    """A level after stochastic steps."""
    problem = objective.problem
    bias = _core.Bias(FEATURE if feature else 0.0, 0.0)
    level = _core.NewtonLevel(problem.rows, objective.terms, bias, free, newton._BLAS)
    level.descend(problem.squared_norms, feature, _core.Random(seed), stop)
    return level


SQUARED_LOSSES = pytest.mark.parametrize(
    "loss", [LOSSES[name] for name in REGULARIZED if not LOSSES[name].bounded]
)


@SQUARED_LOSSES
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_stochastic_steps_come_near_the_optimum(loss, storage, intercept):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 5)) + 0.3
    y = X @ [1.0, -1.0, 0.5, 0.0, 0.0] - 0.5 + 0.5 * rng.normal(size=4000)
    y = np.sign(y) if loss.one_sided else y
    X = store(X, storage, np.float64)
    objective = objective_of(
        loss, intercept, C=0.1, weights=weights_for(4000), scaling=FEATURE, X=X, y=y
    )
    free = intercept is Intercept.FREE
    feature = {Intercept.NONE: 0.0, Intercept.PENALIZED: FEATURE, Intercept.FREE: 2.0}[intercept]
    level, again, other = (descended(objective, feature, free, seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(level.w, again.w)
    assert (level.w != other.w).any()
    w, b = level.w[:-1], level.b
    np.testing.assert_allclose(level.z, objective.problem.predict(w, b), rtol=1e-10, atol=1e-11)
    assert level.primal == pytest.approx(objective.primal(w, b), rel=1e-12)
    best = solve_by(objective).certificate.primal
    assert level.primal - best <= 0.05 * (objective.primal(np.zeros(5), 0.0) - best)


def test_stochastic_steps_that_lead_nowhere_are_not_made():
    """Labels that X says nothing of: the noise of the steps is worse than 0."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4000, 4)), rng.choice([-1.0, 1.0], 4000)
    level = descended(objective_of(SQUARED_HINGE, Intercept.NONE, X=X, y=y), 0.0)
    np.testing.assert_array_equal(level.w, 0.0)
    assert level.primal == 4000.0
    np.testing.assert_array_equal(level.beta, 2.0 * y)


@pytest.mark.parametrize("C", [1e-12, 1e-300, 1e12])
def test_stochastic_steps_at_the_ends_of_the_scale(C):
    """An outlying row, a column and rows of zeros, weights of 0."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    X[:, 3] = X[0] = 0.0
    X[1] *= 1e8
    y = np.sign(rng.normal(size=3000))
    objective = objective_of(
        SQUARED_HINGE, Intercept.NONE, C=C, weights=weights_for(3000), X=X, y=y
    )
    level = descended(objective, 0.0)
    assert np.isfinite(level.w).all()
    assert level.primal <= (1.0 + 1e-12) * objective.primal(np.zeros(4), 0.0)


def test_stochastic_steps_answer_at_once():
    objective = objective_of(SQUARED_HINGE, X=np.ones((3000, 2)), y=np.ones(3000))
    level = descended(objective, 0.0, stop=lambda: True)
    np.testing.assert_array_equal(level.w, 0.0)


def test_where_a_few_rows_hold_most_values_no_sample_copies_them():
    rng = np.random.default_rng(0)
    n, d = 20_000, 60
    X = np.zeros((n, d))
    X[:, 0] = rng.normal(size=n)
    X[:600] = 3.0 * rng.normal(size=(600, d))
    y = np.sign(X[:, 0] + rng.normal(size=n))
    objective = objective_of(SQUARED_HINGE, X=sparse.csr_array(X), y=y)
    assert newton._samples(objective, [2500], seed=0) == []
    assert solve_by(objective).certificate.relative_gap <= 1e-8


def test_samples_of_csr_rows_with_long_indices():
    """SciPy gives the copy of some rows the shorter indices that suffice for it."""
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(18_000, 3))
    y = np.sign(dense[:, 0] + rng.normal(size=18_000))
    X = sparse.csr_array(dense)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    model = free_svc(loss="squared_hinge", solver="newton", tol=1e-12, random_state=0)
    same = model.fit(dense, y).coef_
    np.testing.assert_allclose(model.fit(X, y).coef_, same, rtol=1e-5)


def sampled_level(objective, size):
    """Of all rows, with the curvature of about `size` of them; and what the sample is."""
    problem = objective.problem
    (sample,) = newton._samples(objective, [size], seed=0)
    places, cost = sample
    bias = _core.Bias(FEATURE, ANCHOR)
    part = problem.part(places, cost)
    terms = objective.terms_of(part.y, cost)
    some = _core.NewtonLevel(part.rows, terms, bias, False, newton._BLAS)
    whole = _core.NewtonLevel(problem.rows, objective.terms, bias, False, newton._BLAS)
    some.start(np.zeros(problem.n_features + 1), 1.0, None, go_on)
    whole.use_hessian_of(some, places)
    return whole, sample, (some, part, terms)


@pytest.mark.parametrize("size", [3000, 400], ids=["enough rows", "too few"])
def test_a_sample_lends_its_curvature_if_it_has_rows_enough(size):
    """The Hessian is of the sample's rows where they are now, the gradient of all."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 4))
    y = np.sign(X[:, 0] + rng.normal(size=6000))
    objective = objective_of(SQUARED_HINGE, X=X, y=y)
    twin = Proximal(objective, FEATURE, ANCHOR, np.zeros(6000), 0.0)
    whole, (subset, cost), _alive = sampled_level(objective, size)
    w = 0.2 * some_weights()
    whole.start(w, 1.0, np.zeros(6000), go_on)
    whole.step(go_on)
    rows = subset[twin.beta(twin.z(w))[1][subset]]
    weight = 2.0 * cost[np.isin(subset, rows)]
    lent = np.eye(5) + twin.X[rows].T @ (twin.X[rows] * weight[:, None])
    hessian = lent if size == 3000 else twin.hessian(w)
    direction = -np.linalg.solve(hessian, twin.gradient(w))
    moved = whole.w - w
    length = (moved @ direction) / (direction @ direction)
    np.testing.assert_allclose(moved, length * direction, rtol=1e-7, atol=1e-9)


def test_levels_of_different_columns_lend_nothing():
    one, other = (make(SQUARED_HINGE, X)[1].level for X in (None, np.zeros((60, 5))))
    with pytest.raises(ValueError, match="different columns"):
        one.use_hessian_of(other, np.arange(60, dtype=np.int32))


def awkward(kind, n=12_000):
    """Rows for which the curvature of a sample says little of all."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 5))
    weights = np.ones(n)
    if kind == "duplicates":
        X = X[rng.integers(20, size=n)]
    elif kind == "constant column":
        X[:, 1] = 7.0
    elif kind == "unscaled":
        X *= 10.0 ** np.arange(-4.0, 6.0, 2.0)
    elif kind == "rare column":
        X[:, 2] = 0.0
        X[:3, 2] = [5.0, -80.0, 300.0]
    elif kind == "weights":
        weights = np.where(rng.random(n) < 0.9, 0.0, rng.exponential(size=n))
    elif kind == "outlier":
        X[17] *= 1e5
    return X, np.where(X[:, 0] + rng.normal(size=n) > 0.0, 1.0, -1.0), weights


@pytest.mark.parametrize("loss", ["squared_hinge", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("intercept", INTERCEPTS, ids=lambda i: i.value)
@pytest.mark.parametrize(
    "kind", ["duplicates", "constant column", "unscaled", "rare column", "weights", "outlier"]
)
def test_borrowed_curvature_leads_to_the_same_optimum(kind, intercept, loss):
    X, y, weights = awkward(kind)
    objective = objective_of(LOSSES[loss], intercept, X=X, y=y, weights=weights)
    for tol in (1e-3, 1e-8):
        sampled = solve_by(objective, "newton", tol=tol)
        assert sampled.certificate.relative_gap <= tol
        judged = certify(objective, sampled.w, sampled.b, sampled.beta)
        assert judged.primal == pytest.approx(sampled.certificate.primal, rel=1e-9)
        assert judged.gap <= 1.01 * sampled.certificate.gap + 1e-9 * judged.primal
    whole = Newton(growth=10**6).solve(objective, Monitor(objective, Stopping(1e-8)), Start())
    assert sampled.certificate.primal == pytest.approx(whole.certificate.primal, rel=2e-8)


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


@pytest.mark.parametrize(
    ("places", "message"),
    [(np.arange(1, 61), "does not exist"), (np.arange(59), "places")],
    ids=["beyond the rows", "too few"],
)
def test_places_that_are_not_those_of_the_sample_are_refused(places, message):
    _, core, _ = make(SQUARED_HINGE)
    with pytest.raises(ValueError, match=message):
        core.level.use_hessian_of(core.level, places.astype(np.int32))


@pytest.mark.parametrize("name", ["w", "centre"])
def test_a_start_of_the_wrong_length_is_refused(name):
    _, core, _ = make(HINGE)
    given = {"w": np.zeros(5), "centre": np.zeros(60)} | {name: np.zeros(3)}
    with pytest.raises(ValueError, match=name):
        core.level.start(given["w"], 1.0, given["centre"], go_on)


@pytest.mark.parametrize("d", [30, 47, 255, 300, 301, 302, 303])
@pytest.mark.parametrize("run", [1, 12])
@pytest.mark.parametrize("storage", ["dense", "csr32", "csr64"])
@pytest.mark.parametrize("dtype", DTYPES, ids=["float32", "float64"])
@pytest.mark.parametrize("feature", [0.0, FEATURE])
def test_gram_equals_numpy(d, run, storage, dtype, feature):
    """Rows are added by tiles, wide ones that are mostly not 0 by SYRK; taken away again, too.

    CSR rows go to the tiles if their values come in runs, else they are scattered.
    """
    rng = np.random.default_rng(d)
    filled = rng.random((150, -(-d // run))) < np.linspace(0.0, 0.9, 150)[:, None]
    filled = np.repeat(filled, run, axis=1)[:, :d]
    X = store(np.where(filled, rng.normal(size=(150, d)), 0.0), storage, dtype)
    y = np.where(np.arange(150) % 2 == 0, 1.0, -1.0)
    values = (X if storage == "dense" else X.toarray()).astype(float)
    objective = objective_of(SQUARED_HINGE, X=values, y=y)
    twin = Proximal(objective, feature, ANCHOR, np.zeros(150), SOFTNESS)
    core = Core(objective, np.zeros(150), X, feature)
    for seed in range(3):
        w = 0.1 * some_weights(d, seed)
        core.go_to(w)
        np.testing.assert_allclose(core.hessian(), twin.hessian(w), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("storage", ["csr32", "csr64"])
@pytest.mark.parametrize("feature", [0.0, FEATURE])
@pytest.mark.parametrize("together", [True, False])
def test_gram_of_columns_by_strips_equals_numpy(storage, feature, together):
    """Columns that are not 0 together become neighbours; a matrix without such keeps its order."""
    n, d, rng = 1500, 600, np.random.default_rng(4)
    if together:
        filled = np.repeat(rng.random((n, d // 8)) < 0.2, 8, axis=1)[:, rng.permutation(d)]
    else:
        filled = rng.random((n, d)) < 0.4
    filled[:20], filled[20:25] = True, False  # for SYRK, and nothing
    values = np.where(filled, rng.normal(size=(n, d)), 0.0)
    objective = objective_of(SQUARED_HINGE, X=values, y=np.where(np.arange(n) % 2 == 0, 1.0, -1.0))
    twin = Proximal(objective, feature, ANCHOR, np.zeros(n), SOFTNESS)
    core = Core(objective, np.zeros(n), store(values, storage), feature)
    for scale in (0.0, 0.05, 0.1):
        w = scale * some_weights(d, 1)
        core.go_to(w)
        np.testing.assert_allclose(core.hessian(), twin.hessian(w), rtol=1e-10, atol=1e-10)
        assert core.level.arranged == together
    core.level.step(go_on)
    taken, direction = core.level.w - w, twin.direction(w)
    length = (taken @ direction) / (direction @ direction)
    np.testing.assert_allclose(taken, length * direction, atol=1e-8 * np.abs(taken).max())


def test_columns_of_short_rows_keep_their_order():
    """Ten values of six hundred are scattered, whatever the order."""
    n, d, rng = 1500, 600, np.random.default_rng(5)
    topics = rng.permutation(d).reshape(20, 30)
    X = np.zeros((n, d))
    for row, topic in zip(X, topics[rng.integers(20, size=n)], strict=True):
        row[rng.choice(topic, 10, replace=False)] = 1.0 + rng.random(10)
    objective = objective_of(SQUARED_HINGE, X=X, y=np.where(np.arange(n) % 2 == 0, 1.0, -1.0))
    twin = Proximal(objective, FEATURE, ANCHOR, np.zeros(n), SOFTNESS)
    core = Core(objective, np.zeros(n), store(X, "csr32"))
    core.go_to(np.zeros(d + 1))
    np.testing.assert_allclose(core.hessian(), twin.hessian(np.zeros(d + 1)), rtol=1e-10)
    assert not core.level.arranged


@pytest.mark.parametrize("n", [1, 300, 1400, 4500])
@pytest.mark.parametrize("storage", ["csr32", "csr64"])
@pytest.mark.parametrize("dtype", DTYPES, ids=["float32", "float64"])
@pytest.mark.parametrize("feature", [0.0, FEATURE])
def test_gram_of_indicators_equals_numpy(n, storage, dtype, feature):
    """Rows of one number are counted; some of another number, weight or kind come in between."""
    rng = np.random.default_rng(n)
    X = np.where(rng.random((n, 20)) < 0.3, 0.5, 0.0)
    X[rng.random(n) < 0.05] *= 3.0
    odd = rng.random(n) < 0.05
    X[odd] *= rng.normal(size=(odd.sum(), 20))
    X[::17] = 0.0
    X[odd, :2] = 1e-300  # a stored zero in float32
    weights = np.where(rng.random(n) < 0.1, 2.0, 1.0)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    stored = store(X, storage, dtype)
    objective = objective_of(SQUARED_HINGE, weights=weights, X=stored.toarray().astype(float), y=y)
    twin = Proximal(objective, feature, ANCHOR, np.zeros(n), SOFTNESS)
    core = Core(objective, np.zeros(n), stored, feature)
    for seed in range(3):
        w = 0.3 * some_weights(20, seed)
        core.go_to(w)
        np.testing.assert_allclose(core.hessian(), twin.hessian(w), rtol=1e-10, atol=1e-10)


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
    assert last.primal < start.primal
