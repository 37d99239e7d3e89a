"""maxmargin.certify of scikit-learn's models, of bare weights and of our own."""

import warnings

import numpy as np
import pytest
import sklearn.svm as peer
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDClassifier

import maxmargin
from maxmargin import (
    SVC,
    SVR,
    LinearSVC,
    NuSVC,
    NuSVR,
    OneClassSVM,
    certify,
)
from synthetic import classes, free_svc, free_svr, overlapping, regression, weights_for

X, Y = overlapping(n=80)
LABELS = np.where(Y > 0, "yes", "no")
ROWS, TARGETS = regression(n=80)
SEVERAL, CLASSES = classes(n=90, n_classes=3)
WEIGHTS = weights_for(80)


def fitted(model, X, y, sample_weight=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y, sample_weight=sample_weight)


def optimum(model, X, y, sample_weight=None):
    """The least value of the objective, to 1e-8, from this package's own solver of the problem."""
    return model.fit(X, y, sample_weight=sample_weight).certificate_.dual


CLASSIFIERS = {
    "SVC": (peer.SVC(C=2.0, gamma=0.5), SVC(C=2.0, gamma=0.5, solver="qp", tol=1e-7)),
    "SVC linear": (
        peer.SVC(kernel="linear", class_weight={"no": 3.0}),
        SVC(kernel="linear", class_weight={"no": 3.0}, solver="qp", tol=1e-7),
    ),
    "SVC balanced": (
        peer.SVC(kernel="poly", coef0=1.0, gamma=0.3, class_weight="balanced"),
        SVC(
            kernel="poly",
            coef0=1.0,
            gamma=0.3,
            class_weight="balanced",
            solver="qp",
            tol=1e-7,
        ),
    ),
    "NuSVC": (peer.NuSVC(nu=0.3, gamma=0.5), NuSVC(nu=0.3, gamma=0.5, tol=1e-8)),
    "LinearSVC hinge": (
        peer.LinearSVC(loss="hinge", C=0.5, intercept_scaling=2.0, max_iter=10**6),
        free_svc(0.5, penalized_intercept=True, intercept_scaling=2.0, solver="qp", tol=1e-7),
    ),
    "LinearSVC": (
        peer.LinearSVC(C=0.5, class_weight="balanced"),
        free_svc(
            0.5, loss="squared_hinge", penalized_intercept=True, class_weight="balanced", tol=1e-9
        ),
    ),
    "LinearSVC no intercept": (
        peer.LinearSVC(fit_intercept=False, dual=False),
        free_svc(loss="squared_hinge", fit_intercept=False, tol=1e-9),
    ),
    "SGDClassifier": (
        SGDClassifier(alpha=0.01, max_iter=5000, tol=1e-6, random_state=0),
        free_svc(C=1.0 / (0.01 * 80), solver="qp", tol=1e-7),
    ),
}


@pytest.mark.parametrize(("theirs", "ours"), CLASSIFIERS.values(), ids=CLASSIFIERS)
def test_a_classifier_is_within_its_gap_of_the_optimum(theirs, ours):
    found = certify(fitted(theirs, X, LABELS), X, LABELS)
    best = optimum(ours, X, LABELS)
    assert found.dual <= best + 1e-6 * abs(best)
    assert found.primal >= best - 1e-6 * abs(best)
    assert found.primal - best <= found.gap + 1e-6 * abs(best)
    assert found.relative_gap < (0.5 if isinstance(theirs, SGDClassifier) else 0.01)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (peer.SVR(gamma=0.5, epsilon=0.2), SVR(gamma=0.5, epsilon=0.2, solver="qp", tol=1e-7)),
        (peer.NuSVR(gamma=0.5, nu=0.3), NuSVR(gamma=0.5, nu=0.3, tol=1e-8)),
        (
            peer.LinearSVR(epsilon=0.1, max_iter=10**6),
            free_svr(epsilon=0.1, penalized_intercept=True, solver="qp", tol=1e-7),
        ),
        (
            peer.LinearSVR(loss="squared_epsilon_insensitive", epsilon=0.1, dual=False),
            free_svr(
                loss="squared_epsilon_insensitive", epsilon=0.1, penalized_intercept=True, tol=1e-9
            ),
        ),
    ],
    ids=["SVR", "NuSVR", "LinearSVR", "squared"],
)
def test_a_regression_is_within_its_gap_of_the_optimum(theirs, ours):
    found = certify(fitted(theirs, ROWS, TARGETS), ROWS, TARGETS)
    best = optimum(ours, ROWS, TARGETS)
    assert found.dual <= best * (1 + 1e-6)
    assert best * (1 - 1e-6) <= found.primal <= best * (1 + 1e-6) + found.gap
    assert found.relative_gap < 0.01


def test_a_one_class_model_is_within_its_gap_of_the_optimum():
    found = certify(peer.OneClassSVM(gamma=0.5, nu=0.2).fit(X), X)
    best = optimum(OneClassSVM(gamma=0.5, nu=0.2, tol=1e-8), X, None)
    assert found.primal == pytest.approx(best, rel=1e-3)
    assert found.dual <= best + 1e-6 * abs(best)


@pytest.mark.parametrize(
    "theirs",
    [peer.SVC(gamma=0.5), peer.NuSVC(gamma=0.5, nu=0.2), peer.LinearSVC(), peer.SVR(gamma=0.5)],
    ids=lambda model: type(model).__name__,
)
def test_weights_of_zero_leave_samples_out(theirs):
    y = TARGETS if isinstance(theirs, peer.SVR) else LABELS
    rows = ROWS if isinstance(theirs, peer.SVR) else X
    model = fitted(theirs, rows, y, WEIGHTS)
    some = WEIGHTS > 0.0
    part = fitted(theirs, rows[some], y[some], WEIGHTS[some])
    found, alone = (
        certify(model, rows, y, WEIGHTS),
        certify(part, rows[some], y[some], WEIGHTS[some]),
    )
    assert found.relative_gap < 0.01
    assert found.primal == pytest.approx(alone.primal, rel=1e-2)


@pytest.mark.parametrize(
    ("theirs", "n_problems"),
    [
        (peer.SVC(gamma=0.5, tol=1e-5), 3),
        (peer.NuSVC(gamma=0.5, nu=0.2), 3),
        (peer.LinearSVC(), 3),
        (peer.LinearSVC(multi_class="crammer_singer"), 1),
        (SGDClassifier(random_state=0), 3),
    ],
    ids=["ovo", "nu", "ovr", "crammer_singer", "sgd"],
)
def test_several_classes_are_several_problems(theirs, n_problems):
    found = certify(fitted(theirs, SEVERAL, CLASSES), SEVERAL, CLASSES)
    assert len(found.certificates) == len(found.problems) == n_problems
    assert np.isfinite(found.relative_gap)
    if n_problems > 1:
        assert found.sentence().endswith("the sum of 3 problems")


def test_sparse_rows_are_the_same_problem():
    model = fitted(peer.SVC(gamma=0.5), X, Y)
    stored = fitted(peer.SVC(gamma=0.5), sparse.csr_matrix(X), Y)
    dense = certify(model, X, Y)
    assert certify(stored, sparse.csr_matrix(X), Y).primal == pytest.approx(dense.primal, rel=1e-6)


def test_a_kernel_matrix_is_the_same_problem():
    K = (1.0 + X @ X.T) ** 2
    by_table = certify(fitted(peer.SVC(kernel="precomputed", C=0.1), K, Y), K, Y)
    function = fitted(peer.SVC(kernel=lambda A, B: (1.0 + A @ B.T) ** 2, C=0.1), X, Y)
    assert certify(function, X, Y).primal == pytest.approx(by_table.primal, rel=1e-9)


# Bare weights, our own models, and what is refused


def test_bare_weights_have_the_certificate_of_their_problem():
    model = free_svc(0.5, tol=1e-8).fit(X, Y)
    found = certify((model.coef_[0], model.intercept_[0]), X, Y, C=0.5)
    assert found.primal == pytest.approx(model.certificate_.primal, rel=1e-12)
    assert found.relative_gap < 1e-5
    assert found.sentence().startswith("(w, b)'s answer is within")


def test_bare_weights_of_several_classes():
    model = free_svc(tol=1e-6).fit(SEVERAL, CLASSES)
    found = certify((model.coef_, model.intercept_), SEVERAL, CLASSES, C=1.0)
    assert found.primal == pytest.approx(model.certificate_.primal, rel=1e-12)
    assert len(found.certificates) == 3


def test_a_worse_point_has_a_larger_gap_and_the_same_bound():
    model = free_svc(tol=1e-8).fit(X, Y)
    w, b = model.coef_[0], model.intercept_[0]
    good, bad = certify((w, b), X, Y, C=1.0), certify((1.1 * w, b), X, Y, C=1.0)
    assert bad.gap > 10 * good.gap
    assert bad.dual == pytest.approx(good.dual, rel=1e-5)


@pytest.mark.parametrize(
    "model",
    [
        free_svc(),
        free_svc(multi_class="ovo"),
        free_svc(multi_class="crammer_singer"),
        SVC(),
        SVC(kernel="linear"),
        SVC(multi_class="ovr"),
        SVC(multi_class="crammer_singer"),
        NuSVC(nu=0.2),
    ],
    ids=repr,
)
def test_our_own_models_are_read_too(model):
    model.fit(SEVERAL, CLASSES)
    found = certify(model, SEVERAL, CLASSES)
    assert found.primal == pytest.approx(model.certificate_.primal, rel=1e-9)
    assert found.dual == pytest.approx(model.certificate_.dual, rel=1e-9)
    assert not found.found


def test_an_objective_is_certified_as_before():
    problem = maxmargin.Problem(X, Y, np.ones(80))
    objective = maxmargin.LinearObjective(problem, maxmargin.losses.HINGE)
    found = certify(objective, np.zeros(X.shape[1]), 0.0, np.zeros(80))
    assert isinstance(found, maxmargin.Certificate)
    assert found.primal == 80.0


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (object(), TypeError, "certify cannot read a object"),
        (peer.SVC(), ValueError, "not fitted"),
        ((np.ones(3), 0.0), ValueError, "a weight for each of the 4 columns"),
        ((np.ones((2, 4)), 0.0), ValueError, "w must have 1 rows"),
    ],
)
def test_what_cannot_be_read_is_refused(model, error, message):
    terms = {"C": 1.0} if isinstance(model, tuple) else {}
    with pytest.raises(error, match=message):
        certify(model, X, Y, **terms)


def test_bare_weights_need_a_cost():
    with pytest.raises(ValueError, match="C must be"):
        certify((np.ones(4), 0.0), X, Y)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (SGDClassifier(loss="log_loss"), "no support vector machine"),
        (SGDClassifier(penalty="l1"), "no support vector machine"),
        (SGDClassifier(loss="squared_hinge", penalty="elasticnet"), "no support vector machine"),
        (SGDClassifier(early_stopping=True), "early_stopping"),
    ],
)
def test_other_problems_are_refused(model, message):
    with pytest.raises(ValueError, match=message):
        certify(fitted(model, X, Y), X, Y)


def test_other_data_are_refused():
    model = peer.SVC().fit(X, Y)
    with pytest.raises(ValueError, match="4"):
        certify(model, X[:, :3], Y)
    with pytest.raises(ValueError, match="does not know"):
        certify(model, X, np.where(Y > 0, 2.0, -1.0))
    with pytest.raises(ValueError, match="support vectors go up to"):
        certify(model, X[:20], Y[:20])


def test_changed_coefficients_of_all_classes_have_no_certificate():
    model = SVC(multi_class="crammer_singer").fit(SEVERAL, CLASSES)
    model.dual_coef_ = 1.1 * model.dual_coef_
    with pytest.raises(ValueError, match="differ from its dual point"):
        certify(model, SEVERAL, CLASSES)


def test_options_that_a_model_knows_itself_are_refused():
    model = peer.SVC().fit(X, Y)
    with pytest.raises(TypeError, match="no C="):
        certify(model, X, Y, C=1.0)
    with pytest.raises(TypeError, match="class_weight"):
        certify(model, X, Y, class_weight={1: 2.0})


@pytest.mark.parametrize("weight", [[1.0], np.full(80, -1.0), np.full(80, np.nan)])
def test_weights_must_be_those_of_a_fit(weight):
    with pytest.raises(ValueError, match=r"sample_weight|inconsistent"):
        certify(peer.SVC().fit(X, Y), X, Y, weight)


def test_what_is_printed_is_proven():
    found = certify(peer.SVC().fit(X, Y), X, Y)
    percent = float(found.sentence().split()[-5])
    assert percent >= 100.0 * found.relative_gap
    assert percent <= 110.0 * found.relative_gap
    assert str(found).endswith(found.sentence())


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_the_hard_margin_of_weights_is_certified_as_one(fit_intercept, multi_class):
    centres = np.array([[6.0, 0.0, 0.0], [0.0, 6.0, 0.0], [0.0, 0.0, 6.0]])
    kinds = np.arange(60) % 3
    rows = 0.2 * (centres[kinds] + np.random.default_rng(0).uniform(-1.0, 1.0, (60, 3)))
    model = LinearSVC(
        C=np.inf,
        loss="hinge",
        fit_intercept=fit_intercept,
        penalized_intercept=False,
        multi_class=multi_class,
        tol=1e-6,
    ).fit(rows, kinds)
    proof = certify(model, rows, kinds)
    assert proof.relative_gap < 1e-5
    assert proof.primal == pytest.approx(model.certificate_.primal, rel=1e-5)


def test_the_hard_margin_of_a_kernel_without_intercept_is_certified():
    rows = X + 3.0 * Y[:, np.newaxis] * X.std(axis=0)
    labels = np.where(rows[:, 0] > 0.0, 1, -1)
    model = SVC(C=np.inf, gamma=0.5, fit_intercept=False).fit(rows, labels)
    assert certify(model, rows, labels).relative_gap <= 1e-3


@pytest.mark.parametrize("weights", [{0: 1.0, 1: 5.0, 2: 0.2}, "balanced"])
def test_the_rest_has_no_class_weight_in_problems_against_the_rest(weights):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(200, 5)), random.choice(3, size=200, p=[0.6, 0.3, 0.1])
    model = peer.LinearSVC(class_weight=weights, tol=1e-10, max_iter=10**6).fit(X, y)
    assert certify(model, X, y).relative_gap < 1e-6
