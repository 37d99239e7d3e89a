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

from maxmargin.data.arrays import Array, Matrix, view_rows
from maxmargin.data.checks import check_positive, check_total_cost
from maxmargin.data.problem import Problem
from maxmargin.data.targets import class_numbers
from maxmargin.estimators._base import CertifiedModel
from maxmargin.estimators._posed import Posed
from maxmargin.estimators._solvers import given_solver
from maxmargin.kernels import Kernel, Linear, Precomputed, fitted_kernel
from maxmargin.kernels.pairwise import plain, robust_origin
from maxmargin.multiclass.kernel_problems import KernelProblems, positions
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

#: Multiplications that let BLAS wake its threads as easily as a term of a matrix-vector product.
_WORK_OF_SUM = 8


class KernelBase(CertifiedModel):
    """What has a kernel by name or as an object, and solves problems with it."""

    #: What `solver` may be; SMO where there is no such parameter.
    _solvers: tuple[str, ...] = ("smo",)

    support_vectors_: Matrix
    n_iter_: Any  # an array; a number where one problem is all there can be
    cache_size: float | None = None  # where there is no such parameter
    _variables_per_sample = 1  # that have a kernel row each
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
        return Posed(X, y, checked_positions(X) if self._precomputed else X, kernel, members or [])

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
        for _, _, cost in tasks:
            check_total_cost(cost)
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
        check_total_cost(cost)
        numbers = class_numbers(self.classes_, posed.y).astype(np.float64)
        n_classes = len(self.classes_)
        problem = Problem(posed.samples, numbers, cost)
        objective = KernelCrammerSingerObjective(
            problem, n_classes, self._intercept(), kernel=posed.kernel
        )
        with one_blas_thread():  # an invalid kernel is refused before the fit
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


def checked_positions(K: Matrix) -> Array:
    """Return the samples of a kernel matrix: their positions."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(
            f"kernel='precomputed' needs a square matrix of kernel values, X has shape {K.shape}."
        )
    return positions(K.shape[0])
