"""PegasosClassifier: the lecture's algorithm, in one go or on a stream."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from maxmargin.data.arrays import Array, Matrix
from maxmargin.data.checks import check_choice, check_one_label, check_positive
from maxmargin.data.targets import (
    check_several_classes,
    class_costs,
    sample_costs,
)
from maxmargin.estimators._base import (
    fitting,
)
from maxmargin.estimators._checks import labels_of, without_names
from maxmargin.estimators._cost import CostEstimate, Part, Sampled
from maxmargin.estimators._docstrings import entries
from maxmargin.estimators._posed import Posed
from maxmargin.estimators._stream_classifier import StreamClassifier
from maxmargin.estimators._traps import one_class_only, vanishing_kernel, wild_columns
from maxmargin.losses import CLASSIFICATION
from maxmargin.multiclass.decomposition import binary_targets
from maxmargin.objectives.formulation import Formulation
from maxmargin.runtime.memory import free_memory
from maxmargin.solvers import Solver
from maxmargin.solvers.kernel.row_cache import row_capacity
from maxmargin.solvers.stochastic.kernel_pegasos import KernelPegasos
from maxmargin.solvers.stochastic.pegasos import Pegasos


@dataclass(eq=False, repr=False)
class PegasosClassifier(StreamClassifier):  # noqa: D101 - the docstring is composed
    __doc__ = f"""SVM by Pegasos: stochastic subgradient steps of length 1/(λt).

    `fit` runs epochs until the gap is proven or `max_iter` is reached; `partial_fit` takes one pass
    over each batch of a stream. The objective is that of `LinearSVC(lam=lam, loss="hinge",
    penalized_intercept=False)`, which reaches tight tolerances much faster; with a kernel it is
    that of `SVC(C=1/(n lam))`, with several classes one against the rest.

    Parameters
    ----------
    lam : float, default=0.03
        The regularisation λ of λ/2 ‖w‖² + mean loss. The number of steps grows like 1/λ.
    loss : {{"hinge", "squared_hinge"}}, default="hinge"
        The loss.
    sampling : {{"shuffle", "uniform"}}, default="shuffle"
        Epochs in a new order each, or independent uniform draws as in the theorem.
    batch_size : int or None, default=None
        Samples a step. None: one; in `fit` all, if there are at most 32 and they are shuffled.
    projection : bool, default=False
        Keep w in the ball of radius 1/√λ, or √(mean weight / λ) if that is larger, in every step.
        Without it a stream shortens w only after a batch that made it longer than both that radius
        and what it was before the batch.
    averaging : {{"none", "uniform", "suffix", "weighted"}}, default="suffix"
        Which mean of the iterates is the model.
    kernel : None, str, Kernel or callable, default=None
        None and "linear" have weights; anything else that `SVC` takes, but for "precomputed", has
        support vectors, and neither a projection nor a penalised intercept.
    {entries("degree")}
    gamma : float or {{"scale", "auto", "median"}}, default="scale"
        Of the kernel, as for `SVC`. Rules such as "scale" look at the samples of `fit`, or at the
        first batch of a stream whose rows are not all alike.
    {entries("coef0")}
    max_support : int or None, default=10_000
        Most support vectors that a stream with a kernel keeps for each binary problem; then those
        of the smallest coefficients give way. It needs d numbers for each, and the kernel matrix of
        one batch, or what of it fits in half of the free memory. None keeps all.
    multi_class : {{"ovr", "crammer_singer"}}, default="ovr"
        One against the rest, or one problem of all classes as for `LinearSVC`: with the hinge loss
        and without a kernel.
    class_weight : dict, "balanced" or None, default=None
        Factors of the loss by class; "balanced" needs all samples at once, so not on a stream.
    tol : float, default=1e-2
        Relative duality gap to prove.
    penalized_intercept : bool, default=False
        Penalise the intercept like a weight. By default it is free.
    fit_intercept : bool, default=True
        Whether f has an intercept b.
    {entries("intercept_scaling")}
    max_iter : int or None, default=100_000
        Most epochs of `fit`; None or -1: no limit.
    max_time : float or None, default=None
        Most seconds of `fit`, for all classes together.
    warm_start : bool, default=False
        Start where the last fit ended, if the number of samples and classes is the same.
    n_jobs : int or None, default=None
        Threads over the classes.
    random_state : int, RandomState or None, default=None
        Seeds the order of the samples.
    {entries("verbose")}

    Attributes
    ----------
    coef_ : ndarray of shape (n_problems, n_features)
        The weights: one row, or one for each class where there are more than two. Not with a
        kernel.
    support_vectors_ : ndarray or CSR matrix of shape (n_SV, n_features)
        With a kernel: f(x) = Σ_j c_j k(z_j, x) + b, where these are the z_j.
    dual_coef_ : ndarray of shape (n_problems, n_SV)
        With a kernel: the c_j, a row for each binary problem.
    {entries("intercept_ classes_")}
    certificate_ : Certificate
        Primal, dual, gap, KKT violation, support vectors, margin; of the sum if several classes. A
        stream is not kept, so after `partial_fit` there is none.
    {entries("solutions_ history_")}
    support_ : ndarray
        Indices of the support vectors.
    {entries("alpha_ slack_")}
    n_iter_ : int
        Epochs of `fit`, or batches of a stream.
    bound_ : float
        After `fit`: what the theory promises for the expected objective above the optimum, to be
        read beside `certificate_.gap`; infinite where the theorem does not apply: with a free
        intercept, the squared hinge or a warm start.
    t_ : int
        Steps taken.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from maxmargin import PegasosClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = PegasosClassifier(lam=0.01, random_state=0).fit(scale(X), y)
    >>> model.certificate_.relative_gap < 0.01
    True

    A stream, batch by batch:

    >>> stream = PegasosClassifier(lam=0.01, random_state=0)
    >>> for batch in range(5):
    ...     stream = stream.partial_fit(scale(X)[batch::5], y[batch::5], classes=[0, 1])
    >>> bool(stream.score(scale(X), y) > 0.95)
    True
    """

    _keeps_state = True  # partial_fit goes on from fit

    lam: float = 0.03
    _: KW_ONLY
    loss: str = "hinge"
    sampling: Literal["shuffle", "uniform"] = "shuffle"
    batch_size: int | None = None
    projection: bool = False
    averaging: Literal["none", "uniform", "suffix", "weighted"] = "suffix"
    kernel: Any = None
    degree: int = 3
    gamma: float | str = "scale"
    coef0: float = 0.0
    max_support: int | None = 10_000
    multi_class: Literal["ovr", "crammer_singer"] = "ovr"
    class_weight: dict[Any, float] | str | None = None
    tol: float = 1e-2
    fit_intercept: bool = True
    penalized_intercept: bool = False
    intercept_scaling: float = 1.0
    max_iter: int | None = 100_000
    max_time: float | None = None
    warm_start: bool = False
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    @property
    def solver(self) -> Pegasos:
        """The settings as a Solver."""
        return (Pegasos if self._linear else KernelPegasos)(
            check_choice("sampling", self.sampling, ("shuffle", "uniform")),
            self.batch_size,
            self.projection,
            check_choice("averaging", self.averaging, ("none", "uniform", "suffix", "weighted")),
        )

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> PegasosClassifier:
        """Fit to the rows of X with labels y; `sample_weight` multiplies C = 1/(n lam)."""
        check_one_label(self, y)
        X, y = (self._check_training if self._linear else self._check_rows)(X, y)
        classes = labels_of(y)
        check_positive("lam", self.lam, advice="It is 1/(n_samples * C).")
        cost = sample_costs(X, None, self.lam, sample_weight)
        cost = class_costs(cost, self.class_weight, classes, y)
        check_several_classes(classes, y, cost)
        joint, self.classes_ = self._joint, classes
        self._streams = []
        self._forget(*(("dual_coef_", "support_vectors_") if self._linear else ("coef_",)))
        if joint:
            self._fit_joint(X, y, cost)
        else:
            targets = binary_targets(y, classes)
            if self._linear:
                self._fit_targets(X, y, targets, [cost] * len(targets), self._loss())
            else:
                self._fit_expansions(X, y, targets, cost)
        self.t_ = max(solution.info.steps for solution in self.solutions_)
        self.bound_ = sum(solution.info.bound for solution in self.solutions_)
        self._keep_parameters()
        return self

    @property
    def _growth(self) -> tuple[float, ...]:  # type: ignore[override]
        return (0.0, 1.0) if self._linear else (0.0, 1.0, 2.0)

    @property
    def _linear(self) -> bool:
        return self.kernel is None or (isinstance(self.kernel, str) and self.kernel == "linear")

    @property
    def _joint(self) -> bool:
        """Whether all classes are one problem."""
        kind = check_choice("multi_class", self.multi_class, ("ovr", "crammer_singer"))
        if kind == "crammer_singer" and not self._linear:
            raise ValueError(
                f"multi_class='crammer_singer' is for linear problems here, got kernel="
                f"{self.kernel!r}. Use kernel=None, or multi_class='ovr'."
            )
        if kind == "crammer_singer" and self.loss != "hinge":
            raise ValueError(
                f"multi_class='crammer_singer' is the hinge loss of K classes, got loss="
                f"{self.loss!r}. Use loss='hinge', or multi_class='ovr'."
            )
        return kind == "crammer_singer"

    def _fit_expansions(
        self, X: Matrix, y: NDArray[Any], targets: list[Array], cost: Array
    ) -> None:
        """Solve one problem for each column of targets in the feature space of the kernel."""
        self._check_kernel()
        posed, rows = self._posed(X, y, cost), np.arange(X.shape[0])
        progress = self._solve(posed, [(rows, target, cost) for target in targets])
        self._keep_solutions(posed)
        progress.end()
        self._warn_if_unproven(X)

    def _completed(self, cost: CostEstimate, data: Sampled, parts: list[Part]) -> CostEstimate:
        found = super()._completed(cost, data, parts)
        if self._linear:
            return found
        n, solver = data.n_samples, self._kernel_solver(1, 1)
        assert isinstance(solver, KernelPegasos)
        rows = row_capacity(n, solver.cache_size, 1)
        return replace(found, memory_bytes=found.memory_bytes + 4 * n * rows, cache_rows=rows)

    def _data_warning(self, X: Matrix) -> str:
        if self._linear:
            found = super()._data_warning(X)
        else:
            kernel: Any = self._fitted_kernel
            found = wild_columns(kernel, X) or vanishing_kernel(kernel, X)
        return found or one_class_only(without_names(self).predict, X, weigh_more="lower lam")

    def _keep_solutions(self, posed: Posed) -> None:
        coef = np.stack([solution.w for solution in self.solutions_])
        self._fitted_kernel = posed.kernel
        self.support_vectors_ = posed.samples[self.support_]
        self.dual_coef_ = coef[:, self.support_]
        self.intercept_ = np.array([solution.b for solution in self.solutions_])
        self.n_iter_ = max(solution.n_iter for solution in self.solutions_)

    def _formulation(self) -> Formulation:
        return Formulation(self._loss(), self._intercept())

    def _kernel_solver(self, n_tasks: int, jobs: int) -> Solver:
        solver, together = self.solver, min(jobs, n_tasks)
        assert isinstance(solver, KernelPegasos)
        cache = solver.cache_size
        if cache is None and together > 1:
            cache = 0.5e-6 * free_memory() / together
        return replace(solver, cache_size=cache, n_threads=jobs if n_tasks == 1 else 1)

    def _check_kernel(self) -> None:
        if self._precomputed:
            raise ValueError(
                "kernel='precomputed' has no samples to learn from as they come. Use"
                " SVC(kernel='precomputed', solver='pegasos')."
            )
        if self.fit_intercept and self.penalized_intercept:
            raise ValueError(
                "penalized_intercept=True is for linear problems. With a kernel, give"
                " penalized_intercept=False for a free intercept, or fit_intercept=False."
            )

    def _forget(self, *names: str) -> None:
        for name in names:
            self.__dict__.pop(name, None)

    @property
    def support_(self) -> NDArray[np.intp]:
        """Rows that are support vectors of at least one problem."""
        check_is_fitted(self, "solutions_")
        if hasattr(self, "coef_"):
            return super().support_
        return np.flatnonzero(np.any([solution.w for solution in self.solutions_], axis=0))

    def decision_function(self, X: Any) -> Array:
        """f(x): one column for each class, or one number for two classes."""
        check_is_fitted(self)
        if hasattr(self, "coef_"):
            return super().decision_function(X)
        values = self._values(X, self.dual_coef_) + self.intercept_
        return np.asarray(values[:, 0] if values.shape[1] == 1 else values)

    def _lam(self) -> float:
        return check_positive("lam", self.lam, advice="C = 1/(n_samples * lam).")

    def _loss(self) -> Any:
        return CLASSIFICATION[check_choice("loss", self.loss, ("hinge", "squared_hinge"))]
