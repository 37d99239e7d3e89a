"""The compiled Newton steps at points of a test's choice, beside their twin."""

import numpy as np

from maxmargin import Problem, _core
from maxmargin.solvers.linear import newton
from reference.linear.newton import Proximal
from synthetic import objective_of, weights_for

FEATURE, ANCHOR = 1.5, 0.25
SOFTNESS = 0.5


def go_on():
    return False


class Core:
    """core/linear/newton.hpp at a point of the caller's choice."""

    def __init__(self, objective, centre, X=None, feature=FEATURE):
        problem = objective.problem
        X = problem.X if X is None else X
        self.objective, self.centre = objective, centre
        rows = Problem(X, problem.y, problem.cost).rows
        bias = _core.Bias(feature, ANCHOR)
        self.level = _core.NewtonLevel(rows, objective.terms, bias, newton._BLAS)

    def go_to(self, w):
        self.level.start(w, SOFTNESS, self.centre, go_on)

    def hessian(self):
        dim = self.objective.problem.n_features + 1
        upper = np.triu(self.level.hessian(go_on).reshape(dim, dim, order="F"))
        return upper + np.triu(upper, 1).T

    def line_search(self, z, dz, w, gradient, direction, precision):
        line = _core.Line(z, dz, gradient @ direction, w @ direction, direction @ direction)
        return _core.line_search(self.objective.terms, self.centre, SOFTNESS, line, precision)


def make(loss, X=None):
    objective = objective_of(loss, C=0.8, weights=weights_for(60))
    side = objective.problem.y if loss.one_sided else np.sign(objective.problem.y)
    centre = 0.5 * objective.problem.cost * side
    twin = Proximal(objective, FEATURE, ANCHOR, centre, SOFTNESS)
    return objective, Core(objective, centre, X), twin


def sized(loss, n, d):
    """The same for so many rows, which are read in one stream or in several."""
    rng = np.random.default_rng(n)
    X, y = rng.normal(size=(n, d)), rng.choice([-1.0, 1.0], n)
    objective = objective_of(loss, C=0.8, X=X, y=y, weights=weights_for(n))
    centre = 0.5 * objective.problem.cost * y
    twin = Proximal(objective, FEATURE, ANCHOR, centre, SOFTNESS)
    return objective, Core(objective, centre), twin


def some_weights(d=4, seed=0):
    return np.random.default_rng(seed).normal(size=d + 1)
