"""Where float32 rows cannot carry the proof, SMO goes on in float64 on the samples that matter."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM, Status
from maxmargin.kernels import Gaussian
from maxmargin.solvers.kernel import active_set as smo_active
from maxmargin.solvers.kernel import smo
from recording import recording


def blobs(n, flip=0.1, seed=0):
    X, y = make_classification(n, 2, n_informative=2, n_redundant=0, flip_y=flip, random_state=seed)
    return X, y, 30.0 / (2 * X.var())


def gap_by_plain_sums(model, X, y, C, gamma):
    K = Gaussian(gamma)(X, X)
    beta, b = model.solutions_[0].beta, model.intercept_[0]
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    square, f = beta @ K @ beta, K @ beta + b
    primal = 0.5 * square + C * np.maximum(0.0, 1.0 - signs * f).sum()
    dual = signs @ beta - 0.5 * square
    return (primal - dual) / dual


@pytest.mark.parametrize("n", [1024, 1025, 1500])
def test_a_large_c_is_proven_on_either_side_of_the_limit_for_small_problems(n):
    X, y, gamma = blobs(1500)
    X, y = X[:n], y[:n]
    model = SVC(C=3e3, gamma=gamma).fit(X, y)
    assert model.solutions_[0].status is Status.OPTIMAL
    assert gap_by_plain_sums(model, X, y, 3e3, gamma) <= 1e-3


def one_problem(kind):
    X, y, gamma = blobs(1400)
    target = np.sin(2.0 * X[:, 0]) + 0.1 * X[:, 1]
    given = {
        "svc": (SVC(C=10.0, gamma=gamma), y),
        "svc without intercept": (SVC(C=10.0, gamma=gamma, fit_intercept=False), y),
        "svr": (SVR(C=10.0, gamma=gamma, epsilon=0.05), target),
        "nu-svc": (NuSVC(nu=0.2, gamma=gamma), y),
        "nu-svr": (NuSVR(nu=0.3, C=1.0, gamma=gamma), target),
        "one-class": (OneClassSVM(nu=0.2, gamma=gamma), None),
    }
    return *given[kind], X


@pytest.mark.parametrize(
    "kind", ["svc", "svc without intercept", "svr", "nu-svc", "nu-svr", "one-class"]
)
@pytest.mark.parametrize("tol", [1e-3, 1e-7])
def test_every_problem_can_be_handed_over_to_float64(kind, tol, monkeypatch):
    model, y, X = one_problem(kind)
    expected = model.set_params(tol=tol).fit(X, y).solutions_[0].certificate
    solve, handed = recording(smo_active.solve_active)
    monkeypatch.setattr(smo_active, "solve_active", solve)
    monkeypatch.setattr(smo, "_PAIR_WORK_PER_VALUE", 0)
    found = model.fit(X, y).solutions_[0]
    assert handed
    assert found.status is Status.OPTIMAL
    assert found.certificate.dual == pytest.approx(expected.dual, rel=2.0 * tol)


def test_without_room_for_the_matrix_float32_goes_on(monkeypatch):
    X, y, gamma = blobs(1400)
    expected = SVC(C=1.0, gamma=gamma).fit(X, y)
    monkeypatch.setattr(smo, "_PAIR_WORK_PER_VALUE", 0)
    monkeypatch.setattr(smo, "affordable", lambda _: 20)
    model = SVC(C=1.0, gamma=gamma).fit(X, y)
    assert model.solutions_[0].status is Status.OPTIMAL
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X), atol=0.05)


def test_room_that_ends_while_samples_join_leaves_a_point_to_go_on_from(monkeypatch):
    X, y, gamma = blobs(1400)
    monkeypatch.setattr(smo, "_PAIR_WORK_PER_VALUE", 0)
    grow, calls = smo_active.ActiveSet.grow, []

    def half_and_no_more(self):
        calls.append(1)
        if len(calls) > 1:
            return False
        grow(self)
        self.active = self.active[::2]
        return True

    monkeypatch.setattr(smo_active.ActiveSet, "grow", half_and_no_more)
    assert SVC(C=1.0, gamma=gamma).fit(X, y).solutions_[0].status is Status.OPTIMAL
    assert len(calls) == 2


def test_max_iter_and_max_time_hold_in_float64_too(monkeypatch):
    X, y, gamma = blobs(1400, flip=0.3)
    monkeypatch.setattr(smo, "_PAIR_WORK_PER_VALUE", 0)
    with pytest.warns(UserWarning, match="iterations"):
        model = SVC(C=1e6, gamma=gamma, max_iter=40).fit(X, y)
    assert model.n_iter_[0] <= 40
    with pytest.warns(UserWarning, match="time"):
        SVC(C=1e6, gamma=gamma, max_time=0.2).fit(X, y)


def test_the_given_cache_size_bounds_the_matrix():
    assert smo_active.affordable(800.0) == 10_000
    assert smo_active.affordable(1.0) == 2896  # 64 MB in any case
    assert smo_active.affordable(None) <= 11_585
