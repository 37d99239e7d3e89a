"""predict_proba: agrees with predict, is calibrated by leave-one-out scores, asks for no flag."""

import copy
import pickle
import threading
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale

from maxmargin import SVC, LinearSVC, NuSVC
from probabilities import blobs, check_probabilities

MODELS = [
    SVC(),
    SVC(C=100.0, kernel="linear"),
    SVC(multi_class="ovr"),
    SVC(multi_class="crammer_singer"),
    SVC(break_ties=True),
    SVC(fit_intercept=False),
    SVC(decision_function_shape="ovo"),
    NuSVC(nu=0.2),
    LinearSVC(),
    LinearSVC(loss="squared_hinge", penalized_intercept=True),
    LinearSVC(loss="squared_hinge", fit_intercept=False),
    LinearSVC(multi_class="ovo"),
    LinearSVC(multi_class="crammer_singer"),
]
EVERY = pytest.mark.parametrize("model", MODELS, ids=repr)


@EVERY
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_the_most_probable_class_is_the_predicted_one(model, n_classes):
    X, y = blobs(n_classes)
    wide = 3.0 * np.random.default_rng(1).normal(size=(2000, 6))
    fitted = clone(model).fit(X, y)
    check_probabilities(fitted, X)
    check_probabilities(fitted, wide)


@pytest.mark.parametrize("model", [SVC(), LinearSVC(), LinearSVC(multi_class="ovo")], ids=repr)
def test_it_is_so_at_the_boundary_itself(model):
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    check_probabilities(clone(model).fit(X, [0, 0, 1, 1]), np.r_[X, [[0.0], [1e-300], [-1e-300]]])


@EVERY
def test_it_is_so_with_ten_classes(model):
    X, y = blobs(10, n=200)
    check_probabilities(
        clone(model).set_params(tol=0.1).fit(X, y), np.random.default_rng(2).normal(size=(500, 6))
    )


@EVERY
def test_sparse_rows_have_the_same_probabilities(model):
    X, y = blobs(3)
    X[np.abs(X) < 1.0] = 0.0
    model = clone(model).set_params(tol=1e-6)
    expected = model.fit(X, y).predict_proba(X)
    rows = sparse.csr_array(X)
    assert_allclose(check_probabilities(model.fit(rows, y), rows), expected, atol=1e-3)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_kernel_matrix_and_a_function_do_as_the_kernel_does(n_classes):
    X, y = blobs(n_classes)
    K = rbf_kernel(X, X, gamma=0.1)
    expected = SVC(gamma=0.1, tol=1e-6).fit(X, y).predict_proba(X)
    assert_allclose(
        check_probabilities(SVC(kernel="precomputed", tol=1e-6).fit(K, y), K), expected, atol=1e-3
    )
    function = SVC(kernel=lambda A, B: rbf_kernel(A, B, gamma=0.1), tol=1e-6)
    assert_allclose(check_probabilities(function.fit(X, y), X), expected, atol=1e-3)


def test_a_part_of_a_large_kernel_matrix_is_enough(monkeypatch):
    monkeypatch.setattr("maxmargin.estimators._probability._MOST_SAMPLES", 60)
    X, y = blobs(3)
    K = rbf_kernel(X, X, gamma=0.1)
    P = check_probabilities(SVC(kernel="precomputed").fit(K, y), K)
    assert_allclose(P, SVC(gamma=0.1).fit(X, y).predict_proba(X), atol=1e-6)


def test_rare_classes_are_among_the_samples_that_are_drawn(monkeypatch):
    monkeypatch.setattr("maxmargin.estimators._probability._MOST_SAMPLES", 64)
    X, y = blobs(2, n=400)
    y[:3] = "z"
    X[:3] += 20.0
    model = SVC().fit(X, y)
    assert np.count_nonzero(model._probabilities._fit.__self__.numbers == 2) == 3
    assert check_probabilities(model, X)[0, 2] > 0.5


@EVERY
def test_two_samples_a_class_suffice(model):
    X = np.array([[0.0, 0.0], [0.1, 0.0], [5.0, 5.0], [5.0, 5.1], [9.0, 0.0], [9.1, 0.0]])
    check_probabilities(clone(model).fit(X, [0, 0, 1, 1, 2, 2]), X)
    check_probabilities(clone(model).fit(X[:4], [0, 0, 1, 1]), X)


def test_one_sample_a_class_suffices():
    X = np.array([[0.0, 0.0], [5.0, 5.0], [9.0, 0.0]])
    for model in (SVC(), LinearSVC()):
        check_probabilities(model.fit(X, [0, 1, 2]), X)


@pytest.mark.parametrize("model", [SVC(), LinearSVC(loss="squared_hinge")], ids=repr)
def test_separable_classes_have_finite_odds(model):
    X, y = blobs(2, spread=30.0)
    P = check_probabilities(clone(model).fit(X, y), X)
    assert P.max(axis=1).min() > 0.95
    assert P.max() < 1.0


def test_constant_values_give_the_shares_of_the_classes():
    X, y = np.zeros((100, 3)), np.repeat([0, 1], [80, 20])
    P = check_probabilities(LinearSVC().fit(X, y), X)
    assert_allclose(P[0], [0.8, 0.2], atol=0.02)


def test_a_hard_margin_has_probabilities():
    X, y = blobs(2, spread=30.0)
    check_probabilities(SVC(C=np.inf).fit(X, y), X)


def test_weights_of_zero_leave_samples_out():
    X, y = blobs(3)
    weight = np.where(np.arange(len(y)) < 90, 1.0, 0.0)
    whole = SVC(gamma=0.1, tol=1e-9).fit(X, y, weight).predict_proba(X)
    part = SVC(gamma=0.1, tol=1e-9).fit(X[:90], y[:90]).predict_proba(X)
    assert_allclose(whole, part, atol=1e-5)


@EVERY
def test_a_sample_of_weight_3_is_three_equal_samples(model):
    X, y = blobs(3)
    weight = 1 + np.arange(len(y)) % 3
    model = clone(model).set_params(tol=1e-9)
    repeated = clone(model).fit(X.repeat(weight, axis=0), y.repeat(weight)).predict_proba(X)
    assert_allclose(clone(model).fit(X, y, weight).predict_proba(X), repeated, rtol=1e-3)


def test_a_sample_that_recurs_is_not_left_out_as_a_whole():
    X, y = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]), np.array([0, 0, 1, 1])
    P = check_probabilities(SVC(gamma=5.0).fit(np.tile(X, (25, 1)), np.tile(y, 25)), X)
    assert P.max(axis=1).min() > 0.95


def test_weights_move_the_probabilities():
    X, y = np.zeros((100, 3)), np.repeat([0, 1], 50)
    weight = np.where(y == 0, 3.0, 1.0)
    P = check_probabilities(LinearSVC().fit(X, y, weight), X)
    assert_allclose(P[0], [0.75, 0.25], atol=0.02)


@EVERY
def test_the_same_fit_has_the_same_bits(model):
    X, y = blobs(4)
    model = clone(model).set_params(random_state=0)
    first, second = (clone(model).fit(X, y).predict_proba(X) for _ in range(2))
    assert_array_equal(first, second)


def test_probability_is_computed_by_fit_when_asked():
    X, y = blobs(3)
    lazy = SVC().fit(X, y)
    with pytest.warns(FutureWarning, match="needs no flag"):
        eager = SVC(probability=True).fit(X, y)
    assert lazy._probabilities._map is None
    assert eager._probabilities._map is not None
    assert_array_equal(lazy.predict_proba(X), eager.predict_proba(X))


def test_changed_data_and_parameters_change_nothing():
    X, y = blobs(3)
    expected = SVC().fit(X, y).predict_proba(X)
    model, given = SVC(), X.copy()
    model.fit(given, y).set_params(C=1e-3, kernel="linear", fit_intercept=False)
    given[:] = 0.0
    assert_array_equal(model.predict_proba(X), expected)


@pytest.mark.parametrize("asked_before", [False, True])
def test_a_pickle_has_the_probabilities_without_the_samples(asked_before):
    X, y = blobs(2, n=2000, spread=9.0)
    model = LinearSVC(loss="squared_hinge").fit(X, y)
    if asked_before:
        model.predict_proba(X)
    stored = pickle.dumps(model._probabilities)
    assert len(stored) < 5_000
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), model.predict_proba(X))


def test_copies_have_the_same_probabilities():
    X, y = blobs(3)
    model = SVC().fit(X, y)
    for one in (copy.copy(model), copy.deepcopy(model)):
        assert_array_equal(one.predict_proba(X), model.predict_proba(X))


def test_threads_that_ask_at_once_get_the_same():
    X, y = blobs(4)
    expected = SVC().fit(X, y).predict_proba(X)
    model, found = SVC().fit(X, y), []
    threads = [
        threading.Thread(target=lambda: found.append(model.predict_proba(X))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    for P in found:
        assert_array_equal(P, expected)


def test_names_of_columns_cause_no_warning():
    pandas = pytest.importorskip("pandas")
    X, y = blobs(2)
    frame = pandas.DataFrame(X, columns=list("uvwxyz"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        named = SVC().fit(frame, y).predict_proba(frame)
    assert_array_equal(named, SVC().fit(X, y).predict_proba(X))


def test_a_kernel_that_is_none_still_has_probabilities():
    X, y = blobs(2)
    with pytest.warns(ConvergenceWarning, match="stationary"):
        model = SVC(kernel="sigmoid", gamma=0.5, coef0=-1.0).fit(X, y)
    check_probabilities(model, X)


def test_the_perceptron_has_probabilities():
    X, y = blobs(3, spread=9.0)
    model = LinearSVC(loss="perceptron", solver="sgd", max_iter=50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_probabilities(model.fit(X, y), X)


@pytest.mark.parametrize(
    "model",
    [
        SVC(landmarks=30),
        SVC(landmarks=30, multi_class="ovr"),
        LinearSVC(penalty="l1", loss="squared_hinge"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_other_ways_to_fit_have_probabilities_too(model, n_classes):
    X, y = blobs(n_classes)
    check_probabilities(clone(model).fit(X, y), X)


def test_so_has_a_linear_hard_margin():
    X, y = blobs(3, spread=30.0)
    check_probabilities(LinearSVC(C=np.inf, penalized_intercept=False).fit(X, y), X)


def test_equal_rows_that_are_fitted_as_one_have_probabilities():
    X, y = blobs(3, n=1200)
    X, y = np.tile(X, (2, 1)), np.tile(y, 2)
    model = SVC(gamma=0.1).fit(X, y)
    assert check_probabilities(model, X).max() < 1.0


@pytest.mark.parametrize(
    ("load", "most"), [(load_breast_cancer, 0.12), (load_iris, 0.15), (load_digits, 0.15)]
)
def test_the_loss_on_other_data_is_small(load, most):
    X, y = load(return_X_y=True)
    X = scale(X)
    odd = np.arange(len(y)) % 2 == 1
    P = SVC().fit(X[odd], y[odd]).predict_proba(X[~odd])
    assert log_loss(y[~odd], P) < most
