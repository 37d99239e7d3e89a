"""What predicts from support vectors, with the certificate of the fit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import _num_samples, check_is_fitted

from maxmargin.certificate import Status
from maxmargin.data.arrays import Array, Matrix, view_rows
from maxmargin.data.origin import Origin
from maxmargin.estimators._checks import checked_targets, function_values
from maxmargin.estimators._cost import CostEstimate, Part, Sampled
from maxmargin.estimators._kernel import KernelBase, checked_positions
from maxmargin.estimators._kernel_cost import beyond_small, largest_problem, with_kernel_rows
from maxmargin.estimators._posed import Posed
from maxmargin.estimators._traps import blind_kernel, vanishing_kernel, wild_columns
from maxmargin.kernels import Kernel, Linear, Precomputed, mercer_check
from maxmargin.kernels.pairwise import plain
from maxmargin.multiclass.kernel_problems import positions
from maxmargin.runtime.blas_threads import blas_threads_for, one_blas_thread
from maxmargin.solution import Solution
from maxmargin.solvers.kernel.row_source import KernelSamples
from maxmargin.solvers.qp import QP, refuse_many

#: Samples on which a function is checked for negative eigenvalues.
_MERCER_SAMPLES = 100


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
            passed = mercer_check(kernel, positions(X.shape[0]), n_samples=_MERCER_SAMPLES).passed
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
        self.intercept_ = self._from_origin(self._fitted_offsets())
        self.n_iter_ = np.array([solution.n_iter for solution in self.solutions_], dtype=np.int32)
        self.shape_fit_ = (X.shape[0], X.shape[0]) if self._precomputed else X.shape
        self._keep_samples()

    def _keep_coef(self, coef: Array) -> None:
        """Keep the coefficients for predictions; show them as CSR if the support vectors are."""
        self._coef = coef
        self.dual_coef_ = like(self.support_vectors_, coef)

    def _keep_one(self, posed: Posed, solution: Solution) -> None:
        """Keep what prediction of one f needs."""
        support = np.flatnonzero(solution.w).astype(np.int32)
        self._n_support = np.array([len(support)], dtype=np.int32)
        self._finish(posed.samples, solution.w[np.newaxis, support], support, posed.kernel)
        self.n_iter_ = solution.n_iter

    def _fitted_offsets(self) -> Array:
        """Return the intercept of each f, before it is made that of rows as they were given."""
        return np.array([self._offset(found) / self._unit(found) for found in self.solutions_])

    def _from_origin(self, b: Array) -> Array:
        """Return the intercepts of f(x) = ⟨w, x⟩ + b, where the fit was of f(x − origin)."""
        kernel, self._shift = self._fitted_kernel, np.zeros((2, len(b)))
        if not isinstance(kernel, Linear) or kernel.origin is None:
            return b
        origin = Origin(kernel.origin, 0.0)
        self._shift = np.array([origin.product(w) for w in plain(self._weights())]).T
        given = np.array(
            [math.fsum((b_k, *-s_k)) for b_k, s_k in zip(b, self._shift.T, strict=True)]
        )
        self._certify_moved(given, b)
        return given

    def _certify_moved(self, given: Array, b: Array) -> None:
        """Add to each primal value what the rounding of an intercept far from 0 may cost.

        P rises by at most Σ C_i if f moves by 1, of K classes in one problem by twice that.
        """
        parts = np.vstack([given, self._shift, -b]).T
        moved = np.abs([math.fsum(part) for part in parts])
        if len(self.solutions_) < len(moved):
            moved = 2.0 * moved.max(keepdims=True)
        self.solutions_ = tuple(
            found.moved(float(by) * self._unit(found), self.tol)
            for found, by in zip(self.solutions_, moved, strict=True)
        )

    @property
    def _offsets(self) -> Array:
        """What is added to the sums over the support vectors: the intercepts before the shift."""
        high, low = self._shift
        return np.asarray((self.intercept_ + high) + low)

    def _keep_samples(self) -> None:
        """Keep the support vectors for predictions, and from being changed behind their back."""
        if self._fitted_kernel is None:
            self._samples = None
            return
        vectors = self.support_vectors_
        for values in [vectors.data, vectors.indices] if sparse.issparse(vectors) else [vectors]:
            values.flags.writeable = False
        self._samples = KernelSamples(self._fitted_kernel, vectors)

    def _data_warning(self, X: Matrix) -> str:
        kernel = self._fitted_kernel
        if kernel is None:
            return ""
        return wild_columns(kernel, X) or vanishing_kernel(kernel, X)

    def _blind(self, X: Matrix) -> str:
        """Say that the kernel of a machine with one f tells no samples apart."""
        kernel = self._fitted_kernel
        if kernel is None:
            return ""
        return blind_kernel(
            kernel, X, lambda rows: self._values_of_rows(rows, self._coef) / self._scale_of_f
        )

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_samples"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "support_vectors_"):
            self._keep_samples()

    @property
    def _kernel_matrix_given(self) -> bool:  # type: ignore[override]
        return self._precomputed and not self._function

    @property
    def _growth(self) -> tuple[float, ...]:  # type: ignore[override]
        return (3.0,) if isinstance(self._kernel_solver(1, 1), QP) else (0.0, 1.0, 2.0)

    def _least_part(self, data: Sampled) -> int:
        return 0 if self._function else beyond_small(self, data)

    def _samples_of_cost(self, X: Any, y: Any) -> tuple[Any, NDArray[Any] | None]:
        if self._function:
            return X, None if y is None else checked_targets(y, _num_samples(X))
        rows, targets = super()._samples_of_cost(X, y)
        if self._precomputed:
            checked_positions(rows)  # refuses a matrix that is not square
        rows = view_rows(rows)[0]
        if isinstance(self._kernel_solver(1, 1), QP):
            refuse_many(largest_problem(self, rows.shape[0], targets), "'smo'")
        return rows, targets

    def _completed(self, cost: CostEstimate, data: Sampled, parts: list[Part]) -> CostEstimate:
        return with_kernel_rows(self, cost, data, parts)

    @property
    def n_support_(self) -> NDArray[np.int32]:
        """Number of support vectors of each class, or of all where there are none.

        Equal rows that were fitted as one count once here, and each in `certificate_`.
        """
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
        coef, vectors = self._coef_by_problem(), self.support_vectors_
        with blas_threads_for(coef.size * vectors.shape[1]):
            return kernel.weights(coef, vectors)

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
