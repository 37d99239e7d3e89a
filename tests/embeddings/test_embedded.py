"""EmbeddedSVC and EmbeddedSVR: the recipe as one estimator."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_circles, make_moons
from sklearn.decomposition import PCA, IncrementalPCA
from sklearn.manifold import SpectralEmbedding
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import LinearSVC as PeerSVC

from maxmargin import EmbeddedSVC, EmbeddedSVR, PegasosClassifier
from maxmargin.embeddings import FourierFeatures, KernelPCA, LaplacianEigenmaps, Nystroem
from synthetic import free_svc, free_svr

HINGE = free_svc(loss="hinge", penalized_intercept=False)


def test_the_certificate_is_that_of_the_linear_problem_and_says_so():
    X, y = make_moons(300, noise=0.1, random_state=0)
    model = EmbeddedSVC(Nystroem(n_components=30, random_state=0), HINGE).fit(X, y)
    linear = free_svc(loss="hinge", penalized_intercept=False)
    linear.fit(model.embedding_.transform(X), y)
    assert model.certificate_.primal == linear.certificate_.primal
    assert model.certificate_.sentence().endswith("in this embedding")


@pytest.mark.parametrize(
    "embedding",
    [
        KernelPCA(5, gamma=2.0),
        make_pipeline(LaplacianEigenmaps(3, n_neighbors=40), StandardScaler()),
        FourierFeatures(200, gamma=2.0, random_state=0),
        make_pipeline(StandardScaler(), Nystroem(n_components=50, random_state=0)),
        PCA(2),
    ],
)
def test_any_transformer_serves(embedding):
    X, y = make_circles(500, factor=0.4, noise=0.05, random_state=0)
    score = EmbeddedSVC(embedding, HINGE).fit(X[:300], y[:300]).score(X[300:], y[300:])
    assert score < 0.8 if isinstance(embedding, PCA) else score > 0.97


def test_the_lectures_recipe_with_pegasos():
    X, y = make_moons(600, noise=0.1, random_state=0)
    svm = PegasosClassifier(1e-3, max_iter=50, tol=0.1, random_state=0)
    model = EmbeddedSVC(KernelPCA(20, gamma=2.0), svm).fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) > 0.95


def test_a_search_reaches_both_parts():
    X, y = load_digits(return_X_y=True)
    grid = {"embedding__gamma": [1e-6, 1e-3], "svm__C": [1.0]}
    model = EmbeddedSVC(Nystroem(n_components=100, random_state=0), HINGE)
    search = GridSearchCV(model, grid, cv=2).fit(X[:600], y[:600])
    assert search.best_params_["embedding__gamma"] == 1e-3
    assert search.best_score_ > 0.8


def test_a_stream_goes_through_both_parts():
    X, y = make_moons(2000, noise=0.1, random_state=0)
    svm = PegasosClassifier(1e-3, random_state=0)
    model = EmbeddedSVC(FourierFeatures(200, gamma=2.0, random_state=0), svm)
    for begin in range(0, 1600, 200):
        model.partial_fit(X[begin : begin + 200], y[begin : begin + 200], classes=[0, 1])
    assert model.score(X[1600:], y[1600:]) > 0.85
    assert hasattr(EmbeddedSVC(IncrementalPCA(2), svm), "partial_fit")


def test_there_is_no_partial_fit_where_a_part_has_none():
    assert not hasattr(EmbeddedSVC(Nystroem(), PegasosClassifier()), "partial_fit")
    assert not hasattr(EmbeddedSVC(FourierFeatures(), free_svc()), "partial_fit")
    assert not hasattr(EmbeddedSVR(FourierFeatures(), free_svr()), "partial_fit")


def test_regression_is_that_of_the_coordinates():
    X, _ = make_moons(400, random_state=0)
    y = np.sin(3.0 * X[:, 0])
    model = EmbeddedSVR(Nystroem(n_components=60, gamma=2.0, random_state=0)).fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.n_iter_ > 0


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    X, y = make_moons(100, random_state=0)
    model = EmbeddedSVC().fit(X, y)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full_like(X, np.nan), y)
    np.testing.assert_array_equal(model.decision_function(X), before)


def test_no_test_row_has_a_part_in_the_fit():
    X, y = make_moons(300, noise=0.1, random_state=0)
    model = EmbeddedSVC(LaplacianEigenmaps(3, n_neighbors=30), HINGE).fit(X[:200], y[:200])
    alone = [model.predict(row[np.newaxis])[0] for row in X[200:]]
    np.testing.assert_array_equal(model.predict(X[200:]), alone)


def test_an_embedding_that_takes_no_new_rows_is_refused_at_once():
    X, y = make_moons(60, random_state=0)
    with pytest.raises(ValueError, match="new rows by `transform`"):
        EmbeddedSVC(SpectralEmbedding()).fit(X, y)


def test_a_machine_of_another_kind_is_refused():
    X, y = make_moons(60, random_state=0)
    with pytest.raises(ValueError, match="svm must be a classifier"):
        EmbeddedSVC(svm=free_svr()).fit(X, y)
    with pytest.raises(ValueError, match="svm must be a regressor"):
        EmbeddedSVR(svm=free_svc()).fit(X, y)
    with pytest.raises(ValueError, match="svm must be a regressor"):
        EmbeddedSVR(svm="linear").fit(X, y)


def test_a_machine_of_another_library_decides_and_proves_nothing():
    X, y = make_moons(200, noise=0.1, random_state=0)
    model = EmbeddedSVC(Nystroem(random_state=0), PeerSVC()).fit(X, y)
    assert model.score(X, y) > 0.95
    with pytest.raises(ValueError, match="dual point of a machine of maxmargin"):
        model.exact_certificate(X, y)


@pytest.mark.parametrize("model", [EmbeddedSVC(), EmbeddedSVR()])
def test_parameters_of_a_part_that_is_none_are_those_of_its_default(model):
    X, y = make_moons(100, noise=0.1, random_state=0)
    grid = {"embedding__gamma": [1e-6, 1.0], "svm__C": [10.0]}
    search = GridSearchCV(model, grid, cv=2).fit(X, y * 1.0)
    assert search.best_params_ == {"embedding__gamma": 1.0, "svm__C": 10.0}
    assert search.best_estimator_.svm_.fit_intercept
    assert model.get_params(deep=False) == {"embedding": None, "svm": None}
    both = model.__class__().set_params(svm=None, svm__C=3.0)
    assert both.svm.C == 3.0
    with pytest.raises(ValueError, match="Invalid parameter"):
        model.__class__().set_params(svm__no=1)


@pytest.mark.filterwarnings("error")
def test_sizes_of_coordinates_are_no_reason_for_advice():
    X, y = make_moons(200, noise=0.1, random_state=0)
    for tol, max_iter in [(1e-3, None), (1e-12, 1)]:
        svm = free_svc(loss="hinge", penalized_intercept=False, tol=tol, max_iter=max_iter)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            EmbeddedSVC(FunctionTransformer(lambda X: X * [1e7, 1.0]), svm).fit(X, y)
        assert not any("columns" in str(one.message) for one in said)
    assert "was stopped by max_iter" in str(said[0].message)


def test_a_weight_below_0_leaves_a_row_out():
    X, y = make_moons(200, noise=0.1, random_state=0)
    weight = np.where(np.arange(200) < 20, -1.0, 1.0)
    for embedding in (Nystroem(n_components=200), FourierFeatures(20), KernelPCA(5)):
        EmbeddedSVC(embedding, HINGE).fit(X, y, weight)
    model = EmbeddedSVC(Nystroem(n_components=200), HINGE).fit(X, y, weight)
    assert model.embedding_.landmark_indices_.min() == 20
    with pytest.raises(ValueError, match="zero"):
        Nystroem().fit(X, sample_weight=-np.ones(200))
