"""K classes by Pegasos and SGD in NumPy: the specification of core/stochastic/multiclass_rows.hpp.

    F(W) = λ/2 ‖W‖² + Σ (C_i/S) max_j (1[j ≠ y_i] + z_ij − z_iy),  λ = 1/S = 1/Σ C_i

If the rival r, the best class but y_i, comes within 1 of it, a subgradient of the loss has C_i x_i
in row r and −C_i x_i in row y_i, else it is 0. How often a sample faced each rival is its dual
point.
"""

import numpy as np

from reference.random import Random
from reference.stochastic.pegasos import epochs
from reference.stochastic.sgd import RULES


def descend(objective, n_epochs, seed, move, *, batch_size=1, uniform=False, averaging="suffix",
            feature=0.0, anchor=0.0):  # fmt: skip
    """Return W (bias weights in its last column), its average and the dual point."""
    X, y, cost = objective.problem.X, objective.labels, objective.problem.cost
    n, K = len(y), objective.n_classes
    X = np.c_[X, np.full(n, feature)]
    W = np.zeros((K, X.shape[1]))
    points: list[np.ndarray] = []
    shares: list[float] = []
    faced, visits = np.zeros((n, K)), np.zeros(n)
    source, t, horizon = epochs(n, batch_size, Random(seed), uniform), 0, 0
    for epoch in (next(source) for _ in range(n_epochs)):
        horizon = horizon or len(epoch)
        for batch in epoch:
            t += 1
            if t > horizon:  # the recent half starts here
                horizon, faced, visits = 2 * horizon, np.zeros((n, K)), np.zeros(n)
                if averaging == "suffix":
                    points, shares = [], []
            points.append(W)
            shares.append(t if averaging == "weighted" else 1.0)
            V = np.zeros_like(W)
            for i in batch:
                z = W @ X[i] + anchor
                rival = np.where(np.arange(K) == y[i], -np.inf, z).argmax()
                g = cost[i] if 1.0 + z[rival] - z[y[i]] > 0.0 else 0.0
                V[y[i]] += n * g * X[i] / len(batch)
                V[rival] -= n * g * X[i] / len(batch)
                faced[i, rival] += g
                visits[i] += 1.0
            W = move(t, W, V)
    average = W if averaging == "none" else np.average(points, axis=0, weights=shares)
    return W, average, -faced / np.maximum(visits, 1.0)[:, None]


def pegasos(radius=np.inf, *, bias_in_ball=True):
    """The step 1/(λt) along λ (W − V), then back into the ball."""

    def move(t, W, V):
        W = W - (W - V) / t
        ball = W if bias_in_ball else W[:, :-1]
        ball *= min(1.0, radius / max(np.linalg.norm(ball), 1e-300))
        return W

    return move


def sgd(step, total, *, rule="plain", momentum=0.9):
    """The step η_t along the gradient (W − V)/S, or along what the rule makes of it."""
    memory = (0.0, 0.0)

    def move(t, W, V):
        nonlocal memory
        direction, memory = RULES[rule]((W - V) / total, *memory, t, momentum)
        return W - step(t) * direction

    return move
