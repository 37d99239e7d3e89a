"""LinearSVC and LinearSVR."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.linear_model._base import SparseCoefMixin
from sklearn.utils.validation import check_is_fitted

from maxmargin.data.arrays import Array, view_rows
from maxmargin.data.checks import check_choice, check_one_label, check_tube
from maxmargin.data.origin import UNMOVED, levelled
from maxmargin.data.problem import Problem
from maxmargin.data.targets import (
    check_several_classes,
    class_costs,
    class_members,
    real_targets,
    sample_costs,
)
from maxmargin.estimators._base import LinearModel, fitting
from maxmargin.estimators._checks import labels_of
from maxmargin.estimators._hard_margin import fit_hard_linear
from maxmargin.estimators._l1 import check_l1, dense_coef, fit_l1
from maxmargin.losses import CLASSIFICATION, REGRESSION, regression_loss
from maxmargin.multiclass.decomposition import binary_targets, pair_targets, votes
from maxmargin.objectives.base import Intercept
from maxmargin.solvers import Solver

_PARAMETERS = """C : float, default=1.0
        Weight of the losses against ½‖w‖². In classification `inf` asks for a hard margin, as for
        `SVC`: y_i f(x_i) ≥ 1 throughout, or a `NotSeparableError` with its witness.
    lam : float or None, default=None
        If given, C = 1/(n_samples × lam): the λ of Pegasos. Weights count as repetitions.
    solver : str or Solver, default="auto"
        "auto" (see `maxmargin.solvers.auto`), "newton", "dual_cd", "pegasos", "sgd", "qp", or a
        Solver with settings of its own, `SGD(rule="adam")` for example. All solve the same problem.
    tol : float, default=1e-3
        Relative duality gap to prove: the objective is within this fraction of the optimum.
    fit_intercept : bool, default=True
        Whether f has an intercept b.
    penalized_intercept : bool, default=False
        Penalise b like a weight, as LIBLINEAR does. By default b is free.
    intercept_scaling : float, default=1.0
        The constant feature whose weight a penalised intercept is.
    max_iter : int or None, default=10_000
        Most epochs or Newton steps.
    max_time : float or None, default=None
        Most seconds, for all classes together. A fit stopped early returns its best model, with a
        warning that has the gap.
    warm_start : bool, default=False
        Start where the last fit ended, if the number of samples and classes is the same.
    random_state : int, RandomState or None, default=None
        Seeds the order of the samples.
    verbose : int, default=0
        Whether to report each gap check on standard error."""

_ATTRIBUTES = """coef_ : ndarray of shape (n_problems, n_features), or (n_features,) in regression
        The weights: one row, or one for each class where there are more than two.
    intercept_ : ndarray of shape (n_problems,)
        The intercepts.
    certificate_ : Certificate
        Primal, dual, gap, KKT violation, support vectors, margin; of the sum if several classes.
    solutions_ : tuple of Solution
        Each problem's solution; `solution_` where there is only one.
    history_ : list of Record
        (time, epoch, primal, dual, gap) at each gap check.
    support_ : ndarray
        Indices of the support vectors.
    alpha_, slack_ : ndarray, or list of one for each problem
        α_i of every training sample; ξ_i, after `samples(X, y)`, which has a table of both.
    n_iter_ : int
        Epochs or Newton steps."""


class LinearClassifier(ClassifierMixin):
    """Labels from the decision values of a LinearModel."""

    def decision_function(self, X: Any) -> Array:
        """f(x): one column for each class, or one number for two classes."""
        check_is_fitted(self)
        return decision_values(self, X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label with the largest decision value."""
        scores = self.decision_function(X)
        winners = (scores > 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[winners])


class LinearSVC(LinearClassifier, SparseCoefMixin, LinearModel):  # noqa: D101 - the docstring is composed
    __doc__ = f"""Linear support vector classifier that proves its answer.

    Minimises ½‖w‖² + Σ C_i ℓ(y_i (<w, x_i> + b)). With the default hinge loss and free intercept
    this is the problem of `sklearn.svm.SVC(kernel="linear")`; with
    `loss="squared_hinge", penalized_intercept=True` it is that of `sklearn.svm.LinearSVC`. What
    more than two classes are is the choice of `multi_class`. With `penalty="l1"` it minimises
    ‖w‖₁ + Σ C_i max(0, 1 − y_i f(x_i))², which leaves most weights at exactly 0; the columns of X
    should have one scale.

    Parameters
    ----------
    {_PARAMETERS}
    penalty : {{"l2", "l1"}}, default="l2"
        "l1" goes with `loss="squared_hinge"` and `multi_class="ovr"`, and has a solver of its own.
        Below `sklearn.svm.l1_min_c` all weights are 0 (with a penalised intercept or none).
    loss : {{"hinge", "squared_hinge", "perceptron"}}, default="hinge"
        The perceptron has no regulariser and needs `solver="sgd"`.
    multi_class : {{"ovr", "crammer_singer", "ovo"}}, default="ovr"
        One against the rest: one row of `coef_` for each class. "crammer_singer": the same layout,
        from the one problem of all classes, ½‖W‖² + Σ C_i max_j (1[j ≠ y_i] + f_j(x_i) − f_y(x_i)),
        which needs the hinge loss and the solver "dual_cd" ("auto"), "pegasos" or "sgd". One
        against one: a row of `coef_` for each pair of classes, (0, 1), (0, 2), …, (1, 2), …,
        positive for the first of the pair. Two classes have one row, positive for the second,
        whatever the choice.
    class_weight : dict, "balanced" or None, default=None
        Factors of C by class.
    n_jobs : int or None, default=None
        Threads over the classes or pairs; "crammer_singer" uses one.

    Attributes
    ----------
    {_ATTRIBUTES}
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

    def __init__(
        self,
        C: float = 1.0,
        *,
        lam: float | None = None,
        penalty: str = "l2",
        loss: str = "hinge",
        solver: str | Solver = "auto",
        tol: float = 1e-3,
        fit_intercept: bool = True,
        penalized_intercept: bool = False,
        intercept_scaling: float = 1.0,
        multi_class: str = "ovr",
        class_weight: dict[Any, float] | str | None = None,
        max_iter: int | None = 10_000,
        max_time: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.lam = lam
        self.penalty = penalty
        self.loss = loss
        self.solver = solver
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.penalized_intercept = penalized_intercept
        self.intercept_scaling = intercept_scaling
        self.multi_class = multi_class
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.max_time = max_time
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearSVC:
        """Fit to the rows of X with labels y; `sample_weight` multiplies C."""
        check_one_label(self, y)
        X, y = self._check_training(X, y)
        classes = labels_of(y)
        kind = check_choice("multi_class", self.multi_class, ("ovr", "crammer_singer", "ovo"))
        loss = CLASSIFICATION[check_choice("loss", self.loss, CLASSIFICATION)]
        sparse = check_choice("penalty", self.penalty, ("l2", "l1")) == "l1"
        if sparse:
            check_l1(self)
        if self._hard():
            return self._fit_hard(X, y, sample_weight)
        cost = sample_costs(X, self.C, self.lam, sample_weight)
        cost = class_costs(cost, self.class_weight, classes, y)
        check_several_classes(classes, y, cost)
        self.classes_ = classes
        if sparse:
            fit_l1(self, X, y, binary_targets(y, classes), cost)
        elif kind == "crammer_singer":
            self._fit_joint(X, y, cost)
        elif kind == "ovr" or len(classes) == 2:
            targets = binary_targets(y, classes)
            numbers = None
            if len(targets) > 1:
                numbers = np.searchsorted(classes, y).astype(np.int32)
            self._fit_targets(X, y, targets, [cost] * len(targets), loss, numbers=numbers)
        else:
            members, targets = pair_targets(class_members(y, classes))
            costs = [cost[rows] for rows in members]
            self._fit_targets(X, y, targets, costs, loss, members=members)
        return self

    def _hard(self) -> bool:
        return self.lam is None and isinstance(self.C, numbers.Real) and float(self.C) == math.inf

    def _fit_hard(self, X: Any, y: Any, sample_weight: Any) -> LinearSVC:
        """Fit a hard margin: by SMO, whatever the solver."""
        from maxmargin.estimators.kernel import SVC  # noqa: PLC0415 - SVC is built on LinearSVC

        if self._intercept() is Intercept.PENALIZED or self.loss == "perceptron":
            raise ValueError(
                "C=inf is for the hinge losses, with a free intercept or none. For a penalised one"
                " append a column of ones to X and give fit_intercept=False."
            )
        names = ("C", "fit_intercept", "multi_class", "class_weight", "tol", "max_time", "n_jobs")
        shared = {name: getattr(self, name) for name in names}
        svc = SVC(kernel="linear", verbose=self.verbose, max_iter=self.max_iter, **shared)
        fit_hard_linear(self, svc, X, y, sample_weight)
        return self

    def decision_function(self, X: Any) -> Array:
        """Return f(x): one column for each class, or one number for two classes.

        With `multi_class="ovo"` the column of a class has its votes, plus the sum of its values in
        the pairs squeezed below a third of a vote.
        """
        values = super().decision_function(X)
        by_pairs = self._members is not None
        return votes(values, len(self.classes_)) if by_pairs else values


class LinearSVR(RegressorMixin, LinearModel):  # noqa: D101 - the docstring is composed
    __doc__ = f"""Linear support vector regression that proves its answer.

    Minimises ½‖w‖² + Σ C_i ℓ(y_i − <w, x_i> − b). The squared losses have no factor ½, so
    `loss="squared"` is ridge regression with alpha = 1/(2C).

    Parameters
    ----------
    {_PARAMETERS}
    loss : {{"epsilon_insensitive", "squared_epsilon_insensitive", "squared"}}
        Default "epsilon_insensitive".
    epsilon : float, default=0.0
        Errors up to this size cost nothing. Choose it by the scale of y. The squared loss has none.

    Attributes
    ----------
    {_ATTRIBUTES}
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        lam: float | None = None,
        loss: str = "epsilon_insensitive",
        epsilon: float = 0.0,
        solver: str | Solver = "auto",
        tol: float = 1e-3,
        fit_intercept: bool = True,
        penalized_intercept: bool = False,
        intercept_scaling: float = 1.0,
        max_iter: int | None = 10_000,
        max_time: float | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.lam = lam
        self.loss = loss
        self.epsilon = epsilon
        self.solver = solver
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.penalized_intercept = penalized_intercept
        self.intercept_scaling = intercept_scaling
        self.max_iter = max_iter
        self.max_time = max_time
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearSVR:
        """Fit to the rows of X with targets y; `sample_weight` multiplies C."""
        X, y = self._check_training(X, y, y_numeric=True)
        name = check_choice("loss", self.loss, REGRESSION)
        epsilon = check_tube(self.epsilon)
        cost = sample_costs(X, self.C, self.lam, sample_weight)
        target, level = real_targets(y), UNMOVED
        if self._intercept() is Intercept.FREE:
            target, level = levelled(target)
        self._fit_targets(X, y, [target], [cost], regression_loss(name, epsilon), level=level)
        self.coef_ = self.coef_[0]
        return self

    def predict(self, X: Any) -> Array:
        """f(x) of each row."""
        check_is_fitted(self)
        return decision_values(self, X)


def decision_values(model: LinearModel, X: Any) -> Array:
    """Xw + b without a copy of X; a matrix if the model has several rows of weights."""
    X, rows = view_rows(model._check_rows(X, reset=False))
    nothing = np.zeros(X.shape[0])
    problem = Problem(X, nothing, nothing, rows)
    columns = [
        problem.predict(np.ascontiguousarray(w, dtype=np.float64), float(b))
        for w, b in zip(dense_coef(model.coef_), model.intercept_, strict=True)
    ]
    return columns[0] if len(columns) == 1 else np.stack(columns, axis=1)
