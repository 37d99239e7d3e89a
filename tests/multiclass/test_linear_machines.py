"""multi_class= of LinearSVC: layout, labels, votes, weights, errors."""

import itertools
import os
import pickle
import signal
import threading
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn import svm
from sklearn.base import clone
from sklearn.callback import ProgressBar
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.multioutput import MultiOutputClassifier

from maxmargin import SVC, LinearSVC, Status
from maxmargin.multiclass.decomposition import votes
from maxmargin.solvers import SGD, DualCD, KernelPegasos
from synthetic import clusters, csr, free_svc, overlapping, weights_for

IRIS = load_iris(return_X_y=True)
KINDS = pytest.mark.parametrize("kind", ["ovr", "crammer_singer", "ovo"])
X, Y = overlapping(80, 5)


# ---- layout


@pytest.mark.parametrize(("kind", "rows"), [("ovr", 4), ("crammer_singer", 4), ("ovo", 6)], ids=str)
def test_coef_has_a_row_for_each_class_or_pair(kind, rows):
    data = clusters(4, 60)
    model = free_svc(multi_class=kind).fit(*data)
    assert model.coef_.shape == (rows, 8)
    assert model.intercept_.shape == (rows,)
    assert model.decision_function(data[0]).shape == (60, 4)
    winners = model.decision_function(data[0]).argmax(axis=1)
    np.testing.assert_array_equal(model.predict(data[0]), model.classes_[winners])
    assert model.score(*data) > 0.95


@KINDS
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_two_classes_have_one_row(kind, fit_intercept):
    model = free_svc(multi_class=kind, fit_intercept=fit_intercept, tol=1e-6).fit(X, Y)
    assert model.coef_.shape == (1, 5)
    assert model.intercept_.shape == (1,)
    values = model.decision_function(X)
    np.testing.assert_allclose(values, X @ model.coef_[0] + model.intercept_[0], rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), np.where(values > 0, 1.0, -1.0))


def test_two_classes_of_one_problem_are_the_binary_model_of_twice_c():
    joint = free_svc(C=0.5, multi_class="crammer_singer", tol=1e-8).fit(X, Y)
    binary = free_svc(C=1.0, tol=1e-8).fit(X, Y)
    np.testing.assert_allclose(joint.coef_, binary.coef_, rtol=1e-3, atol=1e-3)
    assert joint.certificate_.primal == pytest.approx(binary.certificate_.primal / 2, rel=1e-6)


def test_one_against_one_is_svc_with_a_linear_kernel():
    setting: dict[str, Any] = {"C": 0.5, "tol": 1e-8}
    ours = free_svc(multi_class="ovo", **setting).fit(*IRIS)
    kernel = SVC(kernel="linear", **setting).fit(*IRIS)
    np.testing.assert_allclose(ours.coef_, kernel.coef_, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(
        ours.decision_function(IRIS[0]), kernel.decision_function(IRIS[0]), atol=1e-2
    )
    pairs = IRIS[0] @ ours.coef_.T + ours.intercept_
    np.testing.assert_allclose(ours.decision_function(IRIS[0]), votes(pairs, 3))
    np.testing.assert_array_equal(ours.support_, np.sort(kernel.support_))


@pytest.mark.parametrize("n_classes", [2, 3, 7, 30])
def test_votes_count_the_pairs_that_a_class_wins(n_classes):
    pairs = list(itertools.combinations(range(n_classes), 2))
    values = np.random.default_rng(0).normal(size=(5, len(pairs)))
    values[0, 0] = 0.0  # for the second
    wins, sums = np.zeros((2, 5, n_classes))
    for (one, other), f in zip(pairs, values.T, strict=True):
        wins[:, one] += f > 0.0
        wins[:, other] += f <= 0.0
        sums[:, one] += f
        sums[:, other] -= f
    np.testing.assert_allclose(votes(values, n_classes), wins + sums / (3 * (np.abs(sums) + 1)))


def test_liblinear_classifies_alike():
    setting = {"multi_class": "crammer_singer", "C": 0.3, "random_state": 0}
    ours = free_svc(penalized_intercept=True, tol=1e-8, max_iter=200_000, **setting).fit(*IRIS)
    theirs = svm.LinearSVC(tol=1e-8, max_iter=10_000_000, **setting).fit(*IRIS)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-3, atol=1e-3)
    np.testing.assert_array_equal(ours.predict(IRIS[0]), theirs.predict(IRIS[0]))


def test_the_rows_of_one_problem_sum_to_zero():
    model = free_svc(multi_class="crammer_singer").fit(*IRIS)
    np.testing.assert_allclose(model.coef_.sum(axis=0), 0.0, atol=1e-8)


def test_the_support_of_one_problem_is_enough():
    model = free_svc(multi_class="crammer_singer", tol=1e-6, max_iter=100_000).fit(*IRIS)
    support = model.support_
    assert 0 < len(support) < 150
    again = free_svc(multi_class="crammer_singer", tol=1e-6, max_iter=100_000)
    again.fit(IRIS[0][support], IRIS[1][support])
    np.testing.assert_allclose(again.coef_, model.coef_, atol=2e-2)


# ---- labels and weights


@KINDS
@pytest.mark.parametrize(
    "names", [["b", "c", "a"], [30, -7, 2], [2.0, 0.0, 1.0]], ids=["strings", "integers", "floats"]
)
def test_labels_can_be_anything_in_any_order(kind, names):
    labels = np.array(names)[IRIS[1]]
    model = free_svc(multi_class=kind, random_state=0).fit(IRIS[0], labels)
    assert model.classes_.tolist() == sorted(names)
    assert model.score(IRIS[0], labels) > 0.9


@KINDS
def test_a_thousand_classes(kind):
    if kind == "ovo":
        pytest.skip("half a million problems")
    data = clusters(1000, 2100, d=20)
    model = free_svc(multi_class=kind, tol=0.1, max_iter=3, solver="dual_cd")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(*data)
    assert model.coef_.shape == (1000, 20)
    assert model.certificate_.gap >= 0.0
    assert model.decision_function(data[0][:7]).shape == (7, 1000)


@KINDS
def test_a_class_without_weight_is_kept_and_never_wins_by_accident(kind):
    weights = (IRIS[1] != 2).astype(float)
    model = free_svc(multi_class=kind).fit(*IRIS, sample_weight=weights)
    assert model.classes_.tolist() == [0, 1, 2]
    seen = IRIS[1] < 2
    assert model.score(IRIS[0][seen], IRIS[1][seen]) == 1.0


@pytest.mark.parametrize("intercept", [{}, {"penalized_intercept": True}, {"fit_intercept": False}])
@pytest.mark.parametrize("solver", ["auto", "newton", "dual_cd"])
def test_two_classes_without_weight_are_a_pair_of_nothing(intercept, solver):
    X, y = make_blobs(200, centers=5, random_state=0)
    model = free_svc(multi_class="ovo", solver=solver, **intercept)
    model.fit(X, y, sample_weight=np.where(y > 2, 0.0, 1.0))
    assert len(model.solutions_) == 10
    assert not model.coef_[-1].any()
    assert model.certificate_.status is Status.OPTIMAL
    assert set(model.predict(X)) <= {0, 1, 2}


def test_balanced_weights_do_not_count_a_class_without_weight():
    weight = np.where(IRIS[1] == 1, 0.0, 1.0)
    kept = weight > 0.0
    setting = {"class_weight": "balanced", "tol": 1e-8, "multi_class": "ovo"}
    model = free_svc(**setting).fit(*IRIS, sample_weight=weight)
    alone = free_svc(**setting).fit(IRIS[0][kept], IRIS[1][kept])
    np.testing.assert_allclose(-model.coef_[1], alone.coef_[0], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("kind", ["ovo", "crammer_singer"])  # "ovr": test_class_weight.py
def test_class_weights_are_sample_weights(kind):
    setting = {"multi_class": kind, "tol": 1e-8, "max_iter": 200_000, "C": 0.1}
    by_class = free_svc(class_weight={0: 0.5, 2: 3.0}, **setting).fit(*IRIS)
    weights = np.array([0.5, 1.0, 3.0])[IRIS[1]]
    by_sample = free_svc(**setting).fit(*IRIS, sample_weight=weights)
    np.testing.assert_allclose(by_class.coef_, by_sample.coef_, rtol=1e-3, atol=1e-3)


@KINDS
def test_weight_zero_leaves_a_sample_out(kind):
    setting = {"multi_class": kind, "tol": 1e-8, "max_iter": 200_000, "C": 0.1}
    weights = weights_for(150)
    live = weights > 0
    everyone = free_svc(**setting).fit(*IRIS, sample_weight=weights)
    some = free_svc(**setting).fit(IRIS[0][live], IRIS[1][live], sample_weight=weights[live])
    np.testing.assert_allclose(everyone.coef_, some.coef_, rtol=1e-3, atol=1e-3)


@KINDS
def test_storage_does_not_matter(kind):
    setting = {"multi_class": kind, "tol": 1e-7, "max_iter": 200_000, "C": 0.1}
    dense = free_svc(**setting).fit(*IRIS)
    for stored in (csr(IRIS[0]), csr(IRIS[0], np.int64), IRIS[0].astype(np.float32)):
        model = free_svc(**setting).fit(stored, IRIS[1])
        np.testing.assert_allclose(model.coef_, dense.coef_, rtol=1e-2, atol=1e-2)
        np.testing.assert_array_equal(model.predict(stored), dense.predict(IRIS[0]))


# ---- habits


@KINDS
def test_threads_do_not_change_the_model(kind):
    one = free_svc(multi_class=kind, random_state=0).fit(*IRIS)
    two = free_svc(multi_class=kind, random_state=0, n_jobs=2).fit(*IRIS)
    np.testing.assert_array_equal(one.coef_, two.coef_)


@KINDS
def test_a_warm_start_goes_on(kind):
    model = free_svc(multi_class=kind, tol=1e-4, solver="dual_cd", warm_start=True, C=0.1)
    first = model.fit(*IRIS).n_iter_
    assert model.fit(*IRIS).n_iter_ < first
    assert model.certificate_.status is Status.OPTIMAL


def test_a_start_of_another_kind_is_not_taken():
    model = free_svc(warm_start=True).fit(X, Y)
    model.set_params(multi_class="crammer_singer").fit(X, Y)
    assert model.set_params(multi_class="ovr").fit(X, Y).certificate_.status is Status.OPTIMAL


@KINDS
def test_a_model_survives_pickling(kind):
    model = free_svc(multi_class=kind).fit(*IRIS)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(IRIS[0]), model.predict(IRIS[0]))


@pytest.mark.parametrize("data", [IRIS, (X, Y)], ids=["three", "two"])
def test_callbacks_see_one_problem(data):
    joint = free_svc(multi_class="crammer_singer", random_state=0)
    model = clone(joint).set_callbacks(ProgressBar()).fit(*data)
    unwatched = joint.fit(*data)
    np.testing.assert_array_equal(model.coef_, unwatched.coef_)
    assert len(model.solutions_) == 1


def test_verbose_reports_one_problem(capsys):
    model = free_svc(multi_class="crammer_singer", verbose=1).fit(*IRIS)
    assert capsys.readouterr().err.count("gap") == len(model.history_)


def test_a_fit_stopped_by_time_warns_with_its_gap():
    data = clusters(10, 3000, d=30)
    model = free_svc(multi_class="crammer_singer", C=1e4, tol=1e-12, max_iter=None, max_time=0.05)
    noisy = data[0] + np.random.default_rng(0).normal(size=data[0].shape)
    with pytest.warns(ConvergenceWarning, match="stopped by max_time.*Raise max_time"):
        model.fit(noisy, data[1])
    assert model.certificate_.status is Status.STOPPED_BY_TIME


def test_ctrl_c_keeps_the_best_model():
    data = clusters(10, 3000, d=30)
    noisy = data[0] + np.random.default_rng(0).normal(size=data[0].shape)
    model = free_svc(multi_class="crammer_singer", C=1e4, tol=1e-12, max_iter=None, max_time=60)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt, match=r"interrupted.*of the optimum"):
        model.fit(noisy, data[1])
    timer.join()
    assert np.isfinite(model.coef_).all()


# ---- refused


def test_an_unknown_way_gets_the_list():
    with pytest.raises(ValueError, match="multi_class must be one of 'ovr', 'crammer_singer', 'ov"):
        free_svc(multi_class="multinomial").fit(*IRIS)


def test_one_problem_has_the_hinge_whatever_loss_says():
    models = [
        free_svc(multi_class="crammer_singer", loss=loss, random_state=0).fit(*IRIS)
        for loss in ("hinge", "squared_hinge")
    ]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)


def test_one_problem_is_not_that_of_the_perceptron():
    with pytest.raises(ValueError, match="loss='perceptron' is not"):
        free_svc(multi_class="crammer_singer", loss="perceptron").fit(*IRIS)


@pytest.mark.parametrize("solver", ["newton", "qp", "some", None, KernelPegasos(), DualCD(), SGD])
def test_one_problem_names_its_solvers(solver):
    with pytest.raises(ValueError, match=r"'dual_cd', 'pegasos' or 'sgd', got .* Use solver="):
        free_svc(multi_class="crammer_singer", solver=solver).fit(*IRIS)


@KINDS
def test_one_class_of_positive_weight_is_refused(kind):
    with pytest.raises(ValueError, match="positive weights belong to the same class"):
        free_svc(multi_class=kind).fit(*IRIS, sample_weight=(IRIS[1] == 1).astype(float))
    with pytest.raises(ValueError, match="positive weights belong to the same class"):
        free_svc(multi_class=kind, class_weight={0: 0.0, 1: 0.0}).fit(*IRIS)


@pytest.mark.parametrize("Model", [LinearSVC, SVC])
@pytest.mark.parametrize("form", [np.array, list, csr], ids=["array", "list", "sparse"])
def test_several_labels_a_sample_are_sent_to_scikit_learn(Model, form):
    several = np.c_[Y > 0, X[:, 0] > 0].astype(int)
    y = several.tolist() if form is list else form(several)
    with pytest.raises(ValueError, match=rf"MultiOutputClassifier\({Model.__name__}\(\)\)"):
        Model().fit(X, y)
    assert MultiOutputClassifier(Model()).fit(X, several).predict(X).shape == (80, 2)


@KINDS
@pytest.mark.parametrize("solver", ["auto", "newton", "dual_cd"])
def test_when_time_is_over_no_problem_is_begun(kind, solver):
    if (kind, solver) == ("crammer_singer", "newton"):
        pytest.skip("not a solver of the one problem of all classes")
    model = free_svc(multi_class=kind, solver=solver, max_time=1e-9, tol=1e-9)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model.fit(*clusters(6, 600))
    assert {solution.status for solution in model.solutions_} == {Status.STOPPED_BY_TIME}
    assert all(np.max(solution.n_iter) <= 1 for solution in model.solutions_)
