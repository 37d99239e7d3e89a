"""What the kernel machines share: kernels and solvers by name, prediction from support vectors."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import _num_samples, check_is_fitted

from maxmargin.certificate import Status
from maxmargin.data.arrays import Array, Matrix, view_rows
from maxmargin.data.checks import check_positive
from maxmargin.data.problem import Problem
from maxmargin.data.targets import class_numbers
from maxmargin.estimators._base import CertifiedModel
from maxmargin.estimators._checks import checked_targets, function_values
from maxmargin.estimators._cost import CostEstimate, estimate_cost
from maxmargin.estimators._posed import Posed
from maxmargin.estimators._solvers import given_solver
from maxmargin.estimators._traps import vanishing_kernel, wild_columns
from maxmargin.kernels import Kernel, Linear, Precomputed, User, fitted_kernel, mercer_check
from maxmargin.kernels.pairwise import plain, robust_origin
from maxmargin.multiclass.kernel_problems import KernelProblems, places
from maxmargin.multiclass.subproblems import OneProblem
from maxmargin.objectives.base import Intercept
from maxmargin.objectives.formulation import Formulation
from maxmargin.objectives.kernel_crammer_singer import KernelCrammerSingerObjective
from maxmargin.runtime.blas_threads import blas_threads_for, one_blas_thread
from maxmargin.runtime.memory import free_memory
from maxmargin.runtime.progress import Progress, unbegun
from maxmargin.runtime.threads import n_threads
from maxmargin.solution import Solution
from maxmargin.solvers import (
    QP,
    ClassSMO,
    KernelPegasos,
    Solver,
)
from maxmargin.solvers.kernel.batch_smo import Task
from maxmargin.solvers.kernel.row_source import RESOLUTION, KernelSamples, summed
from maxmargin.solvers.kernel.smo import SMO

#: Kernel values that a prediction copies at a time.
_VALUES_PER_BLOCK = 2**22

#: Samples on which a function is tried, whether it is a kernel.
_TRIED = 100

#: Multiplications that let BLAS wake its threads as easily as a term of a matrix-vector product.
_WORK_OF_SUM = 8


class KernelBase(CertifiedModel):
    """What has a kernel by name or as an object, and solves problems with it."""

    #: What `solver` may be; SMO where there is no such parameter.
    _solvers: tuple[str, ...] = ("smo",)

    support_vectors_: Matrix
    n_iter_: Any  # an array; a number where one problem is all there can be
    cache_size: float | None = None  # where there is no such parameter
    _scale_of_f = 1.0  # the margin, or the spread of the targets
    _samples: KernelSamples | None = None  # the support vectors as predictions read them

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags

    def _kernel(self, X: Matrix, weight: Array) -> Kernel:
        """Return the kernel with numbers for parameters."""
        return Precomputed(X) if self._precomputed else fitted_kernel(self, X, weight)

    @property
    def _precomputed(self) -> bool:
        """Whether rows of kernel values stand for the samples."""
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _posed(
        self, X: Matrix, y: Any, cost: Array, members: list[NDArray[np.intp]] | None = None
    ) -> Posed:
        """Return the samples as the kernel takes them, and the kernel."""
        X, _ = view_rows(X)
        if self._precomputed:
            X = plain(X)
        kernel = self._kernel(X, cost / cost.max())
        if isinstance(kernel, Linear) and self._intercept() is Intercept.FREE:
            kernel = Linear(robust_origin(X))
        return Posed(X, y, _positions(X) if self._precomputed else X, kernel, members or [])

    def _keep_solutions(self, posed: Posed) -> None:
        """Lay out what `solutions_` have, as predictions need it."""
        raise NotImplementedError

    def _so_far(self, posed: Posed, solutions: Iterable[Any]) -> dict[str, Any]:
        """Return the fitted attributes as of these solutions; the model itself stays as it is."""
        model = copy(self)
        model.solutions_ = tuple(solutions)
        model._keep_solutions(posed)
        return dict(vars(model))

    def _formulation(self) -> Formulation:
        """Return which kernel machine this is."""
        raise NotImplementedError

    def _solve(self, posed: Posed, tasks: list[Task], *, pairs: bool = False) -> Progress:
        """Solve each (rows, targets, costs), in threads; `pairs` of classes or not."""
        begin, formulation = time.perf_counter(), self._formulation()
        problems = KernelProblems(
            posed.samples,
            posed.kernel,
            tasks,
            self._starts([cost for _, _, cost in tasks], self._seeds(len(tasks))),
            formulation=formulation,
            solver=self._kernel_solver(len(tasks), n_threads(self.n_jobs)),
            members=posed.members if pairs else None,
            level=posed.level,
            cache_size=self.cache_size,
        )

        def with_excesses(found: Iterable[Solution | None]) -> Iterator[Solution]:
            for solution, (rows, y, cost) in zip(found, tasks, strict=True):
                whole = solution or unbegun(len(rows))
                excess = formulation.excess(y, cost)
                yield replace(whole, excess=excess) if excess else whole

        def rebuild(found: list[Solution | None]) -> dict[str, Any]:
            return self._so_far(posed, with_excesses(found))

        solutions, progress = self._solve_all(problems, posed.X, posed.y, rebuild, begin)
        self.solutions_ = tuple(with_excesses(solutions))
        return progress

    def _solve_joint(self, posed: Posed, cost: Array) -> Progress:
        """Solve the one problem of all classes."""
        begin = time.perf_counter()
        n_classes, numbers = len(self.classes_), class_numbers(self.classes_, posed.y)
        problem = Problem(posed.samples, numbers, cost)
        objective = KernelCrammerSingerObjective(
            problem, n_classes, self._intercept(), kernel=posed.kernel
        )
        with one_blas_thread():  # a function that is no kernel is refused before it is solved
            _ = objective.convex
        by_class = np.broadcast_to(cost[:, np.newaxis], (len(cost), n_classes))
        (start,) = self._starts([by_class], self._seeds(1))
        solver = ClassSMO(cache_size=self.cache_size, n_threads=n_threads(self.n_jobs))
        one = OneProblem(objective, solver, start, one_blas_thread=True)
        rebuild = partial(self._so_far, posed)
        solutions, progress = self._solve_all(one, posed.X, posed.y, rebuild, begin)
        self.solutions_ = tuple(solutions)
        return progress

    def _intercept(self) -> Intercept:
        return Intercept.FREE if self.fit_intercept else Intercept.NONE

    def _unit(self, _solution: Solution) -> float:
        """Return by what the coefficients of a solution are to be divided."""
        return 1.0

    def _offset(self, solution: Solution) -> Any:
        """Return its intercept, to be divided by the same."""
        return solution.b

    def _kernel_solver(self, n_tasks: int, jobs: int) -> Solver:
        """Return the solver, with its share of the threads and of the memory.

        Of the memory given for several problems, half is left for what they may share.
        """
        together, cache = min(jobs, n_tasks), self.cache_size
        if cache is None and together > 1:
            cache = 0.5e-6 * free_memory() / together
        elif cache is not None and n_tasks > 1:
            total = check_positive("cache_size", cache, advice="It is in megabytes.")
            cache = 0.5 * total / together
        threads = jobs if n_tasks == 1 else 1
        named: dict[str, Callable[[], Solver]] = {
            "smo": lambda: SMO(cache_size=cache, n_threads=threads),
            "qp": lambda: QP(threads),
            "pegasos": lambda: KernelPegasos(cache_size=cache, n_threads=threads),
        }
        return given_solver(
            getattr(self, "solver", "smo"), {name: named[name] for name in self._solvers}
        )

    def _rows_to_predict(self, X: Any) -> Matrix:
        return view_rows(self._check_rows(X, reset=False))[0]

    def _values(self, X: Any, coef: Array) -> Array:
        """Σ c_j k(x_j, x) for every row x of X and every row c of coef."""
        return self._values_of_rows(self._rows_to_predict(X), coef)

    def _values_of_rows(
        self, rows: Matrix, coef: Array, parts: NDArray[np.int32] | None = None
    ) -> Array:
        """Return the same of rows that were checked.

        With `parts`, numbers of support vectors that follow each other, a sum over each of them.
        """
        with self._blas_threads_for(rows, coef.shape[-1]):
            return self._sums(rows, coef, parts)

    def _blas_threads_for(self, X: Matrix, n_support: int) -> AbstractContextManager[None]:
        """Keep BLAS to one thread for the sums of few rows."""
        stored = X.nnz if sparse.issparse(X) else X.size
        products, sums = int(stored) * n_support, X.shape[0] * n_support
        return blas_threads_for(products + _WORK_OF_SUM * sums)

    def _sums(self, X: Matrix, coef: Array, parts: NDArray[np.int32] | None = None) -> Array:
        """Return the same, with as many threads as there are."""
        if self._fitted_kernel is None:  # X has the kernel values themselves
            size = max(1, _VALUES_PER_BLOCK // max(1, len(self.support_)))
            blocks = (X[begin : begin + size] for begin in range(0, X.shape[0], size))
            values = (plain(block[:, self.support_]) for block in blocks)
            return np.concatenate([summed(K, coef, parts) for K in values])
        samples = self._samples
        if samples is None or samples.X is not self.support_vectors_:
            samples = KernelSamples(self._fitted_kernel, self.support_vectors_)
        return samples.predict(
            X, coef, parts, n_threads(self.n_jobs), RESOLUTION * self._scale_of_f
        )


class KernelModel(KernelBase):
    """f(x) = Σ c_j k(x_j, x) + b over the support vectors x_j, with the certificate of the fit.

    A plain function as the kernel gets all samples at once, as they were given, and is called again
    with those to predict and those of the fit; nothing but its values is checked.
    """

    _weights_by_feature = False
    _given: Any = None  # the samples of the fit, for a kernel that is a plain function

    @property
    def _function(self) -> bool:
        return callable(self.kernel) and not isinstance(self.kernel, (Kernel, type))

    @property
    def _precomputed(self) -> bool:
        return self._function or super()._precomputed

    def _training(self, X: Any, y: Any, **numeric: bool) -> Any:
        """Return the rows and targets, where the kernel is a plain function with its values."""
        self._given = X if self._function else None
        if not self._function:
            return self._check_rows(X, y, **numeric)
        values, alone = self._function_values(X, X), isinstance(y, str) and y == "no_validation"
        return values if alone else (values, checked_targets(y, values.shape[0], **numeric))

    def _kernel(self, X: Matrix, weight: Array) -> Kernel:
        kernel = super()._kernel(X, weight)
        if not self._function:
            return kernel
        with one_blas_thread():
            passed = mercer_check(kernel, places(X.shape[0]), n_samples=_TRIED).passed
        return Precomputed(X, passed)

    def _function_values(self, rows: Any, columns: Any) -> Array:
        width = columns.shape[1] if getattr(columns, "ndim", 1) == 2 else 1
        with blas_threads_for(_num_samples(rows) * _num_samples(columns) * width):
            return function_values(self.kernel, rows, columns)

    def _rows_to_predict(self, X: Any) -> Matrix:
        if self._n_support.sum() != len(self.support_):
            raise ValueError(
                f"The internal representation of {type(self).__name__} was altered: n_support_ ="
                f" {self._n_support.tolist()} of {len(self.support_)} support vectors. Fit again."
            )
        if self._function:
            return self._function_values(X, self._given)
        return super()._rows_to_predict(X)

    def _posed(
        self, X: Matrix, y: Any, cost: Array, members: list[NDArray[np.intp]] | None = None
    ) -> Posed:
        posed = super()._posed(X, y, cost, members)
        return posed._replace(X=self._given) if self._function else posed

    def _finish(self, X: Matrix, coef: Array, support: NDArray[np.int32], kernel: Kernel) -> None:
        """Keep what prediction needs; coef has a column for each support vector."""
        self.support_ = support
        self.support_vectors_ = np.zeros((0, 0)) if self._precomputed else X[support]
        self._keep_coef(coef)
        self._fitted_kernel = None if self._precomputed else kernel
        self.intercept_ = self._from_origin(
            np.array([self._offset(found) / self._unit(found) for found in self.solutions_])
        )
        self.n_iter_ = np.array([solution.n_iter for solution in self.solutions_], dtype=np.int32)
        self.shape_fit_ = (X.shape[0], X.shape[0]) if self._precomputed else X.shape
        self._keep_samples()

    def _keep_coef(self, coef: Array) -> None:
        """Keep the coefficients for predictions; show them as CSR if the support vectors are."""
        self._coef = coef
        self.dual_coef_ = like(self.support_vectors_, coef)

    def _keep_one(self, posed: Posed, solution: Solution) -> None:
        """Do so for one f."""
        support = np.flatnonzero(solution.w).astype(np.int32)
        self._n_support = np.array([len(support)], dtype=np.int32)
        self._finish(posed.samples, solution.w[np.newaxis, support], support, posed.kernel)
        self.n_iter_ = solution.n_iter

    def _from_origin(self, b: Array) -> Array:
        """Return the intercepts of f(x) = ⟨w, x⟩ + b, where the fit was of f(x − origin)."""
        kernel, self._shift = self._fitted_kernel, np.zeros_like(b)
        if isinstance(kernel, Linear) and kernel.origin is not None:
            self._shift = self._weights() @ kernel.origin
        return np.asarray(b - self._shift)

    @property
    def _offsets(self) -> Array:
        """What joins the sums over the support vectors: intercepts as seen from the origin."""
        return np.asarray(self.intercept_ + self._shift)

    def _keep_samples(self) -> None:
        """Keep the support vectors for predictions, and from being changed behind their back."""
        if self._fitted_kernel is None:
            self._samples = None
            return
        vectors = self.support_vectors_
        for values in [vectors.data, vectors.indices] if sparse.issparse(vectors) else [vectors]:
            values.flags.writeable = False
        self._samples = KernelSamples(self._fitted_kernel, vectors)

    def _trap(self, X: Matrix) -> str:
        kernel = self._fitted_kernel
        if kernel is None:
            return ""
        return wild_columns(kernel, X) or vanishing_kernel(kernel, X)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_samples"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "support_vectors_"):
            self._keep_samples()

    def estimate_cost(self, X: Any, y: Any = None, *, max_time: float = 1.0) -> CostEstimate:
        """Estimate time and memory of a fit, and say what would make it cheaper.

        Small parts of the data are fitted and kernel values timed on this machine, in about
        `max_time` seconds; what grows with the samples is extrapolated. The model stays as it is.
        """
        model = clone(self)
        if self._function:  # parts of X are enough to time it
            model.set_params(kernel=User(self.kernel))
        checked = model._check_rows(X, "no_validation" if y is None else y)
        rows, targets = (checked, None) if y is None else checked
        if model._precomputed:
            _positions(rows)  # refuses what is no kernel matrix
        return estimate_cost(model, view_rows(rows)[0], targets, max_time)

    def _for_part(self, y: NDArray[Any] | None, rows: NDArray[np.intp]) -> Any:
        """Return the model to fit to some of the samples; y is that of all."""
        del y, rows
        return clone(self)

    @property
    def n_support_(self) -> NDArray[np.int32]:
        """Number of support vectors of each class, or of all where there are none."""
        self._solved("number of support vectors")
        return self._n_support

    @property
    def _gamma(self) -> float:
        """γ as a number, as other packages read it from scikit-learn's models."""
        return float(getattr(self._fitted_kernel, "gamma", 0.0))

    @property
    def fit_status_(self) -> int:
        """0 if the optimum was proven, else 1."""
        check_is_fitted(self, "solutions_")
        return int(any(solution.status is not Status.OPTIMAL for solution in self.solutions_))

    def _coef_by_problem(self) -> Array:
        """Coefficients of all support vectors, one row for each f."""
        return self._coef

    def _weights(self) -> Array:
        """Return w of each f: those that predictions take."""
        kernel = self._fitted_kernel
        if not isinstance(kernel, Linear):
            raise AttributeError("coef_ is only available when using a linear kernel.")
        return kernel.weights(self._coef_by_problem(), self.support_vectors_)

    @property
    def coef_(self) -> Any:
        """The weights of a linear kernel, one row for each f; read-only, CSR after sparse data."""
        check_is_fitted(self)
        weights = like(self.support_vectors_, self._weights())
        (weights.data if sparse.issparse(weights) else weights).flags.writeable = False
        return weights


def like(vectors: Matrix, values: Array) -> Any:
    """Return the values as CSR if the support vectors are."""
    return type(vectors)(values) if sparse.issparse(vectors) else values


def _positions(K: Matrix) -> Array:
    """Return the samples of a kernel matrix: their positions."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(
            f"kernel='precomputed' needs a square matrix of kernel values, X has shape {K.shape}."
        )
    return places(K.shape[0])
