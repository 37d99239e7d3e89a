"""What an approximation proves about the exact kernel problem."""

import copy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC, SVR, EmbeddedSVC, EmbeddedSVR, PegasosClassifier
from maxmargin.embeddings import KernelPCA, LaplacianEigenmaps, Nystroem
from maxmargin.embeddings.certificates import ExactCertificate, ExactEstimate
from maxmargin.kernels import Gaussian, Polynomial
from synthetic import free_svc, free_svr

HINGE = {"loss": "hinge", "fit_intercept": True, "penalized_intercept": False}
TUBE = HINGE | {"loss": "epsilon_insensitive"}


def moons(n=300, seed=0):
    return make_moons(n, noise=0.2, random_state=seed)


def assert_brackets(bounds, exact):
    """Whether the bounds agree with the certificate of the exact problem."""
    optimum = exact.certificate_
    assert isinstance(bounds, ExactCertificate)
    assert bounds.dual <= optimum.primal
    assert optimum.dual <= bounds.upper <= bounds.primal
    assert bounds.gap == pytest.approx(bounds.primal - bounds.dual)


def random_problem(seed):
    random = np.random.default_rng(seed)
    n, d = int(random.integers(20, 80)), int(random.integers(1, 5))
    X = random.normal(size=(n, d)) * 10.0 ** random.uniform(-1, 1)
    y = np.where(X[:, 0] + 0.5 * random.normal(size=n) > 0.2, 1, -1)
    y[:2] = -1, 1
    kernel = [Gaussian(10.0 ** random.uniform(-2, 1)), Polynomial(0.3, 2, 1.0)][seed % 2]
    options = {
        "C": 10.0 ** random.uniform(-2, 2),
        "kernel": kernel,
        "fit_intercept": bool(seed % 3),
    }
    weight = random.uniform(0.0, 2.0, n)
    weight[2:] *= random.random(n - 2) > 0.1
    return X, y, weight, options, int(random.integers(1, 30))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("tens", range(20))
def test_bounds_of_random_problems_bracket_the_exact_optimum(tens):
    for seed in range(10 * tens, 10 * tens + 10):
        X, y, weight, options, m = random_problem(seed)
        if seed % 4 == 3:
            exact, some = SVR(epsilon=0.2, tol=1e-6), SVR(epsilon=0.2, landmarks=m)
            y = y * 3.0 + X[:, 0]
        else:
            exact, some = SVC(tol=1e-6), SVC(landmarks=m, random_state=seed)
        exact.set_params(**options, max_time=5).fit(X, y, weight)
        some.set_params(**options).fit(X, y, weight)
        assert_brackets(some.exact_certificate(X, y, weight), exact)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_bounds_of_several_classes_bracket_the_sum(multi_class, n_classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes], y[y < n_classes]
    options = {"multi_class": multi_class, "class_weight": "balanced"}
    some = SVC(landmarks=20, random_state=0, **options).fit(X, y)
    bounds = some.exact_certificate(X, y)
    assert_brackets(bounds, SVC(tol=1e-6, **options).fit(X, y))
    assert bounds.n_problems == {(2, "ovo"): 1, (2, "ovr"): 1}.get((n_classes, multi_class), 3)


def test_the_primal_value_is_that_of_the_fitted_function():
    X, y = moons()
    model = SVC(2.0, landmarks=15, gamma=1.5, random_state=0).fit(X, y)
    basis, coef = model.support_vectors_, model.dual_coef_[0]
    norm = coef @ Gaussian(1.5)(basis, basis) @ coef
    losses = np.maximum(0.0, 1.0 - np.where(y == 1, 1, -1) * model.decision_function(X))
    expected = 0.5 * norm + 2.0 * losses.sum()
    assert model.exact_certificate(X, y).primal == pytest.approx(expected, rel=1e-6)


def test_all_rows_as_landmarks_prove_the_exact_problem():
    X, y = moons()
    bounds = SVC(landmarks=300, gamma=1.0, tol=1e-5).fit(X, y).exact_certificate(X, y)
    assert bounds.relative_gap < 1e-4
    assert "exact problem proven within" in str(bounds)


def test_rows_of_another_fit_prove_no_more_than_is_true():
    X, y = moons()
    model = SVC(landmarks=30, gamma=1.0, random_state=0).fit(X, y)
    other, labels = moons(seed=1)
    assert_brackets(
        model.exact_certificate(other, labels), SVC(gamma=1.0, tol=1e-6).fit(other, labels)
    )


def test_a_kernel_matrix_serves_too():
    X, y = moons()
    K = Gaussian(1.0)(X, X)
    by_matrix = SVC(kernel="precomputed", landmarks=30, random_state=0).fit(K, y)
    by_rows = SVC(gamma=1.0, landmarks=30, random_state=0).fit(X, y)
    np.testing.assert_allclose(
        by_matrix.decision_function(K), by_rows.decision_function(X), atol=1e-3
    )
    assert by_matrix.exact_certificate(K, y).dual == pytest.approx(
        by_rows.exact_certificate(X, y).dual, rel=1e-3
    )


def test_a_linear_kernel_off_the_origin_is_bracketed():
    X, y = moons()
    some = SVC(kernel="linear", landmarks=10, random_state=0).fit(X + 30.0, y)
    assert_brackets(
        some.exact_certificate(X + 30.0, y), SVC(kernel="linear", tol=1e-6).fit(X + 30.0, y)
    )
    assert some.score(X + 30.0, y) > 0.8


@pytest.mark.parametrize(
    "embedding",
    [
        Nystroem(n_components=25, gamma=1.0, random_state=0),
        Nystroem(n_components=25, gamma=1.0, random_state=0, dtype=np.float32),
        KernelPCA(8, gamma=1.0),
        KernelPCA(8, gamma=1.0, n_landmarks=40, random_state=0),
    ],
)
def test_embeddings_of_kernel_values_are_bracketed(embedding):
    X, y = moons()
    model = EmbeddedSVC(clone(embedding), free_svc(**HINGE)).fit(X, y)
    bounds = model.exact_certificate(X, y)
    assert_brackets(bounds, SVC(gamma=1.0, tol=1e-6).fit(X, y))
    assert bounds.relative_gap < 1.0
    target = X[:, 0] ** 2
    model = EmbeddedSVR(clone(embedding), free_svr(epsilon=0.05, **TUBE)).fit(X, target)
    exact = SVR(gamma=1.0, epsilon=0.05, tol=1e-6).fit(X, target)
    assert_brackets(model.exact_certificate(X, target), exact)


def test_a_sample_gives_an_estimate_with_its_intervals():
    X, y = moons(4000)
    model = SVC(landmarks=40, gamma=1.0, random_state=0).fit(X, y)
    proof = model.exact_certificate(X, y)
    estimate = model.exact_certificate(X, y, max_values=4e5)
    assert isinstance(estimate, ExactEstimate)
    assert estimate.n_sampled < 4000
    assert "an estimate" in str(estimate)
    assert "no proof" in str(estimate)
    for value, (low, high) in (
        (proof.primal, estimate.primal_interval),
        (proof.dual, estimate.dual_interval),
    ):
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        assert abs(value - middle) < 2.0 * half  # four standard errors
    assert estimate.primal == pytest.approx(sum(estimate.primal_interval) / 2)


@pytest.mark.parametrize(
    ("svm", "message"),
    [
        (free_svc(loss="squared_hinge", penalized_intercept=False), "loss='hinge'"),
        (free_svc(loss="hinge", penalized_intercept=True), "penalized_intercept=False"),
        (free_svc(multi_class="crammer_singer", **HINGE), "multi_class"),
        (PegasosClassifier(kernel="rbf", max_iter=2), "loss="),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_other_problems_are_refused(svm, message):
    X, y = moons()
    model = EmbeddedSVC(Nystroem(n_components=10), svm).fit(X, y)
    if message == "loss=":
        model.svm_.loss = "squared_hinge"
    with pytest.raises(ValueError, match=message):
        model.exact_certificate(X, y)


def test_a_centred_embedding_without_an_intercept_is_refused():
    X, y = moons()
    svm = free_svc(loss="hinge", fit_intercept=False)
    with pytest.raises(ValueError, match="fit_intercept=True"):
        EmbeddedSVC(KernelPCA(5), svm).fit(X, y).exact_certificate(X, y)


def test_an_embedding_without_a_fixed_kernel_is_refused():
    X, y = moons()
    model = EmbeddedSVC(LaplacianEigenmaps(2, n_neighbors=30)).fit(X, y)
    with pytest.raises(ValueError, match="space of a fixed kernel"):
        model.exact_certificate(X, y)


def test_rows_that_are_fewer_than_those_of_the_fit_are_refused():
    X, y = moons()
    model = SVC(landmarks=10).fit(X, y)
    with pytest.raises(ValueError, match="rows, labels and weights of the fit"):
        model.exact_certificate(X[:100], y[:100])


def test_a_kernel_that_is_none_proves_nothing():
    X, y = moons()
    K = Gaussian(1.0)(X, X)
    model = SVC(kernel="precomputed", landmarks=10, random_state=0).fit(K, y)
    rest = np.setdiff1d(np.arange(300), model.support_)[:2]
    K[np.ix_(rest, rest)] = [[0.0, 9.0], [9.0, 0.0]]
    with pytest.raises(ValueError, match="no dual bound"):
        model.exact_certificate(K, y)


def test_without_landmarks_there_is_nothing_to_bound():
    X, y = moons()
    with pytest.raises(AttributeError, match="without landmarks"):
        SVC().fit(X, y).exact_certificate(X, y)


def test_a_pipeline_that_ends_in_kernel_values_is_bracketed():
    X, y = moons()
    scaled = StandardScaler().fit_transform(X)
    embedding = make_pipeline(StandardScaler(), Nystroem(n_components=25, gamma=1.0))
    model = EmbeddedSVC(embedding, free_svc(**HINGE)).fit(X, y)
    bounds = model.exact_certificate(X, y)
    assert_brackets(bounds, SVC(gamma=1.0, tol=1e-6).fit(scaled, y))
    assert bounds.relative_gap < 1.0


@pytest.mark.parametrize("model", [SVC(landmarks=10), EmbeddedSVC()])
def test_labels_that_the_fit_had_not_are_named(model):
    X, y = moons()
    model = clone(model).fit(X, y)
    with pytest.raises(ValueError, match="label 2; those of the fit were"):
        model.exact_certificate(X, y + 1)


@pytest.mark.parametrize("limit", [-1.0, 0, "many", np.nan])
def test_a_limit_that_is_none_is_named(limit):
    X, y = moons()
    with pytest.raises(ValueError, match="max_values must be a positive finite number"):
        SVC(landmarks=10).fit(X, y).exact_certificate(X, y, max_values=limit)


def test_an_infinite_limit_is_a_whole_pass():
    X, y = moons()
    bounds = SVC(landmarks=10).fit(X, y).exact_certificate(X, y, max_values=np.inf)
    assert isinstance(bounds, ExactCertificate)


@pytest.mark.parametrize("weight", [None, np.linspace(0.0, 2.0, 60)])
def test_an_infinite_cost_of_a_regression_is_that_of_the_fit(weight):
    X = np.random.default_rng(0).normal(size=(60, 3))
    target = np.sin(X[:, 0])
    some = SVR(C=np.inf, landmarks=60).fit(X, target, weight)
    exact = SVR(C=np.inf).fit(X, target, weight)
    assert_brackets(some.exact_certificate(X, target, weight), exact)


def test_class_weights_of_the_linear_machine_are_those_of_the_exact_problem():
    X, y = load_iris(return_X_y=True)
    svm = free_svc(class_weight={0: 0.5, 1: 10.0}, **HINGE)
    model = EmbeddedSVC(Nystroem(n_components=20, gamma=0.5, random_state=0), svm).fit(X, y)
    bounds = model.exact_certificate(X, y)
    dual = primal = 0.0
    for label, factor in ((0, 0.5), (1, 10.0), (2, 1.0)):
        weight = np.where(y == label, factor, 1.0)
        exact = SVC(gamma=0.5, tol=1e-6).fit(X, y == label, weight).certificate_
        dual, primal = dual + exact.dual, primal + exact.primal
    assert bounds.dual <= primal
    assert dual <= bounds.upper
    assert bounds.relative_gap < 1.0


@pytest.mark.parametrize(
    "pipeline",
    [
        make_pipeline(Nystroem(gamma=1.0, random_state=0)),
        make_pipeline(Nystroem(gamma=1.0, random_state=0), "passthrough"),
        make_pipeline("passthrough", make_pipeline(Nystroem(gamma=1.0, random_state=0))),
    ],
)
def test_a_pipeline_is_the_last_step_that_does_anything(pipeline):
    X, y = moons()
    model = EmbeddedSVC(pipeline, free_svc(**HINGE)).fit(X, y)
    plain = EmbeddedSVC(Nystroem(gamma=1.0, random_state=0), free_svc(**HINGE)).fit(X, y)
    assert model.exact_certificate(X, y) == plain.exact_certificate(X, y)


def test_a_pipeline_that_does_nothing_is_named():
    X, y = moons()
    with pytest.raises(ValueError, match="exact_certificate: passthrough has no images"):
        EmbeddedSVC(make_pipeline("passthrough")).fit(X, y).exact_certificate(X, y)


@pytest.mark.parametrize("embedding", [Nystroem(random_state=0), KernelPCA(10)])
def test_a_copied_model_says_that_it_has_no_dual_point(embedding):
    X, y = moons()
    model = copy.deepcopy(EmbeddedSVC(embedding).fit(X, y))
    with pytest.raises(AttributeError, match="A pickled or copied model"):
        model.exact_certificate(X, y)
