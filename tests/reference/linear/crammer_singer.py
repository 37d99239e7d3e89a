"""The K-class problem in NumPy: core/linear/crammer_singer.hpp specified, and its optimum.

    P(W, b) = ½‖W‖² + Σ C_i max_j (1[j ≠ y_i] + z_ij − z_iy),   z = XW' + b
    D(β) = Σ β_{i,y_i} − ½‖β'X‖²,   β_ij ≤ C_i 1[j = y_i],   Σ_j β_ij = 0

One sample at a time, α_i = C_i e_y − β_i lies in a simplex, and the maximum over it is the
projection of α_i + (1[j ≠ y_i] + z_i)/‖x_i‖² (Keerthi et al. 2008, Blondel et al. 2014).
"""

import clarabel
import numpy as np
from scipy import sparse

RELAX = 1.4


def project(v, size):
    """The point of {p ≥ 0, Σ p = size} nearest to v, by sorting (Duchi et al. 2008)."""
    u = np.sort(v)[::-1]
    excess = (np.cumsum(u) - size) / np.arange(1, len(v) + 1)
    return np.maximum(v - excess[np.flatnonzero(u > excess)[-1]], 0.0)


def sweep(X, y, cost, feature, state, random):
    """One epoch over the samples still in play. `state` has alpha, W (K × d), w_bias, anchor,
    order, n_active, threshold and dual; this adds violation and gap.
    """
    random.shuffle(state.order, state.n_active)
    state.violation = state.gap = 0.0
    k = 0
    while k < state.n_active:
        i = state.order[k]
        x, alpha = X[i], state.alpha[i]
        pull = state.W @ x + feature * state.w_bias + state.anchor + (np.arange(len(alpha)) != y[i])
        open_, held = pull[alpha < cost[i]], pull[alpha > 0]
        violation = open_.max(initial=-np.inf) - held.min(initial=np.inf)
        if violation < -state.threshold or cost[i] == 0:
            state.n_active -= 1
            state.order[k], state.order[state.n_active] = state.order[state.n_active], i
            continue
        k += 1
        if violation <= 0:
            continue
        state.violation += violation
        state.gap += alpha @ (pull.max() - pull)
        square = x @ x + feature**2
        change = project(alpha + RELAX * pull / square, cost[i]) - alpha
        state.dual += change @ pull - square * (change @ change) / 2
        state.alpha[i] += change
        state.W -= np.outer(change, x)
        state.w_bias -= feature * change
    state.threshold = state.violation / state.n_active if state.violation > 0 else np.inf


def primal(X, y, cost, W, b):
    z = X @ W.T + b
    n = np.arange(len(y))
    miss = 1 + z - z[n, y][:, None]
    miss[n, y] = 0
    return (W**2).sum() / 2 + cost @ miss.max(axis=1)


def dual(X, y, beta):
    return beta[np.arange(len(y)), y].sum() - ((beta.T @ X) ** 2).sum() / 2


def optimum(X, y, cost, n_classes, *, free):
    """(W, b, lower bound of P*) from Clarabel: the primal as a quadratic program in W, b, ξ."""
    (n, d), K = X.shape, n_classes
    rows, right = [], []
    for i in range(n):
        for j in range(K):  # z_j − z_y − ξ ≤ −1[j ≠ y]
            weights, b, xi = np.zeros((K, d)), np.zeros(K), np.zeros(n)
            weights[j] += X[i]
            weights[y[i]] -= X[i]
            if free:
                b[j] += 1
                b[y[i]] -= 1
            xi[i] = -1
            rows.append(np.concatenate([weights.ravel(), b, xi]))
            right.append(-float(j != y[i]))
    A = sparse.csc_matrix(np.array(rows))
    # b counts only by its differences: a little curvature chooses one.
    P = sparse.diags(np.r_[np.ones(K * d), np.full(K, 1e-9), np.zeros(n)]).tocsc()
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    cones = [clarabel.NonnegativeConeT(len(right))]
    q = np.r_[np.zeros(K * d + K), cost]
    answer = clarabel.DefaultSolver(P, q, A, np.array(right), cones, settings).solve()
    x = np.array(answer.x)
    return x[: K * d].reshape(K, d), x[K * d : K * d + K], answer.obj_val_dual
