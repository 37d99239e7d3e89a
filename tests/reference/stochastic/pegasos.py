"""Pegasos in NumPy: specifies core/stochastic/pegasos.hpp, to be read beside the lecture notes.

    F(w) = λ/2 ‖w‖² + Σ (C_i/S) ℓ_i(w),  λ = 1/S = 1/Σ C_i

Draw a row, step 1/(λt) along the subgradient λw − v_t; return an average of the w_t.
"""

import numpy as np

from reference.random import Random


def minus_slope(loss, y, cost, z):
    """Minus a subgradient of C ℓ at z = f(x): y C [margin < 1] for the hinge."""
    if loss.target_scale == 0.0:  # the perceptron leaves the boundary, too
        return cost * y if y * z <= 0.0 else 0.0
    side = y if loss.one_sided else np.sign(y - z)
    slack = float(loss.slack(y, z))
    return cost * side * (float(slack > 0.0) if loss.bounded else 2.0 * slack)


def epochs(n, batch_size, random, uniform=False):
    """Epoch after epoch: near-equal batches of a new order, or of n independent draws."""
    order, m = list(range(n)), -(-n // min(batch_size, n))
    while True:
        if uniform:
            order = [random.below(n) for _ in range(n)]
        else:
            random.shuffle(order, n)
        yield [order[j * n // m : (j + 1) * n // m] for j in range(m)]


def pegasos(objective, n_epochs, seed, *, batch_size=1, uniform=False, radius=np.inf,
            averaging="suffix", feature=0.0, anchor=0.0, offset=0.0):  # fmt: skip
    """Return w (bias weight last), its average and the dual point."""
    X, y, cost = objective.problem.X, objective.problem.y, objective.problem.cost
    n, lam = len(y), 1.0 / cost.sum()
    X = np.c_[X, np.full(n, feature)]
    w = np.zeros(X.shape[1])
    points: list[np.ndarray] = []
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
                    points, shares = [], []
            points.append(w)
            shares.append(t if averaging == "weighted" else 1.0)
            v = np.zeros_like(w)
            for i in batch:
                g = minus_slope(objective.loss, y[i], cost[i], X[i] @ w + anchor)
                v += n * lam * g * X[i] / len(batch)
                g_sum[i] += g
                visits[i] += 1.0
            w = w - (lam * w - v) / (lam * (offset + t))
            w = w * min(1.0, radius / max(np.linalg.norm(w), 1e-300))
    average = w if averaging == "none" else np.average(points, axis=0, weights=shares)
    return w, average, g_sum / np.maximum(visits, 1.0)
