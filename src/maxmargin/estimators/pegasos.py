"""PegasosClassifier: the lecture's algorithm, in one go or on a stream."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from maxmargin.data.arrays import Array, Matrix, view_rows
from maxmargin.data.checks import check_choice, check_count, check_one_label, check_positive
from maxmargin.data.targets import (
    check_several_classes,
    class_costs,
    class_labels,
    class_numbers,
    sample_costs,
)
from maxmargin.estimators._base import (
    fitting,
    unchanged_on_failure,
)
from maxmargin.estimators._checks import labels_of
from maxmargin.estimators._kernel import KernelBase
from maxmargin.estimators._linear import LinearModel
from maxmargin.estimators._posed import Posed
from maxmargin.estimators.linear import LinearClassifier
from maxmargin.kernels import Kernel
from maxmargin.losses import CLASSIFICATION
from maxmargin.multiclass.decomposition import binary_targets, collapsed
from maxmargin.objectives.formulation import Formulation
from maxmargin.runtime.memory import free_memory
from maxmargin.solution import Solution
from maxmargin.solvers import Solver
from maxmargin.solvers.stochastic.kernel_pegasos import KernelPegasos, KernelPegasosStream
from maxmargin.solvers.stochastic.pegasos import ClassPegasosStream, Pegasos, PegasosStream

#: Parameters that a stream keeps from its first batch to its last.
_OF_STREAM = (
    "lam", "loss", "sampling", "batch_size", "projection", "averaging", "kernel", "degree", "gamma",
    "coef0", "max_support", "multi_class", "class_weight", "fit_intercept", "penalized_intercept",
    "intercept_scaling",
)  # fmt: skip


class PegasosClassifier(LinearClassifier, LinearModel, KernelBase):
    """SVM by Pegasos: stochastic subgradient steps of length 1/(λt).

    `fit` runs epochs until the gap is proven or `max_iter` is reached; `partial_fit` takes one pass
    over each batch of a stream. The objective is that of `LinearSVC(lam=lam, loss="hinge",
    penalized_intercept=False)`, which reaches tight tolerances much faster; with a kernel it is
    that of `SVC(C=1/(n lam))`, with several classes one against the rest.

    Parameters
    ----------
    lam : float, default=0.03
        The regularisation λ of λ/2 ‖w‖² + mean loss. The number of steps grows like 1/λ.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        The loss.
    sampling : {"shuffle", "uniform"}, default="shuffle"
        Epochs in a new order each, or independent uniform draws as in the theorem.
    batch_size : int or None, default=None
        Samples a step. None: one; in `fit` all, if there are at most 32 and they are shuffled.
    projection : bool, default=False
        Keep w in the ball of radius 1/√λ, or √(mean weight / λ) if that is larger, in every step.
        Without it a stream shortens w only after a batch that made it longer than both that radius
        and what it was before the batch.
    averaging : {"none", "uniform", "suffix", "weighted"}, default="suffix"
        Which mean of the iterates is the model.
    kernel : None, str, Kernel or callable, default=None
        None and "linear" have weights; anything else that `SVC` takes, but for "precomputed", has
        support vectors, and neither a projection nor a penalised intercept.
    degree, gamma, coef0
        Of the kernel, as for `SVC`. Rules such as gamma="scale" look at the samples of `fit`, or at
        the first batch of a stream whose rows are not all alike.
    max_support : int or None, default=10_000
        Most support vectors that a stream with a kernel keeps for each binary problem; then those
        of the smallest coefficients give way. It needs d numbers for each, and the kernel matrix of
        one batch, or what of it fits in half of the free memory. None keeps all.
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
        One against the rest, or one problem of all classes as for `LinearSVC`: with the hinge loss
        and without a kernel.
    class_weight : dict, "balanced" or None, default=None
        Factors of the loss by class; "balanced" needs all samples at once, so not on a stream.
    tol : float, default=1e-2
        Relative duality gap to prove.
    penalized_intercept : bool, default=False
        Penalise the intercept like a weight. By default it is free.
    fit_intercept, intercept_scaling, max_iter, max_time, warm_start, n_jobs, random_state, verbose
        As for `LinearSVC`.

    Attributes
    ----------
    coef_, intercept_, classes_, certificate_, solutions_, history_, support_, n_iter_
        As for `LinearSVC`. A stream is not kept, so after `partial_fit` there is no certificate.
    support_vectors_, dual_coef_
        With a kernel, instead of `coef_`: f(x) = Σ dual_coef_ k(support vector, x) + intercept_,
        with a row of coefficients for each binary problem.
    bound_ : float
        After `fit`: what the theory promises for the expected objective above the optimum, to be
        read beside `certificate_.gap`; infinite where the theorem does not apply: with a free
        intercept, the squared hinge or a warm start.
    t_ : int
        Steps taken.
    """

    _keeps_state = True  # partial_fit goes on from fit

    def __init__(
        self,
        lam: float = 0.03,
        *,
        loss: str = "hinge",
        sampling: Literal["shuffle", "uniform"] = "shuffle",
        batch_size: int | None = None,
        projection: bool = False,
        averaging: Literal["none", "uniform", "suffix", "weighted"] = "suffix",
        kernel: Any = None,
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        max_support: int | None = 10_000,
        multi_class: Literal["ovr", "crammer_singer"] = "ovr",
        class_weight: dict[Any, float] | str | None = None,
        tol: float = 1e-2,
        fit_intercept: bool = True,
        penalized_intercept: bool = False,
        intercept_scaling: float = 1.0,
        max_iter: int | None = 10_000,
        max_time: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.lam = lam
        self.loss = loss
        self.sampling = sampling
        self.batch_size = batch_size
        self.projection = projection
        self.averaging = averaging
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.max_support = max_support
        self.multi_class = multi_class
        self.class_weight = class_weight
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.penalized_intercept = penalized_intercept
        self.intercept_scaling = intercept_scaling
        self.max_iter = max_iter
        self.max_time = max_time
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

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
        self._streams: list[PegasosStream] = []
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

    def _keep_solutions(self, posed: Posed) -> None:
        coef = np.stack([solution.w for solution in self.solutions_])
        self._fitted_kernel: Kernel | None = posed.kernel
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
        if self.max_support is not None:
            check_count("max_support", self.max_support, advice="None keeps all.")

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

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> PegasosClassifier:
        """Take one pass over a batch, on from `fit` if it was called.

        Otherwise the first call must name all `classes`. What the problem is must not change within
        a stream. A batch that fails leaves the estimator as it was.
        """
        with unchanged_on_failure(self):
            self._take_batch(X, y, classes, sample_weight)
        return self

    def _take_batch(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> None:
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight={self.class_weight!r} counts the samples of each class, and a batch"
                " does not have all. Give a dict of factors:"
                " sklearn.utils.class_weight.compute_class_weight makes them of a sample."
            )
        first = not getattr(self, "_streams", [])
        self._refuse_changes()
        X, y = self._check_rows(X, y, reset=first and not hasattr(self, "solutions_"))
        class_labels(y)  # refuses what is none
        weight = sample_costs(X, 1.0, None, sample_weight)
        fitted = getattr(self, "solutions_", ())
        if first:
            self.classes_ = self._stream_classes(y, classes, fitted=bool(fitted))
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(
                f"classes={classes!r} differs from the labels {self.classes_.tolist()} that this"
                " model knows. Clone it to start afresh."
            )
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(
                f"y has the label {unknown.tolist()[0]!r}, which is not among the classes that this"
                f" model knows: {self.classes_.tolist()}."
            )
        weight = class_costs(weight, self.class_weight, self.classes_, y)
        if not weight.any():
            raise ValueError(
                "sample_weight times class_weight is zero for every sample of this batch, so there"
                " is nothing to learn from it. Leave the batch out."
            )
        if first:
            self._open_streams(X, weight, fitted)
            self._keep_parameters()
        X, _ = view_rows(X)
        self._streams = [copy(stream) for stream in self._streams]  # the others, if a step fails
        if self._alike and not _all_alike(X):
            self._refit_kernel(X, weight)
        for target, stream in zip(self._stream_targets(y), self._streams, strict=True):
            stream.step(X, target, weight)
        self._store_streams([stream.point() for stream in self._streams])
        self.n_iter_ += 1
        self.t_ = self._steps_before + self._streams[0].t

    def _keep_parameters(self) -> None:
        """Remember what the problem is; a dict may be changed in place."""
        given = {name: getattr(self, name) for name in _OF_STREAM}
        self._stream_params = {
            name: dict(value) if isinstance(value, dict) else value for name, value in given.items()
        }

    def _refit_kernel(self, X: Matrix, weight: Array) -> None:
        """Let rules such as gamma="scale" look at the first rows that are not all alike."""
        self._alike = False
        self._fitted_kernel = self._kernel(X, weight / weight.max())
        for stream in self._streams:
            assert isinstance(stream, KernelPegasosStream)
            stream.kernel = self._fitted_kernel

    def _refuse_changes(self) -> None:
        """Refuse to go on with another problem or another average than fit or the stream began."""
        for name, old in getattr(self, "_stream_params", {}).items():
            new = getattr(self, name)
            if new is not old and not (isinstance(new, type(old)) and new == old):
                raise ValueError(
                    f"{name}={new!r} differs from {name}={old!r}, with which this stream began. Set"
                    " it back, call fit, or begin with a new estimator (sklearn.base.clone)."
                )

    def _stream_targets(self, y: NDArray[Any]) -> list[Array]:
        """±1 for each binary problem, or the numbers of the classes for the one of all."""
        if isinstance(self._streams[0], ClassPegasosStream):
            return [class_numbers(self.classes_, y)]
        positives = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        return [np.where(y == positive, 1.0, -1.0) for positive in positives]

    def _store_streams(self, points: list[tuple[Array, Any]]) -> None:
        """Keep what prediction needs; each stream with a kernel has support vectors of its own."""
        if isinstance(self._streams[0], ClassPegasosStream):
            self.coef_, self.intercept_ = collapsed(*points[0])
            return
        weights = [w for w, _ in points]
        self.intercept_ = np.array([b for _, b in points])
        supports: list[Any] = [
            stream.support for stream in self._streams if isinstance(stream, KernelPegasosStream)
        ]
        if not supports:
            self.coef_ = np.stack(weights)
            return
        stack = sparse.vstack if any(map(sparse.issparse, supports)) else np.concatenate
        self.support_vectors_ = view_rows(stack(supports))[0]
        self.dual_coef_ = np.asarray(sparse.block_diag([w[np.newaxis] for w in weights]).toarray())

    def _open_streams(self, X: Matrix, weight: Array, fitted: Sequence[Solution]) -> None:
        """One stream for each binary problem, at 0 or where `fit` ended."""
        one = self._joint or len(self.classes_) == 2
        seeds = check_random_state(self.random_state).randint(
            2**31, size=1 if one else len(self.classes_)
        )
        common = {
            "loss": self._loss(),
            "intercept": self._intercept(),
            "intercept_scaling": self._scaling(),
        }
        options = [common | {"seed": int(seed)} for seed in seeds]
        opened = self._linear_streams if self._linear else self._kernel_streams
        self._alike = not (self._linear or fitted) and _all_alike(X)
        self._streams = opened(X, weight, options, fitted)
        self._steps_before = self.t_ if fitted else 0
        self.n_iter_ = self.n_iter_ if fitted else 0
        self._forget("solutions_", "bound_")

    def _linear_streams(
        self, X: Matrix, weight: Array, options: list[dict[str, Any]], fitted: Sequence[Any]
    ) -> list[PegasosStream]:
        del weight
        settings = X.shape[1], self._lam(), self.solver
        streams: list[PegasosStream]
        if self._joint:
            streams = [ClassPegasosStream(len(self.classes_), *settings, **options[0])]
        else:
            streams = [PegasosStream(*settings, **option) for option in options]
        for stream, solution in zip(streams, fitted, strict=False):
            stream.resume(solution.w, solution.b, self._stream_steps(solution))
        return streams

    def _kernel_streams(
        self, X: Matrix, weight: Array, options: list[dict[str, Any]], fitted: Sequence[Any]
    ) -> list[PegasosStream]:
        self._check_kernel()
        if not fitted:
            self._fitted_kernel = self._kernel(X, weight / weight.max())
        kernel, solver = self._fitted_kernel, self.solver
        assert isinstance(solver, KernelPegasos)
        assert kernel is not None
        streams: list[PegasosStream] = []
        for row, option in enumerate(options):
            stream = KernelPegasosStream(kernel, self._lam(), solver, self.max_support, **option)
            if fitted:
                used = np.flatnonzero(self.dual_coef_[row])
                support, coef = self.support_vectors_[used], self.dual_coef_[row, used]
                stream.resume_at(support, coef, fitted[row].b, self._stream_steps(fitted[row]))
            streams.append(stream)
        return streams

    def _stream_steps(self, solution: Solution) -> int:
        """Count the steps in which a stream would have met as many samples as `fit` did."""
        taken = self.solver.rows_a_step(len(solution.beta)) if self.batch_size is None else 1
        return solution.info.steps * taken

    def _stream_classes(self, y: Any, classes: Any, *, fitted: bool) -> NDArray[Any]:
        """Return the labels that the stream will bring."""
        if fitted and classes is None:
            classes = self.classes_
        if classes is None:
            raise ValueError(
                "The first call to partial_fit needs classes=, the list of all labels that the"
                f" stream will bring; this batch has {np.unique(y).tolist()}."
            )
        classes = np.unique(classes)
        if len(classes) < 2:
            raise ValueError(f"classes must name at least two labels, got {classes.tolist()}.")
        if fitted and not np.array_equal(classes, self.classes_):
            raise ValueError(
                f"classes={classes.tolist()} differs from the labels {self.classes_.tolist()} that"
                " fit saw. Clone the estimator to start afresh."
            )
        return np.asarray(classes)

    def _lam(self) -> float:
        return check_positive("lam", self.lam, advice="C = 1/(n_samples * lam).")

    def _loss(self) -> Any:
        return CLASSIFICATION[check_choice("loss", self.loss, ("hinge", "squared_hinge"))]


def _all_alike(X: Matrix) -> bool:
    """Whether all rows are equal, so that no rule for gamma can see a spread."""
    return not (abs(X - X[[0] * X.shape[0]])).max() > 0.0
