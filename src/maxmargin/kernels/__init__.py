"""Kernels: functions k(x, z) that are inner products in some feature space.

A kernel is called with two blocks of samples and returns the matrix of its values; that is all a
solver, a prediction or the certificate needs. The common ones are functions of ⟨x, z⟩, ‖x‖² and
‖z‖², which the core computes in tiles (`formula`). Sums, products and positive multiples of kernels
are kernels.
"""

from maxmargin.kernels.base import Kernel, Product, Scaled, Sum
from maxmargin.kernels.custom import Precomputed, User, as_kernel
from maxmargin.kernels.mercer import MercerReport, mercer_check
from maxmargin.kernels.named import fitted_kernel
from maxmargin.kernels.standard import (
    GAMMA_RULES,
    ChiSquared,
    Cosine,
    Gaussian,
    HistogramIntersection,
    Laplacian,
    Linear,
    Polynomial,
    Sigmoid,
)

__all__ = [
    "GAMMA_RULES",
    "ChiSquared",
    "Cosine",
    "Gaussian",
    "HistogramIntersection",
    "Kernel",
    "Laplacian",
    "Linear",
    "MercerReport",
    "Polynomial",
    "Precomputed",
    "Product",
    "Scaled",
    "Sigmoid",
    "Sum",
    "User",
    "as_kernel",
    "fitted_kernel",
    "mercer_check",
]
