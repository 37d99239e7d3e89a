"""Made data, and the ways to store it. Values are float32 numbers, so that every dtype holds the
same problem and so the same optimum.
"""

from dataclasses import replace
from functools import cache

import numpy as np
from scipy import sparse

from maxmargin import Intercept, LinearObjective, LinearSVC, LinearSVR, PegasosClassifier, Problem
from maxmargin.losses import (
    EPSILON_INSENSITIVE,
    HINGE,
    PERCEPTRON,
    SQUARED,
    SQUARED_EPSILON_INSENSITIVE,
    SQUARED_HINGE,
)
from maxmargin.objectives.crammer_singer import CrammerSingerObjective
from maxmargin.solvers import SOLVERS, Monitor, Start, Stopping

TUBE = replace(EPSILON_INSENSITIVE, epsilon=0.25)
SQUARED_TUBE = replace(SQUARED_EPSILON_INSENSITIVE, epsilon=0.25)

LOSSES = {
    loss.name: loss for loss in (HINGE, SQUARED_HINGE, PERCEPTRON, SQUARED, TUBE, SQUARED_TUBE)
}
REGULARIZED = [name for name, loss in LOSSES.items() if loss.regularized]
INTERCEPTS = list(Intercept)
STORAGES = ("dense", "csr32", "csr64")
DTYPES = (np.float32, np.float64)


def as_float32(X):
    return X.astype(np.float32).astype(np.float64)


def separable(n=40, d=3, seed=0):
    """Two classes with a corridor of width 1 between them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    X[:, 0] = y * (0.5 + np.abs(X[:, 0]))
    return as_float32(X), y


def with_margin(n=80, seed=0):
    """Two classes of three features on both sides of a plane, with a margin."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where(X @ [1.0, -2.0, 0.5] > 0.0, 1, -1)
    return X + 0.3 * y[:, np.newaxis] * np.array([1.0, -2.0, 0.5]) / 2.3, y


def overlapping(n=60, d=4, seed=0):
    """Two classes that no hyperplane separates, off the origin, a third of the values zero."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    X = rng.normal(size=(n, d)) + 0.7 * y[:, None] + 0.5
    X[rng.random((n, d)) < 1 / 3] = 0.0
    return as_float32(X), y


def regression(n=60, d=4, seed=0):
    """A noisy line with an offset and a few outliers."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[rng.random((n, d)) < 1 / 3] = 0.0
    y = X @ rng.normal(size=d) + 1.5 + 0.3 * rng.standard_t(2, size=n)
    return as_float32(X), y


def classes(n=60, d=4, n_classes=5, seed=0):
    """Overlapping classes off the origin, a third of the values zero, each class present."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    y[:n_classes] = np.arange(n_classes)
    X = rng.normal(size=(n, d)) + rng.normal(size=(n_classes, d))[y] + 0.5
    X[rng.random((n, d)) < 1 / 3] = 0.0
    return as_float32(X), y


def clusters(n_classes, n=None, d=8, seed=0, noise=0.1):
    """Classes of equal size, each around a place of its own."""
    rng = np.random.default_rng(seed)
    y = np.arange(n or 3 * n_classes) % n_classes
    return rng.normal(size=(n_classes, d))[y] + noise * rng.normal(size=(len(y), d)), y


def many_classes(n_classes=20, n=200):
    """Classes that overlap, with so many pairs that a short time does not suffice for all."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % n_classes
    return rng.normal(size=(n, 3)) + rng.normal(size=(n_classes, 3))[y], y


def joint(X, y, n_classes, intercept=Intercept.NONE, *, C=1.0, weights=None, scaling=1.0):
    cost = np.full(len(y), C) if weights is None else C * np.asarray(weights, dtype=np.float64)
    return CrammerSingerObjective(
        Problem(X, y.astype(np.float64), cost), n_classes, intercept, scaling
    )


def data_for(loss, n=60, d=4, seed=0):
    return (overlapping if loss.one_sided else regression)(n, d, seed)


def csr(X, index=np.int32, dtype=np.float64):
    """CSR with both index arrays of that type; SciPy's constructor would narrow them."""
    stored = sparse.csr_matrix(X, dtype=dtype)
    stored.indices, stored.indptr = stored.indices.astype(index), stored.indptr.astype(index)
    return stored


def store(X, storage="dense", dtype=np.float64):
    if storage == "dense":
        return np.ascontiguousarray(X, dtype=dtype)
    return csr(X, {"csr32": np.int32, "csr64": np.int64}[storage], dtype)


def objective_of(
    loss, intercept=Intercept.FREE, *, C=1.0, weights=None, scaling=1.0, X=None, y=None
):
    """An Objective on the given data, or on made data that suits the loss."""
    if X is None:
        X, y = data_for(loss)
    cost = np.full(len(y), C) if weights is None else C * np.asarray(weights, dtype=np.float64)
    return LinearObjective(Problem(X, y, cost), loss, intercept, scaling)


def larger(loss=HINGE, intercept=Intercept.FREE, C=0.1):
    """An Objective on 2,000 rows of a noisy plane."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 20))
    y = X @ rng.normal(size=20) / 2 + 0.5 + rng.normal(size=2000)
    y = np.where(y > 0, 1.0, -1.0) if loss.one_sided else y
    return objective_of(loss, intercept, C=C, X=X, y=y)


@cache
def weighted(loss, intercept, storage="dense"):
    """An Objective with costs that differ by sample, and an intercept that is scaled."""
    objective = objective_of(loss, intercept, C=1.7, scaling=2.5, weights=weights_for(60))
    X = store(objective.problem.X, storage)
    return objective_of(
        loss, intercept, X=X, y=objective.problem.y, C=1.7, scaling=2.5, weights=weights_for(60)
    )


def weights_for(n, seed=0):
    """Costs that differ by sample, some of them 0."""
    rng = np.random.default_rng(seed)
    return rng.choice([0.0, 0.5, 1.0, 3.0], size=n, p=[0.1, 0.3, 0.4, 0.2])


def solve(objective, solver="newton", tol=1e-8, max_iter=20_000, seed=0):
    monitor = Monitor(objective, Stopping(tol, max_iter))
    return SOLVERS[solver]().solve(objective, monitor, Start(seed))


def free_svc(C=1.0, **settings):
    """LinearSVC with the hinge loss and a free intercept, unless told otherwise."""
    return LinearSVC(**{"C": C, "loss": "hinge", "penalized_intercept": False, **settings})


def free_svr(C=1.0, **settings):
    """LinearSVR with a free intercept, unless told otherwise."""
    return LinearSVR(**{"C": C, "penalized_intercept": False, **settings})


def loose_pegasos(**settings):
    """PegasosClassifier with a seed, and a tolerance that it reaches soon."""
    return PegasosClassifier(**({"lam": 1e-2, "tol": 0.05, "random_state": 0} | settings))
