"""One against the rest in NumPy: the specification of core/linear/one_vs_rest.hpp.

K problems of dual coordinate descent (reference/dual_cd.py) over the same rows in the same order,
one row after the other for all classes at once, without the warm-up pass before the first epoch.
"""

import numpy as np


def epoch(objective, numbers, feature, state, order):
    """One epoch. `state` has beta (n, K), W (K, d + 1, bias last), anchor, threshold and dual by
    class; this sets active, and the threshold again. The classes share the objective but for y.
    """
    X, cost, loss = objective.problem.X, objective.problem.cost, objective.loss
    rows = np.c_[X, np.full(len(X), feature)]
    beta, W = state.beta, state.W
    state.active = np.zeros(beta.shape, dtype=bool)
    worst = np.zeros(len(W))
    for i in order:
        x, old, C = rows[i], beta[i].copy(), np.full(len(W), cost[i])
        y = np.where(np.arange(len(W)) == numbers[i], 1.0, -1.0)
        lower, upper, curvature = loss.box(y, C)
        z = W @ x + state.anchor
        pull = loss.target_scale * y - z - curvature * old
        violation = np.maximum(
            np.where(old < upper, pull, -np.inf), np.where(old > lower, -pull, -np.inf)
        )
        state.active[i] = violation >= -state.threshold
        worst = np.maximum(worst, violation)
        top = old + pull / (x @ x + curvature)
        beta[i] = np.where(violation > 0, np.clip(top, lower, upper), old)
        change = beta[i] - old
        state.dual += loss.conjugate(y, C, beta[i]) - loss.conjugate(y, C, old)
        state.dual -= change * (z + 0.5 * (x @ x) * change)
        W += change[:, None] * x
    state.threshold = np.where(worst > 0, 0.25 * worst, np.inf)
