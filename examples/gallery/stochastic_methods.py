"""Pegasos, SGD and dual coordinate descent on one problem: the proven gap per pass."""

from _picture import save  # isort: skip - chooses the backend first

import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

from maxmargin import LinearSVC
from maxmargin.plots import ConvergenceDisplay

X, y = load_breast_cancer(return_X_y=True)
X = scale(X)
models = {}
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)  # the two below run out of epochs
    for solver in ("pegasos", "sgd", "dual_cd"):
        models[solver] = LinearSVC(
            lam=1e-2, loss="hinge", penalized_intercept=True, solver=solver, tol=1e-6,
            max_iter=1000, random_state=0,
        ).fit(X, y)  # fmt: skip

figure, (epochs, seconds) = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained")
ConvergenceDisplay.from_estimator(models, x="epoch", ax=epochs)
ConvergenceDisplay.from_estimator(models, x="time", ax=seconds)
epochs.set_title("against passes over the data")
seconds.set_title("against time")
save(figure, __file__)
