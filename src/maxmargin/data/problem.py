"""Problem: validated rows, labels and costs."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import maxmargin._core as _core
from maxmargin.data.arrays import MAX_ROWS, SPARSE, Array, Matrix, mostly_zero
from maxmargin.data.origin import UNMOVED, Level, Origin

#: Stored values that one compiled call may read: well under the 0.2 s in which Ctrl-C answers.
VALUES_PER_CALL = 2**25


@dataclass(frozen=True, eq=False)
class Problem:
    """What is to be learnt from: rows X, labels or targets y, costs C_i.

    X is a C-ordered float32 or float64 array or a CSR matrix in canonical form, used in place;
    y and cost are float64. The targets that were given are y + level.height, the rows
    x + origin.centre, which a free intercept takes up. `rows` is the core's view of X, made here if
    it is not at hand, `target_summary` the range of y and cost, `n_samples` and `n_features` the
    numbers of rows and columns. None of the arrays may change later.
    """

    X: Matrix
    y: Array
    cost: Array
    rows: _core.Rows = field(default=None, repr=False)  # type: ignore[assignment] # made below
    level: Level = UNMOVED
    origin: Origin | None = None
    target_summary: _core.TargetSummary = field(init=False, repr=False)
    n_samples: int = field(init=False, repr=False)
    n_features: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.rows is None:
            object.__setattr__(self, "rows", _view(self.X))  # type: ignore[unreachable]
        object.__setattr__(self, "n_samples", self.rows.n_samples)
        object.__setattr__(self, "n_features", self.rows.n_features)
        self._check_targets()

    def _check_targets(self) -> None:
        n = self.n_samples
        for name, values in (("y", self.y), ("cost", self.cost)):
            if getattr(values, "dtype", None) != np.float64:
                raise TypeError(f"{name} must be a float64 array.")
            if values.shape != (n,):
                raise ValueError(f"{name} must have shape ({n},), got {values.shape}.")
        object.__setattr__(self, "target_summary", _core.TargetSummary(self.y, self.cost))
        if not self.target_summary.valid:
            raise ValueError("cost must be finite and 0 or larger for every sample.")

    def with_targets(self, y: Array, cost: Array) -> Problem:
        """Return the problem of the same rows, not checked again, with other labels and costs."""
        if y is self.y and cost is self.cost:
            return self
        other = copy(self)
        object.__setattr__(other, "y", y)
        object.__setattr__(other, "cost", cost)
        other._check_targets()
        return other

    def given_intercept(self, w: Array, b: Any) -> Any:
        """Return the intercept for rows and targets as they were given; one for each row of w."""
        if self.origin is None:
            return b + self.level.height
        if w.ndim == 2:
            return np.array([self.given_intercept(*pair) for pair in zip(w, b, strict=True)])
        high, low = self.origin.product(w)
        return math.fsum((b, self.level.height, -high, -low))

    def own_intercept(self, w: Array, given: Any) -> Any:
        """Return the intercept for X and y that is the given one."""
        if self.origin is None:
            return given - self.level.height
        if w.ndim == 2:
            return np.array([self.own_intercept(*pair) for pair in zip(w, given, strict=True)])
        return math.fsum((given, -self.level.height, *self.origin.product(w)))

    def representable(self, w: Array, b: Any) -> Any:
        """Return the b nearest to this one for which the intercept as given is a double."""
        return self.own_intercept(w, self.given_intercept(w, b))

    def stored_in(self, indices: NDArray[np.int32]) -> int:
        """Count the stored values of these rows."""
        if isinstance(self.X, np.ndarray):
            return len(indices) * self.n_features
        return int((self.X.indptr[indices + 1] - self.X.indptr[indices]).sum())

    def part(self, indices: NDArray[np.int32], cost: Array) -> Problem:
        """Return the problem of a copy of these rows, at other costs."""
        dense = isinstance(self.X, np.ndarray)
        X = self.X.take(indices, axis=0) if dense else self.X[indices]
        return Problem(X, self.y[indices], cost)

    def compressed(self) -> Problem:
        """Return the problem with X in CSR form, a copy, where most of a dense X is 0; else itself.

        Not for few columns, of which whole rows are read as fast.
        """
        n, d = self.X.shape
        if _core.by_feature(self.rows) or n == 0 or not mostly_zero(self.X):
            return self
        room = min(int(SPARSE * n * d) + d, MAX_ROWS)  # pages not written to cost nothing
        offsets = np.zeros(n + 1, dtype=np.int32)
        values, columns = np.empty(room, dtype=self.X.dtype), np.empty(room, dtype=np.int32)
        zero = np.zeros(d)
        for begin, end in self.blocks():
            if not self.rows.compress(begin, end, zero, 1.0, offsets, values, columns):
                return self
        stored = int(offsets[-1])
        X = sparse.csr_array((values[:stored], columns[:stored], offsets), shape=(n, d))
        return Problem(X, self.y, self.cost, level=self.level)

    @property
    def fits_float32(self) -> bool:
        """Whether products with the rows are far from the ends of the range of float32."""
        longest, total = self.longest, float(self.target_summary.total_cost)
        return min(longest, total) > 1e-20 and max(longest, total) < 1e20

    @cached_property
    def n_stored(self) -> int:
        """Stored values: n × d, or the non-zeros of a CSR matrix."""
        return int(self.rows.work(0, self.n_samples))

    @cached_property
    def most_stored(self) -> int:
        """Stored values of the row that has most."""
        if isinstance(self.X, np.ndarray):
            return self.n_features
        return int(np.diff(self.X.indptr).max(initial=0))

    @property
    def wide(self) -> bool:
        """Whether passes wait for the weights, which miss the cache."""
        return sparse.issparse(self.X) and self.n_features > 2**14

    def blocks(self, values_per_call: int = VALUES_PER_CALL) -> list[tuple[int, int]]:
        """Row ranges, each short enough for one compiled call."""
        n = self.n_samples
        step = max(1, values_per_call * n // max(1, self.n_stored))
        return [(begin, min(begin + step, n)) for begin in range(0, n, step)]

    def predict(self, w: Array, b: float) -> Array:
        """Return f(x_i) = <w, x_i> + b of every row."""
        if not w.any():
            return np.full(self.n_samples, b)
        z = np.empty(self.n_samples)
        for begin, end in self.blocks():
            self.rows.predict(w, b, begin, end, z)
        return z

    def combine(self, beta: Array) -> Array:
        """Return Σ β_i x_i."""
        w = np.zeros(self.n_features)
        for begin, end in self.blocks():
            self.rows.combine(beta, begin, end, w)
        return w

    def products(self, w: Array, beta: Array) -> tuple[Array, Array]:
        """Return Xw and Σ β_i x_i, in one pass."""
        n, d = self.n_samples, self.n_features
        if not w.any():
            return np.zeros(n), self.combine(beta)
        z = np.empty(n)
        if self.wide:
            pairs = np.zeros((d, 2))
            pairs[:, 0] = w
            for begin, end in self.blocks():
                self.rows.products_of_pairs(pairs, beta, begin, end, z)
            return z, pairs[:, 1]
        combined = np.zeros(d)
        for begin, end in self.blocks():
            self.rows.products(w, beta, begin, end, z, combined)
        return z, combined

    @cached_property
    def squared_norms(self) -> Array:
        """‖x_i‖² of every row."""
        norms = np.empty(self.n_samples)
        for begin, end in self.blocks():
            self.rows.squared_norms(begin, end, norms)
        return norms

    @cached_property
    def longest(self) -> float:
        """The largest ‖x_i‖²; not finite if a value of X is not."""
        return float(self.squared_norms.max(initial=0.0))


def _view(X: Matrix) -> _core.Rows:
    """Return the core's view, or say what X must be."""
    if not isinstance(X, np.ndarray) and getattr(X, "format", None) != "csr":
        raise TypeError(f"X must be a NumPy array or a CSR matrix, got {type(X).__name__}.")
    if X.dtype not in (np.float32, np.float64):
        raise ValueError(f"X must be float32 or float64, got {X.dtype}.")
    if len(X.shape) != 2:
        raise ValueError(f"X must be two-dimensional, got shape {X.shape}.")
    if sparse.issparse(X):
        return _core.Rows(X.data, X.indices, X.indptr, X.shape[1])
    if not X.flags.c_contiguous:
        raise ValueError("X must be in C order: use np.ascontiguousarray(X).")
    return _core.Rows(X)
