"""What bears scikit-learn's name has its meaning and default."""

import inspect

import numpy as np
import pytest
from scipy import sparse
from sklearn import svm
from sklearn.datasets import load_diabetes, load_iris
from sklearn.utils import get_tags

import maxmargin
from maxmargin import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM
from synthetic import overlapping

IRIS = load_iris(return_X_y=True)
NAMES = ["LinearSVC", "LinearSVR", "NuSVC", "NuSVR", "OneClassSVM", "SVC", "SVR"]
KERNELS = [SVC(), NuSVC(nu=0.3), SVR(), NuSVR(), OneClassSVM()]

#: Of other units or of no effect on the answer; docs/sklearn-compatibility.md says which and why.
OWN = {"tol", "max_iter", "cache_size"}


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_has_their_default(name):
    ours, theirs = (
        inspect.signature(getattr(package, name)).parameters for package in (maxmargin, svm)
    )
    for parameter, their in theirs.items():
        assert parameter in OWN or ours[parameter].default == their.default, parameter


@pytest.mark.parametrize("name", NAMES)
def test_positional_arguments_come_in_their_order(name):
    ours, theirs = (
        [p.name for p in inspect.signature(Model).parameters.values() if p.kind != p.KEYWORD_ONLY]
        for Model in (getattr(maxmargin, name), getattr(svm, name))
    )
    assert ours[: len(theirs)] == theirs


@pytest.mark.parametrize("name", NAMES)
def test_tags_are_theirs(name):
    assert get_tags(getattr(maxmargin, name)()) == get_tags(getattr(svm, name)())


def test_linear_classes_pose_their_problem():
    X, y = overlapping(200)
    ours, theirs = LinearSVC(tol=1e-8).fit(X, y), svm.LinearSVC(tol=1e-10).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)


def test_linear_regression_poses_their_problem():
    X, y = load_diabetes(return_X_y=True)
    ours = LinearSVR(C=10.0, tol=1e-8).fit(X, y)
    theirs = svm.LinearSVR(C=10.0, tol=1e-8, max_iter=1_000_000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("dual", ["auto", True, False])
def test_the_answer_does_not_depend_on_dual(dual):
    X, y = overlapping(200)
    model, other = LinearSVC(loss="hinge", dual=dual), LinearSVC(loss="hinge")
    np.testing.assert_array_equal(model.fit(X, y).coef_, other.fit(X, y).coef_)


def test_another_dual_is_refused():
    with pytest.raises(ValueError, match="dual must be 'auto', True or False, got 'yes'"):
        LinearSVC(dual="yes").fit(*IRIS)


def test_sparse_weights_predict_the_same():
    model = LinearSVC().fit(*IRIS)
    values = model.decision_function(IRIS[0])
    assert sparse.issparse(model.sparsify().coef_)
    np.testing.assert_array_equal(model.decision_function(IRIS[0]), values)
    assert not sparse.issparse(model.densify().coef_)


@pytest.mark.parametrize("model", KERNELS, ids=str)
@pytest.mark.parametrize("store", [sparse.csr_matrix, sparse.csr_array])
def test_sparse_samples_leave_sparse_coefficients(model, store):
    model = type(model)(**model.get_params() | {"kernel": "linear", "tol": 1e-6})
    predicted, coef = model.fit(*IRIS).predict(IRIS[0]), model.coef_
    model.fit(store(IRIS[0]), IRIS[1])
    for name in ("dual_coef_", "support_vectors_", "coef_"):
        assert isinstance(getattr(model, name), store), name
    np.testing.assert_allclose(model.coef_.toarray(), coef, atol=0.02)
    np.testing.assert_allclose(model.predict(IRIS[0]), predicted, atol=0.02)


@pytest.mark.parametrize("model", KERNELS, ids=str)
def test_weights_cannot_be_changed_in_place(model):
    model = type(model)(**model.get_params() | {"kernel": "linear"}).fit(*IRIS)
    with pytest.raises(ValueError, match="read-only"):
        model.coef_[0, 0] = 1.0
    with pytest.raises(AttributeError):
        model.coef_ = np.zeros((1, 4))


def letters(texts, others):
    assert isinstance(texts, list)
    return [[float(len(set(one) & set(other))) for other in others] for one in texts]


@pytest.mark.parametrize("Model", [SVC, SVR, NuSVC, NuSVR, OneClassSVM])
def test_a_function_gets_the_samples_as_they_were_given(Model):
    texts = ["abc", "abd", "acd", "xyz", "xyw", "xzw"]
    model = Model(kernel=letters).fit(texts, [0, 0, 0, 1, 1, 1])
    matrix = Model(kernel="precomputed").fit(np.array(letters(texts, texts)), [0, 0, 0, 1, 1, 1])
    np.testing.assert_allclose(
        model.predict(["bcd", "zyx"]), matrix.predict(np.array(letters(["bcd", "zyx"], texts)))
    )


def test_a_function_of_another_shape_is_refused():
    with pytest.raises(ValueError, match=r"shape \(1, 1\) for 150 and 150 samples"):
        SVC(kernel=lambda *_: [[1.0]]).fit(*IRIS)


def test_targets_of_a_function_are_checked():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        SVC(kernel=letters).fit(["a", "b", "c"], [0, 1])


@pytest.mark.parametrize("model", [SVC(kernel="linear"), SVR(kernel="linear"), LinearSVC()])
def test_weights_of_0_or_less_leave_samples_out(model):
    X, y = overlapping(100)
    weight = np.where(np.arange(100) < 20, -1.0, 1.0)
    coef = model.fit(X, y, sample_weight=weight).coef_
    np.testing.assert_allclose(model.fit(X[20:], y[20:]).coef_, coef, rtol=1e-2, atol=1e-3)


def test_ties_are_not_broken_among_pairs():
    model = SVC(break_ties=True, decision_function_shape="ovo").fit(*IRIS)
    with pytest.raises(ValueError, match="break_ties must be False"):
        model.predict(IRIS[0])


def test_an_infinite_cost_of_a_tube():
    X, y = load_diabetes(return_X_y=True)
    model = SVR(C=np.inf, gamma=100.0, epsilon=1.0).fit(X, y)
    assert np.abs(model.predict(X) - y).max() < 1.1


def test_altered_numbers_of_support_vectors_are_refused():
    model = SVC().fit(*IRIS)
    model.n_support_[0] = 10**6
    with pytest.raises(ValueError, match="internal representation of SVC was altered"):
        model.predict(IRIS[0])


def test_a_pair_of_classes_without_a_margin_does_not_end_the_fit():
    X, y = overlapping(60, 2)
    X, y = np.vstack([X, X, X + 20.0]), np.repeat([0, 1, 2], len(X))
    with pytest.warns(UserWarning, match="no margin between classes 0 and 1"):
        model = NuSVC(nu=0.5).fit(X, y)
    assert (model.predict(X[120:]) == 2).mean() > 0.9
