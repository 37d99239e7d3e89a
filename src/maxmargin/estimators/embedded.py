"""EmbeddedSVC and EmbeddedSVR: an embedding and a linear machine as one estimator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted, has_fit_parameter, validate_data

from maxmargin.data.arrays import Array
from maxmargin.data.targets import class_costs, costs_against_rest, real_targets, sample_costs
from maxmargin.embeddings import Nystroem
from maxmargin.embeddings.certificates import (
    MAX_VALUES,
    EmbeddedCertificate,
    ExactCertificate,
    ExactEstimate,
)
from maxmargin.estimators._approximate import Posing, bounds_in_kernel_space
from maxmargin.estimators._base import CertifiedModel, unchanged_on_failure
from maxmargin.estimators._checks import checked_targets, flat_targets
from maxmargin.estimators._cost import CostMixin, Sampled
from maxmargin.estimators._report import Report
from maxmargin.estimators._sample_table import SampleTable
from maxmargin.estimators.linear import LinearSVC, LinearSVR
from maxmargin.runtime.delegated import Delegated

_PARAMETERS = """embedding : transformer or None, default=None
        Any transformer of scikit-learn's kind: of `maxmargin.embeddings`, of scikit-learn, a
        pipeline. None: `Nystroem(random_state=0)`."""

_ATTRIBUTES = """embedding_ : transformer
        The fitted embedding.
    svm_ : estimator
        The linear machine, fitted to the embedded rows.
    certificate_ : EmbeddedCertificate
        That of the linear problem, in this embedding: it says nothing of any other.
    solutions_ : tuple of Solution
        Each linear problem's solution.
    alpha_, slack_ : ndarray, or list of one for each problem
        α_i and, after `samples(X, y)`, ξ_i of every training sample.
    n_iter_ : int
        Epochs or Newton steps of the linear machine."""


def _both_stream(model: Any) -> bool:
    parts = model._parts()
    return all(hasattr(part, "partial_fit") for part in parts)


class EmbeddedModel(CostMixin, CallbackSupportMixin, MetaEstimatorMixin, BaseEstimator):
    """An embedding, fitted on the training rows only, and a linear machine on its coordinates."""

    embedding: Any
    svm: Any
    embedding_: Any
    svm_: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._parts()[0]).input_tags
        return tags

    _growth = (0.0, 1.0, 2.0)  # there are embeddings with a matrix of all samples

    def _samples_of_cost(self, X: Any, y: Any) -> tuple[Any, NDArray[Any] | None]:
        return X, checked_targets(y, _num_samples(X))

    def _least_part(self, _data: Sampled) -> int:
        return 2 * int(getattr(self._parts()[0], "n_components", None) or 0)

    def _default_svm(self) -> Any:
        raise NotImplementedError

    def _parts(self) -> tuple[Any, Any]:
        embedding = Nystroem(random_state=0) if self.embedding is None else self.embedding
        return embedding, self._default_svm() if self.svm is None else self.svm

    def set_params(self, **params: Any) -> Any:
        """Set parameters; those of a part that is None are set in the part that it stands for."""
        for name, part in zip(("embedding", "svm"), self._parts(), strict=True):
            nested = any(key.startswith(f"{name}__") for key in params)
            if nested and params.get(name, getattr(self, name)) is None:
                params[name] = part
        return super().set_params(**params)

    def _checked_parts(self) -> tuple[Any, Any]:
        """Return both, or say which cannot be a part."""
        embedding, svm = self._parts()
        if not hasattr(embedding, "transform"):
            raise ValueError(
                f"embedding must embed new rows by `transform`, which {embedding!r} has not. Use"
                " one of maxmargin.embeddings, LaplacianEigenmaps for a spectral one."
            )
        kind = get_tags(self).estimator_type
        if not hasattr(svm, "fit") or get_tags(svm).estimator_type != kind:
            raise ValueError(f"svm must be a {kind}, got {svm!r}. {type(self).__name__} is one.")
        return embedding, svm

    def _new_parts(self) -> tuple[Any, Any]:
        """Return copies of both to fit."""
        embedding, svm = (clone(part) for part in self._checked_parts())
        if isinstance(svm, CertifiedModel):
            svm._on_coordinates = True
        return embedding, svm

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the embedding to X, and the machine to the coordinates and y.

        The weights go to the machine, and to the embedding if it takes any.
        """
        with unchanged_on_failure(self):
            embedding, svm = self._new_parts()
            validate_data(self, X, skip_check_array=True)
            delegated = Delegated(self, X, y)
            weights = {} if sample_weight is None else {"sample_weight": sample_weight}
            if weights and has_fit_parameter(embedding, "sample_weight"):
                Z = embedding.fit(X, y, **weights).transform(X)
            else:
                Z = embedding.fit_transform(X, y)
            with delegated.part("linear machine", svm):
                self.svm_ = svm.fit(Z, flat_targets(y), **weights)
            self.embedding_ = embedding
            delegated.end()
        return self

    def _partial_fit(self, X: Any, y: Any, **more: Any) -> Any:
        with unchanged_on_failure(self):
            first = not hasattr(self, "svm_")
            validate_data(self, X, skip_check_array=True, reset=first)
            if first:
                self.embedding_, self.svm_ = self._new_parts()
            self.embedding_.partial_fit(X)
            self.svm_.partial_fit(self.embedding_.transform(X), y, **more)
        return self

    def _coordinates(self, X: Any) -> Any:
        check_is_fitted(self)
        Z = self.embedding_.transform(X)
        validate_data(self, X, skip_check_array=True, reset=False)  # names of features
        return Z

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the prediction for each row."""
        Z = self._coordinates(X)
        return np.asarray(self.svm_.predict(Z))

    @property
    def certificate_(self) -> EmbeddedCertificate:
        """The proof of the linear problem in this embedding."""
        check_is_fitted(self)
        return EmbeddedCertificate.of(self.svm_.certificate_, "this embedding")

    @property
    def solutions_(self) -> Any:
        """Each linear problem's solution."""
        check_is_fitted(self)
        return self.svm_.solutions_

    def samples(self, X: Any, y: Any, sample_weight: Any = None) -> SampleTable:
        """Return what each sample of the training data is to the machine; see `SVC.samples`."""
        table: SampleTable = self.svm_.samples(self._coordinates(X), y, sample_weight)
        return table

    @property
    def alpha_(self) -> Any:
        """α_i of every training sample; a list if there are several problems."""
        check_is_fitted(self)
        return self.svm_.alpha_

    @property
    def slack_(self) -> Any:
        """ξ_i of every training sample, known once `samples` was called with the training data."""
        check_is_fitted(self)
        return self.svm_.slack_

    def report(self) -> Report:
        """Return the facts of the machine's fit, in this embedding."""
        check_is_fitted(self)
        found: Report = self.svm_.report()
        name = f"{type(self).__name__}: {found.name} on {type(self.embedding_).__name__}"
        return replace(found, name=name)

    @property
    def n_iter_(self) -> int:
        """Epochs or Newton steps."""
        check_is_fitted(self)
        return int(np.max(self.svm_.n_iter_))

    def exact_certificate(
        self, X: Any, y: Any, sample_weight: Any = None, *, max_values: float = MAX_VALUES
    ) -> ExactCertificate | ExactEstimate:
        """Bound the exact kernel problem that this one is near, in one pass over the rows.

        X, y and the weights are those of the fit; the embedding must be made of kernel values:
        `Nystroem` or `KernelPCA`, the last step if it is a pipeline. The pass takes n_samples ×
        (landmarks + support vectors) kernel values; if these are more than `max_values`, the result
        is an `ExactEstimate`.
        """
        check_is_fitted(self)
        svm, embedding, X = self.svm_, *_last_step(self.embedding_, X)
        if not hasattr(embedding, "expansion"):
            kind = type(embedding)
            name = embedding if kind is str else f"{kind.__name__} of {kind.__module__}"
            raise ValueError(
                f"exact_certificate: {name} has"
                " no images in the space of a fixed kernel, so there is no exact problem:"
                " certificate_ is all that can be proven, in this embedding. Use Nystroem or"
                " KernelPCA of maxmargin.embeddings, last in a pipeline."
            )
        if not isinstance(svm, CertifiedModel):
            raise ValueError(
                "exact_certificate needs the dual point of a machine of maxmargin, got"
                f" svm={svm!r}. Use LinearSVC, LinearSVR or PegasosClassifier of maxmargin."
            )
        solutions, rows = svm._solved_here("dual point"), embedding._new_rows(X)
        cost = sample_costs(rows, getattr(svm, "C", None), svm.lam, sample_weight)
        posing = self._posing(flat_targets(y), cost)
        return bounds_in_kernel_space(svm, solutions, embedding, rows, posing, max_values)

    def _posing(self, y: Any, cost: Array) -> Posing:
        raise NotImplementedError


def _last_step(embedding: Any, X: Any) -> tuple[Any, Any]:
    """Return the last step of a pipeline that does anything, and the rows that reach it."""
    while isinstance(embedding, Pipeline):
        steps = [step for _, step in embedding.steps if step not in (None, "passthrough")]
        *before, embedding = steps or ["passthrough"]
        for step in before:  # scales rows, for example
            X = step.transform(X)
    return embedding, X


class EmbeddedSVC(ClassifierMixin, EmbeddedModel):  # noqa: D101 - the docstring is composed
    __doc__ = f"""Classifier by an embedding and a linear support vector machine on it.

    Affinities, an embedding in a Euclidean space, a linear machine there: one estimator, which
    embeds new rows by themselves and can be searched over: `embedding__gamma`, `svm__C`.

    Parameters
    ----------
    {_PARAMETERS}
    svm : estimator or None, default=None
        `LinearSVC` or `PegasosClassifier` with settings of its own. None: a `LinearSVC` with the
        hinge loss and a free intercept, the problem of `SVC`.

    Attributes
    ----------
    {_ATTRIBUTES}
    classes_ : ndarray
        The labels.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from maxmargin import EmbeddedSVC
    >>> from maxmargin.embeddings import Nystroem
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> model = EmbeddedSVC(Nystroem(n_components=50, gamma=2.0, random_state=0)).fit(X, y)
    >>> model.certificate_.space
    'this embedding'
    >>> bool(model.exact_certificate(X, y).relative_gap < 0.05)
    True
    """

    def __init__(self, embedding: Any = None, svm: Any = None) -> None:
        self.embedding = embedding
        self.svm = svm

    def _default_svm(self) -> Any:
        return LinearSVC(loss="hinge", fit_intercept=True, penalized_intercept=False)

    @available_if(_both_stream)
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> EmbeddedSVC:
        """Go on with a batch of a stream; the first call needs all `classes`."""
        self._partial_fit(X, y, classes=classes)
        return self

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels."""
        check_is_fitted(self)
        return np.asarray(self.svm_.classes_)

    def decision_function(self, X: Any) -> Array:
        """f(x): one column for each class, or one number for two classes."""
        Z = self._coordinates(X)
        return np.asarray(self.svm_.decision_function(Z))

    def _posing(self, y: Any, cost: Array) -> Posing:
        labels, svm = np.asarray(y), self.svm_
        weight = getattr(svm, "class_weight", None)
        weighted = class_costs(cost, weight, self.classes_, labels)
        pairs = svm.multi_class == "ovo"
        posing = Posing.of_classes(labels, self.classes_, weighted, pairs=pairs)
        if getattr(svm, "_rest_has_no_weight", False):
            posing.costs = costs_against_rest(cost, weight, self.classes_, labels)
        return posing


class EmbeddedSVR(RegressorMixin, EmbeddedModel):  # noqa: D101 - the docstring is composed
    __doc__ = f"""Regression by an embedding and a linear support vector machine on it.

    Parameters
    ----------
    {_PARAMETERS}
    svm : estimator or None, default=None
        `LinearSVR` with settings of its own. None: one with ε = 0.1 and a free intercept, the
        problem of `SVR`.

    Attributes
    ----------
    {_ATTRIBUTES}

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from maxmargin import EmbeddedSVR
    >>> from maxmargin.embeddings import Nystroem
    >>> X, y = make_friedman1(300, random_state=0)
    >>> model = EmbeddedSVR(Nystroem(n_components=100, gamma=0.5, random_state=0)).fit(X, y)
    >>> round(model.score(X, y), 2)
    0.76
    """

    def __init__(self, embedding: Any = None, svm: Any = None) -> None:
        self.embedding = embedding
        self.svm = svm

    def _default_svm(self) -> Any:
        return LinearSVR(
            loss="epsilon_insensitive", epsilon=0.1, fit_intercept=True, penalized_intercept=False
        )

    @available_if(_both_stream)
    def partial_fit(self, X: Any, y: Any) -> EmbeddedSVR:
        """Go on with a batch of a stream."""
        self._partial_fit(X, y)
        return self

    def _posing(self, y: Any, cost: Array) -> Posing:
        return Posing([np.arange(len(cost))], [real_targets(y)], cost)
