"""maxmargin.verify: true of what a fit claims, false of anything else."""

import itertools
import math
from copy import deepcopy
from dataclasses import replace

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


# Tampering


def changed(model, **attributes):
    for name, value in attributes.items():
        setattr(model, name, value)


def changed_solution(model, **fields):
    model.solutions_ = (replace(model.solutions_[0], **fields), *model.solutions_[1:])


def changed_claim(model, **fields):
    claim = model.solutions_[0].certificate
    changed_solution(model, certificate=replace(claim, **fields))


def claim_of(model):
    return model.solutions_[0].certificate


def beta_of(model, change):
    beta = model.solutions_[0].beta.copy()
    change(beta)
    return beta


def swap_largest(beta):
    i, j = np.argmax(beta), np.argmin(np.abs(beta))
    beta[[i, j]] = beta[[j, i]]


LINEAR_TAMPERING = {
    "a weight": lambda m: changed(m, coef_=m.coef_ * [1.001, 1, 1, 1]),
    "all weights": lambda m: changed(m, coef_=1.01 * m.coef_),
    "the sign": lambda m: changed(m, coef_=-m.coef_),
    "the intercept": lambda m: changed(m, intercept_=m.intercept_ + 1e-3),
    "C": lambda m: changed(m, C=1.1),
    "the loss": lambda m: changed(m, loss="squared_hinge"),
    "the intercept's kind": lambda m: changed(m, penalized_intercept=True),
    "no intercept": lambda m: changed(m, fit_intercept=False),
    "class weights": lambda m: changed(m, class_weight={1.0: 1.1}),
    "tol": lambda m: changed(m, tol=1e-12),
    "the order of the classes": lambda m: changed(m, classes_=m.classes_[::-1]),
    "a dual variable": lambda m: changed_solution(m, beta=beta_of(m, lambda b: b.__imul__(0.9))),
    "dual variables outside": lambda m: changed_solution(
        m, beta=beta_of(m, lambda b: b.__imul__(2.0))
    ),
    "dual variables of others": lambda m: changed_solution(m, beta=beta_of(m, swap_largest)),
    "a dual variable that is not a number": lambda m: changed_solution(m, beta=np.full(70, np.nan)),
    "the primal": lambda m: changed_claim(m, primal=0.999 * claim_of(m).primal),
    "the dual": lambda m: changed_claim(m, dual=1.001 * claim_of(m).dual),
    "the gap": lambda m: changed_claim(m, gap=0.5 * claim_of(m).gap),
    "the relative gap": lambda m: changed_claim(m, relative_gap=0.5 * claim_of(m).relative_gap),
    "the margin": lambda m: changed_claim(m, margin=1.01 * claim_of(m).margin),
    "the slacks": lambda m: changed_claim(m, slack_sum=0.9 * claim_of(m).slack_sum),
    "the support vectors": lambda m: changed_claim(m, n_support_free=1),
}


@pytest.fixture
def linear():
    return free_svc(tol=1e-3).fit(X, Y)


@pytest.mark.parametrize("tamper", LINEAR_TAMPERING.values(), ids=LINEAR_TAMPERING)
def test_tampering_with_a_linear_machine_is_seen(linear, tamper):
    tamper(linear)
    found = verify(linear, X, Y)
    assert not found
    assert found.failures
    assert found.sentence().startswith("not verified: ")


KERNEL_TAMPERING = {
    "coefficients": lambda m: changed(m, dual_coef_=1.001 * m.dual_coef_),
    "the intercept": lambda m: changed(m, intercept_=m.intercept_ + 1e-3),
    "gamma": lambda m: changed(m, gamma=0.51),
    "the kernel": lambda m: changed(m, kernel="laplacian"),
    "the kernel of predictions": lambda m: changed(m, _fitted_kernel=Gaussian(0.6), _samples=None),
    "C": lambda m: changed(m, C=2.0),
    "support": lambda m: changed(m, support_=np.roll(m.support_, 1)),
    "support vectors": lambda m: changed(m, support_vectors_=m.support_vectors_ + 1e-6),
    "the order of the classes": lambda m: changed(m, classes_=m.classes_[::-1]),
    "the dual point": lambda m: changed_solution(m, beta=-m.solution_.beta),
    "the gap": lambda m: changed_claim(m, gap=0.0, dual=claim_of(m).primal),
}


@pytest.mark.parametrize("tamper", KERNEL_TAMPERING.values(), ids=KERNEL_TAMPERING)
def test_tampering_with_a_kernel_machine_is_seen(tamper):
    model = SVC(gamma=0.5).fit(X, Y)
    tamper(model)
    assert not verify(model, X, Y)


SHUFFLED = np.random.default_rng(0).permutation(70)
OTHER_DATA = {
    "rows in another order": lambda: (X[SHUFFLED], Y),
    "labels in another order": lambda: (X, Y[SHUFFLED]),
    "both in another order": lambda: (X[SHUFFLED], Y[SHUFFLED]),
    "changed rows": lambda: (X + 0.01 * (np.arange(70)[:, None] % 2), Y),
    "a changed label": lambda: (X, Y * np.where(np.arange(70) == 3, -1.0, 1.0)),
    "scaled rows": lambda: (2.0 * X, Y),
    "one row less": lambda: (X[1:], Y[1:]),
    "one row more": lambda: (np.vstack([X, X[:1]]), np.append(Y, Y[0])),
    "a column less": lambda: (X[:, 1:], Y),
    "columns in another order": lambda: (X[:, ::-1], Y),
    "unknown labels": lambda: (X, Y + 1.0),
    "missing values": lambda: (np.where(X[0, 0] == X, np.nan, X), Y),
}


@pytest.mark.parametrize("model", [free_svc(), SVC(gamma=0.5)], ids=["linear", "kernel"])
@pytest.mark.parametrize("data", OTHER_DATA.values(), ids=OTHER_DATA)
def test_other_data_are_seen(model, data):
    assert not verify(deepcopy(model).fit(X, Y), *data())


MACHINES = {
    "hinge": (free_svc(), X, Y),
    "squared hinge": (LinearSVC(), X, Y),
    "l1": (LinearSVC(penalty="l1"), X, Y),
    "hard": (free_svc(C=math.inf), *separable()),
    "ovr": (free_svc(), SEVERAL, CLASSES),
    "ovo": (free_svc(multi_class="ovo"), SEVERAL, CLASSES),
    "Crammer and Singer": (free_svc(multi_class="crammer_singer"), SEVERAL, CLASSES),
    "Pegasos": (PegasosClassifier(1e-2, tol=0.5, random_state=0), X, Y),
    "regression": (free_svr(epsilon=0.1), ROWS, TARGETS),
    "least squares": (free_svr(loss="squared"), ROWS, TARGETS),
    "kernel": (SVC(gamma=0.5), X, Y),
    "kernel ovo": (SVC(gamma=0.5), SEVERAL, CLASSES),
    "kernel ovr": (SVC(gamma=0.5, multi_class="ovr"), SEVERAL, CLASSES),
    "kernel Crammer and Singer": (SVC(gamma=0.5, multi_class="crammer_singer"), SEVERAL, CLASSES),
    "kernel hard": (SVC(gamma=0.5, C=math.inf), *separable()),
    "kernel regression": (SVR(gamma=0.5), ROWS, TARGETS),
    "nu": (NuSVC(gamma=0.5, nu=0.3), X, Y),
    "nu regression": (NuSVR(gamma=0.5, nu=0.3), ROWS, TARGETS),
    "one class": (OneClassSVM(gamma=0.5, nu=0.3), X, None),
    "landmarks": (SVC(gamma=0.5, landmarks=15), X, Y),
    "landmark regression": (SVR(gamma=0.5, landmarks=15), ROWS, TARGETS),
}


def other_coefficients(m):
    linear = hasattr(m, "coef_") and not hasattr(m, "dual_coef_")
    name = "coef_" if linear else "dual_coef_"
    if getattr(m, "landmarks", None):
        m._engine.coef_ = 1.01 * m._engine.coef_
    setattr(m, name, 1.01 * getattr(m, name))


ANY_TAMPERING = {
    "the coefficients": other_coefficients,
    "the dual point": lambda m: changed_solution(m, beta=beta_of(m, lambda b: b.__imul__(-1.0))),
    "a longer dual point": lambda m: changed_solution(m, beta=1.1 * m.solutions_[0].beta),
    "the primal": lambda m: changed_claim(m, primal=claim_of(m).primal - 0.01 * size_of(m)),
    "the dual": lambda m: changed_claim(m, dual=claim_of(m).dual + 0.01 * size_of(m)),
    "the gap": lambda m: changed_claim(m, gap=-0.01 * size_of(m)),
    "the margin": lambda m: changed_claim(m, margin=1.01 * claim_of(m).margin),
    "the slacks": lambda m: changed_claim(m, slack_sum=claim_of(m).slack_sum + 1.0),
    "tol": lambda m: changed(m, tol=1e-300),
    "kind of intercept": lambda m: changed(m, fit_intercept=False),
}


def size_of(model):
    return max(abs(claim_of(model).primal), abs(claim_of(model).dual))


#: What changes nothing: a hard margin's dual point stands for its multiples, and none has an
#: intercept to leave out.
NO_TAMPERING = {
    ("hard", "a longer dual point"),
    ("kernel hard", "a longer dual point"),
    ("one class", "kind of intercept"),
}


@pytest.mark.parametrize(
    ("name", "tamper"),
    [pair for pair in itertools.product(MACHINES, ANY_TAMPERING) if pair not in NO_TAMPERING],
)
def test_tampering_with_any_machine_is_seen(name, tamper):
    model, rows, y = deepcopy(MACHINES[name])
    model.fit(rows, y)
    assert verify(model, rows, y)
    ANY_TAMPERING[tamper](model)
    if hasattr(model, "_engine") and model._engine is not None and "dual point" in tamper:
        model._engine.solutions_ = model.solutions_
    found = verify(model, rows, y)
    assert not found, str(found)


@pytest.mark.parametrize("name", MACHINES, ids=MACHINES)
def test_other_data_of_any_machine_are_seen(name):
    model, rows, y = deepcopy(MACHINES[name])
    model.fit(rows, y)
    mixed = np.random.default_rng(0).permutation(len(rows))
    weight = np.where(np.arange(len(rows)) % 2 == 0, 1.0, 1.5)
    assert not verify(model, rows[mixed], y)
    assert not verify(model, 1.5 * rows, y)
    assert not verify(model, rows[1:], None if y is None else y[1:])
    if "hard" not in name:  # whose slacks have no cost
        assert not verify(model, rows, y, weight)
    if y is not None:
        assert not verify(model, rows, y[mixed])


def test_other_weights_are_seen(linear):
    assert not verify(linear, X, Y, WEIGHTS)
    assert not verify(free_svc().fit(X, Y, sample_weight=WEIGHTS), X, Y)


def test_another_epsilon_is_seen():
    model = SVR(epsilon=0.2).fit(ROWS, TARGETS)
    model.epsilon = 0.1
    assert not verify(model, ROWS, TARGETS)


@pytest.mark.parametrize("model", [NuSVC(nu=0.3), OneClassSVM(nu=0.3)], ids=repr)
def test_another_nu_is_seen(model):
    model.fit(X, Y)
    model.nu = 0.25
    assert not verify(model, X, Y)


def test_an_indefinite_kernel_that_claims_to_be_convex_is_seen():
    K = np.tanh(X @ X.T)
    with pytest.warns(UserWarning, match="not positive semidefinite"):
        model = SVC(kernel="precomputed").fit(K, Y)
    assert not model.certificate_.convex
    changed_claim(model, convex=True)
    assert "the kernel is positive semidefinite" in {c.name for c in verify(model, K, Y).failures}


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


def test_each_check_says_what_it_compared(linear):
    linear.coef_ = 1.1 * linear.coef_
    text = str(verify(linear, X, Y))
    assert "FAILS  primal: claimed " in text
    assert "holds  the dual point is feasible" in text


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
