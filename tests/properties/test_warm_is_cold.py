"""A warm start after a change of the data, or of any parameter, ends where a cold fit ends."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import is_classifier, is_regressor

from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM, Status
from maxmargin.kernels import Gaussian, Polynomial
from synthetic import free_svc, free_svr

N = 150


def made(seed=0, n=N, d=5):
    """Rows off the origin, half of them zero, and a noisy function of two columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 0.5
    X[rng.random((n, d)) < 0.5] = 0.0
    return X, X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=n)


def targets(model, signal, n_classes=2):
    if is_regressor(model):
        return 3.0 * signal
    return np.digitize(signal, np.quantile(signal, np.linspace(0, 1, n_classes + 1)[1:-1]))


def weights(n, seed=3):
    return np.random.default_rng(seed).choice([0.1, 0.5, 1.0, 4.0], size=n)


MODELS = [
    free_svc(loss="hinge"),
    free_svc(loss="squared_hinge", solver="newton"),
    free_svc(solver="dual_cd", penalized_intercept=True),
    free_svc(multi_class="crammer_singer", loss="hinge"),
    free_svr(),
    free_svr(loss="squared_epsilon_insensitive", epsilon=0.2),
    free_svr(solver="dual_cd"),
    SVC(),
    SVC(kernel="linear", multi_class="ovr"),
    SVC(multi_class="crammer_singer"),
    SVR(),
    SVR(kernel="linear"),
    NuSVC(nu=0.3),
    NuSVR(),
    OneClassSVM(nu=0.2),
]


def classes(model, X, signal):
    return X, targets(model, signal, 4), None


def other_labels(model, X, signal):
    y = targets(model, signal, 3)
    return X, np.array(["c", "a", "b"])[y] if is_classifier(model) else -y, None


CHANGES = {
    "more rows": lambda m, *_: (*made_for(m, 0, N + 40), None),
    "fewer rows": lambda m, X, s: (X[:90], targets(m, s, 3)[:90], None),
    "other rows": lambda m, *_: (*made_for(m, 5), None),
    "rows in another order": lambda m, X, s: (X[::-1].copy(), targets(m, s, 3)[::-1], None),
    "scaled rows": lambda m, X, s: (3.0 * X, targets(m, s, 3), None),
    "shifted rows": lambda m, X, s: (X + 2.0, targets(m, s, 3), None),
    "more features": lambda m, X, s: (np.c_[X, X**2], targets(m, s, 3), None),
    "fewer features": lambda m, X, s: (X[:, :3], targets(m, s, 3), None),
    "other classes": classes,
    "other labels": other_labels,
    "flipped targets": lambda m, X, s: (X, targets(m, -s, 3), None),
    "large targets": lambda m, X, s: (X, targets(m, 1e4 * s, 3), None),
    "weights": lambda m, X, s: (X, targets(m, s, 3), weights(N)),
    "some weights 0": lambda m, X, s: (X, targets(m, s, 3), weights(N) * (np.arange(N) % 3 > 0)),
    "large weights": lambda m, X, s: (X, targets(m, s, 3), 5.0 * weights(N)),
    "small weights": lambda m, X, s: (X, targets(m, s, 3), 1e-3 * weights(N)),
    "CSR rows": lambda m, X, s: (sparse.csr_matrix(X), targets(m, s, 3), None),
    "float32 rows": lambda m, X, s: (X.astype(np.float32), targets(m, s, 3), None),
}


def made_for(model, *args):
    X, signal = made(*args)
    return X, targets(model, signal, 3)


def assert_agree(warm, cold):
    assert warm.certificate_.status is Status.OPTIMAL
    assert cold.certificate_.status is Status.OPTIMAL
    values = warm.certificate_.primal, cold.certificate_.primal
    assert values[0] == pytest.approx(values[1], rel=2.1 * cold.tol, abs=1e-9)


def fresh(model, **change):
    """A copy that was never fitted, with other parameters."""
    common = {"random_state": 0} if "random_state" in model.get_params() else {}
    return type(model)(**model.get_params() | common | {"max_time": 20.0} | change)


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("change", CHANGES)
def test_other_data(model, change):
    X, signal = made()
    warm = fresh(model, warm_start=True).fit(X, targets(model, signal, 3))
    data = CHANGES[change](model, X, signal)
    assert_agree(warm.fit(*data), fresh(model).fit(*data))


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_from_csr_rows_to_dense_ones(model):
    X, signal = made()
    y = targets(model, signal, 3)
    warm = fresh(model, warm_start=True).fit(sparse.csr_matrix(X), y)
    assert_agree(warm.fit(X, y), fresh(model).fit(X, y))


VALUES: dict[str, list[Any]] = {
    "C": [1e-3, 0.3, 50.0],
    "nu": [0.05, 0.45],
    "epsilon": [0.0, 2.0, 50.0],
    "kernel": ["linear", "laplacian", Gaussian(0.01), Polynomial(0.2, 2, 1.0)],
    "degree": [2],
    "gamma": [1e-3, 2.0, "median"],
    "coef0": [1.0],
    "fit_intercept": [False],
    "penalized_intercept": [True, False],
    "intercept_scaling": [10.0],
    "class_weight": ["balanced", {0: 5.0, 1: 0.2}],
    "loss": ["hinge", "squared_hinge", "epsilon_insensitive", "squared_epsilon_insensitive"],
    "solver": ["newton", "dual_cd", "smo"],
    "multi_class": ["ovr", "ovo", "crammer_singer"],
    "tol": [1e-1, 1e-5],
    "cache_size": [0.1],
    "shrinking": [False],
    "n_jobs": [2],
    "max_iter": [100_000],
    "random_state": [7],
    "break_ties": [True],
}


@pytest.mark.filterwarnings(
    "ignore:No direction separates", "ignore:.*is infeasible", "ignore:.*leaves no margin"
)
@pytest.mark.parametrize(
    ("model", "name"), [(m, name) for m in MODELS for name in VALUES if name in m.get_params()],
    ids=str,
)  # fmt: skip
def test_other_parameters(model, name):
    X, signal = made()
    y = targets(model, signal, 3)
    first = {"kernel": "poly"} if name in ("degree", "coef0") else {}
    for value in VALUES[name]:
        try:
            cold = fresh(model, **first | {name: value}).fit(X, y)
        except ValueError:  # not a value for this model
            continue
        warm = fresh(model, warm_start=True, **first).fit(X, y)
        assert_agree(warm.set_params(**{name: value}).fit(X, y), cold)
