"""One against the rest, all classes in one pass: `core/linear/one_vs_rest.hpp` runs the epochs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import maxmargin._core as _core
from maxmargin.objectives.base import PrimalDual
from maxmargin.objectives.class_weights import (
    coef_of,
    combine_classes,
    lay_out,
    predict_classes,
    zero_weights,
)
from maxmargin.objectives.linear import LinearObjective
from maxmargin.runtime.monitor import SECONDS_PER_CALL, Monitor
from maxmargin.solution import Solution
from maxmargin.solvers.base import Begun, Start
from maxmargin.solvers.linear.intercept import short_bias_of
from maxmargin.solvers.requirements import require, require_regularized

#: Classes served at once: the sums of as many stay in registers, and n × GROUP values in memory.
GROUP = 24

#: Epochs for all classes at once go on while more than this share of the pairs of a row and a class
#: is active, and at most MOST of them are made.
ACTIVE, MOST = 0.2, 6

#: Weights w = w_β + δ, where δ is the rounding of float32, cost ½‖δ‖² of the gap: 1e-12 of ½‖w‖².
LEAST_TOL = 1e-9


@dataclass(frozen=True, eq=False)
class OneVsRest:
    """Begins coordinate descent for one class against the rest; `numbers` has the class of rows."""

    numbers: NDArray[np.int32]

    def solve_many(
        self, objective: LinearObjective, group: range, starts: list[Start], monitor: Monitor
    ) -> list[Solution | Start]:
        """Return where each class of the group is after the common epochs."""
        own = self.numbers - np.int32(group.start)
        begun = begin_together(objective, own, len(group), starts[0].seed, monitor)
        return [replace(start, begun=so_far) for start, so_far in zip(starts, begun, strict=True)]


def begin_together(
    objective: LinearObjective,
    numbers: NDArray[np.int32],
    n_classes: int,
    seed: int,
    monitor: Monitor,
) -> list[Begun]:
    """Make the first epochs of dual coordinate descent for classes 0, …, n_classes − 1 together.

    `numbers` has the class of each row, any other number for those of no class here. `objective`
    gives rows, costs, loss and intercept, which the classes share. Weights that meet CSR rows are
    summed in float32, unless so small a gap is asked for that the rounding would be felt.
    """
    require(objective, "dual_cd", (LinearObjective,))
    require_regularized(objective, "dual_cd")
    problem, K, stride = objective.problem, n_classes, _core.padded(n_classes)
    n = problem.n_samples
    bias = short_bias_of(objective)
    by_feature = _core.by_feature(problem.rows)
    narrow = sparse.issparse(problem.X) and problem.fits_float32 and monitor.tol >= LEAST_TOL
    beta, W = np.zeros((n, stride)), zero_weights(problem, K, narrow=narrow)
    w_bias, anchor = np.zeros((2, stride))
    active, order = np.ones((n, stride), dtype=np.uint8), np.arange(n, dtype=np.int32)
    sweep, random = _core.Sweep(n), _core.Random(seed)
    classes = _core.RestProblem(
        problem.rows, numbers, objective.terms, problem.squared_norms, n_classes
    )
    intercepts = _core.ClassBias(bias.feature, bias.free, w_bias, anchor)
    state = _core.RestState(beta, active, intercepts, K, order, sweep)
    epochs = monitor.iterations_left(0, MOST)
    while sweep.epochs < epochs and active[:, :K].mean() > ACTIVE:
        random.shuffle_rows(order, n)
        whole = False
        while not (whole or monitor.stopped()):
            whole = _core.one_vs_rest(classes, state, W, SECONDS_PER_CALL)
        if not whole:
            break
    threshold, dual = state.threshold, state.dual
    weights = np.ascontiguousarray((W.T if by_feature else W)[:K], dtype=np.float64)
    return [
        Begun(
            beta[:, j].copy(),
            weights[j],
            w_bias[j],
            anchor[j],
            *_split(active[:, j]),
            threshold[j],
            dual[j],
            sweep.epochs,
        )
        for j in range(K)
    ]


def points_so_far(objectives: list[LinearObjective], begun: list[Begun]) -> list[PrimalDual]:
    """Return where classes are that were begun together, in common passes over the rows."""
    problem, K = objectives[0].problem, len(objectives)
    by_feature = _core.by_feature(problem.rows)
    w = np.stack([so_far.w for so_far in begun])
    z = predict_classes(problem, lay_out(w, by_feature=by_feature), K)
    beta = [
        objective.feasible(so_far.beta) for objective, so_far in zip(objectives, begun, strict=True)
    ]
    dual_w = coef_of(combine_classes(problem, np.stack(beta, 1)), K, by_feature=by_feature)
    feature = short_bias_of(objectives[0]).feature
    return [
        PrimalDual(
            so_far.w,
            float(so_far.anchor + feature * so_far.bias_weight),
            beta[j],
            z[:, j].copy(),
            dual_w[j],
        )
        for j, so_far in enumerate(begun)
    ]


def _split(active: NDArray[np.uint8]) -> tuple[NDArray[np.int32], int]:
    """Return the active rows before the others, and how many they are."""
    inside = np.flatnonzero(active)
    order = np.concatenate([inside, np.flatnonzero(active == 0)]).astype(np.int32)
    return order, len(inside)
