"""Whether a function is a kernel, as far as samples show it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import assert_all_finite

from maxmargin.data.arrays import Array, Matrix
from maxmargin.data.checks import check_count
from maxmargin.kernels.base import Kernel
from maxmargin.kernels.custom import as_kernel


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

    def __repr__(self) -> str:
        return (
            f"MercerReport(passed={self.passed}, smallest={self.smallest:.3g},"
            f" largest={self.largest:.3g}, n_samples={self.n_samples})"
        )

    @property
    def passed(self) -> bool:
        """Whether no negative direction was found; on other samples there may be one."""
        return self.witness is None


def mercer_check(kernel: Kernel | Callable[[Any, Any], Any], X: Matrix, n_samples: int = 500,
                 random_state: int = 0) -> MercerReport:  # fmt: skip
    """Search for a negative eigenvalue of the Gram matrix on a sample of the rows.

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
