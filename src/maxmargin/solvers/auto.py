"""The rule behind solver="auto"."""

from __future__ import annotations

import numpy as np

from maxmargin.objectives.linear import LinearObjective
from maxmargin.solvers.base import Solver
from maxmargin.solvers.linear.dual_cd import DualCD
from maxmargin.solvers.linear.newton import Newton
from maxmargin.solvers.stochastic.sgd import SGD

#: Beyond this many features a Newton step's d × d system costs more than it saves.
MAX_NEWTON_FEATURES = 2000

#: Up to this many it is always worth its while.
FEW_FEATURES = 100

#: Stored values per d³ below which even hundreds of epochs cost less than some factorisations. On
#: rows of MNIST both take as long there, with the hinge.
LEAST_VALUES = 1 / 700

#: Below this mean of C_i ‖x_i‖² coordinate descent needs few epochs; above that one, with an
#: absolute loss, prohibitively many: 3,000 rows of MNIST times 10 or 255, hinge, ended
#: after 10,000 with gaps of 1 % and 3,000 %, where Newton proved 0.1 % in 0.2 and 2.6 s.
EASY, HARD = 2.0, 1e3

_NEWTON = Newton()


#: Features a row up to which classes are seldom separable (Cover, 1965) and targets seldom met:
#: coordinate descent then takes up to tens of thousands of epochs.
SEPARABLE, INTERPOLATED = 0.5, 1.0


def choose(objective: LinearObjective) -> Solver:
    """Newton for few features, dual coordinate descent for many.

    In between, coordinate descent takes the more epochs the larger C_i ‖x_i‖² is: about 10 to 40
    for rows of unit length and C = 1 (text, say), hundreds for standardised columns; and a Newton
    step pays when the d × d system is small beside the rows and their values, or nothing else ends.
    """
    if not objective.loss.regularized:
        return SGD()
    problem = objective.problem
    n, d = problem.n_samples, problem.n_features
    if d <= FEW_FEATURES:
        return _NEWTON
    curvature = float(np.einsum("i,i->", problem.cost, problem.squared_norms)) / n
    hard = objective.loss.bounded and curvature > HARD
    most = min(MAX_NEWTON_FEATURES, (SEPARABLE if objective.loss.one_sided else INTERPOLATED) * n)
    wide = d > most or (problem.n_stored < LEAST_VALUES * d**3 and not hard)
    return DualCD() if curvature < EASY or wide else _NEWTON
