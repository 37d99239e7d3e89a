"""Dual coordinate descent in NumPy: the specification of core/linear/dual_cd.hpp.

    max over β in [lower, upper] of Σ target_i β_i − ε|β_i| − ½ curvature_i β_i² − ½‖Σ β_i x_i‖²

One coordinate at a time this is a parabola, whose top is known in closed form (Hsieh et al. 2008,
algorithm 1); rows that are surely at the right bound are shrunk (algorithm 3). Before the first
epoch a fifth of the rows is visited, and β is scaled down to its best multiple.
"""

import numpy as np


def sweep(objective, feature, anchor, state, random):
    """One epoch over the rows still in play. `state` has beta, w (bias last), order, n_active,
    threshold, dual and whether it is the first; this adds the violations and the gap.
    """
    if state.first:
        violations = _visit(objective, feature, anchor, state, random, share=0.2)
        state.threshold = 0.25 * max(violations, default=np.inf)
        _scale_down(objective, anchor, state)
        state.first = False
    violations = _visit(objective, feature, anchor, state, random)
    state.violation, state.violations = max(violations, default=0.0), sum(violations)
    state.threshold = min(0.25 * state.violation, np.mean(violations)) if violations else np.inf


def _visit(objective, feature, anchor, state, random, share=1.0):
    """Visit this share of the active rows; return the violations that were met."""
    X, y, cost = objective.problem.X, objective.problem.y, objective.problem.cost
    rows = np.c_[X, np.full(len(y), feature)]
    epsilon = objective.loss.epsilon
    lower, upper, curvature = objective.loss.box(y, cost)
    beta, w, order = state.beta, state.w, state.order
    random.shuffle(order, state.n_active)
    left_out = int((1.0 - share) * state.n_active)
    violations, state.gap = [], 0.0
    k = 0
    while k < state.n_active - left_out:
        i = order[k]
        x, old = rows[i], beta[i]
        z = x @ w + anchor
        pull = y[i] - z - curvature[i] * old
        up = pull - (epsilon if old >= 0 else -epsilon) if old < upper[i] else -np.inf
        down = -pull - (epsilon if old <= 0 else -epsilon) if old > lower[i] else -np.inf
        violation = max(up, down)
        if violation < -state.threshold:  # shrunk: the last active row takes its place
            state.n_active -= 1
            order[k], order[state.n_active] = order[state.n_active], order[k]
            continue
        k += 1
        if violation <= 0:
            continue
        violations.append(violation)
        one = slice(i, i + 1)
        value = objective.loss.value(y[one], cost[one], np.array([z]))[0]
        conjugate = objective.loss.conjugate(y[one], cost[one], beta[one])[0]
        state.gap += value + z * old - conjugate  # Fenchel-Young: what the row adds to P − D
        top = y[i] - z + (x @ x) * old
        top = np.sign(top) * max(0.0, abs(top) - epsilon) / (x @ x + curvature[i])
        beta[i] = np.clip(top, lower[i], upper[i])
        change = beta[i] - old
        state.dual += objective.loss.conjugate(y[one], cost[one], beta[one])[0] - conjugate
        state.dual -= change * (z + 0.5 * (x @ x) * change)
        w += change * x
    return violations


def _scale_down(objective, anchor, state):
    y, cost = objective.problem.y, objective.problem.cost
    _, _, curvature = objective.loss.box(y, cost)
    beta, w = state.beta, state.w
    linear = (y - anchor) @ beta - objective.loss.epsilon * np.abs(beta).sum()
    scale = min(1.0, linear / (w @ w + curvature @ beta**2))
    beta *= scale
    w *= scale
    state.dual = objective.loss.conjugate(y, cost, beta).sum() - anchor * beta.sum() - w @ w / 2
