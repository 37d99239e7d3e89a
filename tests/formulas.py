"""The kernels beside their formulas in NumPy."""

import numpy as np
import pytest

from maxmargin.kernels import Cosine, Gaussian, Laplacian, Linear, Polynomial, Sigmoid

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(7, 5)), RNG.normal(size=(9, 5))
COUNTS = RNG.integers(0, 6, size=(40, 5)).astype(float)
TEXTBOOK = {
    Linear(): lambda x, z: x @ z,
    Polynomial(0.3, 2, 1.0): lambda x, z: (0.3 * (x @ z) + 1.0) ** 2,
    Gaussian(0.4): lambda x, z: np.exp(-0.4 * ((x - z) ** 2).sum()),
    Laplacian(0.2): lambda x, z: np.exp(-0.2 * np.abs(x - z).sum()),
    Sigmoid(0.1, 0.5): lambda x, z: np.tanh(0.1 * (x @ z) + 0.5),
    Cosine(): lambda x, z: x @ z / np.sqrt((x @ x) * (z @ z)),
}
KERNELS = pytest.mark.parametrize("kernel", TEXTBOOK, ids=lambda k: type(k).__name__)


def scale_gamma(X, weight=None):
    """γ of a Gaussian whose rule is "scale"."""
    kernel = Gaussian("scale").fitted(X, weight)
    assert isinstance(kernel, Gaussian)
    return kernel.gamma
