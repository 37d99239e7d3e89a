"""The end of small K-class problems: the free dual variables solve a linear system."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from maxmargin.data.arrays import Array
from maxmargin.objectives.base import Intercept
from maxmargin.objectives.kernel_crammer_singer import KernelCrammerSingerObjective

#: Free variables up to which their system is solved.
_FEW_FREE = 300

#: Curvature that is added for the sake of singular systems, against that of the kernel.
_LITTLE = 1e-12


def face_step(
    objective: KernelCrammerSingerObjective, beta: Array, b: Array, z: Array
) -> tuple[Array, Array] | None:
    """Return the change of β and b to the best point of the face that β is on; z = Kβ.

    The free variables are those α_ij > 0 of samples that have several. Their change δ and the
    multipliers t_i of Σ_j δ_ij = 0 and −Δb_j of Σ_i δ_ij = 0 satisfy Kδ_j + t_i − Δb_j = score_ij.
    Where δ leads out of the simplices it is cut short, and the dual rises all the same. None if
    nothing is free, or too much, or the system has no solution.
    """
    own = objective.own
    alpha = -beta
    alpha[own] += objective.problem.cost
    free = alpha > 0.0
    free[free.sum(axis=1) == 1] = False
    row, column = np.nonzero(free)
    if not 0 < len(row) <= _FEW_FREE:
        return None
    samples, of = np.unique(row, return_inverse=True)
    X, count = objective.problem.X[samples], np.bincount(of)
    scores = objective.augmented_scores(z + b)[free]
    scores -= (np.bincount(of, scores) / count)[of]
    H = objective.kernel(X, X)[np.ix_(of, of)] * (column == column[:, np.newaxis])
    sums = np.eye(len(samples))[of]
    if objective.intercept is Intercept.FREE:
        sums = np.hstack([sums, -np.eye(objective.n_classes)[column]])
    square = H.trace() / len(row)
    if not square > 0.0:
        return None
    scale = float(np.sqrt(square))  # so that H and the sums are of one size
    sums *= scale
    n_sums = sums.shape[1]
    system = np.block([[H, sums], [sums.T, np.zeros((n_sums, n_sums))]])
    system.flat[:: len(system) + 1] += _LITTLE * square * np.repeat([1.0, -1.0], [len(row), n_sums])
    right = np.concatenate([scores, np.zeros(n_sums)])
    _, _, change, failed = linalg.lapack.dsysv(system, right)
    if failed or not np.isfinite(change).all():
        return None
    delta, shift = change[: len(row)], np.zeros_like(b)
    if objective.intercept is Intercept.FREE:
        shift = scale * change[len(row) + len(samples) :]
    falling = delta < 0.0
    step = min(1.0, float(np.min(alpha[free][falling] / -delta[falling], initial=np.inf)))
    moved = np.zeros_like(beta)
    moved[free] = -step * delta
    return moved, step * shift
