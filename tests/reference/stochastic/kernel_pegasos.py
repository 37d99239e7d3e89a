"""Kernel Pegasos in NumPy, to be read beside figure 3 of Shalev-Shwartz et al. (2011).

α_j counts how often sample j was drawn and violated its margin, and before step t + 1

    f_t(x) = 1/(λt) Σ α_j y_j k(x_j, x),  λ = 1/Σ C_i.

Here a draw counts with the weight n λ g_j for g_j = −∂ C_j ℓ, which is y_j [violated] if all C_j
are equal. A bias is a constant added to the kernel, and to f the anchor.
"""

import numpy as np

from reference.random import Random
from reference.stochastic.pegasos import epochs, minus_slope


def kernel_pegasos(objective, K, n_epochs, seed, *, batch_size=1, uniform=False,
                   averaging="suffix", feature=0.0, anchor=0.0, offset=0.0):  # fmt: skip
    """Return the coefficients of f, those of its average, and the dual point."""
    y, cost = objective.problem.y, objective.problem.cost
    n, lam = len(y), 1.0 / cost.sum()
    K = K + feature**2
    alpha, points = np.zeros(n), [np.zeros(n)]
    shares: list[float] = []
    g_sum, visits = np.zeros(n), np.zeros(n)
    source, t, horizon = epochs(n, batch_size, Random(seed), uniform), 0, 0
    for epoch in (next(source) for _ in range(n_epochs)):
        horizon = horizon or len(epoch)
        for batch in epoch:
            t += 1
            if t > horizon:  # the recent half starts here
                horizon, g_sum, visits = 2 * horizon, np.zeros(n), np.zeros(n)
                if averaging == "suffix":
                    points, shares = points[-1:], []
            shares.append(t if averaging == "weighted" else 1.0)
            z = K @ points[-1] + anchor
            for i in batch:
                g = minus_slope(objective.loss, y[i], cost[i], z[i])
                alpha[i] += n * lam * g / len(batch)
                g_sum[i] += g
                visits[i] += 1.0
            points.append(alpha / (lam * (offset + t)))
    last = points.pop()
    average = last if averaging == "none" else np.average(points, axis=0, weights=shares)
    return last, average, g_sum / np.maximum(visits, 1.0)
