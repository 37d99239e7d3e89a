"""What margins prove: each bound beside its definition, and beside samples of known risk."""

import math

import numpy as np
import pytest
import sklearn.svm as peer
from scipy import sparse
from scipy.stats import binom

from maxmargin import SVC, EmbeddedSVC, LinearSVC, NuSVC, NuSVR, OneClassSVM
from maxmargin.theory import margin_bound, maximum_margin, novikoff, nu_property, radius_margin
from synthetic import free_svc, overlapping, separable


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_margin_bound_is_its_formula(fit_intercept):
    X, y = overlapping()
    model = free_svc(fit_intercept=fit_intercept).fit(X, y)
    bound = margin_bound(model, X, y, delta=0.1)
    extra = float(fit_intercept)
    weights = np.append(model.coef_[0], extra * model.intercept_)
    radius = math.sqrt(np.square(X).sum(axis=1).max() + extra)
    slack = np.maximum(0.0, 1.0 - y * model.decision_function(X))
    assert bound.radius == pytest.approx(radius)
    assert bound.norm / 2.0 < np.linalg.norm(weights) <= bound.norm
    assert bound.empirical == pytest.approx(np.minimum(1.0, slack).mean())
    assert bound.complexity == pytest.approx(2.0 * bound.norm * radius / math.sqrt(60))
    share = 0.1 / (3.0 * (abs(math.log2(bound.norm)) + 1.0) ** 2)
    assert bound.confidence == pytest.approx(math.sqrt(math.log(1.0 / share) / 120.0))
    assert bound.value == bound.empirical + bound.complexity + bound.confidence
    texts = slack.mean() + 2.0 * np.linalg.norm(weights) * radius / math.sqrt(60)
    assert bound.in_texts == pytest.approx(texts + math.sqrt(math.log(10.0) / 120.0))


def test_the_shares_of_delta_add_up_to_less_than_it():
    powers = np.arange(-100_000, 100_001)
    assert (1.0 / (3.0 * (np.abs(powers) + 1.0) ** 2)).sum() < 1.0


def test_the_margin_bound_of_a_kernel_is_that_of_its_space():
    X, y = overlapping()
    model = SVC(kernel="poly", degree=2, coef0=1.0, gamma=1.0, fit_intercept=False).fit(X, y)
    bound = margin_bound(model, X, y)
    assert bound.radius == pytest.approx(1.0 + np.square(X).sum(axis=1).max())


def test_the_origin_of_a_linear_kernel_does_not_matter():
    X, y = overlapping()
    kernel = margin_bound(SVC(kernel="linear", tol=1e-8).fit(X, y), X, y)
    linear = margin_bound(free_svc(tol=1e-8).fit(X, y), X, y)
    assert kernel.value == pytest.approx(linear.value, rel=1e-4)


def test_a_bound_of_1_or_more_says_that_it_says_nothing():
    X, y = overlapping()
    bound = margin_bound(SVC().fit(X, y), X, y)
    assert bound.value >= 1.0
    assert "says nothing" in bound.remark
    X, y = separable(n=4000)
    X[:, 1:] = 0.0
    small = margin_bound(free_svc(C=0.01, fit_intercept=False).fit(X, y), X, y)
    assert small.value < 1.0
    assert small.remark == ""


def test_the_margin_bound_holds_for_samples_of_known_risk():
    """f(x) = x on x uniform in [−1, 1], labels of its sign but for a tenth: the risk is 0.1."""
    rng, failures, gaps, of_errors = np.random.default_rng(0), 0, [], 0
    for _ in range(60):
        X = rng.uniform(-1.0, 1.0, size=(1000, 1))
        y = np.sign(X[:, 0]) * np.where(rng.random(1000) < 0.1, -1.0, 1.0)
        model = free_svc(C=0.1, fit_intercept=False).fit(X, y)
        risk = 0.1 if model.coef_[0, 0] > 0.0 else 0.9
        bound = margin_bound(model, X, y, delta=0.2).value
        failures += risk > bound
        gaps.append(bound - risk)
        of_errors += risk > np.mean(model.predict(X) != y)
    allowed = binom.ppf(0.999, 60, 0.2)  # more failures than that would refute 1 − δ = 0.8
    assert failures <= allowed < of_errors  # which the share of training errors is not
    assert max(gaps) < 1.0


@pytest.mark.parametrize("delta", [0.0, 1.0, -1.0, math.nan])
def test_delta_is_a_probability(delta):
    X, y = overlapping()
    with pytest.raises(ValueError, match="delta must be between 0 and 1"):
        margin_bound(SVC().fit(X, y), X, y, delta=delta)


def test_the_margin_bound_is_not_for_weighted_samples():
    X, y = overlapping()
    with pytest.raises(ValueError, match="no weights"):
        margin_bound(SVC(class_weight="balanced").fit(X, y), X, y)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_two_forms_of_the_hard_margin_are_one(fit_intercept):
    X, y = separable()
    model = free_svc(C=np.inf, fit_intercept=fit_intercept, tol=1e-8).fit(X, y)
    found = maximum_margin(model, X, y)
    assert found.value == pytest.approx(found.inverse_norm, rel=1e-8)
    assert found.value <= found.most * (1 + 1e-12)
    assert found.value == pytest.approx(found.most, rel=1e-7)
    assert found.direction is not None
    assert np.linalg.norm(found.direction) == pytest.approx(1.0)
    assert (y * (X @ found.direction + found.offset)).min() == pytest.approx(found.value)


def test_no_direction_has_a_larger_margin():
    X, y = separable(d=2)
    found = maximum_margin(free_svc(C=np.inf, fit_intercept=False, tol=1e-8).fit(X, y), X, y)
    angles = np.linspace(0.0, 2.0 * np.pi, 10_000)
    directions = np.stack([np.cos(angles), np.sin(angles)])
    assert (y[:, None] * (X @ directions)).min(axis=0).max() <= found.value * (1 + 1e-9)


def test_the_largest_margin_is_that_of_a_hard_machine():
    X, y = separable()
    with pytest.raises(ValueError, match="C must be inf"):
        maximum_margin(SVC().fit(X, y), X, y)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("rows", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
def test_the_perceptron_makes_no_more_mistakes_than_novikoff_allows(fit_intercept, rows):
    X, y = separable()
    model = free_svc(C=np.inf, fit_intercept=fit_intercept).fit(rows(X), y)
    found = novikoff(model, rows(X), y)
    assert found.converged
    assert 0 < found.mistakes <= found.value
    Z = np.column_stack([X, np.full(len(X), float(fit_intercept))])
    w = np.append(model.coef_[0], model.intercept_)
    assert found.radius == pytest.approx(np.linalg.norm(Z, axis=1).max())
    assert found.margin == pytest.approx((y * (Z @ w)).min() / np.linalg.norm(w))
    assert found.value == pytest.approx((found.radius / found.margin) ** 2)


def test_without_a_separator_novikoff_has_no_bound():
    X, y = overlapping()
    found = novikoff(free_svc().fit(X, y), X, y, max_epochs=3)
    assert found.value == math.inf
    assert not found.converged
    assert "no bound" in found.remark


def test_novikoff_is_for_linear_machines():
    X, y = separable()
    with pytest.raises(ValueError, match="linear machines"):
        novikoff(SVC().fit(X, y), X, y)


@pytest.mark.parametrize("nu", [0.1, 0.3, 0.5, 0.7])
def test_nu_lies_between_its_two_shares(nu):
    X, y = overlapping()
    model = NuSVC(nu=nu, tol=1e-6).fit(X, y)
    found = nu_property(model, X, y)
    assert found.holds
    assert found.margin_errors <= nu <= found.support
    assert found.support == pytest.approx(len(model.support_) / len(y))
    assert found.margin_errors == pytest.approx(model.margin_errors_, abs=1 / 60)
    assert nu_property(OneClassSVM(nu=nu, tol=1e-6).fit(X), X).holds


def test_nu_counts_the_weights():
    X, y = overlapping()
    weight = np.random.default_rng(0).uniform(0.5, 2.0, size=len(y))
    model = NuSVC(nu=0.3, tol=1e-6).fit(X, y, weight)
    found = nu_property(model, X, y, weight)
    assert found.holds
    assert found.support == pytest.approx(weight[model.support_].sum() / weight.sum())


def test_a_wrong_nu_is_found_out():
    X, y = overlapping()
    model = NuSVC(nu=0.3, tol=1e-6).fit(X, y)
    model.nu = 0.95
    assert not nu_property(model, X, y).holds


@pytest.mark.parametrize("model", [SVC(), NuSVR()], ids=repr)
def test_nu_is_that_of_a_margin(model):
    X, y = overlapping()
    with pytest.raises(ValueError, match="no ν"):
        nu_property(model.fit(X, y), X, y)


def test_the_radius_is_that_of_a_ball_around_all_samples():
    angles = np.linspace(0.0, 2.0 * np.pi, 50)
    X = np.column_stack([3.0 * np.cos(angles) + 7.0, 3.0 * np.sin(angles)])
    y = np.where(X[:, 0] > 7.1, 1, -1)
    found = radius_margin(SVC(C=np.inf, kernel="linear").fit(X, y), X, y)
    assert 3.0 - 1e-9 <= found.radius <= 1.07 * 3.0
    assert found.separable
    assert found.value == pytest.approx((found.radius / found.margin) ** 2)
    through = radius_margin(free_svc(C=1e3, fit_intercept=False).fit(X, y), X, y)
    assert through.radius == pytest.approx(np.linalg.norm(X, axis=1).max())


def test_radius_and_margin_of_samples_with_slacks_bound_nothing():
    X, y = overlapping()
    found = radius_margin(SVC(kernel="linear").fit(X, y), X, y)
    assert not found.separable
    assert "no error" in found.remark


def test_models_of_other_libraries_are_refused():
    X, y = overlapping()
    with pytest.raises(TypeError, match="got a sklearn SVC"):
        margin_bound(peer.SVC().fit(X, y), X, y)


def test_novikoff_is_about_any_linear_machine():
    X, y = separable()
    for model in (free_svc(loss="perceptron", random_state=0), LinearSVC(penalty="l1", C=100.0)):
        found = novikoff(model.fit(X, y), X, y)
        assert 0 < found.mistakes <= found.value < math.inf
    with pytest.raises(ValueError, match="labels other than"):
        novikoff(free_svc().fit(X, y), X, 2 * y)


def test_the_margin_bound_of_landmarks_is_that_of_their_features():
    X, y = overlapping()
    model = SVC(landmarks=15, tol=1e-8).fit(X + 3.0, y)
    Z = model._space.transform(X + 3.0)
    linear = free_svc(tol=1e-8).fit(Z, y)
    bound, expected = margin_bound(model, X + 3.0, y), margin_bound(linear, Z, y)
    assert bound.radius == pytest.approx(expected.radius)
    assert bound.value == pytest.approx(expected.value, rel=1e-3)


def test_bounds_of_an_embedding_are_those_of_its_machine():
    X, y = overlapping()
    model = EmbeddedSVC().fit(X, y)
    Z = model.embedding_.transform(X)
    assert margin_bound(model, X, y).value == margin_bound(model.svm_, Z, y).value
    assert (
        novikoff(model, X, y, max_epochs=2).radius
        == novikoff(model.svm_, Z, y, max_epochs=2).radius
    )
