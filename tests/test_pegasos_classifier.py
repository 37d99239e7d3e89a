"""PegasosClassifier: fit, streams, and one after the other."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import scale

from maxmargin import LinearSVC, PegasosClassifier

X, Y = load_breast_cancer(return_X_y=True)
X = scale(X)
IRIS = load_iris(return_X_y=True)


def classifier(**settings):
    return PegasosClassifier(**({"lam": 1e-2, "tol": 0.05, "random_state": 0} | settings))


def test_fit_proves_the_gap_of_the_same_problem():
    model = classifier().fit(X, Y)
    exact = LinearSVC(lam=1e-2, tol=1e-8).fit(X, Y)
    assert model.certificate_.relative_gap <= 0.05
    assert model.certificate_.dual <= exact.certificate_.primal <= model.certificate_.primal


def test_the_bound_holds_where_the_theorem_applies():
    model = classifier(sampling="uniform", averaging="uniform", fit_intercept=False).fit(X, Y)
    exact = LinearSVC(lam=1e-2, tol=1e-8, fit_intercept=False).fit(X, Y)
    excess = model.certificate_.primal - exact.certificate_.primal
    assert 0.0 <= excess <= model.bound_ < np.inf


def test_a_stream_learns():
    model = classifier()
    for _ in range(5):
        for batch in np.array_split(np.random.default_rng(0).permutation(len(Y)), 10):
            model.partial_fit(X[batch], Y[batch], classes=[0, 1])
    assert model.score(X, Y) > 0.95
    assert model.t_ == 5 * len(Y)


def test_a_stream_of_three_classes_learns():
    rows, labels = scale(IRIS[0]), IRIS[1]
    model = classifier()
    for _ in range(30):
        model.partial_fit(rows, labels, classes=[0, 1, 2])
    assert model.coef_.shape == (3, 4)
    assert model.score(rows, labels) > 0.8


@pytest.mark.parametrize("classes", [None, [0, 1]])
def test_partial_fit_goes_on_from_fit(classes):
    model = classifier().fit(X, Y)
    before, steps = model.coef_.copy(), model.t_
    model.partial_fit(X[:5], Y[:5], classes=classes)
    assert np.abs(model.coef_ - before).max() < 0.1 * np.abs(before).max()
    assert model.t_ == steps + 5
    with pytest.raises(AttributeError, match="stream is not kept"):
        _ = model.certificate_


def test_a_batch_of_another_width_is_refused():
    model = classifier().fit(X, Y)
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :3], Y)
    assert model.n_features_in_ == X.shape[1]


@pytest.mark.parametrize("fitted", [False, True])
def test_other_classes_are_refused(fitted):
    model = classifier()
    model.fit(X, Y) if fitted else model.partial_fit(X, Y, classes=[0, 1])
    with pytest.raises(ValueError, match=r"classes=.* differs"):
        model.partial_fit(X, Y, classes=[0, 1, 2])


def test_an_unknown_label_is_refused():
    model = classifier().partial_fit(X, Y, classes=[0, 1])
    with pytest.raises(ValueError, match="label 7"):
        model.partial_fit(X[:3], [0, 1, 7])


def test_the_first_batch_must_name_the_classes():
    with pytest.raises(ValueError, match="needs classes="):
        classifier().partial_fit(X, Y)


def test_fit_after_a_stream_starts_anew():
    model = classifier().partial_fit(X, Y, classes=[0, 1]).fit(X, Y)
    np.testing.assert_array_equal(model.coef_, classifier().fit(X, Y).coef_)
