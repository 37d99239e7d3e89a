"""Descent on ‖w‖₁ + squared hinge in NumPy: the specification of core/linear/l1.hpp.

    min over w of Σ p_j |w_j| + Σ max(0, r_i)²,   r = √C (1 − y Xw),

with the intercept as a column, p_j = 0 if it is free. Rows and columns are scaled as in the core.
`optimum` solves the same problem as a quadratic program, by another method.
"""

import clarabel
import numpy as np
from scipy import sparse

from maxmargin import Intercept

HISTORY, CYCLES = 5, 2
LEAST_SLACK, DESCENT = 0.1, 0.01


def with_intercept(X, intercept, scaling):
    """The columns, that of the intercept first, and their penalties."""
    if intercept is Intercept.NONE:
        return X, np.ones(X.shape[1])
    free = intercept is Intercept.FREE
    column = np.full((len(X), 1), 1.0 if free else scaling)
    return np.hstack([column, X]), np.r_[0.0 if free else 1.0, np.ones(X.shape[1])]


class WorkingSet:
    def __init__(self, X, y, cost, penalty):
        self.A, self.target = (np.sqrt(cost) * y)[:, None] * X, np.sqrt(cost)
        self.penalty, self.w = penalty, np.zeros(X.shape[1])
        self.restart(self.w)

    def restart(self, w):
        self.w = w.copy()
        self.r = self.target - self.A @ w
        self.dual = 0.0
        self.check()

    def objective(self, w, r):
        return self.penalty @ np.abs(w) + (np.maximum(r, 0.0) ** 2).sum()

    def balanced(self, r):
        """Residuals after the shift that makes the dual point of a free intercept sum to 0."""
        for j in np.flatnonzero(self.penalty == 0.0):
            for _ in range(50):
                a = np.where(r > 0.0, self.A[:, j], 0.0)
                if not a.any():
                    break
                r = r - (a @ r) / (a @ a) * self.A[:, j]
        return r

    def consider(self, r):
        """Keep the dual value of these residuals if it is the best; return their products."""
        alpha = 2.0 * np.maximum(0.0, self.balanced(r))
        products = self.A.T @ alpha
        linear, square = self.target @ alpha, 0.25 * alpha @ alpha
        largest = np.abs(products[self.penalty > 0.0]).max(initial=0.0)
        if square > 0.0:
            scale = min(1.0 / max(largest, 1e-300), 0.5 * linear / square)
            self.dual = max(self.dual, scale * (linear - scale * square))
        return products

    def check(self):
        products = np.abs(self.consider(self.r))
        self.primal = self.objective(self.w, self.r)
        penalized = self.penalty > 0.0
        excess = (products[penalized] - 1.0).max(initial=0.0)
        least = 1.0 - np.clip(excess, LEAST_SLACK, 1.0)
        self.active = np.flatnonzero((self.w != 0.0) | ~penalized | (products >= least))

    def descend(self):
        """The epochs between two checks."""
        for _ in range(CYCLES):
            ws, rs = [self.w.copy()], [self.r.copy()]
            for _ in range(HISTORY):
                for j in self.active:
                    self.step(j)
                ws.append(self.w.copy())
                rs.append(self.r.copy())
            self.extrapolate(np.array(ws), np.array(rs))
        self.check()

    def step(self, j):
        a, p, w = self.A[:, j], self.penalty[j], self.w[j]
        on = np.where(self.r > 0.0, a, 0.0)
        slope, curvature = -2.0 * on @ self.r, max(2.0 * on @ on, 2e-12 * a @ a)
        if curvature == 0.0:
            return
        moved = w - slope / curvature
        d = np.sign(moved) * max(0.0, abs(moved) - p / curvature) - w
        before = (np.maximum(0.0, self.r) ** 2).sum()
        for _ in range(30):
            change = p * (abs(w + d) - abs(w))
            enough = DESCENT * (slope * d + change)
            if slope * d + d * d * (a @ a) + change <= enough or (
                (np.maximum(0.0, self.r - d * a) ** 2).sum() - before + change <= enough
            ):
                self.w[j] += d
                self.r -= d * a
                return
            d *= 0.5

    def extrapolate(self, ws, rs):
        steps = np.diff(ws, axis=0)
        gram = steps @ steps.T
        if not np.trace(gram) > 0.0:
            return
        mix = np.linalg.solve(gram + 1e-12 * np.trace(gram) * np.eye(HISTORY), np.ones(HISTORY))
        mix /= mix.sum()
        w, r = mix @ ws[1:], mix @ rs[1:]
        if self.objective(w, r) < self.objective(self.w, self.r):
            self.w, self.r = w, r

    def newton(self):
        """The Newton step on the support, solved exactly."""
        support = np.flatnonzero((self.w != 0.0) | (self.penalty == 0.0))
        on = self.r > 0.0
        B, signs = self.A[:, support], self.penalty[support] * np.sign(self.w[support])
        d = np.zeros(len(self.w))
        d[support] = np.linalg.solve(2.0 * B[on].T @ B[on], 2.0 * B[on].T @ self.r[on] - signs)
        self.take(d, keep_signs=True)

    def proximal_newton(self):
        """The proximal Newton step on the columns not shrunk, solved exactly."""
        B = self.A[self.r > 0.0]
        hessian, slope = 2.0 * B.T @ B, -2.0 * B.T @ self.r[self.r > 0.0]
        d, change = np.zeros(len(self.w)), np.inf
        while change > 1e-14:
            change = 0.0
            for j in self.active:
                at, curvature = self.w[j] + d[j], hessian[j, j]
                free = at - (slope[j] + hessian[j] @ d) / curvature
                to = np.sign(free) * max(0.0, abs(free) - self.penalty[j] / curvature)
                change = max(change, abs(to - at))
                d[j] = to - self.w[j]
        self.take(d, keep_signs=False)

    def take(self, d, keep_signs):
        """Consider the dual point of the model's minimum, and go there or as far as it descends."""
        self.consider(np.where(self.r > 0.0, self.r - self.A @ d, 0.0))
        before, length = self.objective(self.w, self.r), 1.0
        for _ in range(6):
            w = self.w + length * d
            if keep_signs:
                w[(self.penalty > 0.0) & (w * self.w <= 0.0)] = 0.0
            r = self.target - self.A @ w
            if self.objective(w, r) < before:
                self.w, self.r = w, r
                break
            length *= 0.5
        self.check()


def optimum(X, y, cost, intercept, scaling):
    """The objective's value and α at the solution of the quadratic program, by Clarabel.

    The variables are w⁺, w⁻ and ξ, with ξ ≥ 0 and ξ + y (w⁺ − w⁻)'x ≥ 1.
    """
    A, penalty = with_intercept(X, intercept, scaling)
    n, d = A.shape
    B = y[:, None] * A
    P = sparse.diags(np.r_[np.zeros(2 * d), 2.0 * cost]).tocsc()
    G = sparse.csc_matrix(np.block([[-B, B, -np.eye(n)], [-np.eye(2 * d), np.zeros((2 * d, n))]]))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    q = np.r_[penalty, penalty, np.zeros(n)]
    h = np.r_[-np.ones(n), np.zeros(2 * d)]
    found = clarabel.DefaultSolver(
        P, q, G, h, [clarabel.NonnegativeConeT(n + 2 * d)], settings
    ).solve()
    return found.obj_val, np.array(found.z[:n])
