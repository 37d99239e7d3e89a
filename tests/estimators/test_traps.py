"""Fits that mean little warn once, with a remedy; ordinary ones do not."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
    make_classification,
)
from sklearn.preprocessing import scale

from maxmargin import SVC, SVR, DataWarning, NuSVC, NuSVR, OneClassSVM, Status
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


def test_one_warning_is_enough():
    X, y = overlapping(200)
    said = warnings_of(SVC(gamma=1e6), X * np.r_[1.0, 1e4, np.ones(X.shape[1] - 2)], y)
    assert len(said) == 1


def test_a_gamma_that_tells_all_samples_apart():
    with pytest.warns(DataWarning, match=r"gamma=1e\+06 is so large.* gamma='scale'"):
        model = SVC(gamma=1e6).fit(*overlapping(200))
    assert model.certificate_.status is Status.OPTIMAL


@pytest.mark.parametrize("model", [SVC(C=1e-4), free_svc(C=1e-6)])
def test_one_class_for_all(model):
    X, y = make_classification(300, weights=[0.95], class_sep=0.1, random_state=0)
    with pytest.warns(DataWarning, match="predicts 0 for every sample.*class_weight"):
        model.fit(X, y)


def test_targets_out_of_reach():
    X, y = load_diabetes(return_X_y=True)
    with pytest.warns(DataWarning, match=r"out of the reach of C=1: scale y .*raise C"):
        SVR().fit(X, 1e3 * y)


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
