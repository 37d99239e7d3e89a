"""Kernels: functions k(x, z) that are inner products in some feature space.

A kernel is called with two blocks of samples and returns the matrix of its values; that is all a
solver, a prediction or the certificate needs. The common ones are functions of ⟨x, z⟩, ‖x‖² and
‖z‖², which the core computes in tiles (`formula`). Sums, products and positive multiples of kernels
are kernels.
"""

from __future__ import annotations

import itertools
import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import pairwise
from sklearn.utils import assert_all_finite

import maxmargin._core as _core
from maxmargin.validation import Array, Matrix, check_count, check_positive, view_rows

#: Rules for γ.
GAMMA_RULES = ("scale", "auto", "median")

#: Samples whose pairwise distances the median rule looks at.
_MEDIAN_SAMPLES = 1000


class Kernel(ABC):
    """A kernel with its parameters.

    `mercer` tells whether it is positive semidefinite whatever the samples; None: nobody knows.
    """

    mercer: bool | None = True

    @property
    def unit(self) -> float:
        """By what the samples are multiplied for `formula`."""
        return 1.0

    @abstractmethod
    def __call__(self, A: Matrix, B: Matrix) -> Array:
        """k(a, b) for every row a of A and b of B, in float64."""

    def eps(self, X: Matrix) -> float:
        """Return the relative rounding of the type in which its values on such samples come."""
        del X
        return float(np.finfo(np.float64).eps)

    def diagonal(self, A: Matrix) -> Array:
        """k(a, a) for every row a of A."""
        blocks = [A[begin : begin + 16] for begin in range(0, A.shape[0], 16)]
        return np.concatenate([np.diag(self(block, block)) for block in blocks])

    def formula(self) -> _core.KernelFormula | None:
        """Return what the core computes the same by, of samples times `unit`; None if it cannot."""
        return None

    def fitted(self, X: Matrix, weight: Array | None = None) -> Kernel:
        """Return the kernel with every parameter a number: rules such as "scale" look at X.

        A weight counts like a repetition of the row.
        """
        del X, weight
        return self

    def __add__(self, other: object) -> Kernel:
        if not isinstance(other, Kernel):
            raise _not_a_kernel("added to", other)
        return Sum(self, other)

    def __radd__(self, other: object) -> Kernel:
        """Begin `sum`, which adds the first kernel to 0."""
        return self if isinstance(other, int) and other == 0 else self + other

    def __mul__(self, other: object) -> Kernel:
        if isinstance(other, Kernel):
            return Product(self, other)
        if not isinstance(other, numbers.Real):
            raise _not_a_kernel("multiplied by", other)
        return Scaled(float(other), self)

    __rmul__ = __mul__


@dataclass(frozen=True)
class Linear(Kernel):
    """⟨x, z⟩."""

    def __call__(self, A: Matrix, B: Matrix) -> Array:
        return dots(A, B)

    def diagonal(self, A: Matrix) -> Array:
        return squares(A)

    def formula(self) -> _core.KernelFormula:
        return _core.KernelFormula(_core.KernelKind.linear, 1.0, 0.0, 1)


@dataclass(frozen=True)
class _WithGamma(Kernel):
    """A kernel whose γ may be a rule: "scale" 1/(d var X), "auto" 1/d, "median" 1/median‖x−z‖²."""

    gamma: float | str = "scale"

    def __post_init__(self) -> None:
        if self.gamma not in GAMMA_RULES:
            check_positive("gamma", self.gamma, advice='Or "scale", "auto" or "median".')

    def fitted(self, X: Matrix, weight: Array | None = None) -> Kernel:
        return replace(self, gamma=gamma_of(self.gamma, X, weight))

    @property
    def unit(self) -> float:
        """The power of 2 next to √γ: neither γ nor the samples leave float32, nor lose a bit."""
        return 2.0 ** round(0.5 * math.log2(self._gamma))

    @property
    def _gamma(self) -> float:
        if isinstance(self.gamma, str):
            raise ValueError(f"gamma={self.gamma!r} is a rule: call kernel.fitted(X) first.")
        return float(self.gamma)


@dataclass(frozen=True)
class Polynomial(_WithGamma):
    """(γ⟨x, z⟩ + coef0)^degree; a kernel where coef0 ≥ 0."""

    degree: int = 3
    coef0: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("degree", self.degree, advice="3 is usual.")
        _check_offset(self.coef0)

    @property
    def mercer(self) -> bool:  # type: ignore[override]
        """Whether the powers of ⟨x, z⟩ all have coefficients of at least 0."""
        return self.coef0 >= 0.0

    def __call__(self, A: Matrix, B: Matrix) -> Array:
        values = np.ascontiguousarray(dots(A, B))
        _core.polynomial_values(values, self._gamma, self.coef0, self.degree)
        return values

    def diagonal(self, A: Matrix) -> Array:
        return np.asarray((self._gamma * squares(A) + self.coef0) ** self.degree)

    def formula(self) -> _core.KernelFormula:
        kind = _core.KernelKind.polynomial
        return _core.KernelFormula(kind, self._gamma / self.unit**2, self.coef0, self.degree)


@dataclass(frozen=True)
class Gaussian(_WithGamma):
    """exp(−γ‖x − z‖²); γ = 1/(2σ²)."""

    @classmethod
    def of_width(cls, sigma: float) -> Gaussian:
        """Return the Gaussian of standard deviation σ."""
        return cls(0.5 / check_positive("sigma", sigma, advice="γ = 1/(2σ²).") ** 2)

    def __call__(self, A: Matrix, B: Matrix) -> Array:
        A, B = _seen_from_one(A, B)
        values, own = np.ascontiguousarray(dots(A, B)), squares(A)
        _core.gaussian_values(values, own, own if A is B else squares(B), self._gamma)
        return values

    def diagonal(self, A: Matrix) -> Array:
        return np.ones(A.shape[0])

    def formula(self) -> _core.KernelFormula:
        return _core.KernelFormula(_core.KernelKind.gaussian, self._gamma / self.unit**2, 0.0, 1)


@dataclass(frozen=True)
class Laplacian(_WithGamma):
    """exp(−γ‖x − z‖₁)."""

    def __call__(self, A: Matrix, B: Matrix) -> Array:
        values = _manhattan(A, B)
        values *= -self._gamma
        np.exp(values, out=values)
        return values

    def diagonal(self, A: Matrix) -> Array:
        return np.ones(A.shape[0])


@dataclass(frozen=True)
class Sigmoid(_WithGamma):
    """tanh(γ⟨x, z⟩ + coef0): not positive semidefinite, so an optimum need not be global."""

    coef0: float = 0.0
    mercer = False

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_offset(self.coef0)

    def __call__(self, A: Matrix, B: Matrix) -> Array:
        return np.asarray(np.tanh(self._gamma * dots(A, B) + self.coef0))

    def diagonal(self, A: Matrix) -> Array:
        return np.asarray(np.tanh(self._gamma * squares(A) + self.coef0))

    def formula(self) -> _core.KernelFormula:
        return _core.KernelFormula(
            _core.KernelKind.sigmoid, self._gamma / self.unit**2, self.coef0, 1
        )


@dataclass(frozen=True)
class Cosine(Kernel):
    """⟨x, z⟩ / (‖x‖ ‖z‖), 0 where one of them is 0."""

    def __call__(self, A: Matrix, B: Matrix) -> Array:
        product = np.sqrt(np.multiply.outer(squares(A), squares(B)))
        return np.divide(dots(A, B), product, out=np.zeros_like(product), where=product > 0.0)

    def diagonal(self, A: Matrix) -> Array:
        return (squares(A) > 0.0).astype(np.float64)

    def formula(self) -> _core.KernelFormula:
        return _core.KernelFormula(_core.KernelKind.cosine, 1.0, 0.0, 1)


@dataclass(frozen=True)
class ChiSquared(Kernel):
    """exp(−γ Σ (x_j − z_j)² / (x_j + z_j)), for histograms."""

    gamma: float = 1.0

    def __post_init__(self) -> None:
        check_positive("gamma", self.gamma, advice="1.0 is usual.")

    def __call__(self, A: Matrix, B: Matrix) -> Array:
        A, B = (M.tocsr() if sparse.issparse(M) else M for M in (A, B))
        _check_histograms("chi²", A, B)
        values = np.empty((A.shape[0], B.shape[0]))
        for rows, columns in itertools.product(_blocks(A), _blocks(B)):
            values[rows, columns] = pairwise.chi2_kernel(
                _dense(A[rows]), _dense(B[columns]), gamma=self.gamma
            )
        return values

    def diagonal(self, A: Matrix) -> Array:
        return np.ones(A.shape[0])


@dataclass(frozen=True)
class HistogramIntersection(Kernel):
    """Σ min(x_j, z_j) = ½(Σ x_j + Σ z_j − ‖x − z‖₁), for histograms.

    What is less than the rounding of the larger sum is lost.
    """

    def __call__(self, A: Matrix, B: Matrix) -> Array:
        _check_histograms("histogram intersection", A, B)
        values = np.add.outer(_totals(A), _totals(B))
        values -= _manhattan(A, B)
        values *= 0.5
        return values

    def diagonal(self, A: Matrix) -> Array:
        _check_histograms("histogram intersection", A)
        return _totals(A)


@dataclass(frozen=True, eq=False)
class Precomputed(Kernel):
    """A matrix of values; a sample is its position, as a block of one column."""

    matrix: Matrix
    mercer: bool | None = None

    def __call__(self, A: Matrix, B: Matrix) -> Array:
        rows, columns = A[:, 0].astype(np.intp), B[:, 0].astype(np.intp)
        return np.asarray(self.matrix[rows[:, np.newaxis], columns], dtype=np.float64)

    def eps(self, X: Matrix) -> float:
        del X
        return _eps(self.matrix)

    def diagonal(self, A: Matrix) -> Array:
        rows = A[:, 0].astype(np.intp)
        return np.asarray(self.matrix[rows, rows], dtype=np.float64)


@dataclass(frozen=True)
class User(Kernel):
    """Any function of two blocks of samples that returns the matrix of values."""

    function: Callable[[Any, Any], Any]
    mercer = None

    def __call__(self, A: Matrix, B: Matrix) -> Array:
        values = np.asarray(_plain(self.function(A, B)), dtype=np.float64)
        if values.shape != (A.shape[0], B.shape[0]):
            raise ValueError(
                f"The kernel returned an array of shape {values.shape} for blocks of {A.shape[0]}"
                f" and {B.shape[0]} samples; it must be ({A.shape[0]}, {B.shape[0]})."
            )
        if not np.isfinite(values).all():
            raise ValueError("The kernel returned NaN or infinity.")
        return values

    def eps(self, X: Matrix) -> float:
        return _eps(self.function(X[:1], X[:1]))


@dataclass(frozen=True)
class _Pair(Kernel):
    """Two kernels, combined value by value; certain to be a kernel if both are."""

    first: Kernel
    second: Kernel

    @staticmethod
    @abstractmethod
    def _combined(first: Array, second: Array) -> Array:
        """Combine the values of both."""

    @property
    def mercer(self) -> bool | None:  # type: ignore[override]
        """Sums are by definition, products by Schur's theorem."""
        return True if self.first.mercer and self.second.mercer else None

    def __call__(self, A: Matrix, B: Matrix) -> Array:
        return self._combined(self.first(A, B), self.second(A, B))

    def eps(self, X: Matrix) -> float:
        return max(self.first.eps(X), self.second.eps(X))

    def diagonal(self, A: Matrix) -> Array:
        return self._combined(self.first.diagonal(A), self.second.diagonal(A))

    def fitted(self, X: Matrix, weight: Array | None = None) -> Kernel:
        return replace(
            self, first=self.first.fitted(X, weight), second=self.second.fitted(X, weight)
        )


class Sum(_Pair):
    """k₁ + k₂."""

    @staticmethod
    def _combined(first: Array, second: Array) -> Array:
        return first + second


class Product(_Pair):
    """k₁ k₂."""

    @staticmethod
    def _combined(first: Array, second: Array) -> Array:
        return first * second


@dataclass(frozen=True)
class Scaled(Kernel):
    """factor × k."""

    factor: float
    kernel: Kernel

    def __post_init__(self) -> None:
        check_positive("factor", self.factor, advice="A negative multiple is not a kernel.")

    @property
    def mercer(self) -> bool | None:  # type: ignore[override]
        """As certain as of the kernel itself."""
        return self.kernel.mercer

    def __call__(self, A: Matrix, B: Matrix) -> Array:
        return self.factor * self.kernel(A, B)

    def eps(self, X: Matrix) -> float:
        return self.kernel.eps(X)

    def diagonal(self, A: Matrix) -> Array:
        return self.factor * self.kernel.diagonal(A)

    def fitted(self, X: Matrix, weight: Array | None = None) -> Kernel:
        return Scaled(self.factor, self.kernel.fitted(X, weight))


def as_kernel(given: object) -> Kernel:
    """Return the kernel that an object or a function means."""
    if isinstance(given, Kernel):
        return given
    if isinstance(given, type) and issubclass(given, Kernel):
        raise ValueError(f"kernel must be an instance: write kernel={given.__name__}().")
    if not callable(given):
        raise ValueError(
            "kernel must be a Kernel of maxmargin.kernels, Gaussian() for example, or a function"
            f" of two blocks of samples, got {given!r}."
        )
    return User(given)


#: Values of sparse rows that may be laid out densely.
_DENSE = 2**22


def dots(A: Matrix, B: Matrix) -> Array:
    """Return ⟨a, b⟩ of every pair, in float64."""
    if sparse.issparse(A) and sparse.issparse(B):
        if B.shape[0] * B.shape[1] > _DENSE:
            out = np.empty((A.shape[0], B.shape[0]))
            _core.sparse_products(_sparse_rows(A), _sparse_rows(B), out)
            return out
        B = B.toarray()  # rows of A times a dense matrix are faster where that is small
    return np.asarray(_plain(_double(A) @ _double(B).T))


def squares(A: Matrix) -> Array:
    """‖a‖² of every row, in float64."""
    if sparse.issparse(A):
        norms = np.empty(A.shape[0])
        _sparse_rows(A).squared_norms(0, len(norms), norms)
        return norms
    return np.asarray(np.einsum("ij,ij->i", A, A, dtype=np.float64))


def _sparse_rows(A: Matrix) -> _core.Rows:
    """Return the core's view of a sparse matrix of any kind."""
    A = A.tocsr()
    return view_rows(A if A.dtype in (np.float32, np.float64) else A.astype(np.float64))[1]


def squared_distances(A: Matrix, B: Matrix) -> Array:
    """Return ‖a − b‖² of every pair, at least 0."""
    A, B = _seen_from_one(A, B)
    distances = squares(A)[:, None] + squares(B)[None, :] - 2.0 * dots(A, B)
    return np.maximum(distances, 0.0, out=distances)


def _seen_from_one(A: Matrix, B: Matrix) -> tuple[Matrix, Matrix]:
    """Subtract a sample from all, where they are dense, lest differences of distances cancel.

    One matrix given twice stays one: half of its dot products are enough then.
    """
    if sparse.issparse(A) or sparse.issparse(B) or B.shape[0] == 0:
        return A, B
    shifted = _double(B) - B[:1]
    return shifted if A is B else _double(A) - B[:1], shifted


def gamma_of(gamma: float | str, X: Matrix, weight: Array | None = None) -> float:
    """Return the number that a rule means for these samples; a weight counts like a repetition."""
    if not isinstance(gamma, str):
        return float(gamma)
    if gamma == "auto":
        return 1.0 / int(X.shape[1])
    weight = np.ones(X.shape[0]) if weight is None else weight
    if gamma == "scale":
        total = float(weight.sum()) * X.shape[1]
        mean = float((weight @ X).sum()) / total
        if sparse.issparse(X):
            variance = float(weight @ squares(X)) / total - mean**2
        else:
            variance = float(weight @ squares(X - mean)) / total
        return 1.0 / (X.shape[1] * variance) if variance > 1e-14 * mean**2 else 1.0
    rows = np.flatnonzero(weight)
    rows = rows[np.linspace(0, len(rows) - 1, min(len(rows), _MEDIAN_SAMPLES)).astype(int)]
    distances = squared_distances(X[rows], X[rows])[np.triu_indices(len(rows), 1)]
    median = float(np.median(distances)) if len(distances) else 0.0
    return 1.0 / median if median > 0.0 else 1.0


@dataclass(frozen=True, eq=False)
class MercerReport:
    """What `mercer_check` found.

    `smallest` is the least eigenvalue of the Gram matrix on the sample, `witness` a unit vector v
    with v'Kv = smallest where that is negative beyond rounding, None otherwise. The sample is
    X[rows]: the entries of `witness` belong to these rows, in that order.
    """

    smallest: float
    largest: float
    n_samples: int
    witness: Array | None
    rows: NDArray[np.intp]

    @property
    def passed(self) -> bool:
        """Whether no negative direction was found; on other samples there may be one."""
        return self.witness is None


def mercer_check(kernel: Kernel | Callable[[Any, Any], Any], X: Matrix, n_samples: int = 500,
                 random_state: int = 0) -> MercerReport:  # fmt: skip
    """Look for a negative eigenvalue of the Gram matrix on a sample of the rows.

    What counts as rounding depends on the type of the values that the kernel returns.
    """
    check_count("n_samples", n_samples, advice="500 is usual.")
    X = X.tocsr() if sparse.issparse(X) else np.asarray(X)
    assert_all_finite(X, input_name="X")
    kernel = as_kernel(kernel).fitted(X)
    rows = np.random.default_rng(random_state).permutation(X.shape[0])[:n_samples]
    K = kernel(X[rows], X[rows])
    if not np.isfinite(K).all():
        raise ValueError("The kernel returned NaN or infinity.")
    eps = kernel.eps(X)
    skewness = float(np.abs(K - K.T).max(initial=0.0))
    size = float(np.abs(K).max(initial=0.0))
    if skewness > math.sqrt(eps) * size:
        raise ValueError(
            f"The kernel is not symmetric: k(x, z) and k(z, x) differ by {skewness:g}."
        )
    values, vectors = np.linalg.eigh(0.5 * (K + K.T))
    rounding = max(1e-10 * abs(values[-1]), 4.0 * eps * size) * len(rows)
    witness = vectors[:, 0] if values[0] < -rounding else None
    return MercerReport(float(values[0]), float(values[-1]), len(rows), witness, rows)


def _not_a_kernel(how: str, other: object) -> TypeError:
    return TypeError(
        f"A kernel cannot be {how} {other!r}. Sums and products are of kernels: wrap a function as"
        " maxmargin.kernels.User(function). A multiple is a positive number times a kernel."
    )


def _check_offset(coef0: object) -> None:
    if not isinstance(coef0, numbers.Real) or not np.isfinite(float(coef0)):
        raise ValueError(f"coef0 must be a finite number, got {coef0!r}.")


def _double(A: Matrix) -> Matrix:
    return A.astype(np.float64, copy=False)


def _plain(values: Any) -> Any:
    return values.toarray() if sparse.issparse(values) else values


def _dense(A: Matrix) -> Array:
    """Return a dense copy, which scikit-learn may write to even where A is read-only."""
    return np.array(_plain(A), dtype=np.float64)


def _blocks(A: Matrix) -> list[slice]:
    """Cut the rows into as many at a time as may be laid out densely."""
    step = max(1, _DENSE // max(1, A.shape[1]))
    return [slice(begin, begin + step) for begin in range(0, A.shape[0], step)]


def _eps(values: Any) -> float:
    """Return the rounding of the type that the values have; whole numbers become float64."""
    dtype = np.asarray(_plain(values)).dtype
    return float(np.finfo(dtype if dtype.kind == "f" else np.float64).eps)


def _manhattan(A: Matrix, B: Matrix) -> Array:
    """Return ‖a − b‖₁ of every pair, in float64."""
    A, B = _short_indices(_double(A)), _short_indices(_double(B))
    return np.asarray(pairwise.manhattan_distances(A, B))


def _short_indices(A: Matrix) -> Matrix:
    """Return CSR rows with 32-bit indices if they fit: scikit-learn's distances take no others.

    They are in order before: it would sort them in place, and with them the values of A.
    """
    if not sparse.issparse(A) or max(A.nnz, A.shape[1]) > np.iinfo(np.int32).max:
        return A
    A, _ = view_rows(A.tocsr())
    indices, offsets = (part.astype(np.int32, copy=False) for part in (A.indices, A.indptr))
    return type(A)((A.data, indices, offsets), shape=A.shape)


def _totals(A: Matrix) -> Array:
    """Return Σ a_j of every row, in float64."""
    return np.asarray(_double(A).sum(axis=1)).ravel()


def _check_histograms(name: str, *matrices: Matrix) -> None:
    for A in matrices:
        if (A.data if sparse.issparse(A) else A).min(initial=0) < 0:
            raise ValueError(
                f"The {name} kernel is for histograms: X must not have negative values."
            )
