"""Decision values of training samples as of a fit without them.

With f = Σ β_j k(x_j, ·) + b, leaving out x_i takes β_i S_i² from f(x_i), where S_i is the distance
of x_i, in the kernel's space, from the span of the samples that can take up its share. Under the
hinge loss these are the free support vectors (Vapnik and Chapelle, Neural Computation 2000); with
the kernel k + I/(2C) the same covers the squared hinge, and S² is a matter of leverages. This is
exact if no other sample changes sides between free, bounded and unused.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dtrtri, dtrtrs

from maxmargin.data.arrays import Array

#: What is added to the diagonal of a kernel matrix, beside its mean, until it can be factorised.
_JITTER = 1e-10


def free(alpha: Array, cost: Array) -> NDArray[np.bool_]:
    """Return which α lie between their bounds, as far as a gap of 1e-3 can tell."""
    slack = 1e-3 * np.minimum(cost, alpha.max(initial=0.0))
    return np.asarray((alpha > slack) & (alpha < cost - slack))


class Span:
    """The span of samples with kernel matrix K + diag(soft); their affine hull if `affine`."""

    def __init__(self, K: Array, soft: Array, *, affine: bool) -> None:
        self._factor = factorised(K + np.diag(soft))
        self._affine, n = affine, len(K)
        inverse = dtrtri(self._factor, lower=True)[0]
        diagonal = np.einsum("ij,ij->j", inverse, inverse)
        if affine:
            self._ones = inverse.sum(axis=1)  # L⁻¹ 1
            self._total = float(self._ones @ self._ones)
            diagonal -= (self._ones @ inverse) ** 2 / self._total
        if n == 1 and affine:
            self.own = np.zeros(1)  # there is no hull without it
        else:
            self.own = np.maximum(1.0 / np.maximum(diagonal, 1e-300) - soft, 0.0)

    def squared_distances(self, K: Array, diagonal: Array) -> Array:
        """Return S² of samples with kernel values K to those of the span, and k(x, x)."""
        V = dtrtrs(self._factor, K, lower=True)[0]
        squares = diagonal - np.einsum("ij,ij->j", V, V)
        if self._affine:
            squares += (1.0 - self._ones @ V) ** 2 / self._total
        return np.asarray(np.maximum(squares, 0.0))


def squared_by_leverages(Z: Array, cost: Array, penalty: Array, stands_for: Array) -> Array:
    """S² of the squared hinge from H = diag(penalty) + 2 Σ s_j C_j z_j z_jᵀ, for few features.

    A sample stands for s_j of them.
    """
    scaled = Z.T * np.sqrt(2.0 * cost * stands_for)
    H = scaled @ scaled.T  # half the work, as BLAS knows that it is symmetric
    H[np.diag_indices_from(H)] += penalty
    V = dtrtrs(factorised(H), Z.T, lower=True)[0]
    squares = np.einsum("ij,ij->j", V, V)  # zᵀ H⁻¹ z, and S² = zᵀ (H − 2 C z zᵀ)⁻¹ z
    return np.asarray(squares / np.maximum(1.0 - 2.0 * cost * squares, 1e-12))


def factorised(K: Array) -> Array:
    """Return L with LLᵀ = K + a multiple of the identity, as small a one as is needed."""
    diagonal = np.diag(K)
    size = float(np.abs(diagonal).mean()) or 1.0
    shift = _JITTER
    while True:
        shifted = K.copy(order="F")
        np.fill_diagonal(shifted, diagonal + shift * size)
        factor, failed = dpotrf(shifted, lower=True, overwrite_a=True)
        if not failed:
            return np.asarray(factor)
        shift *= 10.0
