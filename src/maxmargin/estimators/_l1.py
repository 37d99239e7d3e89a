"""LinearSVC with penalty="l1"."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.data.arrays import Array, Matrix
from maxmargin.estimators._linear import LinearModel
from maxmargin.losses import SQUARED_HINGE
from maxmargin.objectives.l1 import L1Objective
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


def fit_l1(model: LinearModel, X: Matrix, y: Any, targets: list[Array], costs: list[Array]) -> None:
    """Solve one problem for each column of targets and store what was learnt."""
    model._fit_targets(X, y, targets, costs, SQUARED_HINGE, kind=L1Objective, solver=L1())


def dense_coef(coef: Any) -> Array:
    """Return the rows of weights, also after `sparsify`."""
    return np.atleast_2d(coef.toarray() if hasattr(coef, "toarray") else coef)


def packed_bytes(X: Matrix) -> int:
    """Return what the columns take that the solver packs: a value and a row each."""
    return 12 * int(X.nnz if sparse.issparse(X) else np.count_nonzero(X))
