"""SGD by its settings, run on an objective."""

from maxmargin.solvers import Monitor, Start, Stopping
from maxmargin.solvers.stochastic.sgd import SGD


def fit(objective, tol=5e-2, max_iter=200, start=None, **settings):
    monitor = Monitor(objective, Stopping(tol, max_iter))
    return SGD(**settings).solve(objective, monitor, start or Start(0))
