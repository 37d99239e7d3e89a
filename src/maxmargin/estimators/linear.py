"""LinearSVC and LinearSVR."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.linear_model._base import SparseCoefMixin
from sklearn.utils.validation import check_is_fitted

from maxmargin.calibration.several_classes import Decision
from maxmargin.data.arrays import Array, Matrix
from maxmargin.data.checks import check_choice, check_one_label, check_tube, is_infinite
from maxmargin.data.origin import UNMOVED, levelled
from maxmargin.data.targets import (
    check_several_classes,
    class_costs,
    class_members,
    class_numbers,
    costs_against_rest,
    real_targets,
    sample_costs,
)
from maxmargin.estimators._base import fitting
from maxmargin.estimators._checks import check_dual, labels_of
from maxmargin.estimators._cost import CostEstimate, Part, Sampled, overdetermined_part
from maxmargin.estimators._docstrings import LINEAR_ATTRIBUTES, LINEAR_PARAMETERS
from maxmargin.estimators._hard_margin import fit_hard_linear
from maxmargin.estimators._l1 import check_l1, fit_l1, packed_bytes
from maxmargin.estimators._linear import LinearModel
from maxmargin.estimators._linear_predictions import LinearClassifier, decision_values
from maxmargin.estimators._probability import (
    Geometry,
    ProbabilisticClassifier,
    decision_of,
    joint_expansions,
)
from maxmargin.estimators._traps import one_class_only, poor_regression
from maxmargin.kernels import Linear
from maxmargin.losses import CLASSIFICATION, REGRESSION, Loss, regression_loss
from maxmargin.multiclass.decomposition import binary_targets, pair_targets, votes
from maxmargin.objectives.base import Intercept
from maxmargin.solvers import Solver


@dataclass(eq=False, repr=False)
class LinearSVC(  # noqa: D101 - the docstring is composed
    LinearClassifier, ProbabilisticClassifier, SparseCoefMixin, LinearModel
):
    __doc__ = f"""Linear support vector classifier that proves its answer.

    Minimises ½‖w‖² + Σ C_i max(0, 1 − y_i (<w, x_i> + b))², where b is penalised like a weight:
    the problem of `sklearn.svm.LinearSVC`. With `loss="hinge", penalized_intercept=False` it is
    that of `sklearn.svm.SVC(kernel="linear")`. What more than two classes are is the choice of
    `multi_class`. With `penalty="l1"` it minimises ‖w‖₁ + Σ C_i max(0, 1 − y_i f(x_i))², which
    leaves most weights at exactly 0; the columns of X should have one scale.

    Parameters
    ----------
    penalty : {{"l2", "l1"}}, default="l2"
        "l1" goes with `loss="squared_hinge"` and `multi_class="ovr"`, and has a solver of its own.
        Below `sklearn.svm.l1_min_c` all weights are 0 (with a penalised intercept or none).
    loss : {{"squared_hinge", "hinge", "perceptron"}}, default="squared_hinge"
        The perceptron has no regulariser and needs `solver="sgd"`.
    {LINEAR_PARAMETERS}
    multi_class : {{"ovr", "crammer_singer", "ovo"}}, default="ovr"
        One against the rest: one row of `coef_` for each class. "crammer_singer": the same layout,
        from the one problem of all classes, ½‖W‖² + Σ C_i max_j (1[j ≠ y_i] + f_j(x_i) − f_y(x_i)),
        whatever `penalty` and `loss` are, by the solver "dual_cd" ("auto"), "pegasos" or "sgd". One
        against one: a row of `coef_` for each pair of classes, (0, 1), (0, 2), …, (1, 2), …,
        positive for the first of the pair. Two classes have one row, positive for the second,
        whatever the choice.
    class_weight : dict, "balanced" or None, default=None
        Factors of C by class. One against the rest, the rest has none, as in LIBLINEAR.
    n_jobs : int or None, default=None
        Threads over the classes or pairs; "crammer_singer" uses one.

    Attributes
    ----------
    {LINEAR_ATTRIBUTES}
    classes_ : ndarray
        The labels.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from maxmargin import LinearSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LinearSVC().fit(scale(X), y)
    >>> model.certificate_.relative_gap < 1e-3
    True
    """

    penalty: str = "l2"
    loss: str = "squared_hinge"
    _: KW_ONLY
    dual: bool | str = "auto"
    tol: float = 1e-3
    C: float = 1.0
    multi_class: str = "ovr"
    fit_intercept: bool = True
    intercept_scaling: float = 1.0
    class_weight: dict[Any, float] | str | None = None
    verbose: int = 0
    random_state: Any = None
    max_iter: int | None = 10_000
    penalized_intercept: bool = True
    lam: float | None = None
    solver: str | Solver = "auto"
    max_time: float | None = None
    warm_start: bool = False
    n_jobs: int | None = None

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearSVC:
        """Fit to the rows of X with labels y; `sample_weight` multiplies C."""
        check_one_label(self, y)
        X, y = self._check_training(X, y)
        classes = labels_of(y)
        kind = check_choice("multi_class", self.multi_class, ("ovr", "crammer_singer", "ovo"))
        loss = self._checked_loss(kind)
        if not self._absolute and self._hard():
            return self._fit_hard(X, y, sample_weight)
        unweighted = sample_costs(X, self.C, self.lam, sample_weight)
        cost = class_costs(unweighted, self.class_weight, classes, y)
        check_several_classes(classes, y, cost)
        self.classes_ = classes
        costs = None
        if kind == "crammer_singer":
            self._fit_joint(X, y, cost)
        elif kind == "ovr" or len(classes) == 2:
            targets = binary_targets(y, classes)
            costs = [cost]
            if len(classes) > 2:
                costs = costs_against_rest(unweighted, self.class_weight, classes, y)
            self._fit_against_rest(X, y, targets, costs, loss)
        else:
            members, targets = pair_targets(class_members(y, classes))
            of_pairs = [cost[rows] for rows in members]
            self._fit_targets(X, y, targets, of_pairs, loss, members=members)
        self._keep_for_probabilities(X, y, cost, self._members, costs, sample_weight)
        return self

    @property
    def _absolute(self) -> bool:
        """Whether ‖w‖₁ is the penalty; the one problem of all classes has none but ½‖W‖²."""
        return self.penalty == "l1" and self.multi_class != "crammer_singer"

    @property
    def _rest_has_no_weight(self) -> bool:
        """Whether class weights are those of one class each, against a rest without."""
        several = self.multi_class == "ovr" and len(self.classes_) > 2
        return several and (self._absolute or not self._hard())

    def _fit_against_rest(
        self, X: Matrix, y: Any, targets: list[Array], costs: list[Array], loss: Loss
    ) -> None:
        """Solve one problem for each class, or the only one of two."""
        if self._absolute:
            fit_l1(self, X, y, targets, costs)
            return
        numbers = None
        if len(targets) > 1 and self.class_weight is None:  # one cost for all of them
            numbers = class_numbers(self.classes_, y).astype(np.int32)
        self._fit_targets(X, y, targets, costs, loss, numbers=numbers)

    def _first_part(self, data: Sampled) -> int:
        return overdetermined_part(data) if self._absolute else super()._first_part(data)

    def _completed(self, cost: CostEstimate, data: Sampled, parts: list[Part]) -> CostEstimate:
        found = super()._completed(cost, data, parts)
        if not self._absolute:
            return found
        return replace(found, memory_bytes=found.memory_bytes + packed_bytes(data.X))

    def _data_warning(self, X: Matrix) -> str:
        weigh_more = "raise C" if self.lam is None else "lower lam"
        return super()._data_warning(X) or one_class_only(self._labels, X, weigh_more=weigh_more)

    def _labels(self, rows: Matrix) -> NDArray[Any]:
        """Return the label of every row."""
        values = np.stack([rows @ w for w in self.coef_], axis=1) + self.intercept_
        if values.shape[1] == 1:
            return np.asarray(self.classes_[(values[:, 0] > 0.0).astype(int)])
        by_pairs = self._members is not None
        scores = votes(values, len(self.classes_)) if by_pairs else values
        return np.asarray(self.classes_[scores.argmax(axis=1)])

    def _checked_loss(self, kind: str) -> Loss:
        """Return the loss, or say which penalty or kind of classes does not go with it."""
        loss = CLASSIFICATION[check_choice("loss", self.loss, CLASSIFICATION)]
        check_dual(self.dual)
        check_choice("penalty", self.penalty, ("l2", "l1"))
        if self._absolute:
            check_l1(self)
        if kind == "crammer_singer" and not loss.regularized:
            raise ValueError(
                f"multi_class='crammer_singer' is regularised, and loss={self.loss!r} is not. Use"
                " loss='hinge', or multi_class='ovr'."
            )
        return loss

    def _hard(self) -> bool:
        return self.lam is None and is_infinite(self.C)

    def _fit_hard(self, X: Any, y: Any, sample_weight: Any) -> LinearSVC:
        """Fit a hard margin: by SMO, whatever the solver."""
        if self._intercept() is Intercept.PENALIZED or self.loss == "perceptron":
            raise ValueError(
                "C must be a positive finite number, got inf. With the hinge losses it asks for a"
                " hard margin, with a free intercept (penalized_intercept=False) or none. For a"
                " penalised one append a column of ones to X and give fit_intercept=False."
            )
        self._given_solver(), self._seeds(1)  # which must be valid, although SMO needs neither
        fit_hard_linear(self, X, y, sample_weight)
        return self

    def decision_function(self, X: Any) -> Array:
        """Return f(x): one column for each class, or one number for two classes.

        With `multi_class="ovo"` the column of a class has its votes, plus the sum of its values in
        the pairs squeezed below a third of a vote.
        """
        values = super().decision_function(X)
        return votes(values, len(self.classes_)) if self._members is not None else values

    def _value_blocks(self, X: Any) -> Iterator[Array]:
        values = decision_values(self, X)
        return iter([values if values.ndim == 2 else values[:, np.newaxis]])

    def _winners(self, values: Array) -> NDArray[np.intp]:
        if len(self.classes_) == 2:
            return (values[:, 0] > 0.0).astype(np.intp)
        if self._members is not None:
            values = votes(values, len(self.classes_))
        return np.asarray(values.argmax(axis=1))

    def _decision(self) -> Decision:
        return decision_of(self.multi_class)

    def _expansions(self) -> list[tuple[Array, float]]:
        if self.multi_class == "crammer_singer":
            return joint_expansions(self.solution_.beta.T)
        if self._absolute:  # no share is known: the scores are those of the fit
            return [(0.0 * solution.beta, 1.0) for solution in self.solutions_]
        return [(solution.beta, 1.0) for solution in self.solutions_]

    def _geometry(self) -> Geometry:
        kind = self._intercept()
        constant = self._scaling() ** 2 if kind is Intercept.PENALIZED else 0.0
        soft = self.loss == "squared_hinge"
        return Geometry(Linear(), kind is Intercept.FREE, constant, soft)


@dataclass(eq=False, repr=False, kw_only=True)
class LinearSVR(RegressorMixin, LinearModel):  # noqa: D101 - the docstring is composed
    __doc__ = f"""Linear support vector regression that proves its answer.

    Minimises ½‖w‖² + Σ C_i ℓ(y_i − <w, x_i> − b). The squared losses have no factor ½, so
    `loss="squared"` is ridge regression with alpha = 1/(2C).

    With b penalised like a weight, which is the default, this is `sklearn.svm.LinearSVR`.

    Parameters
    ----------
    epsilon : float, default=0.0
        Errors up to this size cost nothing. Choose it by the scale of y. The squared loss has none.
    loss : {{"epsilon_insensitive", "squared_epsilon_insensitive", "squared"}}
        Default "epsilon_insensitive".
    {LINEAR_PARAMETERS}

    Attributes
    ----------
    {LINEAR_ATTRIBUTES}

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from maxmargin import LinearSVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LinearSVR(C=100.0, epsilon=5.0).fit(X, y)
    >>> model.certificate_.relative_gap < 1e-3
    True
    """

    epsilon: float = 0.0
    tol: float = 1e-3
    C: float = 1.0
    loss: str = "epsilon_insensitive"
    fit_intercept: bool = True
    intercept_scaling: float = 1.0
    dual: bool | str = "auto"
    verbose: int = 0
    random_state: Any = None
    max_iter: int | None = 10_000
    penalized_intercept: bool = True
    lam: float | None = None
    solver: str | Solver = "auto"
    max_time: float | None = None
    warm_start: bool = False

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearSVR:
        """Fit to the rows of X with targets y; `sample_weight` multiplies C."""
        X, y = self._check_training(X, y, y_numeric=True)
        name = check_choice("loss", self.loss, REGRESSION)
        check_dual(self.dual)
        epsilon = check_tube(self.epsilon)
        cost = sample_costs(X, self.C, self.lam, sample_weight)
        target, level = real_targets(y), UNMOVED
        if self._intercept() is Intercept.FREE:
            target, level = levelled(target)
        loss, data_warning = (
            regression_loss(name, epsilon),
            partial(self._poor, real_targets(y), cost),
        )
        self._fit_targets(X, y, [target], [cost], loss, level=level, data_warning=data_warning)
        self.coef_ = self.coef_[0]
        return self

    def _poor(self, y: Array, cost: Array) -> str:
        solution, kind = self.solution_, self._intercept()
        free, penalised = kind is Intercept.FREE, kind is Intercept.PENALIZED
        centre, extra = solution.b if free else 0.0, solution.b / self._scaling() * penalised
        norm = math.hypot(float(np.linalg.norm(solution.w)), extra)
        return poor_regression(solution, y, cost, kind=kind, centre=float(centre), norm=norm)

    def predict(self, X: Any) -> Array:
        """f(x) of each row."""
        check_is_fitted(self)
        return decision_values(self, X)
