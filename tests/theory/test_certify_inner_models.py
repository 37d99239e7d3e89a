"""maxmargin.certify of l1 models, and of machines within other models."""

import numpy as np
import pytest
import sklearn.svm as peer
from scipy.optimize import minimize
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import (
    SVC,
    SVR,
    EmbeddedSVC,
    LinearSVC,
    PegasosClassifier,
    certify,
)
from synthetic import classes, free_svc, overlapping, regression, weights_for

X, Y = overlapping(n=80)
LABELS = np.where(Y > 0, "yes", "no")
ROWS, TARGETS = regression(n=80)
SEVERAL, CLASSES = classes(n=90, n_classes=3)
WEIGHTS = weights_for(80)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


# The penalty ‖w‖₁


def absolute_objective(w, b, X, y, cost, scaling):
    """‖w‖₁ + |b|/s + Σ C_i max(0, 1 − y f)²."""
    slack = np.maximum(0.0, 1.0 - y * (X @ w + b))
    return np.abs(w).sum() + abs(b) / scaling + (cost * slack**2).sum()


def absolute_optimum(X, y, cost, scaling):
    """The least value of it, by scipy's bounded minimiser on w = u − v."""
    d = X.shape[1] + 1
    rows = np.column_stack([X, np.full(len(X), scaling)])

    def value(z):
        slack = np.maximum(0.0, 1.0 - y * (rows @ (z[:d] - z[d:])))
        pull = rows.T @ (-2.0 * cost * y * slack)
        return z.sum() + (cost * slack**2).sum(), np.concatenate([1.0 + pull, 1.0 - pull])

    found = minimize(
        value,
        np.zeros(2 * d),
        jac=True,
        bounds=[(0.0, None)] * (2 * d),
        options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 10_000},
    )
    return found.fun


@pytest.mark.parametrize("scaling", [1.0, 2.0])
@pytest.mark.parametrize("max_iter", [3, 100_000])
def test_absolute_weights_are_within_their_gap_of_the_optimum(scaling, max_iter):
    model = peer.LinearSVC(
        penalty="l1", C=0.3, intercept_scaling=scaling, max_iter=max_iter, tol=1e-8, random_state=0
    )
    found = certify(model.fit(X, LABELS), X, LABELS)
    best = absolute_optimum(X, Y, np.full(80, 0.3), scaling)
    value = absolute_objective(model.coef_[0], model.intercept_[0], X, Y, np.full(80, 0.3), scaling)
    assert found.primal == pytest.approx(value, rel=1e-12)
    assert found.dual <= best * (1 + 1e-9)
    assert found.gap >= value - best - 1e-9 * best
    assert found.gap <= value - best + 1e-5 * best
    assert (found.relative_gap < 1e-5) == (max_iter > 3)


def test_liblinear_with_absolute_weights():
    linear = pytest.importorskip("liblinear.liblinearutil")
    found = certify(linear.train(Y, X, "-q -s 5 -B 1 -c 0.3 -e 1e-8"), X, Y)
    assert found.primal == pytest.approx(absolute_optimum(X, Y, np.full(80, 0.3), 1.0), rel=1e-5)
    assert found.relative_gap < 1e-4


def test_our_absolute_weights_and_bare_ones():
    model = LinearSVC(penalty="l1", C=0.3, tol=1e-6).fit(X, Y)
    found = certify(model, X, Y)
    assert found.primal == pytest.approx(model.certificate_.primal, rel=1e-12)
    assert not found.found
    terms = {"C": 0.3, "loss": "squared_hinge", "penalty": "l1", "intercept": "penalized"}
    bare = certify((model.coef_[0], model.intercept_[0]), X, Y, **terms)
    assert bare.primal == pytest.approx(found.primal, rel=1e-12)
    with pytest.raises(ValueError, match="goes with loss='squared_hinge'"):
        certify((model.coef_[0], model.intercept_[0]), X, Y, C=1.0, penalty="l1")


def test_stochastic_absolute_weights():
    model = SGDClassifier(loss="squared_hinge", penalty="l1", alpha=0.05, random_state=0)
    found = certify(model.fit(X, Y), X, Y)
    best = LinearSVC(penalty="l1", C=1.0 / (0.05 * 80), penalized_intercept=False, tol=1e-8).fit(
        X, Y
    )
    assert found.dual == pytest.approx(best.certificate_.dual, rel=1e-4)
    assert found.primal >= best.certificate_.dual


# Models around a machine


def test_a_pipeline_is_judged_on_the_rows_that_reach_its_machine():
    scaler = StandardScaler().fit(X)
    for machine in (peer.SVC(), SVC(), peer.LinearSVC()):
        model = make_pipeline(StandardScaler(), machine).fit(X, LABELS)
        found = certify(model, X, LABELS)
        alone = certify(model[-1], scaler.transform(X), LABELS)
        assert found.primal == pytest.approx(alone.primal, rel=1e-12)
        assert found.sentence() == alone.sentence()
    assert certify(Pipeline([("svm", SVC())]).fit(X, Y), X, Y).relative_gap < 1e-3


def test_a_search_and_a_frozen_model_are_their_machines():
    search = GridSearchCV(make_pipeline(StandardScaler(), SVC()), {"svc__C": [0.1, 10.0]}, cv=3)
    assert certify(search.fit(X, Y), X, Y).relative_gap < 1e-3
    assert certify(FrozenEstimator(SVC().fit(X, Y)), X, Y).relative_gap < 1e-3


def test_moved_targets_are_those_of_the_machine():
    model = TransformedTargetRegressor(peer.SVR(), transformer=StandardScaler())
    targets = (TARGETS - TARGETS.mean()) / TARGETS.std()
    found = certify(model.fit(ROWS, TARGETS), ROWS, TARGETS)
    assert found.primal == pytest.approx(certify(model.regressor_, ROWS, targets).primal)


@pytest.mark.parametrize("machine", [peer.SVC(), peer.LinearSVC(), SVC(), LinearSVC()], ids=repr)
def test_machines_against_the_rest_and_of_pairs_are_summed(machine):
    labels = np.array(["a", "b", "c"])[CLASSES]
    for kind in (OneVsRestClassifier, OneVsOneClassifier):
        model = kind(machine).fit(SEVERAL, labels)
        found = certify(model, SEVERAL, labels)
        assert len(found.certificates) == 3
        assert found.relative_gap < 0.01
        assert "a against" in found.problems[0]
        assert found.sentence().endswith("the sum of 3 problems")
    two = OneVsRestClassifier(machine).fit(X, LABELS)
    alone = certify(two.estimators_[0], X, (LABELS == "yes").astype(int))
    assert certify(two, X, LABELS).primal == alone.primal


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (CalibratedClassifierCV(LinearSVC()), "calibrated_classifiers_"),
        (BaggingClassifier(LinearSVC()), "estimators_samples_"),
        (VotingClassifier([("svm", LinearSVC())]), "several machines"),
    ],
)
def test_several_machines_in_one_are_refused(model, message):
    with pytest.raises(TypeError, match=message):
        certify(model.fit(X, Y), X, Y)


@pytest.mark.parametrize(
    "model", [SVC(landmarks=15), SVC(landmarks=15, C=3.0, gamma=0.3)], ids=repr
)
def test_landmarks_are_certified_in_their_span(model):
    for y in (Y, LABELS):
        found = certify(model.fit(X, y), X, y)
        assert found.primal == pytest.approx(model.certificate_.primal, rel=1e-9)
        assert found.dual == pytest.approx(model.certificate_.dual, rel=1e-9)
        assert found.sentence().endswith(", in the span of 15 landmarks")
    exact = model.exact_certificate(X, LABELS)
    assert exact.dual <= found.primal * (1 + 1e-9)


def test_an_embedding_is_certified_in_its_space():
    model = EmbeddedSVC().fit(X, Y)
    found = certify(model, X, Y)
    assert found.primal == pytest.approx(model.certificate_.primal, rel=1e-9)
    assert found.sentence().endswith(", in this embedding")


def test_the_weights_of_a_stream_are_certified_on_a_batch():
    stream = PegasosClassifier(0.1, fit_intercept=False).partial_fit(X, Y, classes=[-1.0, 1.0])
    found = certify(stream, X, Y)
    best = free_svc(lam=0.1, fit_intercept=False, tol=1e-8).fit(X, Y).certificate_
    assert found.found
    assert found.dual == pytest.approx(best.dual, rel=1e-5)
    assert found.primal > best.primal


@pytest.mark.parametrize("kind", [SVC, peer.SVC, SVR, peer.SVR, peer.OneClassSVM])
def test_samples_of_a_function_kernel_may_be_texts(kind):
    texts = np.array([("ab" * k)[:k] + "b" * (k % 3) for k in range(1, 31)], dtype=object)
    y = (np.arange(30) % 3 == 0).astype(float)

    def common(one, two):
        return np.array([[float(min(len(a), len(b))) for b in two] for a in one])

    model = kind(kernel=common).fit(texts, y)
    K = common(texts, texts)
    found = certify(model, texts, y)
    table = certify(kind(kernel="precomputed").fit(K, y), K, y)
    assert found.primal == pytest.approx(table.primal, rel=1e-6)
    assert found.relative_gap < 0.01


def test_a_regression_with_infinite_c_is_certified():
    model = SVR(C=np.inf, epsilon=1.5, gamma=0.3).fit(ROWS, TARGETS)
    assert certify(model, ROWS, TARGETS).primal == pytest.approx(
        model.certificate_.primal, rel=1e-6
    )
