"""The docstring of an estimator has its parameters, its fitted attributes, and an example."""

import inspect
import re
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_blobs

import maxmargin
from maxmargin import embeddings

numpydoc = pytest.importorskip("numpydoc.docscrape")

MACHINES = [
    getattr(maxmargin, name)
    for name in maxmargin.__all__
    if inspect.isclass(getattr(maxmargin, name)) and hasattr(getattr(maxmargin, name), "fit")
]
ESTIMATORS = MACHINES + [getattr(embeddings, name) for name in embeddings.__all__]
EVERYWHERE = {"n_features_in_", "solution_"}  # scikit-learn's; the one of `solutions_`

X, LABELS = make_blobs(60, centers=2, random_state=0)
VALUES = X[:, 0] + np.sin(X[:, 1])


def section(estimator, name):
    """The names of the entries; none may go without a type and a text."""
    entries = numpydoc.NumpyDocString(inspect.getdoc(estimator))[name]
    for entry in entries:
        assert entry.type, f"{estimator.__name__}: {entry.name} has no type"
        assert entry.desc, f"{estimator.__name__}: {entry.name} has no text"
    return [part for entry in entries for part in re.split(r",\s*", entry.name)]


def fitted(estimator, **parameters):
    target = VALUES if hasattr(estimator, "epsilon") or "SVR" in estimator.__name__ else LABELS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = estimator(**parameters).fit(X, target)
        if hasattr(model, "samples") and estimator is not maxmargin.OneClassSVM:
            model.samples(X, target)
    return model


def variants(estimator):
    """Fits after which each attribute that can be there has been there."""
    if estimator is maxmargin.PegasosClassifier:
        return [fitted(estimator, lam=0.1), fitted(estimator, lam=0.1, kernel="rbf", tol=0.5)]
    if issubclass(estimator, maxmargin.SVC | maxmargin.SVR | maxmargin.OneClassSVM):
        return [fitted(estimator), fitted(estimator, kernel="linear")]
    if "n_components" in inspect.signature(estimator).parameters:
        return [fitted(estimator, n_components=3)]
    return [fitted(estimator)]


def test_all_estimators_are_looked_at():
    assert len(MACHINES) >= 10
    assert len(ESTIMATORS) >= 15


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: estimator.__name__)
def test_parameters_are_those_of_the_signature(estimator):
    signature = inspect.signature(estimator).parameters
    assert sorted(section(estimator, "Parameters")) == sorted(signature)


@pytest.mark.filterwarnings("ignore:Attribute `prob._` was deprecated:FutureWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: estimator.__name__)
def test_attributes_are_there_after_a_fit_and_no_others(estimator):
    there = set()
    for model in variants(estimator):
        public = (name for name in dir(model) if name.endswith("_") and not name.startswith("_"))
        there |= {name for name in public if hasattr(model, name)}
    told = section(estimator, "Attributes")
    assert len(told) == len(set(told))
    assert set(told) - EVERYWHERE == there - EVERYWHERE


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: estimator.__name__)
def test_there_is_an_example(estimator):
    example = (inspect.getdoc(estimator) or "").partition("Examples\n--------")[2]
    assert re.search(r"\bfit(_transform)?\(", example)
