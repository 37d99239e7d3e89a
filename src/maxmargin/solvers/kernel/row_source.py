"""Samples and a kernel: rows of the kernel matrix for SMO, sums over it for prediction."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import maxmargin._core as _core
from maxmargin.data.arrays import Array, Matrix, view_rows
from maxmargin.kernels import Cosine, Gaussian, Kernel, Linear
from maxmargin.kernels.pairwise import centred, normalized
from maxmargin.solvers.kernel.float32_rows import (
    common_values,
    compressed,
    core_arrays,
    csr_float32,
    n_nonzero,
    row_slices,
)
from maxmargin.solvers.kernel.value_checks import refuse_huge_values

#: Kernel values, and products of numbers in them, whose computation in float64 takes a negligible
#: part of a fit; and values for which that holds of a prediction.
_EXACT_VALUES, _EXACT_PRODUCTS, _EXACT_PREDICTED = 2**23, 2**27, 2**20

#: Largest error of a prediction, in units of the margin, or of the spread of y.
RESOLUTION = 1e-4

#: Standard deviations of an error in float32 that are allowed for, their least share of the bound,
#: the rounding of a number, and rows that are predicted in float64 too, for comparison.
_DEVIATIONS, _MIN_SHARE, _ROUNDING, _N_COMPARED = 6.0, 0.1, 2.0**-24, 32

#: Below any error of interest.
_TINY = 1e-300

#: Rows from which the layout is chosen, and columns at a time; share of values other than 0 beyond
#: which CSR is no faster.
_LAYOUT_ROWS, _LAYOUT_COLUMNS, _MAX_DENSITY = 256, 2**12, 0.7


def affords_float64(X: Matrix, n_values: int) -> bool:
    """Whether so many kernel values of rows like those of X take negligible time in float64."""
    stored = X.nnz / max(1, X.shape[0]) if sparse.issparse(X) else X.shape[1]
    return bool(n_values <= _EXACT_VALUES and n_values * stored <= _EXACT_PRODUCTS)


class KernelSamples:
    """Samples as the core's kernel tiles read them: float32, CSR if some of them is 0.

    Dense samples are shifted for the Gaussian, which changes no distance. Where the columns have a
    value that most samples share, as standardised indicators have, it becomes 0; else the median
    does. Both save small distances from cancellation; among samples that are far all the same,
    values are computed in float64.
    """

    def __init__(self, kernel: Kernel | None, X: Matrix, n_threads: int = 1) -> None:
        assert kernel is not None
        self.n_threads = n_threads
        self.kernel, self.X, self.formula = kernel, X, kernel.formula()
        self.shared: _core.KernelRows | None = None

    @cached_property
    def _layout(self) -> tuple[bool, Array | None]:
        """Whether the samples are kept in CSR, and what is subtracted from each; None: nothing."""
        X, (n, d) = self.X, self.X.shape
        centre = getattr(self.kernel, "origin", None)
        if sparse.issparse(X):
            return True, centre if centre is not None and centre.any() else None
        some = X[:: max(1, -(-n // _LAYOUT_ROWS))]
        if isinstance(self.kernel, Gaussian) and n > 0:
            cut = range(_LAYOUT_COLUMNS, d, _LAYOUT_COLUMNS)
            centre = np.concatenate([common_values(part) for part in np.split(some, cut, axis=1)])
        compress = (
            np.count_nonzero(some if centre is None else some != centre) < _MAX_DENSITY * some.size
        )
        return compress, centre if centre is not None and centre.any() else None

    @property
    def sparse(self) -> bool:
        """Whether the samples are kept in CSR."""
        return self._layout[0]

    @property
    def _takes_csr(self) -> bool:
        """Whether CSR rows need not be made dense to be prepared."""
        compress, centre = self._layout
        return compress and (centre is None or sparse.issparse(self.X))

    @cached_property
    def far(self) -> NDArray[np.bool_]:
        """Which samples are so far from the others that float32 cannot resolve their distances."""
        if not isinstance(self.kernel, Gaussian):
            return np.zeros(self.X.shape[0], dtype=bool)
        square = self.own[1].astype(np.float64)
        return np.isinf(self.kernel.errors_in_float32(square, square)[0])

    def prepared(self, X: Matrix, n_threads: int = 1) -> tuple[Matrix, NDArray[np.float32]]:
        """Return the samples in float32 and their squared norms."""
        compress, centre = self._layout
        unit = self.kernel.unit
        if isinstance(self.kernel, Cosine):  # norms may leave the range of float32, angles do not
            X = normalized(X)
        if sparse.issparse(X) and not self._takes_csr:
            X = X.toarray()
        with np.errstate(over="ignore"):  # what is infinite then is far
            if compress:
                if not sparse.issparse(X):
                    X = compressed(X, centre, unit, n_threads)
                else:
                    X = csr_float32(X if centre is None else centred(X, centre), unit)
                square = np.empty(X.shape[0])
                view_rows(X)[1].squared_norms(0, X.shape[0], square)
                return X, square.astype(np.float32)
            samples = np.empty(X.shape, dtype=np.float32)
            for rows in row_slices(*X.shape):  # scaled before float32 can overflow
                samples[rows] = (X[rows] if centre is None else X[rows] - centre) * unit
            square = np.einsum("ij,ij->i", samples, samples, dtype=np.float64)
            return samples, square.astype(np.float32)

    @cached_property
    def _all_rows(self) -> _core.KernelRows:
        return self._tiles()

    @cached_property
    def own(self) -> tuple[Matrix, NDArray[np.float32]]:
        """The samples themselves, prepared."""
        return self.prepared(self.X, self.n_threads)

    def rows(self, index: NDArray[np.intp] | None = None) -> _core.KernelRows:
        """Return the source of kernel rows, among some of the samples if there is an index."""
        if self.formula is None:
            return _core.KernelRows(self._block, self.X.shape[0])
        if self.shared is not None and index is None:
            return self.shared
        far = self.far if index is None else self.far[index]
        tiles = self._tiles(index)
        if not far.any():
            return tiles
        block = _FarInFloat64(tiles, self.kernel, self.X if index is None else self.X[index], far)
        return _core.KernelRows(block, len(far))

    def _tiles(self, index: NDArray[np.intp] | None = None) -> _core.KernelRows:
        """Return the same rows in float32 throughout."""
        samples, square = self.own
        if index is not None:
            samples, square = samples[index], square[index]
        assert self.formula is not None
        arrays = (*core_arrays(samples), *((self.X.shape[1],) if self.sparse else ()))
        make: Any = _core.KernelRows  # mypy chooses no overload by an unpacked tuple
        tiles: _core.KernelRows = make(*arrays, square, self.formula, self.n_threads)
        return tiles

    def sums(self, at: NDArray[np.intp], coef: Array, stopped: Callable[[], bool]) -> Array | None:
        """Σ c_j k(x_j, x_i) for some samples i, in float32 tiles; None if it is to stop first."""
        values, support = np.zeros((len(at), 1)), np.flatnonzero(coef)
        if len(support) == 0 or len(at) == 0:
            return values[:, 0]
        samples, square = self.own
        source: Any = self._tiles(support)
        coef = np.ascontiguousarray(coef[np.newaxis, support])
        sizes = np.array([len(support)], dtype=np.int32)
        for part in row_slices(len(at), len(support)):
            some = at[part]
            source.predict(
                *core_arrays(samples[some]), square[some], coef, sizes, values[part], self.n_threads
            )
            far = self.far[some]
            if far.any():
                values[part][far] = self.kernel(self.X[some[far]], self.X[support]) @ coef.T
            if part.stop < len(at) and stopped():
                return None
        return values[:, 0]

    @property
    def stored(self) -> float:
        """Values of a sample as it was given that are not 0, roughly."""
        return n_nonzero(self.X[:256]) / 256 if self.sparse else self.X.shape[1]

    def _block(self, index: NDArray[np.int32]) -> NDArray[np.float32]:
        values = self.kernel(self.X[index], self.X)
        refuse_huge_values(values)
        return np.ascontiguousarray(values, dtype=np.float32)

    def exact(self, X: Matrix, coef: Array, parts: NDArray[np.int32] | None = None) -> Array:
        """Return what `predict` does, in float64."""
        values = _zeros(X, coef, parts)
        if self.X.shape[0] > 0:
            for rows in row_slices(X.shape[0], self.X.shape[0]):
                values[rows] = summed(self.kernel(X[rows], self.X), coef, parts)
        return values

    def predict(
        self,
        X: Matrix,
        coef: Array,
        parts: NDArray[np.int32] | None = None,
        n_threads: int | None = None,
        resolution: float = RESOLUTION,
    ) -> Array:
        """Σ c_j k(x_j, x) of every row x of X and every row c of coef, in bounded memory.

        With `parts`, numbers of samples that follow each other, a sum over each of them. In float64
        where that takes negligible time, else in float32 tiles, with X stored as the samples are;
        but in float64 where these might have an error above `resolution`.
        """
        if self.X.shape[0] == 0:
            return _zeros(X, coef, parts)
        if isinstance(self.kernel, Linear):
            return self._by_weights(self.kernel, X, coef, parts)
        values = _zeros(X, coef, parts)
        n_values = X.shape[0] * self.X.shape[0]
        if self.formula is None or (n_values <= _EXACT_PREDICTED and affords_float64(X, n_values)):
            return self.exact(X, coef, parts)
        tiles = _Float32Sums(self, coef, parts, resolution, n_threads or self.n_threads)
        stored = X.nnz // X.shape[0] if self._takes_csr and sparse.issparse(X) else X.shape[1]
        for rows in row_slices(X.shape[0], stored):
            values[rows] = tiles(X[rows])
        return values

    def _by_weights(
        self, kernel: Linear, X: Matrix, coef: Array, parts: NDArray[np.int32] | None
    ) -> Array:
        """Return what `predict` does of a linear kernel.

        The rows are centred before: X w - o w would lose what the parts of an f differ in.
        """
        values = _zeros(X, coef, parts)
        ends = [self.X.shape[0]] if parts is None else np.cumsum(parts)
        pieces = [slice(b, e) for b, e in zip([0, *ends[:-1]], ends, strict=True)]
        w = np.concatenate([kernel.weights(coef[:, p], self.X[p]) for p in pieces])
        stored = X.nnz // max(1, X.shape[0]) if sparse.issparse(X) else X.shape[1]
        for rows in row_slices(X.shape[0], stored):
            values[rows] = np.reshape(kernel.centred(X[rows]) @ w.T, values[rows].shape)
        return values


class _FarInFloat64:
    """Blocks of kernel rows from float32 tiles, with the values among far samples in float64."""

    def __init__(
        self, tiles: _core.KernelRows, kernel: Kernel, X: Matrix, far: NDArray[np.bool_]
    ) -> None:
        self.tiles, self.kernel, self.X, self.far = tiles, kernel, X, far
        self.columns = np.flatnonzero(far)
        self.basis = X[self.columns]

    def __call__(self, index: NDArray[np.int32]) -> NDArray[np.float32]:
        values = np.empty((len(index), len(self.far)), dtype=np.float32)
        self.tiles.rows(index, values)
        rows = np.flatnonzero(self.far[index])
        if len(rows):
            values[np.ix_(rows, self.columns)] = self.kernel(self.X[index[rows]], self.basis)
        return values


class _Float32Sums:
    """Σ c_j k(x_j, x) in float32 tiles for the rows where they are precise enough, else in float64.

    Rounding errors of different samples x_j are independent: those of a sum are of the size of
    √(Σ c_j² e_j²), where e_j bounds that of k(x_j, x), and samples that are equal count as one.
    Some rows are computed in both ways: they show which share of that size the errors have.
    """

    def __init__(
        self,
        samples: KernelSamples,
        coef: Array,
        parts: NDArray[np.int32] | None,
        resolution: float,
        n_threads: int,
    ) -> None:
        self.samples, self.coef, self.parts = samples, np.ascontiguousarray(coef), parts
        self.resolution, self.n_threads = resolution, n_threads
        self.sizes = np.array([samples.X.shape[0]] if parts is None else parts, dtype=np.int32)
        self.of_samples = samples.own[1].astype(np.float64)
        _, v = samples.kernel.errors_in_float32(np.zeros(1), self.of_samples)
        number = _numbers_of_distinct(samples.X)
        self.size, self.error = (self._largest_norm(number, weight) for weight in (1.0, v))

    def _largest_norm(self, number: NDArray[np.intp], weight: Array | float) -> float:
        """Return the largest √(Σ c_j² weight_j²), with the |c_j| of samples of one number added."""
        unit = float(np.abs(self.coef).max()) or 1.0
        sizes = [np.bincount(number, weight * row) for row in np.abs(self.coef) / unit]
        pair = 1.0 if self.parts is None else math.sqrt(2.0)  # two parts make an f
        return pair * unit * float(np.linalg.norm(sizes, axis=1).max())

    def __call__(self, X: Matrix) -> Array:
        rows, square = self.samples.prepared(X, self.n_threads)
        sizes = self.error_sizes(rows, square)
        candidates = np.flatnonzero(_DEVIATIONS * _MIN_SHARE * sizes <= self.resolution)
        values, precise = _zeros(X, self.coef, self.parts), candidates[:0]
        if len(candidates):
            if len(candidates) < X.shape[0]:
                rows, square = rows[candidates], square[candidates]
            values[candidates] = self._tiles(rows, square)
            share = self._share(X, values, sizes, candidates)
            precise = candidates[_DEVIATIONS * share * sizes[candidates] <= self.resolution]
        rest = np.setdiff1d(np.arange(X.shape[0]), precise, assume_unique=True)
        if len(rest):
            values[rest] = self.exact(X[rest] if len(rest) < X.shape[0] else X)
        return values

    def _tiles(self, rows: Matrix, square: NDArray[np.float32]) -> Array:
        """Return the sums of prepared rows in float32."""
        found = np.zeros((len(square), len(self.sizes) * len(self.coef)))
        source: Any = self.samples._all_rows
        source.predict(*core_arrays(rows), square, self.coef, self.sizes, found, self.n_threads)
        return found.reshape(_zeros(rows, self.coef, self.parts).shape)

    def _share(self, X: Matrix, values: Array, sizes: Array, candidates: NDArray[np.intp]) -> float:
        """Return the share of their bound that the errors of some rows have, in float64."""
        order = sizes[candidates].argsort()
        largest = candidates[order[-_N_COMPARED // 4 :]]
        compared = np.unique(
            np.append(candidates[:: max(1, len(candidates) // _N_COMPARED)], largest)
        )
        off = np.abs(values[compared] - self.exact(X[compared])).reshape(len(compared), -1)
        size = np.maximum(sizes[compared, np.newaxis], _TINY)
        typical = np.sqrt(np.mean((off / size) ** 2, axis=0)).max()
        return max(float(typical), _MIN_SHARE)

    def exact(self, X: Matrix) -> Array:
        return self.samples.exact(X, self.coef, self.parts)

    def error_sizes(self, rows: Matrix, square: NDArray[np.float32]) -> Array:
        """Return the bound of the errors of each row's sums."""
        u, _ = self.samples.kernel.errors_in_float32(square.astype(np.float64), self.of_samples)
        stored = rows.nnz / rows.shape[0] if sparse.issparse(rows) else rows.shape[1]
        rounding = _ROUNDING * (1.0 + 0.25 * math.sqrt(stored))
        return np.asarray(rounding * (u * self.size + self.error))


class SharedSamples:
    """Samples of several classes: for every two, rows within a class are computed once for all.

    Of these, `cache` megabytes are kept.
    """

    def __init__(self, samples: KernelSamples, members: list[NDArray[np.intp]], cache: float):
        self.samples, self.members = samples, members
        self.pairs = list(itertools.combinations(range(len(members)), 2))
        each = 1e6 * cache / len(members)
        self.classes = [
            _core.ClassRows(samples.rows(rows), int(each // (4 * len(rows)))) for rows in members
        ]

    def pair(self, number: int, X: Matrix) -> KernelSamples:
        """Return the samples X of a pair by its number: those of one class, then the other's."""
        first, second = self.pairs[number]
        rows = np.concatenate([self.members[first], self.members[second]])
        values, square = self.samples.own
        pair = KernelSamples(self.samples.kernel, X, self.samples.n_threads)
        pair._layout, pair.own = self.samples._layout, (values[rows], square[rows])
        pair.shared = self.classes[first].pair(self.classes[second], self.samples.n_threads)
        return pair


def _zeros(X: Matrix, coef: Array, parts: NDArray[np.int32] | None) -> Array:
    """Return zeros for the sums of every row of X."""
    return np.zeros((X.shape[0], *(() if parts is None else (len(parts),)), len(coef)))


def summed(K: Array, coef: Array, parts: NDArray[np.int32] | None = None) -> Array:
    """K c for every row c of coef; with `parts`, numbers of columns, one sum for each of them."""
    if parts is None:
        return np.asarray(K @ coef.T)
    sums, begin = np.empty((len(K), len(parts), len(coef))), 0
    for part, end in enumerate(parts.cumsum().tolist()):
        sums[:, part] = K[:, begin:end] @ coef[:, begin:end].T
        begin = end
    return sums


def _numbers_of_distinct(X: Matrix) -> NDArray[np.intp]:
    """Return a number for each row, the same for equal rows."""
    weights = np.random.default_rng(0).standard_normal(X.shape[1])
    return np.unique(X @ weights, return_inverse=True)[1]
