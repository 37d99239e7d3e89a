"""LinearSVC with penalty="l1"."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from maxmargin.data.arrays import Array, Matrix
from maxmargin.data.problem import Problem
from maxmargin.estimators._base import LinearModel
from maxmargin.losses import SQUARED_HINGE
from maxmargin.multiclass.subproblems import Fit, Tasks
from maxmargin.objectives.l1 import L1Objective
from maxmargin.runtime.progress import Progress
from maxmargin.runtime.threads import n_threads
from maxmargin.solvers import interruptible
from maxmargin.solvers.linear.l1 import L1


def check_l1(model: Any) -> None:
    """Refuse what penalty="l1" does not go with."""
    if model.loss != "squared_hinge":
        raise ValueError(
            f"Unsupported set of arguments: penalty='l1', loss={model.loss!r}, dual={model.dual!r}."
            " Give loss='squared_hinge', or penalty='l2'."
        )
    if model._hard():
        raise ValueError(
            "penalty='l1' has no hard margin, got C=inf. Give a finite C, or penalty='l2'."
        )
    if model.multi_class != "ovr":
        raise ValueError(
            f"penalty='l1' goes with multi_class='ovr', got {model.multi_class!r}. Give"
            " multi_class='ovr', or penalty='l2'."
        )
    if model.solver != "auto" and not isinstance(model.solver, L1):
        raise ValueError(
            f"penalty='l1' has a solver of its own, got solver={model.solver!r}. Give"
            " solver='auto', or penalty='l2'."
        )


def fit_l1(model: LinearModel, X: Matrix, y: Any, targets: list[Array], cost: Array) -> None:
    """Solve one problem for each column of targets and store what was learnt."""
    begin, stopping, n_tasks = time.perf_counter(), model._stopping(), len(targets)
    model._members = None
    problem = model._problem(X, targets[0], cost)
    intercept, scaling = model._intercept(), model._scaling()
    costs = [cost] * n_tasks
    starts = model._starts(costs, model._seeds(n_tasks), X.shape[1], problem)

    def pose(rows: Problem, target: Array, own: Array) -> L1Objective:
        return L1Objective(rows.with_targets(target, own), SQUARED_HINGE, intercept, scaling)

    tasks = Tasks(problem, targets, costs, None, starts, pose, lambda _: L1())
    with interruptible() as interrupt:
        progress = Progress(model, X, y, n_tasks, interrupt)
        progress.begin()
        jobs = n_threads(getattr(model, "n_jobs", None), n_tasks)
        model._store(Fit(tasks, None, stopping, interrupt, progress, begin, jobs).run())
    progress.end()
    model._warn_if_unproven(X)


def dense_coef(coef: Any) -> Array:
    """Return the rows of weights, also after `sparsify`."""
    return np.atleast_2d(coef.toarray() if hasattr(coef, "toarray") else coef)
