"""What scikit-learn's tools ask of every estimator: names, tags, routed weights, copies, output."""

import pickle

import numpy as np
import pytest
import sklearn.svm
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_outlier_detector, is_regressor
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from maxmargin import (
    SVC,
    SVR,
    EmbeddedSVC,
    EmbeddedSVR,
    LinearSVC,
    LinearSVR,
    NuSVC,
    NuSVR,
    OneClassSVM,
    PegasosClassifier,
)
from maxmargin.embeddings import FourierFeatures, KernelPCA, Nystroem

pandas = pytest.importorskip("pandas")

X, Y = load_iris(return_X_y=True)
NAMES = ["sepal length", "sepal width", "petal length", "petal width"]
FRAME = pandas.DataFrame(X, columns=NAMES)
ALL = {
    "SVC": SVC(),
    "SVC landmarks": SVC(landmarks=20),
    "NuSVC": NuSVC(nu=0.1),
    "SVR": SVR(),
    "NuSVR": NuSVR(),
    "OneClassSVM": OneClassSVM(nu=0.2),
    "LinearSVC": LinearSVC(),
    "LinearSVC l1": LinearSVC(penalty="l1"),
    "LinearSVR": LinearSVR(),
    "Pegasos": PegasosClassifier(0.1, tol=0.1, max_iter=50, random_state=0),
    "Pegasos rbf": PegasosClassifier(
        0.1, kernel="rbf", penalized_intercept=False, tol=0.1, random_state=0
    ),
    "EmbeddedSVC": EmbeddedSVC(),
    "EmbeddedSVR": EmbeddedSVR(),
}
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
EVERY = pytest.mark.parametrize("name", ALL)


@EVERY
def test_names_of_columns_are_kept_and_checked(name):
    model = clone(ALL[name]).fit(FRAME, Y)
    assert model.feature_names_in_.tolist() == NAMES
    assert model.n_features_in_ == 4
    np.testing.assert_array_equal(model.predict(FRAME), clone(ALL[name]).fit(X, Y).predict(X))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(FRAME[NAMES[::-1]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)


@EVERY
def test_pickles_and_clones_are_alike(name):
    model = clone(ALL[name]).fit(FRAME, Y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(FRAME), model.predict(FRAME))
    assert again.feature_names_in_.tolist() == NAMES
    assert clone(model).get_params().keys() == model.get_params().keys()


@EVERY
def test_kinds_and_tags(name):
    model = ALL[name]
    kinds = is_classifier(model), is_regressor(model), is_outlier_detector(model)
    assert sum(kinds) == 1
    assert get_tags(model).target_tags.required is not is_outlier_detector(model)
    theirs = getattr(sklearn.svm, type(model).__name__, None)
    if theirs is not None:
        ours, other = get_tags(clone(model)), get_tags(theirs())
        assert ours.estimator_type == other.estimator_type
        assert ours.input_tags == other.input_tags
        assert ours.target_tags == other.target_tags


@EVERY
def test_weights_are_routed(name):
    weights = np.where(np.arange(len(Y)) % 3 == 0, 0.0, 1.0)
    with config_context(enable_metadata_routing=True):
        model = clone(ALL[name]).set_fit_request(sample_weight=True)
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
        routed = pipe.fit(X, Y, sample_weight=weights)[-1]
        plain = make_pipeline(StandardScaler(), clone(ALL[name])).fit(X, Y)[-1]
    scores = "predict" if is_regressor(model) else "decision_function"
    assert not np.allclose(getattr(routed, scores)(X), getattr(plain, scores)(X))


@pytest.mark.parametrize("name", [name for name in ALL if is_classifier(ALL[name])])
def test_a_search_routes_weights_to_fit_and_score(name):
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=len(Y))
    with config_context(enable_metadata_routing=True):
        model = clone(ALL[name])
        model.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(model, {}, cv=3).fit(X, Y, sample_weight=weights)
    assert search.best_score_ > 0.8


@pytest.mark.parametrize(
    "embedding",
    [Nystroem(n_components=5, random_state=0), FourierFeatures(n_components=6), KernelPCA(3)],
    ids=lambda embedding: type(embedding).__name__,
)
def test_output_of_embeddings_can_be_set(embedding):
    embedding = clone(embedding).set_output(transform="pandas").fit(FRAME)
    table = embedding.transform(FRAME)
    assert isinstance(table, pandas.DataFrame)
    assert table.columns.tolist() == embedding.get_feature_names_out().tolist()
    model = make_pipeline(embedding, LinearSVC()).fit(FRAME, Y)
    assert model[-1].feature_names_in_.tolist() == table.columns.tolist()
