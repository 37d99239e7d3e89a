"""Changing the import is enough: these take what scikit-learn's take, and answer the same."""

import inspect
import itertools

import numpy as np
import pytest
from scipy import sparse
from sklearn import svm
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM

BOTH = pytest.mark.parametrize(("Ours", "Theirs"), [(SVC, svm.SVC), (SVR, svm.SVR)])
MODELS = [SVC, SVR, NuSVC, NuSVR, OneClassSVM]
PEERS = [(Model, getattr(svm, Model.__name__)) for Model in MODELS]
EVERY = pytest.mark.parametrize(("Ours", "Theirs"), PEERS, ids=lambda Model: Model.__name__)


def made(n_classes, n=100):
    rng = np.random.default_rng(n_classes)
    label = np.arange(n) % n_classes
    X = (
        rng.normal(size=(n + 40, 5))
        + 1.5 * rng.normal(size=(n_classes, 5))[np.r_[label, label[:40]]]
    )
    X[rng.random(X.shape) < 0.3] = 0.0
    return X[:n], np.array(list("ebadc"))[label], X[n:], rng.choice([0.5, 1.0, 2.0], size=n)


def gaussian(A, B):
    return rbf_kernel(A, B, gamma=0.2)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "precomputed", gaussian])
def test_the_answers_are_the_same(n_classes, kernel):
    X, y, Z, weight = made(n_classes)
    storages = [np.asarray]
    if kernel == "precomputed":
        X, Z = gaussian(X, X), gaussian(Z, X)
    elif isinstance(kernel, str):
        storages.append(sparse.csr_matrix)
    # Their "balanced" counts samples, ours weights. No sigmoid: it has several stationary points.
    weights = [(None, None), ("balanced", None), ({"e": 3.0, "b": 0.5}, weight)]
    for stored, (class_weight, sample_weight) in itertools.product(storages, weights):
        settings = {"kernel": kernel, "gamma": 0.02, "C": 2.0, "class_weight": class_weight}
        ours, theirs = (
            Model(tol=1e-6, **settings).fit(stored(X), y, sample_weight) for Model in (SVC, svm.SVC)
        )
        for shape in ("ovr", "ovo"):
            values, expected = (
                model.set_params(decision_function_shape=shape).decision_function(stored(Z))
                for model in (ours, theirs)
            )
            np.testing.assert_allclose(values, expected, atol=5e-3)
        np.testing.assert_array_equal(ours.predict(stored(Z)), theirs.predict(stored(Z)))
        np.testing.assert_allclose(ours.class_weight_, theirs.class_weight_)
        assert ours.fit_status_ == 0


@EVERY
def test_every_parameter_is_known(Ours, Theirs):
    ours, theirs = (inspect.signature(Model).parameters for Model in (Ours, Theirs))
    assert set(theirs) <= set(ours)


@BOTH
def test_their_usual_settings_are_taken(Ours, Theirs):
    X, y, *_ = made(2)
    settings = {"shrinking": False, "max_iter": -1, "cache_size": 200, "verbose": False}
    y = y if Ours is SVC else X[:, 0] * X[:, 1]
    ours, theirs = (Model(tol=1e-6, **settings).fit(X, y) for Model in (Ours, Theirs))
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-2)


@EVERY
def test_what_is_learnt_has_their_types(Ours, Theirs):
    X, y, *_ = made(2)
    y = y if Ours in (SVC, NuSVC) else X[:, 0]
    ours, theirs = (Model(kernel="linear").fit(X, y) for Model in (Ours, Theirs))
    for name in ("n_iter_", "fit_status_", "shape_fit_", "n_features_in_", "intercept_", "coef_"):
        assert type(getattr(ours, name)) is type(getattr(theirs, name)), name
        assert np.shape(getattr(ours, name)) == np.shape(getattr(theirs, name)), name
    for name in ("support_", "n_support_", "dual_coef_", "support_vectors_"):
        mine, other = getattr(ours, name), getattr(theirs, name)
        assert type(mine) is type(other), name
        assert mine.dtype == other.dtype, name
        assert mine.ndim == other.ndim, name
    assert ours.n_support_.shape == theirs.n_support_.shape
    assert ours.dual_coef_.shape[0] == theirs.dual_coef_.shape[0]
    assert ours.support_vectors_.shape[1] == theirs.support_vectors_.shape[1]


def test_a_kernel_matrix_leaves_no_vectors():
    X, y, *_ = made(3)
    ours, theirs = (Model(kernel="precomputed").fit(gaussian(X, X), y) for Model in (SVC, svm.SVC))
    assert ours.support_vectors_.shape == theirs.support_vectors_.shape


def test_names_of_columns_are_kept():
    pandas = pytest.importorskip("pandas")
    X, y, *_ = made(2)
    frame = pandas.DataFrame(X, columns=list("vwxyz"))
    assert SVC().fit(frame, y).feature_names_in_.tolist() == list("vwxyz")


def test_an_unproven_fit_has_their_status():
    X, y, *_ = made(2)
    with pytest.warns(ConvergenceWarning):
        model = SVC(max_iter=1, tol=1e-12).fit(X, y)
    assert model.fit_status_ == 1


@pytest.mark.parametrize("probability", [True, False])
@pytest.mark.parametrize("Model", [SVC, NuSVC])
def test_probability_is_taken_and_deprecated_as_theirs(Model, probability):
    X, y, *_ = made(2)
    with pytest.warns(FutureWarning, match="probability.*parameter.*needs no flag"):
        model = Model(probability=probability).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), Model().fit(X, y).predict(X))


def test_calibration_around_a_model_still_works():
    X, y, *_ = made(2)
    calibrated = CalibratedClassifierCV(SVC(), ensemble=False).fit(X, y)
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("limit", [0, -2, 1.5, True])
def test_other_limits_are_refused(limit):
    with pytest.raises(ValueError, match="max_iter"):
        SVC(max_iter=limit).fit(*made(2)[:2])
