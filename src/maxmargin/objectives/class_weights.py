"""The weights of K classes as the core lays them out."""

from __future__ import annotations

import numpy as np

import maxmargin._core as _core
from maxmargin.data.arrays import Array
from maxmargin.data.problem import Problem


def lay_out(coef: Array, *, by_feature: bool) -> Array:
    """Return weights of shape (K, d) as the core reads them, for dense or for CSR rows."""
    if not by_feature:
        return np.ascontiguousarray(coef)
    K, d = coef.shape
    W = np.zeros((d, _core.padded(K)))
    W[:, :K] = coef.T
    return W


def zero_weights(problem: Problem, n_classes: int, *, narrow: bool = False) -> Array:
    """Return the weights 0, laid out; in float32 if they are to be narrow."""
    if not _core.by_feature(problem.rows):
        return np.zeros((n_classes, problem.n_features), np.float32 if narrow else np.float64)
    padded = _core.padded(n_classes, narrow)
    return np.zeros((problem.n_features, padded), np.float32 if narrow else np.float64)


def coef_of(W: Array, n_classes: int, *, by_feature: bool) -> Array:
    """Return a copy of the core's weights, of shape (K, d)."""
    return (W[:, :n_classes].T if by_feature else W).copy(order="C")


def predict_classes(problem: Problem, W: Array, n_classes: int) -> Array:
    """Return ⟨w_j, x_i⟩, of shape (n, K), for weights that are laid out."""
    Z = np.empty((problem.n_samples, _core.padded(n_classes)))
    for begin, end in problem.blocks():
        _core.predict_classes(problem.rows, W, n_classes, begin, end, Z)
    return Z[:, :n_classes]


def combine_classes(problem: Problem, beta: Array) -> Array:
    """Return w_j = Σ_i β_ij x_i for β of shape (n, K), laid out."""
    W = zero_weights(problem, beta.shape[1])
    beta = np.ascontiguousarray(beta)
    for begin, end in problem.blocks():
        _core.combine_classes(problem.rows, beta, begin, end, W)
    return W
