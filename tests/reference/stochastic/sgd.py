"""SGD in NumPy: the specification of core/stochastic/sgd.hpp, to be read beside the lecture notes.

For each epoch, shuffle; for each example w ← w − γ_t ∇J(w), with J = λ/2 ‖w‖² + n (C_i/S) ℓ_i(w).
Without the regulariser, and with the perceptron's loss, this is the perceptron.
"""

import numpy as np

from reference.random import Random
from reference.stochastic.pegasos import epochs, minus_slope


def sgd(objective, n_epochs, seed, step, *, rule="plain", batch_size=1, momentum=0.9,
        feature=0.0, anchor=0.0):  # fmt: skip
    """Return w (bias weight last), its average, the dual point and the number of mistakes."""
    X, y, cost = objective.problem.X, objective.problem.y, objective.problem.cost
    n, lam = len(y), 1.0 / cost.sum() if objective.loss.regularized else 0.0
    X = np.c_[X, np.full(n, feature)]
    w, memory = np.zeros(X.shape[1]), (0.0, 0.0)
    points: list[np.ndarray] = []
    g_sum, visits, mistakes = np.zeros(n), np.zeros(n), 0
    source, t, horizon = epochs(n, batch_size, Random(seed)), 0, 0
    for epoch in (next(source) for _ in range(n_epochs)):
        horizon = horizon or len(epoch)
        for batch in epoch:
            t += 1
            if t > horizon:  # the recent half starts here
                horizon, g_sum, visits, points = 2 * horizon, np.zeros(n), np.zeros(n), []
            points.append(w)
            gradient = lam * w
            for i in batch:
                g = minus_slope(objective.loss, y[i], cost[i], X[i] @ w + anchor)
                gradient = gradient - n / cost.sum() * g * X[i] / len(batch)
                g_sum[i] += g
                visits[i] += 1.0
                mistakes += g != 0.0
            direction, memory = RULES[rule](gradient, *memory, t, momentum)
            w = w - step(t) * direction
    return w, np.mean(points, axis=0), g_sum / np.maximum(visits, 1.0), mistakes


def plain(g, m, s, t, mu):
    return g, (m, s)


def heavy_ball(g, m, s, t, mu):
    m = mu * m + g
    return m, (m, s)


def nesterov(g, m, s, t, mu):
    m = mu * m + g
    return g + mu * m, (m, s)


def adagrad(g, m, s, t, mu):
    s = s + g**2
    return g / (np.sqrt(s) + 1e-8), (m, s)


def rmsprop(g, m, s, t, mu):
    s = 0.9 * s + 0.1 * g**2
    return g / (np.sqrt(s) + 1e-8), (m, s)


def adam(g, m, s, t, mu):
    m, s = mu * m + (1 - mu) * g, 0.999 * s + 0.001 * g**2
    return m / (1 - mu**t) / (np.sqrt(s / (1 - 0.999**t)) + 1e-8), (m, s)


RULES = {
    "plain": plain,
    "momentum": heavy_ball,
    "nesterov": nesterov,
    "adagrad": adagrad,
    "rmsprop": rmsprop,
    "adam": adam,
}
