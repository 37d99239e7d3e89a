"""The K-class kernel machine in NumPy, on few samples: specifies core/smo/crammer_singer.hpp.

    P = ½ Σ_j c_j'K c_j + Σ C_i max_j (1[j ≠ y_i] + f_ij − f_iy),   f = Kc + b
    D(β) = Σ β_{i,y_i} − ½ Σ_j β_j'K β_j,   β_ij ≤ C_i 1[j = y_i],   Σ_j β_ij = 0,  Σ_i β_ij = 0

The last constraint is that of free intercepts. Its multipliers are b: in the method of multipliers
b = anchor + penalty Σ_i β_i, and the anchor follows once the samples violate less than the sums.
"""

import numpy as np

from reference.linear.crammer_singer import RELAX, project

INNER, SWEEPS = 0.1, 100


def start(y, cost, n_classes):
    """α is C_i in the sample's own class: β = 0."""
    alpha = np.zeros((len(y), n_classes))
    alpha[np.arange(len(y)), y] = cost
    return alpha, np.zeros(n_classes)


def outer_step(K, y, cost, penalty, alpha, anchor):
    """One outer step on all samples, in place; returns the intercepts. No penalty: no intercept."""
    n, n_classes = alpha.shape
    own = np.arange(n_classes) == y[:, None]

    def pulls_and_b():
        beta = cost[:, None] * own - alpha
        b = anchor + penalty * beta.sum(axis=0)
        return ~own + K @ beta + b, b

    def violations(pull):
        up = np.where(alpha < cost[:, None], pull, -np.inf).max(axis=1)
        return up - np.where(alpha > 0, pull, np.inf).min(axis=1)

    pull, b = pulls_and_b()
    if penalty > 0 and violations(pull).max() <= np.abs(b - anchor).max():
        anchor += b - anchor
        pull, b = pulls_and_b()
    goal = INNER * violations(pull).max()
    for _ in range(SWEEPS):
        quiet = True
        for i in range(n):
            if violations(pull)[i] <= goal:
                continue
            quiet = False
            before = alpha[i].copy()
            square = max(K[i, i] + penalty, 1e-200)
            alpha[i] = project(before + RELAX * pull[i] / square, cost[i])
            pull -= np.outer(K[i] + penalty, alpha[i] - before)
        if quiet:
            break
    return pulls_and_b()[1]


def primal(K, y, cost, c, b):
    f = K @ c + b
    miss = 1 + f - f[np.arange(len(y)), y][:, None]
    miss[np.arange(len(y)), y] = 0
    return (c * (K @ c)).sum() / 2 + cost @ miss.max(axis=1)


def dual(K, y, beta):
    return beta[np.arange(len(y)), y].sum() - (beta * (K @ beta)).sum() / 2


def features(K):
    """Points whose inner products are K."""
    values, vectors = np.linalg.eigh(K)
    return vectors * np.sqrt(np.maximum(values, 0))
