"""The compiled steps of Pegasos without their judge."""

from maxmargin import Problem, _core
from maxmargin.solvers.stochastic.epochs import Descent, Iterate, curvature
from maxmargin.solvers.stochastic.pegasos import Pegasos, PegasosMethod

FEATURE, ANCHOR = 1.5, 0.25


class Core:
    """Pegasos without its judge: so many epochs, in one call or in many."""

    def __init__(self, objective, seed, X=None, **settings):
        self.settings = Pegasos(**settings)
        self.objective = objective
        problem = objective.problem
        self.rows = problem.rows if X is None else Problem(X, problem.y, problem.cost).rows
        uniform = self.settings.sampling == "uniform"
        size = self.settings.rows_a_step(objective.problem.n_samples)
        self.descent = Descent(objective, size, seed, uniform=uniform)
        self.iterate = Iterate(problem.n_features)
        self.iterate.core.b = ANCHOR
        self.offset = curvature(objective)
        bias = _core.Bias(FEATURE, ANCHOR)
        self.method = PegasosMethod(self.settings, objective, self.iterate, bias, self.offset)

    def run(self, epochs, seconds=1e9):
        descent, budget = self.descent, _core.EpochBudget(epochs, False, seconds)
        state = _core.EpochState(descent.sampler, descent.window, descent.random)
        _core.descend(self.rows, self.objective.terms, self.method.core, state, budget)
