"""Gram matrices and Hessians of Newton's steps equal NumPy's."""

import numpy as np
import pytest

from choices import REGULARIZED_LOSSES
from compiled.linear.newton import ANCHOR, FEATURE, SOFTNESS, Core, go_on, make, some_weights
from maxmargin.losses import SQUARED_HINGE
from reference.linear.newton import Proximal
from synthetic import DTYPES, STORAGES, objective_of, store


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
