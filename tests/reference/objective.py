"""The objective and its dual as the textbook has them, in NumPy; the optimum from a QP solver."""

import clarabel
import numpy as np
from scipy import sparse

from maxmargin import Intercept


def loss(name, y, z, epsilon):
    slack = {
        "hinge": np.maximum(0, 1 - y * z),
        "squared_hinge": np.maximum(0, 1 - y * z) ** 2,
        "perceptron": np.maximum(0, -y * z),
        "squared": (y - z) ** 2,
        "epsilon_insensitive": np.maximum(0, np.abs(y - z) - epsilon),
        "squared_epsilon_insensitive": np.maximum(0, np.abs(y - z) - epsilon) ** 2,
    }
    return slack[name]


def dense(objective):
    X = objective.problem.X
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)


def primal(objective, w, b):
    """½‖w‖² (+ ½ (b/scaling)²) + Σ C_i ℓ_i."""
    name, epsilon = objective.loss.name, objective.loss.epsilon
    z = dense(objective) @ w + b
    value = objective.problem.cost @ loss(name, objective.problem.y, z, epsilon)
    if name != "perceptron":
        value += w @ w / 2
        if objective.intercept is Intercept.PENALIZED:
            value += (b / objective.intercept_scaling) ** 2 / 2
    return value


def dual(objective, beta):
    """Σ y_i β_i − ε|β_i| (− β_i²/(4 C_i)) − ½‖Σ β_i x_i‖² for a feasible β."""
    X, y, cost = dense(objective), objective.problem.y, objective.problem.cost
    if objective.loss.name == "perceptron":
        return 0.0
    if objective.intercept is Intercept.PENALIZED:
        X = np.c_[X, np.full(len(y), objective.intercept_scaling)]
    value = y @ beta - objective.loss.epsilon * np.abs(beta).sum() - np.sum((beta @ X) ** 2) / 2
    if objective.loss.name.startswith("squared"):
        live = cost > 0
        value -= np.sum(beta[live] ** 2 / (4 * cost[live]))
    return value


def optimum(objective):
    """(w, b, lower bound of P*) from Clarabel: the primal as a quadratic program in w, b, ξ."""
    X, y, cost = dense(objective), objective.problem.y, objective.problem.cost
    epsilon, squared = objective.loss.epsilon, objective.loss.name.startswith("squared")
    n, d = X.shape
    b_curvature, f = 0.0, np.c_[X, np.ones(n)]
    if objective.intercept is Intercept.PENALIZED:
        b_curvature = 1 / objective.intercept_scaling**2
    if objective.intercept is Intercept.NONE:
        f[:, -1] = 0.0
    xi = -sparse.eye(n)
    if objective.loss.one_sided:  # −ξ − y f ≤ −1
        rows, right = [[-y[:, None] * f, xi]], [-np.ones(n)]
    else:  # ± (f − y) − ξ ≤ ε
        rows, right = [[f, xi], [-f, xi]], [epsilon + y, epsilon - y]
    rows.append([sparse.csc_matrix((n, d + 1)), xi])
    A = sparse.block_array([[sparse.csc_matrix(part) for part in row] for row in rows]).tocsc()
    bound = np.concatenate([*right, np.zeros(n)])
    P = sparse.diags(np.r_[np.ones(d), b_curvature, 2 * cost if squared else np.zeros(n)])
    q = np.r_[np.zeros(d + 1), np.zeros(n) if squared else cost]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    cones = [clarabel.NonnegativeConeT(A.shape[0])]
    answer = clarabel.DefaultSolver(P.tocsc(), q, A, bound, cones, settings).solve()
    x = np.array(answer.x)
    b = 0.0 if objective.intercept is Intercept.NONE else x[d]
    return x[:d], b, answer.obj_val_dual
