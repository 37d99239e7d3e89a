"""The steps of Pegasos and SGD for K classes without their judge, and problems for them."""

import numpy as np

from maxmargin import Intercept, _core
from maxmargin.solvers import CrammerSinger, Monitor, Start, Stopping
from maxmargin.solvers.stochastic.epochs import Iterate
from maxmargin.solvers.stochastic.multiclass_epochs import ClassDescent
from maxmargin.solvers.stochastic.pegasos import Pegasos, PegasosMethod
from synthetic import classes, joint, store, weights_for

SCALING = 1.5


def make(intercept=Intercept.PENALIZED, K=5, storage="dense", dtype=np.float64):
    wide = storage == "wide"  # dense rows of many features have weights laid out by class
    X, y = classes(d=70 if wide else 11, n_classes=K)
    return joint(
        store(X, "dense" if wide else storage, dtype),
        y,
        K,
        intercept,
        C=0.1,
        weights=weights_for(60),
        scaling=SCALING,
    )


class Core:
    """A method without its judge."""

    def __init__(self, objective, seed, solver, schedule=None, anchor=0.25):
        self.objective, self.solver = objective, solver
        if isinstance(solver, Pegasos):
            uniform = solver.sampling == "uniform"
            size = solver.rows_a_step(objective.problem.n_samples)
            self.descent = ClassDescent(objective, size, seed, uniform=uniform)
            iterate = Iterate(self.descent.dimension, self.descent.n_biases)
            self.method = PegasosMethod(solver, objective, iterate, self.descent.bias, 0.0)
        else:
            self.descent = solver._descent(objective, seed)
            self.method = solver._method(self.descent, schedule)
        self.descent.anchor[:] = anchor * np.arange(objective.n_classes)

    def run(self, epochs, seconds=1e9):
        descent, budget = self.descent, _core.EpochBudget(epochs, False, seconds)
        state = _core.EpochState(descent.sampler, descent.window, descent.random)
        _core.descend(descent.rows, self.objective.terms, self.method.core, state, budget)

    def matrix(self, v):
        """The weights with the bias weights in the last column."""
        return np.c_[self.descent.layout.coef(v), self.descent.layout.parts(v)[1]]


def exact(objective, tol=1e-7):
    return CrammerSinger().solve(objective, Monitor(objective, Stopping(tol)), Start(0))


def larger(intercept=Intercept.FREE, storage="dense", C=0.02):
    X, y = classes(1000, 10, 4)
    return joint(store(X, storage), y, 4, intercept, C=C)
