"""Sums of kernel values in float64, a tile at a time: none is kept, and Ctrl-C is heard between."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

import numpy as np
from scipy import sparse

from maxmargin.data.arrays import Array, Matrix
from maxmargin.kernels import Kernel
from maxmargin.runtime.blas_threads import one_blas_thread
from maxmargin.runtime.interrupt import interruptible
from maxmargin.runtime.threads import in_threads, n_threads

#: Samples of a side of a tile, whose values stay in the cache; sparse ones are prepared again for
#: each tile, which takes as long as many values.
_SIDE, _SPARSE_SIDE = 512, 2048


def kernel_sums(kernel: Kernel, A: Matrix, B: Matrix, coef: Array, n_jobs: int | None) -> Array:
    """Return Σ_j coef_jp k(b_j, a_i) for every row a_i of A and every column p."""
    out = np.zeros((A.shape[0], coef.shape[1]))
    stripes, columns = _tiles(A), [(B[some], coef[some]) for some in _tiles(B)]

    def stripe(place: int, out: Array) -> None:
        rows = A[stripes[place]]
        for samples, weights in columns:
            out[stripes[place]] += kernel(rows, samples) @ weights

    _in_stripes(stripe, len(stripes), [out] * n_threads(n_jobs))
    return out


def own_sums(kernel: Kernel, X: Matrix, coef: Array, n_jobs: int | None) -> Array:
    """Return Σ_j coef_jp k(x_j, x_i) for every row of X; each pair's value is computed once."""
    stripes = _tiles(X)
    parts = [np.zeros((X.shape[0], coef.shape[1])) for _ in range(n_threads(n_jobs))]

    def stripe(place: int, out: Array) -> None:
        first = stripes[place]
        rows = X[first]
        out[first] += kernel(rows, rows) @ coef[first]
        for other in stripes[place + 1 :]:
            values = kernel(rows, X[other])
            out[first] += values @ coef[other]
            out[other] += values.T @ coef[first]

    _in_stripes(stripe, len(stripes), parts)
    return np.asarray(sum(parts))


def _tiles(X: Matrix) -> list[slice]:
    step = _SPARSE_SIDE if sparse.issparse(X) else _SIDE
    return [slice(begin, begin + step) for begin in range(0, X.shape[0], step)]


def _in_stripes(work: Callable[[int, Array], None], count: int, outs: list[Array]) -> None:
    """Call work(place, out) for each stripe, one thread for each `out`.

    The stripes of a thread are always the same, so that sums come out the same to the last bit.
    """
    jobs = len(outs)

    def share(thread: int) -> None:
        for place in range(thread, count, jobs):
            if not interrupt.pressed:
                work(place, outs[thread])

    with interruptible() as interrupt:
        with one_blas_thread() if jobs > 1 else nullcontext():
            in_threads(share, range(jobs), jobs)
        if interrupt.pressed:
            raise KeyboardInterrupt
