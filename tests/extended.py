"""Kernel machines in extended precision: kernel values by definition, objectives and bounds."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse

from maxmargin import SVR, NuSVC, NuSVR, OneClassSVM
from maxmargin.kernels import (
    ChiSquared,
    Cosine,
    Gaussian,
    HistogramIntersection,
    Laplacian,
    Linear,
    Polynomial,
    Product,
    Scaled,
    Sigmoid,
    Sum,
)

EXTENDED = np.longdouble


def dense(X):
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def kernel_values(kernel, A, B):
    """k(a, b) of all rows of A and B, from differences and products of extended precision."""
    if isinstance(kernel, Scaled):
        return EXTENDED(kernel.factor) * kernel_values(kernel.kernel, A, B)
    if isinstance(kernel, (Sum, Product)):
        first, second = (kernel_values(part, A, B) for part in (kernel.first, kernel.second))
        return first + second if isinstance(kernel, Sum) else first * second
    A, B = dense(A).astype(EXTENDED), dense(B).astype(EXTENDED)
    if isinstance(kernel, Linear) and kernel.origin is not None:
        A, B = A - kernel.origin, B - kernel.origin
    columns = [(a[:, np.newaxis], b) for a, b in zip(A.T, B.T, strict=True)]
    gamma, coef0 = EXTENDED(getattr(kernel, "gamma", 1)), EXTENDED(getattr(kernel, "coef0", 0))

    def total(term):
        return sum(term(a, b) for a, b in columns)

    def chi_squared(a, b):
        return (a - b) ** 2 / np.where(a + b > 0, a + b, 1)

    def cosines(norms):
        return total(np.multiply) / np.where(norms > 0, norms, 1)

    values: dict[type, Callable[[], np.ndarray]] = {
        Linear: lambda: total(np.multiply),
        Polynomial: lambda: (gamma * total(np.multiply) + coef0) ** kernel.degree,
        Sigmoid: lambda: np.tanh(gamma * total(np.multiply) + coef0),
        Cosine: lambda: cosines(np.outer(*(np.sqrt((M**2).sum(axis=1)) for M in (A, B)))),
        Gaussian: lambda: np.exp(-gamma * total(lambda a, b: (a - b) ** 2)),
        Laplacian: lambda: np.exp(-gamma * total(lambda a, b: np.abs(a - b))),
        ChiSquared: lambda: np.exp(-gamma * total(chi_squared)),
        HistogramIntersection: lambda: total(np.minimum),
    }
    return values[type(kernel)]()


class Recomputed(NamedTuple):
    """P and D of the points that a fit has stored, and by how much β breaks its constraints."""

    primal: EXTENDED
    dual: EXTENDED
    violation: EXTENDED  # as a share of the largest cost, or of Σ |β|


def recomputed(model, X, y, cost):
    """Judge `solution_` of a fit to X; y is ±1 as the solution counts it, or the targets."""
    solution, K = model.solution_, kernel_values(model._fitted_kernel, X, X)
    w, beta = solution.w.astype(EXTENDED), solution.beta.astype(EXTENDED)
    y, cost = y.astype(EXTENDED), cost.astype(EXTENDED)
    f, size = K @ w + EXTENDED(solution.b), np.abs(beta).sum()
    rho, epsilon = EXTENDED(solution.loss.target_scale), EXTENDED(solution.loss.epsilon)
    if isinstance(model, SVR):
        slack, alpha = np.maximum(np.abs(y - f) - epsilon, 0), np.abs(beta)
    else:
        slack, alpha = np.maximum(rho - y * f, 0), y * beta
    primal = w @ K @ w / 2 + cost @ slack
    dual = -(beta @ K @ beta) / 2
    violations = [(-alpha).max() / cost.max(), (alpha - cost).max() / cost.max()]
    if not isinstance(model, OneClassSVM):
        violations.append(abs(beta.sum()) / max(size, EXTENDED(1e-300)))
    mass = None
    if isinstance(model, NuSVR):
        mass = EXTENDED(model.nu) * cost.sum()
        primal, dual = primal + mass * epsilon, dual + y @ beta
        violations.append((size - mass) / mass)
    elif isinstance(model, SVR):
        dual += y @ beta - epsilon * size
    elif isinstance(model, (NuSVC, OneClassSVM)):
        mass = EXTENDED(model.nu) * cost.sum()
        primal -= mass * rho
        violations.append(abs(size - mass) / mass)
    else:
        dual += size
    return Recomputed(primal, dual, max(violations))


# ---- rows that make digits cancel


def offset(rng, n):
    return rng.normal(size=(n, 4)) + 1e5


def tiny_spread(rng, n):
    return 1.0 + 1e-7 * rng.normal(size=(n, 3))


def huge_scale(rng, n):
    return 1e6 * rng.normal(size=(n, 4))


def two_far_clusters(rng, n):
    X = rng.normal(size=(n, 2))
    X[::2] += 1e7
    return X


def duplicates(rng, n):
    return np.repeat(rng.normal(size=(n // 4, 3)) + 300.0, 4, axis=0)


def one_outlier(rng, n):
    X = rng.normal(size=(n, 2))
    X[0] = 1e8
    return X


def ordinary(rng, n):
    return rng.normal(size=(n, 4))


HOSTILE = [ordinary, offset, tiny_spread, huge_scale, two_far_clusters, duplicates, one_outlier]


def rounding(model, X, cost):
    """What sums in float64 lose of P: they are made of terms C_i |w_j k(x_j, x_i)|."""
    K, size = np.abs(kernel_values(model._fitted_kernel, X, X)), np.abs(model.solution_.w)
    return 2.0**-51 * ((cost + size) @ (K @ size))
