"""SVC(landmarks=m) and SVR(landmarks=m)."""

import pickle
import signal
import time
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import maxmargin.estimators._landmarks as landmarks
from maxmargin import SVC, SVR, EmbeddedSVC
from maxmargin.embeddings import Nystroem, _base
from maxmargin.embeddings.certificates import EmbeddedCertificate, ExactCertificate
from maxmargin.kernels import Gaussian, User
from synthetic import free_svc


@parametrize_with_checks([SVC(landmarks=1000, tol=1e-9), SVR(landmarks=1000, tol=1e-9)])
def test_scikit_learn_check(estimator, check):
    check(estimator)


def moons(n=400, seed=0):
    return make_moons(n, noise=0.1, random_state=seed)


def test_the_certificate_names_the_approximate_problem():
    model = SVC(landmarks=20, random_state=0).fit(*moons())
    assert isinstance(model.certificate_, EmbeddedCertificate)
    assert "20 landmarks" in model.certificate_.sentence()
    assert "exact_certificate" in model.certificate_.sentence()
    assert model.certificate_.relative_gap < 1e-3


def test_it_is_the_recipe_of_nystroem_and_the_linear_machine():
    X, y = moons()
    model = SVC(3.0, gamma=1.0, landmarks=30, random_state=0, tol=1e-6).fit(X, y)
    space = Nystroem(n_components=30, gamma=1.0)
    space.kernel_, space.basis_ = model._space.kernel_, model.support_vectors_
    K = space.kernel_(space.basis_, space.basis_)
    values, vectors = np.linalg.eigh(K)
    Z = space.kernel_(X, space.basis_) @ vectors[:, values > 1e-12 * values[-1]]
    Z /= np.sqrt(values[values > 1e-12 * values[-1]])
    engine = free_svc(3.0, loss="hinge", penalized_intercept=False, tol=1e-6).fit(Z, y)
    np.testing.assert_allclose(model.decision_function(X), engine.decision_function(Z), atol=0.02)
    assert model.certificate_.primal == pytest.approx(engine.certificate_.primal, rel=1e-3)


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_three_classes_decide_as_the_exact_machine_does(shape):
    X, y = load_iris(return_X_y=True)
    options = {"decision_function_shape": shape, "tol": 1e-6}
    some = SVC(landmarks=150, **options).fit(X, y)
    exact = SVC(**options).fit(X, y)
    np.testing.assert_allclose(some.decision_function(X), exact.decision_function(X), atol=0.05)
    np.testing.assert_array_equal(some.predict(X), exact.predict(X))


def test_landmarks_take_the_place_of_support_vectors():
    X, y = load_iris(return_X_y=True)
    model = SVC(landmarks=30, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    assert model.n_support_.sum() == len(model.support_) == model.dual_coef_.shape[1] == 30
    assert (np.diff(y[model.support_]) >= 0).all()


def test_rows_whose_images_are_all_0_leave_a_constant():
    X, y = np.zeros((30, 2)), np.arange(30) % 3 == 0
    model = SVC(kernel="linear", landmarks=5).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), -1.0)
    bounds = model.exact_certificate(X, y)
    assert bounds.dual <= 20.0 + 1e-9
    assert bounds.primal == pytest.approx(20.0)
    assert not SVR(kernel="linear", landmarks=5).fit(X, np.ones(30)).predict(X).std()


def test_sparse_rows_are_the_same_rows():
    X, y = moons()
    options: dict[str, Any] = {"landmarks": 30, "random_state": 0, "gamma": 1.0, "tol": 1e-6}
    dense, stored = SVC(**options).fit(X, y), SVC(**options).fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(
        dense.decision_function(X), stored.decision_function(sparse.csr_matrix(X)), atol=1e-2
    )


def test_a_row_without_weight_is_no_landmark():
    X, y = moons()
    weight = np.where(np.arange(400) < 300, 1.0, 0.0)
    model = SVC(landmarks=1000).fit(X, y, weight)
    assert model.support_.max() < 300


def test_it_survives_pickling_and_cloning():
    X, y = moons()
    model = SVC(landmarks=20, random_state=0).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert clone(model).landmarks == 20


@pytest.mark.parametrize("warm_start", [False, True])
def test_an_exact_fit_after_one_by_landmarks_is_exact(warm_start):
    X, y = moons()
    model = SVC(landmarks=20, random_state=0, warm_start=warm_start).fit(X, y)
    model.set_params(landmarks=None).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), SVC().fit(X, y).decision_function(X))
    assert not isinstance(model.certificate_, EmbeddedCertificate)


def test_a_limit_of_time_is_kept_and_told():
    X, y = moons(3000)
    with pytest.warns(ConvergenceWarning, match="SVC was stopped by max_time"):
        SVC(1e4, landmarks=200, gamma=10.0, max_time=1e-6, tol=1e-9).fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"landmarks": 0}, "landmarks"),
        ({"landmarks": 2.5}, "landmarks"),
        ({"C": np.inf}, "finite C"),
        ({"multi_class": "crammer_singer"}, "multi_class"),
        ({"solver": "pegasos"}, "solver"),
    ],
)
def test_what_does_not_go_with_landmarks_is_named(options, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        SVC(**({"landmarks": 10} | options)).fit(X, y)


def test_regression_far_from_zero_keeps_its_level():
    X, _ = moons()
    y = np.sin(3.0 * X[:, 0]) + 1e4
    model = SVR(landmarks=100, epsilon=0.05, C=10.0).fit(X, y)
    assert model.score(X, y) > 0.95
    assert model.n_support_.tolist() == [100]


def test_landmarks_are_drawn_from_the_training_rows_of_each_fold():
    X, y = moons()
    model = EmbeddedSVC(Nystroem(n_components=30, random_state=0)).fit(X[:200], y[:200])
    assert (model.embedding_.landmark_indices_ < 200).all()


def test_the_cost_of_landmarks_grows_with_the_rows():
    X, y = moons(4000)
    few, many = (SVC(landmarks=m).estimate_cost(X, y) for m in (20, 200))
    assert few.n_support == 20
    assert 8 * 4000 * 200 <= many.memory_bytes < 3 * 8 * 4000 * 200
    assert few.memory_bytes < many.memory_bytes
    assert few.seconds > 0.0


def test_ctrl_c_is_heard_while_features_are_made(monkeypatch):
    X, y = moons(3000)
    model = SVC(landmarks=50, random_state=0).fit(X, y)
    before = model.decision_function(X)

    def pressing(self, A, B):
        signal.raise_signal(signal.SIGINT)
        return np.ones((A.shape[0], B.shape[0]))

    monkeypatch.setattr(Gaussian, "__call__", pressing)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    monkeypatch.undo()
    np.testing.assert_array_equal(model.decision_function(X), before)


@pytest.mark.parametrize("sweeps", [400, 1])
def test_many_features_are_swept_and_solved_by_newton_where_that_is_not_enough(sweeps, monkeypatch):
    monkeypatch.setattr(landmarks, "_FEW", 10)
    monkeypatch.setattr(landmarks, "_SWEEPS", sweeps)
    X, y = moons()
    model = SVC(gamma=1.0, landmarks=40, random_state=0).fit(X, y)
    assert model.solution_.solver == ("dual_cd" if sweeps == 400 else "newton")
    assert model.certificate_.relative_gap < 1e-3


def in_common(A, B):
    """Return the number of letters that two texts share, a kernel of their sets."""
    return np.array([[len({*a} & {*b}) for b in B] for a in A], dtype=np.float64)


def test_samples_of_a_plain_function_may_be_texts():
    random = np.random.default_rng(0)
    texts = ["".join(random.choice(list("abcdefgh"), 6)) for _ in range(100)]
    y = np.array(["a" in text for text in texts])
    model = SVC(kernel=in_common, landmarks=30, random_state=0).fit(texts, y)
    assert model.score(texts, y) > 0.9
    bounds, exact = model.exact_certificate(texts, y), SVC(kernel=in_common).fit(texts, y)
    assert bounds.dual <= exact.certificate_.primal
    assert exact.certificate_.dual <= bounds.upper
    assert SVR(kernel=in_common, landmarks=30).fit(texts, y * 1.0).score(texts, y) > 0.5


@pytest.mark.parametrize("model", [SVC(landmarks=20, tol=1e-8, random_state=0), SVR(landmarks=20)])
def test_a_plain_function_is_bounded_as_the_kernel_that_it_is(model):
    X, y = moons()
    function = Gaussian(1.0).__call__
    models = [clone(model).set_params(kernel=kernel) for kernel in (function, User(function))]
    one, other = (model.fit(X, y).exact_certificate(X, y) for model in models)
    assert one.primal == pytest.approx(other.primal, rel=1e-6)
    assert one.dual == pytest.approx(other.dual, rel=1e-3)


def test_a_pickled_model_says_that_it_has_no_dual_point():
    X, y = moons()
    model = SVC(landmarks=20, random_state=0).fit(X, y)
    with pytest.raises(AttributeError, match=r"no dual point: fit SVC\(warm_start=True\)"):
        pickle.loads(pickle.dumps(model)).exact_certificate(X, y)
    model.set_params(warm_start=True).fit(X, y)
    bounds = model.exact_certificate(X, y)
    assert pickle.loads(pickle.dumps(model)).exact_certificate(X, y) == bounds


@pytest.mark.parametrize("options", [{}, {"fit_intercept": False}])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_time_that_ends_before_there_are_features_leaves_a_constant(
    n_classes, options, monkeypatch
):
    X, y = moons(3000)
    y = y + (np.arange(3000) % n_classes == 2)
    kernel_values = Gaussian.__call__

    def slow(self, A, B):
        time.sleep(0.01)
        return kernel_values(self, A, B)

    monkeypatch.setattr(_base, "_VALUES_PER_BLOCK", 1)
    monkeypatch.setattr(Gaussian, "__call__", slow)
    model = SVC(landmarks=20, random_state=0, max_time=1e-6, **options)
    with pytest.warns(ConvergenceWarning, match="SVC was stopped by max_time"):
        model.fit(X, y)
    assert (model.predict(X) == model.predict(X[:1])).all()
    assert "nothing proven yet" in model.certificate_.sentence()
    monkeypatch.undo()
    exact = SVC(**options).fit(X, y).certificate_
    assert exact.dual <= model.certificate_.primal
    bounds = model.exact_certificate(X, y)
    assert isinstance(bounds, ExactCertificate)
    assert bounds.dual <= exact.primal
    assert exact.dual <= bounds.upper


def test_time_counts_from_the_start_of_the_fit(monkeypatch):
    X, y = moons(3000)
    monkeypatch.setattr(_base, "_VALUES_PER_BLOCK", 1)
    check = SVC._check_kind

    def slow(self):
        time.sleep(0.6)
        return check(self)

    monkeypatch.setattr(SVC, "_check_kind", slow)
    limits = []
    coordinates = landmarks.TriangularNystroem._coordinates

    def limited(self, X, until):
        limits.append(until - time.perf_counter())
        return coordinates(self, X)

    monkeypatch.setattr(landmarks.TriangularNystroem, "_coordinates", limited)
    SVC(landmarks=20, random_state=0, max_time=1000.0).fit(X, y)
    assert limits[0] <= 999.4
