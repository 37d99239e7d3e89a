"""The neutral judge: every model is scored by this one formula, in NumPy float64.

Linear: P(w) = 0.5 ||w||^2 + C sum_i loss_i, no intercept; LIBLINEAR's convention, so the squared
losses carry no factor 1/2.

Several classes, linear: W has a row for each class, in the order of the labels. One against the
rest is the sum of the binary objectives; Crammer-Singer is 0.5 ||W||^2 + C sum_i max over j of
([j != y_i] + f_j(x_i) - f_y(x_i)).

Kernel: D(beta) = sum_i y_i beta_i - epsilon sum_i |beta_i| - 0.5 beta' K beta at sum_i beta_i = 0,
since the intercept is free. Two classes: 0 <= y_i beta_i <= C, epsilon = 0; regression:
|beta_i| <= C. Several classes: the sum over all pairs of classes.
"""

from itertools import combinations

import numpy as np
from scipy import sparse

from benchmarks.data import Kind, Matrix, Task

BLOCK = 2**22  # kernel values held at a time
DENSE = 2**26  # sparse rows of this many values are faster dense

LOSSES: dict[Kind, tuple[str, ...]] = {
    "classification": ("hinge", "squared_hinge"),
    "regression": ("epsilon_insensitive", "squared_epsilon_insensitive"),
}


def primal(task: Task, loss: str, w: np.ndarray) -> float:
    """The primal objective of `w`."""
    if loss not in LOSSES[task.kind]:
        raise ValueError(f"loss={loss!r} does not fit a {task.kind} task: {LOSSES[task.kind]}")
    w = np.asarray(w, dtype=np.float64).ravel()
    f = np.asarray(task.X @ w).ravel()
    if task.kind == "classification":
        slack = np.maximum(0.0, 1.0 - task.y * f)
    else:
        slack = np.maximum(0.0, np.abs(task.y - f) - task.epsilon)
    total = slack @ slack if loss.startswith("squared") else slack.sum()
    return float(0.5 * (w @ w) + task.C * total)


def primal_of_classes(task: Task, multi_class: str, loss: str, W: np.ndarray) -> float:
    """The primal objective of a machine of several classes."""
    W = np.asarray(W, dtype=np.float64)
    f = np.asarray(task.X @ W.T)
    own = np.searchsorted(np.unique(task.y), task.y)
    at_own = np.arange(len(own)), own
    if multi_class == "crammer_singer":
        slack = 1.0 + f - f[at_own][:, np.newaxis]
        slack[at_own] = 0.0
        slack = slack.max(axis=1)
    else:
        sign = np.full(f.shape, -1.0)
        sign[at_own] = 1.0
        slack = np.maximum(0.0, 1.0 - sign * f)
    total = np.sum(slack * slack) if loss.startswith("squared") else slack.sum()
    return float(0.5 * np.sum(W * W) + task.C * total)


def suboptimality(objective: float, optimum: float) -> float:
    """How far above the optimum, relative to it."""
    return (objective - optimum) / optimum


def dual_suboptimality(objective: float, optimum: float) -> float:
    """How far below the optimum, relative to it."""
    return (optimum - objective) / optimum


def dual(task: Task, support: np.ndarray, coef: np.ndarray) -> float:
    """The dual objective of LIBSVM's coefficients, after a step back to the feasible points.

    `support` has the rows of the support vectors, `coef` a column for each; with k classes it has
    k - 1 rows, that of a vector's pair with each rival class.
    """
    support = np.asarray(support)
    coef = np.asarray(coef, dtype=np.float64).reshape(-1, len(support))
    y = task.y[support].astype(np.float64)
    if task.kind == "regression":
        beta = _balanced(np.clip(coef, -task.C, task.C))
        linear = float(np.sum(beta @ y) - task.epsilon * np.abs(beta).sum())
    else:
        beta = _by_pair(task, y, coef)
        linear = float(np.abs(beta).sum())
    return linear - 0.5 * _quadratic(task.X[support], task.gamma, beta)


def _by_pair(task: Task, y: np.ndarray, coef: np.ndarray) -> np.ndarray:
    """A feasible beta for each pair of classes; classes are numbered as they come in y."""
    _, first = np.unique(y, return_index=True)
    classes = y[np.sort(first)]
    if len(classes) != len(coef) + 1:
        raise ValueError(f"{len(coef)} rows of coefficients, support vectors of {len(classes)}")
    rows = []
    for (a, one), (b, two) in combinations(enumerate(classes), 2):
        beta = np.where(y == one, coef[b - 1], np.where(y == two, coef[a], 0.0))
        sign = np.where(y == one, 1.0, -1.0)
        sign *= np.sign(sign @ beta)  # either class may be the positive one
        rows.append(sign * np.clip(sign * beta, 0.0, task.C))
    return _balanced(np.array(rows))


def _balanced(beta: np.ndarray) -> np.ndarray:
    """Shrink the heavier side of each row until the row sums to zero."""
    plus, minus = np.maximum(beta, 0.0), np.maximum(-beta, 0.0)
    p, m = plus.sum(axis=1, keepdims=True), minus.sum(axis=1, keepdims=True)
    light = np.minimum(p, m)
    return plus * (light / np.maximum(p, 1e-300)) - minus * (light / np.maximum(m, 1e-300))


def _quadratic(X: Matrix, gamma: float, beta: np.ndarray) -> float:
    """The sum of beta' K beta over the rows of beta: K above the diagonal counts twice."""
    if sparse.issparse(X) and X.shape[0] * X.shape[1] <= DENSE:
        X = X.toarray()
    squares = np.asarray((X.multiply(X) if sparse.issparse(X) else X * X).sum(axis=1)).ravel()
    total, step = 0.0, max(1, BLOCK // max(1, len(squares)))
    for begin in range(0, len(squares), step):
        rows, rest = slice(begin, begin + step), slice(begin, None)
        products = X[rows] @ X[rest].T
        inner = products.toarray() if sparse.issparse(products) else products
        distances = np.maximum(squares[rows, np.newaxis] + squares[rest] - 2.0 * inner, 0.0)
        twice = 2.0 * beta[:, rest]
        twice[:, :step] *= 0.5
        total += float(np.sum(beta[:, rows] * (np.exp(-gamma * distances) @ twice.T).T))
    return total
