"""The compiled passes of the Newton solver equal their NumPy twin, step by step."""

import numpy as np
import pytest
from scipy.linalg import cython_blas

from made import DTYPES, INTERCEPTS, LOSSES, REGULARIZED, STORAGES, objective_of, store, weights_for
from made import solve as solve_by
from maxmargin import Intercept, Problem, _core
from maxmargin.losses import HINGE, SQUARED_HINGE
from maxmargin.solvers import Monitor, Newton, Start, Stopping
from reference.newton import Proximal

REGULARIZED_LOSSES = pytest.mark.parametrize(
    "loss", [LOSSES[name] for name in REGULARIZED], ids=REGULARIZED
)
FEATURE, ANCHOR = 1.5, 0.25
DSYRK = cython_blas.__pyx_capi__["dsyrk"]
SOFTNESS = 0.5


class Core:
    """The passes of core/newton.hpp put together to whole Newton steps."""

    def __init__(self, objective, centre, X=None):
        problem = objective.problem
        n, d = problem.n_samples, problem.n_features
        self.rows = Problem(problem.X if X is None else X, problem.y, problem.cost).rows
        self.n, self.terms, self.bounded = n, objective.terms, objective.loss.bounded
        self.bias, self.centre = _core.Bias(FEATURE, ANCHOR), centre
        self.subset = np.arange(n, dtype=np.int32)
        self.beta, self.combination = np.zeros(n), np.zeros(d + 1)
        self.flags, self.gram = np.zeros(n, np.uint8), np.zeros((d + 1, d + 1), order="F")

    def predict(self, w):
        z = np.empty(self.n)
        _core.newton_predict(self.rows, self.subset, self.bias, w, 0, self.n, z)
        return z

    def dual(self, z):
        return _core.newton_dual(
            self.rows, self.subset, self.terms, self.bias, self.centre, SOFTNESS, z, 0, self.n,
            self.beta, self.combination, self.flags,
        )  # fmt: skip

    def hessian(self):
        _core.newton_gram(
            self.rows, self.subset, self.terms, self.bias, 0, self.n, DSYRK, self.flags, self.gram
        )
        upper = self.gram * (1 / SOFTNESS if self.bounded else 2.0)
        return np.eye(len(upper)) + np.triu(upper) + np.triu(upper, 1).T

    def line_search(self, z, dz, w, gradient, direction, precision=1e-13):
        return _core.exact_line_search(
            self.terms, self.centre, SOFTNESS, z, dz, gradient @ direction, w @ direction,
            direction @ direction, precision,
        )  # fmt: skip

    def step(self, w):
        z = self.predict(w) + ANCHOR
        self.dual(z)
        gradient = w - self.combination
        direction = -np.linalg.solve(self.hessian(), gradient)
        dz = self.predict(direction)
        return w + self.line_search(z, dz, w, gradient, direction) * direction


def make(loss, X=None):
    objective = objective_of(loss, C=0.8, weights=weights_for(60))
    side = objective.problem.y if loss.one_sided else np.sign(objective.problem.y)
    centre = 0.5 * objective.problem.cost * side
    twin = Proximal(objective, FEATURE, ANCHOR, centre, SOFTNESS)
    return objective, Core(objective, centre, X), twin


def some_weights(d=4, seed=0):
    return np.random.default_rng(seed).normal(size=d + 1)


@REGULARIZED_LOSSES
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("dtype", DTYPES, ids=["float32", "float64"])
def test_steps_equal_the_twin(loss, storage, dtype):
    X = store(objective_of(loss).problem.X, storage, dtype)
    _, core, twin = make(loss, X)
    w = expected = np.zeros(5)
    for _ in range(6):
        w, expected = core.step(w), twin.step(expected)
        np.testing.assert_allclose(w, expected, rtol=1e-8, atol=1e-10)


@REGULARIZED_LOSSES
def test_steps_reach_the_minimum(loss):
    _, core, twin = make(loss)
    w = np.zeros(5)
    for _ in range(15):
        w = core.step(w)
    np.testing.assert_allclose(twin.gradient(w), 0.0, atol=1e-9)


@REGULARIZED_LOSSES
def test_dual_pass_finds_the_maximisers(loss):
    _, core, twin = make(loss)
    w = some_weights()
    core.dual(core.predict(w) + ANCHOR)
    beta, sloped = twin.beta(twin.z(w))
    np.testing.assert_allclose(core.beta, beta, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(core.flags & 1, sloped)


@REGULARIZED_LOSSES
def test_dual_pass_updates_the_combination(loss):
    _, core, twin = make(loss)
    for seed in range(5):
        core.dual(core.predict(some_weights(seed=seed)) + ANCHOR)
        np.testing.assert_allclose(core.combination, core.beta @ twin.X, rtol=1e-11, atol=1e-12)


@REGULARIZED_LOSSES
def test_dual_pass_sums_losses_and_gaps(loss):
    objective, core, twin = make(loss)
    z = twin.z(some_weights())
    sums = core.dual(z)
    losses = loss.value(objective.problem.y, objective.problem.cost, z)
    conjugates = loss.conjugate(objective.problem.y, objective.problem.cost, core.beta)
    assert sums.primal_loss == pytest.approx(losses.sum(), rel=1e-12)
    gap = (losses + z * core.beta - conjugates).sum()
    assert sums.fenchel_young == pytest.approx(gap, rel=1e-10, abs=1e-12)


@REGULARIZED_LOSSES
@pytest.mark.parametrize("storage", STORAGES)
def test_gram_follows_the_rows_that_change_piece(loss, storage):
    X = store(objective_of(loss).problem.X, storage)
    _, core, twin = make(loss, X)
    for seed in range(5):
        w = some_weights(seed=seed)
        sums = core.dual(twin.z(w))
        sloped = twin.beta(twin.z(w))[1]
        assert sums.n_sloped == sloped.sum()
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
    core.dual(twin.z(np.zeros(31)))
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
    assert Newton()._sample_sizes(18_000, 3) == [2250]
    sampled = solve_by(objective, tol=1e-6)
    whole = Newton(growth=10_000).solve(objective, Monitor(objective, Stopping(1e-6)), Start())
    worst = max(sampled.certificate.gap, whole.certificate.gap)
    difference = abs(sampled.certificate.primal - whole.certificate.primal)
    assert difference <= worst + 1e-14 * whole.certificate.primal


def test_a_subset_beyond_the_rows_is_refused():
    _, core, _ = make(HINGE)
    core.subset = np.arange(1, 61, dtype=np.int32)
    with pytest.raises(ValueError, match="row that does not exist"):
        core.predict(np.zeros(5))
