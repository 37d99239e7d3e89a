"""Samples in float32 as the core's kernel tiles read them: dense, or CSR around a centre."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from scipy import sparse

import maxmargin._core as _core
from maxmargin.data.arrays import Array, Matrix, view_rows

#: Values of a block, and values from which on threads are started.
_VALUES_PER_BLOCK, _MIN_THREADED = 2**22, 2**20


def csr_float32(X: Matrix, unit: float) -> Matrix:
    """Return X unit in float32, its columns in order."""
    X, _ = view_rows(X)
    values = (X.data * unit).astype(np.float32, copy=False)
    return type(X)((values, X.indices, X.indptr), shape=X.shape)


def compressed(X: Array, centre: Array | None, unit: float, n_threads: int) -> sparse.csr_array:
    """Return (X - centre) unit of a dense X in CSR form and float32."""
    n, d = X.shape
    centre = np.zeros(d) if centre is None else centre

    def compress(some: slice) -> sparse.csr_array:
        rows = _core.Rows(X[some])
        offsets = np.zeros(rows.n_samples + 1, dtype=np.int32)
        room = (rows.n_samples + 1) * d  # pages not written to cost nothing
        values, columns = np.empty(room, dtype=np.float32), np.empty(room, dtype=np.int32)
        done = rows.compress(0, rows.n_samples, centre, unit, offsets, values, columns)
        assert done  # there is room
        stored = int(offsets[-1])
        shape = (rows.n_samples, d)
        return sparse.csr_array((values[:stored], columns[:stored], offsets), shape=shape)

    threads = n_threads if n * d >= _MIN_THREADED else 1
    slices = row_slices(n, d, threads)
    if threads == 1 or len(slices) == 1:
        parts = [compress(some) for some in slices]
    else:
        with ThreadPoolExecutor(threads) as pool:
            parts = list(pool.map(compress, slices))
    return parts[0] if len(parts) == 1 else sparse.vstack(parts, format="csr")


def common_values(some: Array) -> Array:
    """Return the value that most samples have in each column; where few have the same, the median.

    Neither is two standard deviations away from the mean: far from it small distances would cancel.
    """
    ordered = np.sort(some, axis=0).astype(np.float64)
    rank = np.arange(len(some))[:, np.newaxis]
    begins = np.ones(ordered.shape, dtype=bool)
    begins[1:] = ordered[1:] != ordered[:-1]
    run = rank - np.maximum.accumulate(np.where(begins, rank, 0), axis=0)
    common = ordered[run.argmax(axis=0), np.arange(some.shape[1])]
    often = run.max(axis=0) + 1 >= 0.25 * len(some)
    return np.asarray(np.where(often, common, ordered[len(some) // 2]))


def row_slices(count: int, width: int, at_least: int = 1) -> list[slice]:
    """Cut `count` rows of that many values each into blocks."""
    step = max(1, min(_VALUES_PER_BLOCK // max(1, width), -(-count // at_least)))
    return [slice(begin, begin + step) for begin in range(0, count, step)]


def n_nonzero(X: Matrix) -> int:
    """Count the values other than 0, of CSR those that are stored."""
    return int(X.nnz) if sparse.issparse(X) else int(np.count_nonzero(X))


def core_arrays(X: Matrix) -> tuple[Any, ...]:
    """Return the arrays that the core reads X from."""
    return (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
