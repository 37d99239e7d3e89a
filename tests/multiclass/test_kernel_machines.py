"""multi_class= of SVC: layout, labels, weights, habits, errors."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn import svm
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier

from maxmargin import SVC, NotSeparableError, Status
from maxmargin.estimators import _kernel_classifier
from maxmargin.solvers import SMO
from synthetic import clusters, csr, free_svc, overlapping, weights_for

IRIS = load_iris(return_X_y=True)
DIGITS = load_digits(return_X_y=True)
KINDS = pytest.mark.parametrize("kind", ["ovo", "ovr", "crammer_singer"])
BY_CLASS = pytest.mark.parametrize("kind", ["ovr", "crammer_singer"])
X, Y = overlapping(80, 5)


# ---- layout


@BY_CLASS
@pytest.mark.parametrize("data", [IRIS, clusters(7, 90)], ids=["three", "seven"])
def test_there_is_a_row_for_each_class(kind, data):
    model = SVC(multi_class=kind).fit(*data)
    K, n = len(model.classes_), len(model.support_)
    assert model.dual_coef_.shape == (K, n)
    assert model.intercept_.shape == (K,)
    assert model.n_support_.sum() == n
    np.testing.assert_array_equal(np.sort(data[1][model.support_]), data[1][model.support_])
    gamma = 1.0 / (data[0].shape[1] * data[0].var())
    values = rbf_kernel(data[0], model.support_vectors_, gamma) @ model.dual_coef_.T
    decision = model.decision_function(data[0])
    np.testing.assert_allclose(decision, values + model.intercept_, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(model.predict(data[0]), model.classes_[decision.argmax(axis=1)])
    assert model.score(*data) > 0.95


@KINDS
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_two_classes_have_one_row(kind, fit_intercept):
    model = SVC(multi_class=kind, fit_intercept=fit_intercept, tol=1e-6).fit(X, Y)
    assert model.dual_coef_.shape == (1, len(model.support_))
    assert model.intercept_.shape == (1,)
    values = model.decision_function(X)
    assert values.shape == (80,)
    np.testing.assert_array_equal(model.predict(X), np.where(values >= 0, 1.0, -1.0))
    assert model.score(X, Y) > 0.7


def test_two_classes_against_the_rest_are_one_pair():
    one, two = (SVC(multi_class=kind).fit(X, Y) for kind in ("ovo", "ovr"))
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)


def test_two_classes_of_one_problem_are_the_binary_model_of_twice_c():
    joint = SVC(C=0.5, multi_class="crammer_singer", tol=1e-8).fit(X, Y)
    binary = SVC(C=1.0, tol=1e-8).fit(X, Y)
    np.testing.assert_allclose(joint.decision_function(X), binary.decision_function(X), atol=1e-3)
    assert joint.certificate_.primal == pytest.approx(binary.certificate_.primal / 2, rel=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_one_against_the_rest_is_scikit_learns(kernel):
    ours = SVC(kernel=kernel, multi_class="ovr", tol=1e-8, C=0.5).fit(*IRIS)
    theirs = OneVsRestClassifier(svm.SVC(kernel=kernel, tol=1e-8, C=0.5)).fit(*IRIS)
    values = theirs.decision_function(IRIS[0])
    np.testing.assert_allclose(ours.decision_function(IRIS[0]), values, atol=1e-3)


@BY_CLASS
def test_a_linear_kernel_has_the_weights_of_the_linear_model(kind):
    setting = {"multi_class": kind, "C": 0.1, "tol": 1e-7}
    kernel = SVC(kernel="linear", **setting).fit(*IRIS)
    linear = free_svc(max_iter=200_000, **setting).fit(*IRIS)
    assert kernel.coef_.shape == (3, 4)
    np.testing.assert_allclose(kernel.coef_, linear.coef_, atol=2e-3)
    np.testing.assert_allclose(
        kernel.decision_function(IRIS[0]), linear.decision_function(IRIS[0]), atol=5e-3
    )


def test_the_rows_of_one_problem_sum_to_zero():
    model = SVC(multi_class="crammer_singer").fit(*IRIS)
    np.testing.assert_allclose(model.dual_coef_.sum(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(model.dual_coef_.sum(axis=1), 0.0, atol=1e-9)


@KINDS
def test_the_certificate_is_that_of_the_sum(kind):
    model = SVC(multi_class=kind, tol=1e-4).fit(*IRIS)
    parts = [solution.certificate for solution in model.solutions_]
    assert len(parts) == (1 if kind == "crammer_singer" else 3)
    assert model.certificate_.status is Status.OPTIMAL
    assert model.certificate_.gap == pytest.approx(sum(part.gap for part in parts), abs=1e-300)
    assert model.certificate_.relative_gap <= 1e-4
    assert model.fit_status_ == 0


def test_pairs_keep_both_shapes_of_their_values():
    data = clusters(4, 80)
    for shape, columns in (("ovo", 6), ("ovr", 4)):
        model = SVC(decision_function_shape=shape, multi_class="ovo").fit(*data)
        assert model.decision_function(data[0]).shape == (80, columns)
        assert model.dual_coef_.shape[0] == 3


@pytest.mark.parametrize("kernel", ["rbf", "linear", rbf_kernel])
@pytest.mark.parametrize("stored", [np.asarray, csr], ids=["dense", "csr"])
def test_pairs_are_predicted_in_blocks_of_rows(kernel, stored, monkeypatch):
    points, y = clusters(5, 105, noise=1.0)
    rows, sums, sizes = stored(points), SVC._sums, []

    def watched(self, *arguments):
        values = sums(self, *arguments)
        sizes.append(values.size)
        return values

    model = SVC(kernel=kernel).fit(rows, y)
    by_shape = {shape: model.set_params(decision_function_shape=shape).decision_function(rows)
                for shape in ("ovr", "ovo")}  # fmt: skip
    labels = model.predict(rows)
    monkeypatch.setattr(_kernel_classifier, "VALUES_PER_BLOCK", 200)
    monkeypatch.setattr(SVC, "_sums", watched)
    for shape, values in by_shape.items():
        again = model.set_params(decision_function_shape=shape).decision_function(rows)
        np.testing.assert_allclose(again, values, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(model.predict(rows), labels)
    assert max(sizes) == 200
    assert sum(sizes) == 3 * 105 * 5 * 4


# ---- labels and weights


@BY_CLASS
@pytest.mark.parametrize(
    "names", [["b", "c", "a"], [30, -7, 2], [2.0, 0.0, 1.0]], ids=["strings", "integers", "floats"]
)
def test_labels_can_be_anything_in_any_order(kind, names):
    labels = np.array(names)[IRIS[1]]
    model = SVC(multi_class=kind).fit(IRIS[0], labels)
    assert model.classes_.tolist() == sorted(names)
    assert model.score(IRIS[0], labels) > 0.95


def test_many_classes():
    data = clusters(300, 700, d=20)
    model = SVC(multi_class="crammer_singer", tol=0.01).fit(*data)
    assert model.dual_coef_.shape == (300, len(model.support_))
    assert model.decision_function(data[0][:7]).shape == (7, 300)
    assert model.score(*data) > 0.99


@BY_CLASS
def test_a_class_without_weight_is_kept_and_never_wins_by_accident(kind):
    weights = (IRIS[1] != 2).astype(float)
    model = SVC(multi_class=kind).fit(*IRIS, sample_weight=weights)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.n_support_[2] == 0
    seen = IRIS[1] < 2
    assert model.score(IRIS[0][seen], IRIS[1][seen]) == 1.0


@BY_CLASS
def test_class_weights_are_sample_weights(kind):
    setting = {"multi_class": kind, "tol": 1e-8, "gamma": 0.3}
    by_class = SVC(class_weight={0: 0.5, 2: 3.0}, **setting).fit(*IRIS)
    weights = np.array([0.5, 1.0, 3.0])[IRIS[1]]
    by_sample = SVC(**setting).fit(*IRIS, sample_weight=weights)
    values = by_sample.decision_function(IRIS[0])
    np.testing.assert_allclose(by_class.decision_function(IRIS[0]), values, atol=1e-3)


@BY_CLASS
def test_weight_zero_leaves_a_sample_out(kind):
    setting = {"multi_class": kind, "tol": 1e-8, "gamma": 0.3}
    weights = weights_for(150)
    live = weights > 0
    everyone = SVC(**setting).fit(*IRIS, sample_weight=weights)
    some = SVC(**setting).fit(IRIS[0][live], IRIS[1][live], sample_weight=weights[live])
    values = some.decision_function(IRIS[0])
    np.testing.assert_allclose(everyone.decision_function(IRIS[0]), values, atol=1e-3)


@BY_CLASS
def test_storage_does_not_matter(kind):
    setting = {"multi_class": kind, "tol": 1e-7}
    dense = SVC(**setting).fit(*IRIS)
    values = dense.decision_function(IRIS[0])
    read_only = IRIS[0].copy()
    read_only.setflags(write=False)
    stored = [csr(IRIS[0]), csr(IRIS[0], np.int64), np.asfortranarray(IRIS[0]), read_only]
    for samples in (*stored, IRIS[0].astype(np.float32)):
        model = SVC(**setting).fit(samples, IRIS[1])
        np.testing.assert_allclose(model.decision_function(samples), values, atol=1e-2)


@BY_CLASS
def test_precomputed_kernels_and_functions_give_the_same_model(kind):
    def gaussian(A, B):
        return rbf_kernel(A, B, 0.2)

    setting = {"multi_class": kind, "tol": 1e-7}
    named = SVC(gamma=0.2, **setting).fit(*IRIS)
    function = SVC(kernel=gaussian, **setting).fit(*IRIS)
    K = gaussian(IRIS[0], IRIS[0])
    matrix = SVC(kernel="precomputed", **setting).fit(K, IRIS[1])
    values = named.decision_function(IRIS[0])
    np.testing.assert_allclose(function.decision_function(IRIS[0]), values, atol=1e-3)
    np.testing.assert_allclose(matrix.decision_function(K), values, atol=1e-3)
    assert matrix.support_vectors_.shape == (0, 0)


# ---- habits


@BY_CLASS
def test_larger_data_are_proven_and_classified(kind):
    train, test = slice(0, 1400), slice(1400, None)
    model = SVC(multi_class=kind).fit(DIGITS[0][train], DIGITS[1][train])
    assert model.certificate_.relative_gap <= 1e-3
    assert model.score(DIGITS[0][test], DIGITS[1][test]) > 0.93


@BY_CLASS
def test_threads_do_not_change_the_model(kind):
    one = SVC(multi_class=kind).fit(*IRIS)
    two = SVC(multi_class=kind, n_jobs=2).fit(*IRIS)
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)


@BY_CLASS
@pytest.mark.parametrize("C", [1.0, 1.5])
def test_a_warm_start_goes_on(kind, C):
    model = SVC(multi_class=kind, tol=1e-4, warm_start=True).fit(*DIGITS)
    cold = SVC(multi_class=kind, tol=1e-4, C=C).fit(*DIGITS)
    model.set_params(C=C).fit(*DIGITS)
    assert model.n_iter_.sum() < cold.n_iter_.sum()
    assert model.certificate_.status is Status.OPTIMAL


def test_a_start_of_another_kind_is_not_taken():
    model = SVC(warm_start=True).fit(*IRIS)
    for kind in ("crammer_singer", "ovr", "ovo"):
        assert model.set_params(multi_class=kind).fit(*IRIS).fit_status_ == 0


@BY_CLASS
def test_scikit_learns_tools_work(kind):
    search = GridSearchCV(SVC(multi_class=kind), {"C": [0.1, 1.0]}, cv=3).fit(*IRIS)
    assert search.best_score_ > 0.9
    model = pickle.loads(pickle.dumps(clone(search.best_estimator_).fit(*IRIS)))
    assert model.score(*IRIS) > 0.9


def test_the_cost_of_one_problem_is_estimated():
    cost = SVC(multi_class="crammer_singer").estimate_cost(*DIGITS, max_time=0.3)
    assert cost.seconds > 0.0
    assert 0 < cost.n_support <= 1797


def test_an_indefinite_kernel_proves_nothing():
    data = clusters(3, 60, noise=1.0)
    model = SVC(kernel="sigmoid", gamma=0.1, coef0=-1.0, multi_class="crammer_singer", max_iter=500)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(*data)
    assert model.certificate_.status is not Status.OPTIMAL
    assert not model.certificate_.convex


# ---- a hard margin


def test_a_hard_margin_against_the_rest():
    data = clusters(4, 60)
    model = SVC(C=float("inf"), multi_class="ovr").fit(*data)
    values = model.decision_function(data[0])
    own = np.arange(4) == data[1][:, None]
    assert (values[own] >= 0.99).all()
    assert (values[~own] <= -0.99).all()


def test_what_a_class_cannot_be_separated_from_is_the_rest():
    points = np.array([[0.0], [1.0], [2.0], [3.0]])
    with pytest.raises(NotSeparableError, match="'the rest'") as error:
        SVC(C=float("inf"), kernel="linear", multi_class="ovr").fit(points, [0, 1, 2, 2])
    assert error.value.classes == (1, "the rest")


# ---- refused


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"multi_class": "multinomial"}, "multi_class must be one of 'ovo', 'ovr', 'cr"),
        ({"multi_class": "ovr", "decision_function_shape": "ovo"}, "'ovr' solves no pairs"),
        ({"multi_class": "crammer_singer", "solver": "qp"}, "solver='smo', got 'qp'"),
        ({"multi_class": "crammer_singer", "solver": SMO(64)}, "solver='smo', got SMO"),
        ({"multi_class": "crammer_singer", "C": float("inf")}, "needs a finite C"),
        ({"multi_class": "crammer_singer", "cache_size": -1.0}, "cache_size"),
        ({"multi_class": "crammer_singer", "tol": 0.0}, "tol"),
    ],
    ids=str,
)
def test_wrong_settings_are_named(setting, message):
    with pytest.raises(ValueError, match=message):
        SVC(**setting).fit(*IRIS)


@BY_CLASS
def test_one_class_of_positive_weight_is_refused(kind):
    with pytest.raises(ValueError, match="positive weights belong to the same class"):
        SVC(multi_class=kind).fit(*IRIS, sample_weight=(IRIS[1] == 1).astype(float))
    with pytest.raises(ValueError, match="positive weights belong to the same class"):
        SVC(multi_class=kind, class_weight={0: 0.0, 1: 0.0}).fit(*IRIS)


@BY_CLASS
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_is_refused(kind, value):
    broken = IRIS[0].copy()
    broken[3, 1] = value
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        SVC(multi_class=kind).fit(broken, IRIS[1])


@BY_CLASS
def test_several_labels_a_sample_are_sent_to_scikit_learn(kind):
    several = np.c_[Y > 0, X[:, 0] > 0].astype(int)
    with pytest.raises(ValueError, match=r"MultiOutputClassifier"):
        SVC(multi_class=kind).fit(X, several)
    model = MultiOutputClassifier(SVC(multi_class=kind)).fit(X, several)
    assert model.predict(X).shape == (80, 2)
