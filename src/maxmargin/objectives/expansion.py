"""What kernel machines share: w = Σ c_j φ(x_j), whose products are sums of kernel values."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from maxmargin.data.arrays import Array, Matrix
from maxmargin.data.problem import Problem
from maxmargin.kernels import Kernel, Precomputed, mercer_check
from maxmargin.objectives.base import Intercept

#: Kernel values held at a time.
VALUES_PER_BLOCK = 2**22


class Expansion:
    """An objective whose primal point is its coefficients c; an intercept is free or absent."""

    problem: Problem
    intercept: Intercept
    kernel: Kernel

    def __post_init__(self) -> None:
        super().__post_init__()  # type: ignore[misc]
        if self.intercept is Intercept.PENALIZED:
            raise ValueError("With a kernel an intercept is free or absent, not penalised.")

    @cached_property
    def diagonal(self) -> Array:
        """‖x_i‖² in the space where f is linear."""
        return self.kernel.diagonal(self.problem.X)

    @cached_property
    def value_rounding(self) -> float:
        """The rounding of kernel values in float64; see `Kernel.rounding`."""
        return self.kernel.rounding(self.problem.X)

    @cached_property
    def convex(self) -> bool:
        """Whether K is positive semidefinite; a kernel of unknown kind is tried on a sample.

        Of a kernel matrix the sample is large, as its values cost nothing.
        """
        if self.kernel.mercer is not None:
            return bool(self.kernel.mercer)
        n_samples = 1000 if isinstance(self.kernel, Precomputed) else 100
        return mercer_check(self.kernel, self.problem.X, n_samples=n_samples).passed

    def kernel_values(self, coef: Array) -> Array:
        """Return Σ c_j k(x_j, x_i) of every row i, from the kernel's own formula in float64."""
        values = np.zeros_like(coef)
        for rows, block in self.kernel_blocks(coef, VALUES_PER_BLOCK):
            values[rows] = block
        return values

    def kernel_blocks(self, coef: Array, size: int) -> Iterator[tuple[slice, Array]]:
        """Yield them for some rows at a time: as many as take `size` values of the kernel."""
        return expansion_blocks(self.kernel, self.problem.X, coef, size)


def expansion_blocks(
    kernel: Kernel, X: Matrix, coef: Array, size: int
) -> Iterator[tuple[slice, Array]]:
    """Yield Kc for some rows at a time; c is a vector, or a matrix with a column for each f."""
    support = np.flatnonzero(coef if coef.ndim == 1 else coef.any(axis=1))
    if len(support) == 0:
        return
    basis, step = X[support], max(1, size // len(support))
    for begin in range(0, len(coef), step):
        rows = slice(begin, begin + step)
        yield rows, kernel(X[rows], basis) @ coef[support]
