"""The lecture's simplified SMO, for a hinge and a free intercept.

Go through the samples; where one violates its KKT condition by more than tol, take a random
partner, move the pair to the optimum along yᵢαᵢ + yⱼαⱼ = const, clipped to [L, H], and update the
threshold. Stop after some passes without a change.
"""

import numpy as np


def simplified_smo(K, y, C, tol=1e-6, passes=30, seed=0):
    rng = np.random.default_rng(seed)
    n = len(y)
    alpha, b, quiet = np.zeros(n), 0.0, 0
    while quiet < passes:
        changed = 0
        for i in range(n):
            error_i = (alpha * y) @ K[:, i] + b - y[i]
            too_small = y[i] * error_i < -tol and alpha[i] < C[i]
            too_large = y[i] * error_i > tol and alpha[i] > 0
            if not (too_small or too_large):
                continue
            j = (i + 1 + rng.integers(n - 1)) % n
            error_j = (alpha * y) @ K[:, j] + b - y[j]
            old_i, old_j = alpha[i], alpha[j]
            if y[i] != y[j]:
                L, H = max(0.0, old_j - old_i), min(C[j], C[i] + old_j - old_i)
            else:
                L, H = max(0.0, old_i + old_j - C[i]), min(C[j], old_i + old_j)
            eta = 2 * K[i, j] - K[i, i] - K[j, j]
            if L >= H or eta >= 0:
                continue
            alpha[j] = np.clip(old_j - y[j] * (error_i - error_j) / eta, L, H)
            if abs(alpha[j] - old_j) < 1e-10:
                continue
            alpha[i] = old_i + y[i] * y[j] * (old_j - alpha[j])
            step_i, step_j = y[i] * (alpha[i] - old_i), y[j] * (alpha[j] - old_j)
            b_i = b - error_i - step_i * K[i, i] - step_j * K[i, j]
            b_j = b - error_j - step_i * K[i, j] - step_j * K[j, j]
            if 0 < alpha[i] < C[i]:
                b = b_i
            elif 0 < alpha[j] < C[j]:
                b = b_j
            else:
                b = 0.5 * (b_i + b_j)
            changed += 1
        quiet = 0 if changed else quiet + 1
    return alpha, b
