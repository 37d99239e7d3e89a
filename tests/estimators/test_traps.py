"""Fits that mean little warn once, with a remedy; ordinary ones do not."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
    make_classification,
)
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import OneHotEncoder, scale

from maxmargin import (
    SVC,
    SVR,
    DataWarning,
    LinearSVR,
    NuSVC,
    NuSVR,
    OneClassSVM,
    PegasosClassifier,
    Status,
)
from synthetic import free_svc, free_svr, overlapping

LOADERS = [load_breast_cancer, load_digits, load_iris, load_wine]


def warnings_of(model, X, y):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize("Model", [SVC, NuSVC, OneClassSVM])
def test_a_column_that_hides_the_others_from_the_kernel(Model):
    X, y = overlapping(200)
    settings = {"nu": 0.2} if Model is not SVC else {}
    with pytest.warns(DataWarning, match=r"column 1 of X is .* as wide .*StandardScaler"):
        Model(**settings).fit(X * np.r_[1.0, 1e4, np.ones(X.shape[1] - 2)], y)


@pytest.mark.parametrize("model", [SVC(), SVR(), OneClassSVM(), SVC(kernel="linear")], ids=str)
def test_a_column_hides_the_others_of_sparse_rows_too(model):
    X, y = overlapping(200)
    wide = sparse.csr_array(X * np.r_[1.0, 1e4, np.ones(X.shape[1] - 2)])
    with pytest.warns(DataWarning, match=r"column 1 of X is .* as wide .*MaxAbsScaler"):
        model.fit(wide, y)


def test_rare_words_are_no_narrow_columns():
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{word}" for word in rng.zipf(1.3, 60) if word < 1e6) for _ in range(300)]
    X = TfidfVectorizer().fit_transform(texts)
    assert warnings_of(SVC(), X, np.arange(300) % 2) == []
    categories = OneHotEncoder().fit_transform(rng.zipf(1.5, (300, 3)))
    assert warnings_of(SVC(), categories, np.arange(300) % 2) == []


def test_one_warning_is_enough():
    X, y = overlapping(200)
    said = warnings_of(SVC(gamma=1e6), X * np.r_[1.0, 1e4, np.ones(X.shape[1] - 2)], y)
    assert len(said) == 1


def test_a_gamma_that_tells_all_samples_apart():
    with pytest.warns(DataWarning, match=r"gamma=1e\+06 is so large.* gamma='scale'"):
        model = SVC(gamma=1e6).fit(*overlapping(200))
    assert model.certificate_.status is Status.OPTIMAL


@pytest.mark.parametrize("storage", [np.array, sparse.csr_array])
@pytest.mark.parametrize("model", [SVR(), NuSVR(), SVR(landmarks=50), OneClassSVM()], ids=str)
def test_a_gamma_to_which_all_samples_are_alike(model, storage):
    """An offset of one column makes "scale" so small: the variance is that of all of X."""
    X, _ = overlapping(200)
    with pytest.warns(DataWarning, match=r"gamma=.* is so small.*StandardScaler"):
        model.fit(storage(X + np.r_[1e6, np.zeros(X.shape[1] - 1)]), X[:, 1])


@pytest.mark.parametrize(
    ("model", "remedy"),
    [
        (free_svc(C=None, lam=1e3), "lower lam"),
        (PegasosClassifier(lam=1e3, tol=0.1), "lower lam"),
        (SVC(C=1e-4), "raise C"),
    ],
    ids=str,
)
def test_more_weight_for_the_losses_is_asked_of_the_parameter_there_is(model, remedy):
    X, y = make_classification(300, weights=[0.95], class_sep=0.1, random_state=0)
    with pytest.warns(DataWarning, match=f"predicts 0 for every sample.*{remedy}"):
        model.fit(X, y)


@pytest.mark.parametrize("model", [SVC(C=1e-4), free_svc(C=1e-6)])
def test_one_class_for_all(model):
    X, y = make_classification(300, weights=[0.95], class_sep=0.1, random_state=0)
    with pytest.warns(DataWarning, match="predicts 0 for every sample.*class_weight"):
        model.fit(X, y)


@pytest.mark.parametrize(
    "model",
    [
        SVR(),
        SVR(kernel="linear"),
        SVR(landmarks=50),
        NuSVR(),
        LinearSVR(),
        LinearSVR(penalized_intercept=False),
        LinearSVR(fit_intercept=False, C=0.01),
    ],
    ids=str,
)
def test_targets_out_of_reach(model):
    """Only SVR said so: of the others, NuSVR and LinearSVR were silent."""
    X, y = load_diabetes(return_X_y=True)
    said = warnings_of(model, scale(X), 1e5 * scale(y) + 1e5)
    assert len(said) == 1
    assert "out of the reach of C=" in said[0]
    assert "scale y" in said[0]


@pytest.mark.parametrize(
    ("model", "mean", "remedy"),
    [
        (LinearSVR(), 1e3, "penalized_intercept=False"),
        (LinearSVR(loss="squared_epsilon_insensitive"), 1e5, "penalized_intercept=False"),
        (LinearSVR(loss="squared"), 1e5, "penalized_intercept=False"),
        (LinearSVR(loss="squared", fit_intercept=False), 1e5, "fit_intercept=True"),
    ],
    ids=str,
)
def test_a_mean_that_the_intercept_does_not_reach(model, mean, remedy):
    X = scale(load_breast_cancer().data)
    with pytest.warns(DataWarning, match=f"to predict the mean target.*centre y.*{remedy}"):
        model.fit(X, mean + X[:, 0])
    free = model.set_params(penalized_intercept=False, fit_intercept=True)
    assert warnings_of(free, X, mean + X[:, 0]) == []


@pytest.mark.parametrize("model", [SVR(), SVR(landmarks=50), LinearSVR(epsilon=0.1)], ids=str)
def test_a_tube_wider_than_the_targets(model):
    X, y = load_diabetes(return_X_y=True)
    with pytest.warns(DataWarning, match=r"epsilon=0\.1 is wider than the targets.*lower epsilon"):
        model.fit(scale(X), 1e-3 * scale(y))


@pytest.mark.parametrize("size", [1.0, 1e4])
@pytest.mark.parametrize("model", [LinearSVR(penalized_intercept=False), LinearSVR()], ids=str)
def test_noise_is_not_called_out_of_reach(model, size):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    assert warnings_of(clone(model).set_params(C=1e3), X, size * rng.normal(size=3000)) == []


def test_pegasos_falls_into_the_same_traps():
    X, y = make_classification(300, weights=[0.97], class_sep=0.1, random_state=0)
    with pytest.warns(DataWarning, match="predicts 0 for every sample"):
        PegasosClassifier(lam=1.0, tol=0.1).fit(X, y)
    kernel = PegasosClassifier(0.1, kernel="rbf", gamma=1e6, fit_intercept=False, tol=0.1)
    with pytest.warns(DataWarning, match=r"gamma=1e\+06 is so large"):
        kernel.fit(*overlapping(200))


# ---- once


def shown_by(action, *, under="default"):
    """Return the warnings that a filter lets through."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.resetwarnings()
        warnings.simplefilter(under)
        action()
    return [str(warning.message) for warning in caught]


def search():
    X, y = overlapping(120)
    grid = {"gamma": [1e6, 2e6, 3e6], "C": [1.0, 2.0]}
    GridSearchCV(SVC(), grid, cv=3, refit=False).fit(X, y)


def test_a_search_says_it_once():
    """Each fit had another text, as its numbers differ: 18 warnings."""
    assert len(shown_by(search)) == 1


def test_a_search_says_it_as_often_as_the_filters_want():
    assert len(shown_by(search, under="always")) == 18


def test_another_line_says_it_again():
    X, y = overlapping(120)

    def two():
        SVC(gamma=4e6).fit(X, y)
        SVC(gamma=5e6).fit(X, y)

    assert len(shown_by(two)) == 2


def test_a_kernel_that_is_none_is_said_once():
    data = make_classification(200, class_sep=0.3, random_state=0)

    def several():
        SVC(kernel="sigmoid", coef0=-1.0).fit(*data)
        SVC(kernel="sigmoid", coef0=-1.0, C=2.0).fit(*data)

    found = shown_by(several)
    assert len(found) == 1
    assert "Mercer kernel" in found[0]


@pytest.mark.parametrize("load", LOADERS, ids=lambda load: load.__name__)
@pytest.mark.parametrize(
    "model",
    [
        SVC(),
        SVC(kernel="linear"),
        NuSVC(nu=0.1),
        OneClassSVM(),
        free_svc(),
        free_svc(loss="hinge"),
    ],
    ids=str,
)
def test_ordinary_classes_do_not_warn(model, load):
    X, y = load(return_X_y=True)
    assert warnings_of(model, scale(X), y) == []


@pytest.mark.parametrize("model", [SVR(), NuSVR(), free_svr(), SVR(kernel="linear")], ids=str)
def test_ordinary_targets_do_not_warn(model):
    X, y = load_diabetes(return_X_y=True)
    assert warnings_of(model, scale(X), scale(y)) == []


def test_the_warning_can_be_filtered():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DataWarning)
        model = SVC(gamma=1e6).fit(*overlapping(200))
    assert model.certificate_.status is Status.OPTIMAL


def test_equal_samples_are_no_sign_of_a_large_gamma():
    said = warnings_of(SVC(), np.ones((50, 3)), np.arange(50) % 2)
    assert not any("gamma=" in sentence for sentence in said)


def test_a_column_that_is_constant_up_to_rounding_hides_nothing():
    random = np.random.default_rng(0)
    X = random.standard_normal((200, 3))
    shares = np.exp(X) / np.exp(X).sum(axis=1, keepdims=True)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        SVC().fit(np.column_stack([X, shares.sum(axis=1)]), X[:, 0] > 0.0)
    assert not said
