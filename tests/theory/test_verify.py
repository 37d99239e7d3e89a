"""maxmargin.verify: true of what a fit claims."""

import math

import numpy as np
import pandas as pd
import pytest
import sklearn.svm as peer
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import (
    SVC,
    SVR,
    EmbeddedSVC,
    LinearSVC,
    NuSVC,
    NuSVR,
    OneClassSVM,
    PegasosClassifier,
    certify,
    verify,
)
from maxmargin.kernels import Gaussian, Linear, Polynomial
from synthetic import (
    classes,
    free_svc,
    free_svr,
    overlapping,
    regression,
    separable,
    store,
    weights_for,
)

X, Y = overlapping(n=70)
ROWS, TARGETS = regression(n=70)
SEVERAL, CLASSES = classes(n=75, n_classes=3)
WEIGHTS = weights_for(70)
LINEAR = {
    "hinge": free_svc(),
    "squared hinge": free_svc(loss="squared_hinge", penalized_intercept=True),
    "scaled intercept": free_svc(0.1, penalized_intercept=True, intercept_scaling=3.0),
    "lam": free_svc(lam=1e-2, fit_intercept=False, class_weight="balanced"),
    "Pegasos": PegasosClassifier(1e-2, tol=0.5, random_state=0),
    "Crammer and Singer": free_svc(multi_class="crammer_singer"),
    "l1": LinearSVC(penalty="l1", C=0.5),
    "l1 free": LinearSVC(penalty="l1", penalized_intercept=False),
    "l1 scaled": LinearSVC(penalty="l1", C=0.1, intercept_scaling=3.0),
}
KERNEL = {
    "rbf": SVC(gamma="scale"),
    "median": SVC(gamma="median"),
    "auto": SVC(gamma="auto", class_weight={1.0: 2.0}),
    "no intercept": SVC(fit_intercept=False),
    "linear": SVC(kernel="linear"),
    "poly": SVC(kernel="poly", gamma=0.5, degree=2, coef0=1.0),
    "laplacian": SVC(kernel="laplacian"),
    "cosine": SVC(kernel="cosine"),
    "sum": SVC(kernel=Gaussian(0.5) + 0.5 * Linear() * Polynomial(0.5, 2, 1.0)),
    "function": SVC(kernel=lambda A, B: (1.0 + A @ B.T) ** 2),
    "nu": NuSVC(nu=0.2),
    "Pegasos": PegasosClassifier(1e-2, kernel="rbf", tol=0.5, random_state=0),
    "one class": OneClassSVM(nu=0.3),
    "Crammer and Singer": SVC(multi_class="crammer_singer"),
    "landmarks": SVC(landmarks=15, C=3.0),
    "landmarks linear": SVC(landmarks=15, kernel="linear"),
    "landmarks poly": SVC(landmarks=15, kernel="poly", gamma="median", coef0=1.0),
}


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
@pytest.mark.parametrize("model", [*LINEAR.values(), *KERNEL.values()], ids=[*LINEAR, *KERNEL])
def test_a_fitted_classifier_is_verified(model, weights):
    model.fit(X, Y, sample_weight=weights)
    found = verify(model, X, Y, weights)
    assert found, str(found)
    assert found.sentence().startswith("verified: ")


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
@pytest.mark.parametrize(
    "model",
    [
        free_svr(epsilon=0.1),
        free_svr(loss="squared"),
        free_svr(loss="squared_epsilon_insensitive", epsilon=0.1, penalized_intercept=True),
        SVR(),
        SVR(kernel="linear"),
        SVR(landmarks=15),
        SVR(C=math.inf, epsilon=0.5, gamma=0.3),
        SVR(C=math.inf, epsilon=100.0),
        NuSVR(nu=0.3),
    ],
    ids=repr,
)
def test_a_fitted_regression_is_verified(model, weights):
    model.fit(ROWS, TARGETS, sample_weight=weights)
    found = verify(model, ROWS, TARGETS, weights)
    assert found, str(found)


@pytest.mark.parametrize(
    "model",
    [
        free_svc(),
        free_svc(multi_class="ovo"),
        free_svc(multi_class="crammer_singer"),
        SVC(),
        SVC(multi_class="ovr"),
        SVC(multi_class="crammer_singer"),
        SVC(kernel="linear"),
        NuSVC(nu=0.2),
        LinearSVC(penalty="l1"),
        SVC(landmarks=15),
        SVC(landmarks=15, multi_class="ovr"),
        EmbeddedSVC(),
        OneVsRestClassifier(LinearSVC()),
        OneVsOneClassifier(SVC()),
        make_pipeline(StandardScaler(), SVC()),
        PegasosClassifier(1e-2, multi_class="crammer_singer", tol=0.05, random_state=0),
    ],
    ids=repr,
)
def test_several_classes_are_verified(model):
    model.fit(SEVERAL, np.array(["a", "b", "c"])[CLASSES])
    found = verify(model, SEVERAL, np.array(["a", "b", "c"])[CLASSES])
    assert found, str(found)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_hard_margin_is_verified(fit_intercept):
    rows, labels = separable()
    model = SVC(C=math.inf, kernel="linear", fit_intercept=fit_intercept)
    assert verify(model.fit(rows, labels), rows, labels)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_hard_margin_of_weights_is_verified_and_other_weights_are_not(fit_intercept):
    rows, labels = separable()
    model = LinearSVC(C=math.inf, loss="hinge", fit_intercept=fit_intercept)
    model.set_params(penalized_intercept=False).fit(rows, labels)
    assert verify(model, rows, labels)
    model.coef_ = model.coef_ * np.linspace(1.0, 1.1, rows.shape[1])
    assert not verify(model, rows, labels)


def test_a_perceptron_is_verified():
    rows, labels = separable()
    model = free_svc(loss="perceptron", random_state=0).fit(rows, labels)
    assert verify(model, rows, labels)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_sparse_rows_are_verified(kernel):
    stored = sparse.csr_matrix(X)
    assert verify(SVC(kernel=kernel, gamma=0.3).fit(stored, Y), stored, Y)
    assert verify(free_svc().fit(stored, Y), stored, Y)


@pytest.mark.parametrize("kernel", ["chi2", "histogram_intersection"])
def test_histograms_are_verified(kernel):
    assert verify(SVC(kernel=kernel).fit(abs(X), Y), abs(X), Y)


def test_a_kernel_matrix_is_verified():
    K = X @ X.T
    assert verify(SVC(kernel="precomputed").fit(K, Y), K, Y)


def test_rows_and_targets_far_from_the_origin_are_verified():
    assert verify(SVC(kernel="linear").fit(X + 1e4, Y), X + 1e4, Y)
    assert verify(free_svc().fit(X + 1e4, Y), X + 1e4, Y)
    assert verify(SVR().fit(ROWS + 1e4, TARGETS + 1e6), ROWS + 1e4, TARGETS + 1e6)


def test_a_large_kernel_machine_with_float32_rows_is_verified():
    rows, labels = overlapping(n=1300)
    assert verify(SVC().fit(rows, labels), rows, labels)


def test_an_outlier_takes_no_digits():
    rows = X.copy()
    rows[0] *= 1e9
    assert verify(SVC(gamma=0.5).fit(rows, Y), rows, Y)


def test_a_fit_that_was_stopped_is_verified():
    with pytest.warns(UserWarning, match="stopped by max_iter"):
        model = free_svc(solver="dual_cd", max_iter=1, tol=1e-9, random_state=0).fit(X, Y)
    assert verify(model, X, Y)


@pytest.mark.parametrize(
    "model", [free_svc(), SVC(kernel="linear"), SVC(kernel="poly", gamma=0.5)], ids=repr
)
def test_exact_rationals_say_the_same(model):
    found = verify(model.fit(X, Y), X, Y, exact=True)
    assert found, str(found)
    assert found.arithmetic == "exact rational numbers"


def test_exact_rationals_are_for_rational_kernels_of_few_samples():
    with pytest.raises(ValueError, match="not rational"):
        verify(SVC().fit(X, Y), X, Y, exact=True)
    rows, labels = overlapping(n=1500, d=400)
    with pytest.raises(ValueError, match="too many for exact rationals"):
        verify(free_svc(tol=0.5).fit(rows, labels), rows, labels, exact=True)


def test_a_kernel_that_is_not_convex_is_verified_as_such():
    with pytest.warns(UserWarning, match="not positive semidefinite"):
        model = SVC(kernel="sigmoid", gamma=0.3, coef0=-0.5).fit(abs(X), Y)
    assert verify(model, abs(X), Y)


def test_models_of_others_claim_nothing():
    with pytest.raises(TypeError, match=r"maxmargin\.certify"):
        verify(peer.SVC().fit(X, Y), X, Y)


def test_samples_that_were_fitted_as_one_are_verified():
    rows, labels = np.repeat(X, 20, axis=0), np.repeat(Y, 20)
    for model in (SVC(gamma=0.5), SVC(gamma=0.5, kernel="linear"), SVR(gamma=0.5)):
        found = verify(model.fit(rows, labels), rows, labels)
        assert found, str(found)


def test_a_model_must_be_fitted():
    with pytest.raises(NotFittedError):
        verify(free_svc(), X, Y)


def test_a_stream_claims_nothing():
    stream = PegasosClassifier().partial_fit(X, Y, classes=[-1.0, 1.0])
    with pytest.raises(AttributeError, match="stream"):
        verify(stream, X, Y)


@pytest.mark.parametrize("storage", ["dense", "csr32", "csr64"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_read_as_they_are_stored(storage, dtype):
    rows = store(X, storage, dtype)
    for part in (rows,) if storage == "dense" else (rows.data, rows.indices, rows.indptr):
        part.flags.writeable = False
    for model in (LinearSVC(), SVC(gamma=0.5)):
        model.fit(rows, Y)
        assert verify(model, rows, Y)
        assert certify(model, rows, Y).primal == pytest.approx(model.certificate_.primal, rel=1e-9)


@pytest.mark.parametrize("gamma", ["scale", "median"])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_a_rule_for_gamma_has_all_digits_of_float32_rows(storage, gamma):
    X = storage((1e4 * np.random.default_rng(1).normal(size=(20, 12))).astype(np.float32))
    assert verify(OneClassSVM(gamma=gamma).fit(X), X)


def test_empty_rows_and_repeated_samples_are_verified():
    rows = np.vstack([X, np.zeros((3, 4)), X[:3]])
    labels = np.concatenate([Y, [1.0, -1.0, 1.0], -Y[:3]])
    assert verify(
        SVC(gamma=0.5).fit(sparse.csr_matrix(rows), labels), sparse.csr_matrix(rows), labels
    )
    assert verify(LinearSVC().fit(rows, labels), rows, labels)


@pytest.mark.parametrize("C", [1e-8, 1e8])
def test_extreme_costs_are_verified(C):
    rows, labels = separable()
    assert verify(SVC(C=C, gamma=0.5).fit(rows, labels), rows, labels)
    assert verify(LinearSVC(C=C).fit(rows, labels), rows, labels)


def test_a_weight_below_0_leaves_the_sample_out_as_in_fit():
    random = np.random.default_rng(0)
    X, y, weight = random.normal(size=(60, 2)), np.arange(60) % 2, random.uniform(-0.5, 2.0, 60)
    model = SVC(tol=1e-6).fit(X, y, weight)
    assert verify(model, X, y, weight), str(verify(model, X, y, weight))


@pytest.mark.parametrize("model", [SVC(), free_svc(), OneClassSVM(nu=0.2)], ids=repr)
def test_data_frames_are_verified_without_a_warning_of_names(model):
    X, y = overlapping()
    frame = pd.DataFrame(X).add_prefix("column")
    assert verify(model.fit(frame, y), frame, y)


def test_repeated_rows_with_slacks_are_verified():
    """They were fitted as one: the certificate counts their slacks and support vectors once."""
    random = np.random.default_rng(0)
    rows = random.normal(size=(60, 2))[random.integers(0, 60, 2100)]
    labels = random.integers(0, 2, 2100)
    model = SVC(C=0.05, gamma=0.5, tol=1e-6).fit(rows, labels)
    assert verify(model, rows, labels), str(verify(model, rows, labels))
    model.dual_coef_ = 1.01 * model.dual_coef_
    assert not verify(model, rows, labels)


def test_a_hard_margin_that_rounding_moves_is_verified():
    """Nearly equal samples: f is a sum of terms of 1e6, and P is claimed for the least margin."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.where(rng.random(30) < 0.5, 1, -1)
    assert verify(SVC(C=math.inf, gamma=0.3).fit(X, y), X, y)


def test_weights_that_separate_nothing_have_no_finite_primal():
    X, y = separable()
    model = LinearSVC(C=math.inf, loss="hinge", fit_intercept=False).fit(X, y)
    model.solution_.w[:] *= -1.0
    model.coef_ = model.solution_.w.reshape(1, -1).copy()
    failures = {check.name for check in verify(model, X, y).failures}
    assert {"primal", "gap", "sum of slacks"} <= failures


def test_a_hard_margin_that_was_stopped_before_it_separates_is_verified():
    rng = np.random.default_rng(300065)
    X, y = rng.normal(size=(40, 2)), np.where(rng.random(40) < 0.5, 1, -1)
    with pytest.warns(UserWarning, match="stopped by max_iter"):
        model = SVC(C=math.inf, gamma=0.5, max_iter=1).fit(X, y)
    assert model.certificate_.gap == math.inf
    assert verify(model, X, y)


@pytest.mark.parametrize("seed", range(12))
def test_bounds_that_differ_by_an_ulp_are_bounds(seed):
    random = np.random.default_rng(seed)
    X, y, weight = random.normal(size=(30, 2)), np.arange(30) % 3, random.exponential(size=30)
    model = SVC(gamma=0.5, C=0.1, class_weight="balanced").fit(X, y, sample_weight=weight)
    found = verify(model, X, y, weight)
    assert found, str(found)


@pytest.mark.parametrize("size", [1e-290, 1e-100, 1e100, 1e290])
def test_weights_of_any_size_are_verified_where_ratios_count(size):
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 2))
    y, weight = np.sign(X[:, 0] + 0.3 * random.normal(size=40)), np.full(40, size)
    for model in (NuSVC(nu=0.3, gamma=1.0), OneClassSVM(nu=0.3, gamma=1.0)):
        labels = y if isinstance(model, NuSVC) else None
        found = verify(model.fit(X, labels, sample_weight=weight), X, labels, weight)
        assert found, str(found)
