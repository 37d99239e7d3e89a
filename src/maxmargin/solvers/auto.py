"""The rule behind solver="auto"."""

from __future__ import annotations

from maxmargin.objective import Objective
from maxmargin.solvers.base import Solver
from maxmargin.solvers.dual_cd import DualCD
from maxmargin.solvers.newton import Newton

#: Beyond this many features a Newton step's d × d system costs more than it saves.
MAX_NEWTON_FEATURES = 2000


def choose(objective: Objective) -> Solver:
    """Newton for few features, dual coordinate descent for many."""
    if objective.problem.n_features <= MAX_NEWTON_FEATURES:
        return Newton()
    return DualCD()
