"""maxmargin.verify sees what was changed after a fit."""

import itertools
import math
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest

from maxmargin import (
    SVC,
    SVR,
    LinearSVC,
    NuSVC,
    NuSVR,
    OneClassSVM,
    PegasosClassifier,
    verify,
)
from maxmargin.kernels import Gaussian
from synthetic import (
    classes,
    free_svc,
    free_svr,
    overlapping,
    regression,
    separable,
    weights_for,
)

X, Y = overlapping(n=70)
ROWS, TARGETS = regression(n=70)
SEVERAL, CLASSES = classes(n=75, n_classes=3)
WEIGHTS = weights_for(70)


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


def test_each_check_says_what_it_compared(linear):
    linear.coef_ = 1.1 * linear.coef_
    text = str(verify(linear, X, Y))
    assert "FAILS  primal: claimed " in text
    assert "holds  the dual point is feasible" in text


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
