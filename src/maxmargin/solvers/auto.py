"""The rule behind solver="auto"."""

from __future__ import annotations

from maxmargin.objective import Objective
from maxmargin.solvers.base import Solver
from maxmargin.solvers.dual_cd import DualCD
from maxmargin.solvers.newton import Newton
from maxmargin.solvers.sgd import SGD

#: Beyond this many features a Newton step's d × d system costs more than it saves.
MAX_NEWTON_FEATURES = 2000

#: Below this mean of C_i ‖x_i‖² coordinate descent needs few epochs.
EASY = 2.0


def choose(objective: Objective) -> Solver:
    """Newton for few features, dual coordinate descent for many or for an easy problem.

    Coordinate descent takes the more epochs the larger C_i ‖x_i‖² is: about 10 to 40 for rows of
    unit length and C = 1 (text, say), hundreds for standardised columns. A Newton step pays when
    the d × d system is small beside the rows.
    """
    if not objective.loss.regularized:
        return SGD()
    problem = objective.problem
    n, d = problem.n_samples, problem.n_features
    difficulty = float(problem.cost @ problem.squared_norms) / n
    wide = d > MAX_NEWTON_FEATURES or 100 < d > 0.2 * n
    return DualCD() if wide or difficulty < EASY else Newton()
