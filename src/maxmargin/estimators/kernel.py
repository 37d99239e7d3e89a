"""SVC: kernel classification."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.certificate import Status
from maxmargin.data.arrays import Array, Matrix
from maxmargin.data.checks import check_choice, check_one_label, is_infinite, scale_advice
from maxmargin.data.targets import (
    ONE_LEFT,
    check_several_classes,
    class_costs,
    class_factors,
    class_members,
    sample_costs,
)
from maxmargin.embeddings.certificates import MAX_VALUES, ExactCertificate, ExactEstimate
from maxmargin.estimators._approximate import Posing
from maxmargin.estimators._base import fitting
from maxmargin.estimators._checks import labels_of, warn_of_probability
from maxmargin.estimators._docstrings import EXPANSION, KERNEL, LIMITS, PROOF, entries
from maxmargin.estimators._duplicates import groups_of, spread_over
from maxmargin.estimators._hard_margin import refuse_through_origin
from maxmargin.estimators._kernel_classifier import KernelClassifier
from maxmargin.estimators._posed import Posed
from maxmargin.estimators._traps import one_class_only
from maxmargin.estimators.linear import LinearSVC
from maxmargin.losses import HINGE
from maxmargin.multiclass.decomposition import (
    binary_targets,
    pair_targets,
)
from maxmargin.objectives.formulation import Formulation
from maxmargin.runtime.progress import Progress
from maxmargin.solution import NotSeparableError
from maxmargin.solvers import Solver
from maxmargin.solvers.kernel.batch_smo import Task
from maxmargin.solvers.kernel.origin_margin import OriginMargin


@dataclass(eq=False, repr=False)
class SVC(KernelClassifier):  # noqa: D101 - the docstring is composed
    __doc__ = f"""Kernel support vector classifier that proves its answer.

    Minimises ½‖w‖² + Σ C_i max(0, 1 − y_i f(x_i)) over f(x) = <w, φ(x)> + b, where the kernel is
    <φ(x), φ(z)>. What more than two classes are is the choice of `multi_class`. Parameters and
    fitted attributes have the names of `sklearn.svm.SVC`. What differs: `tol` is the relative
    duality gap to prove; `cache_size` is at most half of the free memory if None; `max_iter` counts
    working sets; in gamma="scale" a sample weight counts like a repetition; `predict_proba` needs
    no `probability=True`, and its largest probability is that of the predicted class.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses against ½‖w‖². `inf` asks for a hard margin: y_i f(x_i) ≥ 1 throughout,
        or a `NotSeparableError` with its witness, where no margin is above a millionth of the
        largest distance from one of the samples.
    {KERNEL}
    {entries("fit_intercept")}
    solver : str or Solver, default="smo"
        "smo"; "qp" for up to 5,000 samples, with the extra `maxmargin[qp]`; "pegasos" for a loose
        `tol`, 0.1 or so, and best with a `max_iter` or a `max_time`; or a Solver with settings of
        its own, `SMO(working_set=128)` for example. All solve the same problem.
    {entries("shrinking probability tol cache_size class_weight")}
    {LIMITS}
    multi_class : {{"ovo", "ovr", "crammer_singer"}}, default="ovo"
        One against one, as LIBSVM does: a problem for each pair of classes. One against the rest:
        a problem for each class. "crammer_singer": the one problem of all classes, ½ Σ_j ‖w_j‖² +
        Σ C_i max_j (1[j ≠ y_i] + f_j(x_i) − f_y(x_i)), which needs `solver="smo"` and a finite C.
        Two classes have one f, positive for the second, whatever the choice.
    {entries("decision_function_shape break_ties")}
    landmarks : int or None, default=None
        If given, f is sought in the span of the images of so many samples, drawn at random: Nyström
        features and the linear engine, for 10⁵ samples and more. `certificate_` is that of this
        approximate problem; `exact_certificate(X, y)` tells how far it is from the exact one.
        "ovo" and "ovr" only, with a finite C and `solver="smo"`; each fit starts afresh.
    {entries("n_jobs")}
    random_state : int, RandomState or None, default=None
        Seeds the draws of Pegasos; the others are deterministic.
    {entries("verbose")}

    Attributes
    ----------
    {EXPANSION}
    {entries("classes_ class_weight_")}
    {PROOF}
    {entries("slack_ probA_ probB_")}

    Notes
    -----
    Unless pairs are solved, `dual_coef_`, of shape (n_classes, n_SV), and `intercept_` have a row
    for each class: f_j(x) = Σ_i dual_coef_[j, i] k(x_i, x) + b_j. With `landmarks` these are the
    support vectors, and there is a row for each problem.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC
    >>> model = SVC().fit(*load_iris(return_X_y=True))
    >>> model.certificate_.relative_gap < 1e-3
    True
    """

    _solvers = ("smo", "qp", "pegasos")
    _one_left = ONE_LEFT

    C: float = 1.0
    _: KW_ONLY
    kernel: Any = "rbf"
    degree: int = 3
    gamma: float | str = "scale"
    coef0: float = 0.0
    shrinking: bool = True
    probability: bool | str = "deprecated"
    fit_intercept: bool = True
    solver: Any = "smo"
    tol: float = 1e-3
    cache_size: float | None = None
    class_weight: dict[Any, float] | str | None = None
    max_iter: int | None = -1
    max_time: float | None = None
    warm_start: bool = False
    multi_class: str = "ovo"
    decision_function_shape: str = "ovr"
    break_ties: bool = False
    landmarks: int | None = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SVC:
        """Fit to the rows of X with labels y; `sample_weight` multiplies C."""
        begin = time.perf_counter()
        check_one_label(self, y)
        X, y = self._training(X, y)
        classes = labels_of(y)
        kind = self._check_kind()
        warn_of_probability(self)
        weighted = self._sample_costs(X, sample_weight)
        self.classes_ = classes
        cost = class_costs(weighted, self.class_weight, self.classes_, y)
        self.class_weight_ = class_factors(weighted, self.class_weight, self.classes_, y)
        check_several_classes(classes, y, cost, one_left=self._one_left)
        posed = self._posed(X, y, weighted, class_members(y, classes))
        self._forget_space()
        if self.landmarks is not None:
            self._fit_landmarks(posed, y, cost, begin)
            self._probabilities = self._engine._probabilities
            return self
        groups, own_cost = groups_of(self, posed, cost), cost
        if groups is not None:
            posed, cost = groups.merged(posed), groups.costs
        progress = self._solve_kind(posed, kind, cost)
        self._keep_solutions(posed)
        if groups is not None:
            spread_over(self, groups, y)
        pairs = pair_targets(class_members(y, classes))[0] if self._by_pairs else None
        self._keep_for_probabilities(X, y, own_cost, pairs, sample_weight=sample_weight)
        progress.end()
        self._warn_if_unproven(posed.samples)
        return self

    def _solve_kind(self, posed: Posed, kind: str, cost: Array) -> Progress:
        """Solve the problem of all classes, one for each pair, or one for each class."""
        if kind == "crammer_singer":
            return self._solve_joint(posed, cost)
        if self._solves_pairs(posed):
            tasks = _pair_tasks(posed.members, cost)
            progress = self._solve(posed, tasks, pairs=True)
            pairs = itertools.combinations(self.classes_.tolist(), 2)
            self._refuse_inseparable(pairs, tasks, posed.samples)
            return progress
        everyone = np.arange(posed.samples.shape[0])
        tasks = [(everyone, target, cost) for target in binary_targets(posed.y, self.classes_)]
        progress = self._solve(posed, tasks)
        sides = ((label, "the rest") for label in self.classes_.tolist())
        self._refuse_inseparable(sides, tasks, posed.samples)
        return progress

    def _fit_landmarks(self, posed: Posed, y: Any, cost: Array, begin: float) -> None:
        if self.multi_class == "crammer_singer" or self._hard():
            raise ValueError(
                f"landmarks={self.landmarks} needs a finite C and multi_class='ovo' or 'ovr', got"
                f" C={self.C!r} and multi_class={self.multi_class!r}."
            )
        C, kind = self.C, self.multi_class
        engine = LinearSVC(C=C, loss="hinge", multi_class=kind, n_jobs=self.n_jobs)
        delegated = self._fit_space(engine, posed, y, cost / C, begin)
        counts = [np.isin(rows, self.support_).sum() for rows in posed.members]
        self._n_support = np.array(counts, dtype=np.int32)
        delegated.end()

    def exact_certificate(
        self, X: Any, y: Any, sample_weight: Any = None, *, max_values: float = MAX_VALUES
    ) -> ExactCertificate | ExactEstimate:
        """Bound the exact kernel problem, of which a fit by landmarks solved an approximation.

        In one pass over X, y and the weights of the fit: the value of f there, and a lower and an
        upper bound of the optimum. That takes n_samples × (landmarks + support vectors) kernel
        values; if these are more than `max_values`, a sample gives an `ExactEstimate`.
        """
        X, y = self._check_approximate(X, y)
        weighted = self._sample_costs(X, sample_weight)
        cost = class_costs(weighted, self.class_weight, self.classes_, y)
        pairs = self._engine.multi_class == "ovo"
        posing = Posing.of_classes(y, self.classes_, cost, pairs=pairs)
        return self._exact_bounds(X, posing, weighted, max_values)

    def _solves_pairs(self, posed: Posed) -> bool:
        """Whether there is a problem for each pair of classes."""
        joint = self.multi_class == "crammer_singer"
        return self.multi_class == "ovo" or (len(posed.members) == 2 and not joint)

    def _keep_solutions(self, posed: Posed) -> None:
        store = self._store if self._solves_pairs(posed) else self._store_classes
        store(posed.samples, posed.members, posed.kernel)

    def _check_kind(self) -> str:
        """Return what several classes are, or say what does not go with it."""
        kind = check_choice("multi_class", self.multi_class, ("ovo", "ovr", "crammer_singer"))
        shape = check_choice(
            "decision_function_shape", self.decision_function_shape, ("ovr", "ovo")
        )
        if shape == "ovo" != kind:
            raise ValueError(
                f"decision_function_shape='ovo' has a column for each pair of classes, and"
                f" multi_class={kind!r} solves no pairs. Use 'ovr', or multi_class='ovo'."
            )
        if kind == "crammer_singer" and self.solver != "smo":
            raise ValueError(
                f"multi_class='crammer_singer' is solved by solver='smo', got {self.solver!r}."
                " Use that, or multi_class='ovr'."
            )
        if kind == "crammer_singer" and self._hard():
            raise ValueError(
                "multi_class='crammer_singer' needs a finite C, got inf. Use multi_class='ovr' or"
                " 'ovo' for a hard margin."
            )
        return kind

    _weigh_more = "raise C"  # the losses

    def _hard(self) -> bool:
        return is_infinite(self.C)

    def _sample_costs(self, X: Any, sample_weight: Any) -> Array:
        """C × the weights, or the weights for a hard margin, which has no costs."""
        return sample_costs(X, 1.0 if self._hard() else self.C, None, sample_weight)

    def _formulation(self) -> Formulation:
        return Formulation(HINGE, self._intercept(), hard=self._hard())

    def _kernel_solver(self, n_tasks: int, jobs: int) -> Solver:
        solver = super()._kernel_solver(n_tasks, jobs)
        return OriginMargin() if self._hard() and not self.fit_intercept else solver

    def _data_warning(self, X: Matrix) -> str:
        if data_warning := super()._data_warning(X):
            return data_warning
        if self._precomputed:
            return ""
        return one_class_only(self._labels, X, weigh_more=self._weigh_more)

    def _refuse_inseparable(
        self, sides: Iterable[tuple[Any, Any]], tasks: list[Task], X: Matrix
    ) -> None:
        """Raise where a hard margin was asked for and the hulls of the two sides meet."""
        if not self._hard():
            return
        for pair, (rows, _, _), solution in zip(sides, tasks, self.solutions_, strict=True):
            if solution.status is not Status.INFEASIBLE:
                continue
            witness = np.zeros(X.shape[0])
            if not self.fit_intercept:
                witness[rows] = solution.beta
                distance = math.sqrt(0.5 / solution.certificate.dual)
                refuse_through_origin(pair, witness, distance, X)
            witness[rows] = solution.beta / solution.beta.sum(where=solution.beta > 0.0)
            raise NotSeparableError(
                pair,
                math.sqrt(2.0 / solution.certificate.dual),
                (np.maximum(witness, 0.0), np.maximum(-witness, 0.0)),
                scale_advice(X),
            )


def _pair_tasks(members: list[NDArray[np.intp]], cost: Array) -> list[Task]:
    """Return a problem for each pair of classes, whose samples follow each other class by class.

    That of two classes has all samples in their own order: X serves as it is, without a copy.
    """
    rows, targets = pair_targets(members)
    if len(members) == 2:
        target = np.empty(len(cost))
        target[rows[0]] = targets[0]
        return [(np.arange(len(cost)), target, cost)]
    return [(pair, target, cost[pair]) for pair, target in zip(rows, targets, strict=True)]
