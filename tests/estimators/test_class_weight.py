"""Class weights against the rest are those of scikit-learn, wherever costs are read."""

import numpy as np
import pytest
from sklearn import svm
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import scale

from maxmargin import EmbeddedSVC, LinearSVC, certify, verify
from maxmargin.embeddings import Nystroem

WEIGHTS = [{0: 3.0, 1: 0.2, 2: 1.0}, {1: 5.0}, "balanced"]


def uneven(load):
    """Return scaled rows of three classes with 50, 30 and 15 samples."""
    X, y = load(return_X_y=True)
    rows = np.concatenate([np.flatnonzero(y == k)[:size] for k, size in enumerate((45, 30, 15))])
    return scale(X[rows]), y[rows]


def weights_of(y, class_weight, k):
    """Return the weights of samples where class k has its own and the rest none."""
    counts = np.bincount(y)
    balanced = dict(enumerate(len(y) / (len(counts) * counts)))
    given = balanced if class_weight == "balanced" else class_weight
    return np.where(y == k, given.get(k, 1.0), 1.0)


@pytest.mark.parametrize("class_weight", WEIGHTS, ids=str)
@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_decision_values_are_those_of_scikit_learn(loss, load, class_weight):
    X, y = uneven(load)
    given = {"loss": loss, "C": 0.5, "class_weight": class_weight, "random_state": 0}
    theirs = svm.LinearSVC(dual=True, tol=1e-9, max_iter=200_000, **given).fit(X, y)
    ours = LinearSVC(tol=1e-11, **given).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=2e-5)


@pytest.mark.parametrize("class_weight", WEIGHTS, ids=str)
@pytest.mark.parametrize("solver", ["dual_cd", "newton"])
def test_each_problem_is_that_of_the_weighted_class(solver, class_weight):
    X, y = uneven(load_wine)
    model = LinearSVC(loss="hinge", solver=solver, class_weight=class_weight, tol=1e-9).fit(X, y)
    for k in range(3):
        alone = LinearSVC(loss="hinge", solver=solver, tol=1e-9)
        alone.fit(X, (y == k).astype(int), sample_weight=weights_of(y, class_weight, k))
        assert model.solutions_[k].certificate.primal == pytest.approx(
            alone.certificate_.primal, rel=1e-8
        )


@pytest.mark.parametrize("class_weight", WEIGHTS, ids=str)
def test_l1_has_the_same_weights(class_weight):
    X, y = uneven(load_iris)
    given = {"penalty": "l1", "C": 2.0, "class_weight": class_weight}
    model = LinearSVC(tol=1e-9, **given).fit(X, y)
    theirs = svm.LinearSVC(dual=False, tol=1e-10, max_iter=200_000, **given).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), theirs.decision_function(X), atol=1e-3)


@pytest.mark.parametrize("class_weight", WEIGHTS, ids=str)
@pytest.mark.parametrize(
    "given", [{"loss": "hinge"}, {}, {"penalty": "l1"}], ids=["hinge", "squared", "l1"]
)
def test_what_reads_the_costs_reads_these(given, class_weight):
    X, y = uneven(load_iris)
    model = LinearSVC(class_weight=class_weight, tol=1e-8, **given).fit(X, y)
    assert certify(model, X, y).primal == pytest.approx(model.certificate_.primal, rel=1e-9)
    assert verify(model, X, y)
    table = model.samples(X, y)
    lost = table.slack if given.get("loss") == "hinge" else table.slack**2
    costs = [weights_of(y, class_weight, k)[table.sample[table.problem == k]] for k in range(3)]
    norms = [np.abs(w).sum() if "penalty" in given else 0.5 * w @ w for w in model.coef_]
    bias = [abs(b) if "penalty" in given else 0.5 * b * b for b in model.intercept_]
    primal = sum(norms) + sum(bias) + np.concatenate(costs) @ lost
    assert primal == pytest.approx(model.certificate_.primal, rel=1e-6)
    assert (model.predict_proba(X).argmax(axis=1) == model.predict(X)).all()


def test_a_class_of_weight_0_is_only_the_rest_of_the_others():
    X, y = uneven(load_iris)
    model = LinearSVC(class_weight={2: 0.0}).fit(X, y)
    alone = LinearSVC().fit(X, (y == 0).astype(int))
    np.testing.assert_allclose(
        model.decision_function(X)[:, 0], alone.decision_function(X), atol=0.1
    )
    assert (model.decision_function(X)[:, 2] < 0.0).all()


def test_the_exact_certificate_of_an_embedding_has_these_costs():
    X, y = uneven(load_iris)
    svm = LinearSVC(
        loss="hinge", penalized_intercept=False, class_weight={0: 4.0, 2: 0.3}, tol=1e-8
    )
    model = EmbeddedSVC(Nystroem(n_components=len(y), gamma=0.2, random_state=0), svm).fit(X, y)
    exact = model.exact_certificate(X, y)
    assert exact.primal == pytest.approx(model.certificate_.primal, rel=1e-4)
