"""The neutral judge: every model is scored by this one formula, in NumPy float64.

P(w) = 0.5 ||w||^2 + C sum_i loss_i, no intercept; LIBLINEAR's convention, so the squared
losses carry no factor 1/2.
"""

import numpy as np

from benchmarks.data import Kind, Task

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


def suboptimality(objective: float, optimum: float) -> float:
    """How far above the optimum, relative to it."""
    return (objective - optimum) / optimum
