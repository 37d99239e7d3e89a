"""The kernels with a formula."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise

import maxmargin._core as _core
from maxmargin.data.arrays import Array, Matrix
from maxmargin.data.checks import as_floats, check_count, check_finite, check_positive
from maxmargin.kernels.base import Kernel
from maxmargin.kernels.pairwise import (
    blocks,
    centred,
    dense,
    dots,
    largest,
    manhattan,
    normalized,
    plain,
    robust_origin,
    squared_differences,
    squared_distances,
    squares,
    totals,
)

#: Rules for γ.
GAMMA_RULES = ("scale", "auto", "median")

#: γ‖x‖², from the origin, beyond which the Gaussian of two such rows is taken from their
#: differences: in float64 it has lost 5 digits there. And beyond which float32 is not enough: there
#: it is off by up to 1e-5, and of rows beyond 4 times as much with rows below, it is 0.
_FAR, FAR_IN_FLOAT32 = 2.0**14, 2.0**7

#: Samples from whose pairwise distances the median rule is computed.
_MEDIAN_SAMPLES = 1000


@dataclass(frozen=True)
class Linear(Kernel):
    """⟨x − o, z − o⟩, with the origin o = 0 if none is given.

    Where the intercept is free, the origin changes nothing but the intercept and the rounding.
    """

    origin: Array | None = field(default=None, compare=False, repr=False)

    def __call__(self, A: Matrix, B: Matrix) -> Array:
        shifted = self.centred(B)
        return dots(shifted if A is B else self.centred(A), shifted)

    def centred(self, A: Matrix) -> Matrix:
        """Return the rows minus the origin."""
        return A if self.origin is None else centred(A, self.origin)

    def weights(self, coef: Array, basis: Matrix) -> Array:
        """Return Σ c_j (x_j − o) for every row c of coef."""
        return np.asarray(plain(coef @ self.centred(basis)))

    def diagonal(self, A: Matrix) -> Array:
        return squares(self.centred(A))

    def formula(self) -> _core.KernelFormula:
        return _core.KernelFormula(_core.KernelKind.linear, 1.0, 0.0, 1)


@dataclass(frozen=True)
class _WithGamma(Kernel):
    """A kernel whose γ may be a rule: "scale" 1/(d var X), "auto" 1/d, "median" 1/median‖x−z‖²."""

    gamma: float | str = "scale"

    def __post_init__(self) -> None:
        as_floats(self, "gamma")
        if self.gamma not in GAMMA_RULES:
            check_positive("gamma", self.gamma, advice='Or "scale", "auto" or "median".')

    def fitted(self, X: Matrix, weight: Array | None = None) -> Kernel:
        return replace(self, gamma=gamma_of(self.gamma, X, weight))

    @property
    def unit(self) -> float:
        """The power of 2 next to √γ: neither γ nor the samples leave float32, nor lose a bit."""
        return 2.0 ** round(0.5 * math.log2(self._gamma))

    def _inner(self, rows: Array, samples: Array) -> Array:
        """γ‖x‖‖z‖ of rows times `unit`, for the longest z."""
        longest = float(samples.max(initial=0.0))
        return np.asarray(self._gamma / self.unit**2 * np.sqrt(rows * longest))

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
        as_floats(self, "coef0")
        check_finite("coef0", self.coef0)

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

    def rounding(self, X: Matrix) -> float:
        return self.degree * super().rounding(X)

    def formula(self) -> _core.KernelFormula:
        kind = _core.KernelKind.polynomial
        return _core.KernelFormula(kind, self._gamma / self.unit**2, self.coef0, self.degree)

    def errors_in_float32(self, rows: Array, samples: Array) -> tuple[Array, Array]:
        with np.errstate(over="ignore"):
            most = (self._inner(rows, samples) + abs(self.coef0)) ** self.degree
        return self.degree * most, np.zeros_like(samples)


@dataclass(frozen=True)
class Gaussian(_WithGamma):
    """exp(−γ‖x − z‖²); γ = 1/(2σ²).

    ‖x − z‖² is ‖x‖² + ‖z‖² − 2⟨x, z⟩ of rows minus an origin amid the samples. Rows so far from
    it that digits would cancel are subtracted from each other instead.
    """

    origin: Array | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of_width(cls, sigma: float) -> Gaussian:
        """Return the Gaussian of standard deviation σ."""
        return cls(0.5 / check_positive("sigma", sigma, advice="γ = 1/(2σ²).") ** 2)

    def fitted(self, X: Matrix, weight: Array | None = None) -> Kernel:
        gamma, origin = gamma_of(self.gamma, X, weight), np.zeros(X.shape[1])
        if not sparse.issparse(X) or gamma * squares(X).max(initial=0.0) > FAR_IN_FLOAT32:
            origin = robust_origin(X)
        return replace(self, gamma=gamma, origin=origin)

    def __call__(self, A: Matrix, B: Matrix) -> Array:
        origin = robust_origin(B) if self.origin is None else self.origin
        near_B = centred(B, origin)
        near_A = near_B if A is B else centred(A, origin)
        with np.errstate(over="ignore", invalid="ignore"):  # of rows that are far
            values, of_A = np.ascontiguousarray(dots(near_A, near_B)), squares(near_A)
            of_B = of_A if A is B else squares(near_B)
        _core.gaussian_values(values, of_A, of_B, self._gamma)
        far_A, far_B = (np.flatnonzero(~(self._gamma * s <= _FAR)) for s in (of_A, of_B))
        if len(far_A) and len(far_B):  # of a far and a near one, the value is 0 or not cancelled
            values[np.ix_(far_A, far_B)] = self._by_differences(A[far_A], B[far_B])
        return values

    def _by_differences(self, A: Matrix, B: Matrix) -> Array:
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(-self._gamma * squared_differences(A, B)))

    def diagonal(self, A: Matrix) -> Array:
        return np.ones(A.shape[0])

    def rounding(self, X: Matrix) -> float:
        """Those of ‖x‖² + ‖z‖² − 2⟨x, z⟩ too, which is made of rows that are near the origin."""
        origin = robust_origin(X) if self.origin is None else self.origin
        of_X = self._gamma * squares(centred(X, origin))
        near = of_X[of_X <= _FAR]
        return super().rounding(X) + 2.0 * math.sqrt(float(near @ near) / max(1, len(near)))

    def formula(self) -> _core.KernelFormula:
        return _core.KernelFormula(_core.KernelKind.gaussian, self._gamma / self.unit**2, 0.0, 1)

    def errors_in_float32(self, rows: Array, samples: Array) -> tuple[Array, Array]:
        """γ times the error of ‖x‖² + ‖z‖², and that of exp; nothing where the value is 0."""
        of_rows, of_samples = (self._gamma / self.unit**2 * s for s in (rows, samples))
        reached = of_samples <= 4.0 * FAR_IN_FLOAT32
        u = np.where(of_rows <= FAR_IN_FLOAT32, of_rows, np.inf)
        return u, np.where(reached, 2.0 + of_samples, 0.0)


@dataclass(frozen=True)
class Laplacian(_WithGamma):
    """exp(−γ‖x − z‖₁)."""

    def __call__(self, A: Matrix, B: Matrix) -> Array:
        values = manhattan(A, B)
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
        as_floats(self, "coef0")
        check_finite("coef0", self.coef0)

    def __call__(self, A: Matrix, B: Matrix) -> Array:
        return np.asarray(np.tanh(self._gamma * dots(A, B) + self.coef0))

    def diagonal(self, A: Matrix) -> Array:
        return np.asarray(np.tanh(self._gamma * squares(A) + self.coef0))

    def formula(self) -> _core.KernelFormula:
        return _core.KernelFormula(
            _core.KernelKind.sigmoid, self._gamma / self.unit**2, self.coef0, 1
        )

    def errors_in_float32(self, rows: Array, samples: Array) -> tuple[Array, Array]:
        return 2.0 + abs(self.coef0) + self._inner(rows, samples), np.zeros_like(samples)


@dataclass(frozen=True)
class Cosine(Kernel):
    """⟨x, z⟩ / (‖x‖ ‖z‖), 0 where one of them is 0."""

    def __call__(self, A: Matrix, B: Matrix) -> Array:
        unit = normalized(B)
        return dots(unit if A is B else normalized(A), unit)

    def diagonal(self, A: Matrix) -> Array:
        return (largest(A) > 0.0).astype(np.float64)

    def formula(self) -> _core.KernelFormula:
        return _core.KernelFormula(_core.KernelKind.cosine, 1.0, 0.0, 1)

    def errors_in_float32(self, rows: Array, samples: Array) -> tuple[Array, Array]:
        return np.full_like(rows, 4.0), np.zeros_like(samples)


@dataclass(frozen=True)
class ChiSquared(Kernel):
    """exp(−γ Σ (x_j − z_j)² / (x_j + z_j)), for histograms."""

    gamma: float = 1.0

    def __post_init__(self) -> None:
        as_floats(self, "gamma")
        check_positive("gamma", self.gamma, advice="1.0 is usual.")

    def __call__(self, A: Matrix, B: Matrix) -> Array:
        A, B = (M.tocsr() if sparse.issparse(M) else M for M in (A, B))
        _check_histograms("chi²", A, B)
        values = np.empty((A.shape[0], B.shape[0]))
        for rows, columns in itertools.product(blocks(A), blocks(B)):
            values[rows, columns] = pairwise.chi2_kernel(
                dense(A[rows]), dense(B[columns]), gamma=self.gamma
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
        values = np.add.outer(totals(A), totals(B))
        values -= manhattan(A, B)
        values *= 0.5
        return values

    def diagonal(self, A: Matrix) -> Array:
        _check_histograms("histogram intersection", A)
        return totals(A)


def gamma_of(gamma: float | str, X: Matrix, weight: Array | None = None) -> float:
    """Return the number that a rule means for these samples; a weight counts like a repetition."""
    if not isinstance(gamma, str):
        return float(gamma)
    if gamma == "auto":
        return 1.0 / int(X.shape[1])
    _refuse_overflow(gamma, X)
    weight = np.ones(X.shape[0]) if weight is None else weight
    if gamma == "scale":
        variance = _variance(X, weight)
        return 1.0 / (X.shape[1] * variance) if variance > 0.0 else 1.0
    rows = np.flatnonzero(weight)
    rows = rows[np.linspace(0, len(rows) - 1, min(len(rows), _MEDIAN_SAMPLES)).astype(int)]
    distances = squared_distances(X[rows], X[rows])[np.triu_indices(len(rows), 1)]
    median = float(np.median(distances)) if len(distances) else 0.0
    return 1.0 / median if median > 0.0 else 1.0


def _refuse_overflow(gamma: str, X: Matrix) -> None:
    """Refuse values whose squares overflow, or their sum does."""
    largest = float(abs(X).max())
    if largest > math.sqrt(np.finfo(np.float64).max / (4.0 * X.shape[0] * X.shape[1])):
        raise ValueError(
            f"X has values up to {largest:.1e} in size: their squares overflow, and gamma={gamma!r}"
            " is made of them. Scale X (sklearn.preprocessing.StandardScaler)."
        )


def _variance(X: Matrix, weight: Array) -> float:
    """Return that of all values, those of a row weighted; 0 if it is not above their rounding.

    It is taken around the mean, so that no digits cancel however far that is from 0, and corrected
    for what the mean is off by.
    """
    total = float(weight.sum()) * X.shape[1]
    mean = float((weight @ X).sum()) / total
    if sparse.issparse(X):
        data = np.subtract(X.data, mean, dtype=np.float64)
        stored = type(X)((data, X.indices, X.indptr), shape=X.shape)
        lacking = float(weight @ (X.shape[1] - np.diff(X.indptr)))  # the zeros that are not stored
        square, off = squares(stored), float((weight @ stored).sum()) - lacking * mean
        spread = float(weight @ square) + lacking * mean**2
    else:
        apart = np.subtract(X, mean, dtype=np.float64)
        spread, off = float(weight @ squares(apart)), float((weight @ apart).sum())
    variance = spread / total - (off / total) ** 2
    rounding = float(np.finfo(np.float64).eps) * abs(mean)
    return variance if variance > rounding**2 else 0.0


def _check_histograms(name: str, *matrices: Matrix) -> None:
    for A in matrices:
        if (A.data if sparse.issparse(A) else A).min(initial=0) < 0:
            raise ValueError(
                f"The {name} kernel is for histograms: X must not have negative values."
            )
