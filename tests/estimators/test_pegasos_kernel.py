"""PegasosClassifier(kernel=…): fits and streams."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.preprocessing import scale

from maxmargin import SVC
from maxmargin.kernels import Gaussian
from real_data import CANCER
from synthetic import loose_pegasos

X, Y = CANCER
IRIS = load_iris(return_X_y=True)


# ---- kernels


def rbf(**settings):
    return loose_pegasos(**({"kernel": "rbf", "gamma": 0.05} | settings))


def test_a_linear_kernel_is_the_linear_model():
    plain, named = loose_pegasos().fit(X, Y), loose_pegasos(kernel="linear").fit(X, Y)
    np.testing.assert_array_equal(plain.coef_, named.coef_)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_kernel_fit_proves_its_gap(loss):
    model = rbf(loss=loss).fit(X, Y)
    assert model.certificate_.relative_gap <= 0.05
    assert model.score(X, Y) > 0.94
    assert model.decision_function(X).shape == (len(Y),)
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    assert model.dual_coef_.shape == (1, len(model.support_))
    assert not hasattr(model, "coef_")
    if loss == "hinge":
        exact = SVC(1 / (1e-2 * len(Y)), gamma=0.05, tol=1e-6).fit(X, Y)
        assert model.certificate_.dual <= exact.certificate_.primal <= model.certificate_.primal


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_a_kernel_fit_of_three_classes(storage):
    rows, labels = storage(scale(IRIS[0])), IRIS[1]
    model = rbf(gamma="scale", tol=0.1).fit(rows, labels)
    assert model.decision_function(rows).shape == (150, 3)
    assert model.score(rows, labels) > 0.9
    assert len(model.solutions_) == 3


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_stream_with_a_kernel_learns(storage, classes):
    rows, labels = (X, Y) if classes == 2 else (scale(IRIS[0]), IRIS[1])
    rows, model = storage(rows), rbf(max_support=300)
    for _ in range(3):
        for batch in np.array_split(np.random.default_rng(0).permutation(len(labels)), 5):
            model.partial_fit(rows[batch], labels[batch], classes=range(classes))
    assert model.score(rows, labels) > 0.85
    assert model.t_ == 3 * len(labels)
    assert model.support_vectors_.shape[0] == model.dual_coef_.shape[1] <= 300 * classes
    with pytest.raises(AttributeError, match="stream is not kept"):
        _ = model.certificate_


@pytest.mark.parametrize("data", [(X, Y), (scale(IRIS[0]), IRIS[1])], ids=["two", "three"])
def test_a_kernel_stream_goes_on_from_fit(data):
    rows, labels = data
    model = rbf(tol=0.1).fit(rows, labels)
    before, steps = model.decision_function(rows), model.t_
    model.partial_fit(rows[:5], labels[:5])
    after = model.decision_function(rows)
    assert 0.0 < np.abs(after - before).max() < 0.2 * np.abs(before).max()
    assert model.t_ == steps + 5


def test_a_kernel_model_can_be_cloned_and_pickled_within_a_stream():
    model = rbf(kernel=Gaussian(0.05)).partial_fit(X[:300], Y[:300], classes=[0, 1])
    again = pickle.loads(pickle.dumps(model))
    for one in (model, again):
        one.partial_fit(X[300:], Y[300:])
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert clone(model).get_params() == model.get_params()


def test_fits_leave_nothing_of_another_kernel():
    model = loose_pegasos().fit(X, Y)
    with pytest.raises(ValueError, match=r"kernel=.* differs from kernel=None"):
        model.set_params(kernel="rbf").partial_fit(X, Y)
    model.fit(X, Y)
    assert not hasattr(model, "coef_")
    model.set_params(kernel=None).fit(X, Y)
    assert not hasattr(model, "dual_coef_")
    np.testing.assert_array_equal(model.predict(X), loose_pegasos().fit(X, Y).predict(X))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kernel": "round"}, "kernel must be one of"),
        ({"kernel": "precomputed"}, "SVC"),
        ({"projection": True}, "projection=False"),
        ({"penalized_intercept": True}, "fit_intercept=False"),
        ({"max_support": 0}, "max_support"),
        ({"gamma": -1.0}, "gamma"),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value),
)
def test_what_a_kernel_does_not_go_with_is_named(settings, message):
    with pytest.raises(ValueError, match=message):
        rbf(**settings).fit(X, Y)
    with pytest.raises(ValueError, match=message):
        rbf(**settings).partial_fit(X, Y, classes=[0, 1])


def test_threads_give_the_same_bits():
    first, again = (rbf(n_jobs=jobs).fit(X, Y).dual_coef_ for jobs in (1, 2))
    np.testing.assert_array_equal(first, again)


def test_kernels_that_steps_cannot_follow_are_refused():
    for settings, message in (
        ({"kernel": "sigmoid", "coef0": -1e3}, "diagonal"),
        ({"kernel": "poly", "gamma": 1e12, "degree": 3}, "float32"),
    ):
        with pytest.raises(ValueError, match=message):
            rbf(**settings).fit(X, Y)
        with pytest.raises(ValueError, match=message):
            rbf(**settings).partial_fit(X, Y, classes=[0, 1])
    with pytest.raises(ValueError, match="X contains NaN"):
        rbf().fit(np.where(X > 3, np.nan, X), Y)


def test_one_row_of_each_class_suffices_for_a_kernel():
    model = rbf(lam=0.1, gamma=1.0, fit_intercept=False).fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"])
    np.testing.assert_array_equal(model.predict([[0.0, 1.0], [1.0, 0.0]]), ["a", "b"])
    model.partial_fit([[0.0, 1.0]], ["a"])
    assert model.t_ > 2


def test_read_only_rows_and_long_indices_stream():
    frozen = X.copy()
    frozen.setflags(write=False)
    rows = sparse.csr_matrix(np.where(X > 0.5, X, 0.0))
    rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    for data in (frozen, rows, X.astype(np.float32)):
        model = rbf().partial_fit(data[:300], Y[:300], classes=[0, 1])
        assert model.partial_fit(data[300:], Y[300:]).score(data, Y) > 0.85


# ---- all classes in one problem


def test_a_kernel_stream_predicts():
    model = rbf().partial_fit(X[:300], Y[:300], classes=[0, 1])
    assert model.predict(X).shape == Y.shape
