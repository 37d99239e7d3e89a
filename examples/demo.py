"""What maxmargin does, on real data and on a made problem of 200,000 rows."""

from __future__ import annotations

import time
import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.preprocessing import scale
from sklearn.svm import SVC
from sklearn.svm import LinearSVC as SklearnLinearSVC

from maxmargin import LinearObjective, LinearSVC, LinearSVR
from maxmargin.data.problem import Problem
from maxmargin.losses import CLASSIFICATION
from maxmargin.objectives.base import Intercept


def title(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}")


def timed(model, X, y):
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    return model, time.perf_counter() - begin


def breast_cancer() -> None:
    title("Breast cancer, 569 × 30: hinge loss, free intercept, as SVC(kernel='linear') has it")
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    ours, our_time = timed(LinearSVC(loss="hinge", penalized_intercept=False), X, y)
    theirs, their_time = timed(SVC(kernel="linear"), X, y)
    print(ours.certificate_)
    print(f"\nmaxmargin     {1e3 * our_time:7.1f} ms   accuracy {ours.score(X, y):.4f}")
    print(f"sklearn SVC   {1e3 * their_time:7.1f} ms   accuracy {theirs.score(X, y):.4f}")


def digits() -> None:
    title("Digits, 1,797 × 64, ten classes one against the rest: squared hinge, the default")
    X, y = load_digits(return_X_y=True)
    model, seconds = timed(LinearSVC(), X / 16.0, y)
    print(model.certificate_)
    print(f"\nmaxmargin     {1e3 * seconds:7.1f} ms   accuracy {model.score(X / 16.0, y):.4f}")


def diabetes() -> None:
    title("Diabetes, 442 × 10: the squared loss is ridge regression with alpha = 1/(2C)")
    X, y = load_diabetes(return_X_y=True)
    ours, _ = timed(LinearSVR(C=0.5, loss="squared", penalized_intercept=False, tol=1e-9), X, y)
    ridge = Ridge(alpha=1.0).fit(X, y)
    print(f"largest difference of the coefficients: {np.abs(ours.coef_ - ridge.coef_).max():.1e}")


def large() -> None:
    title("Synthetic problem, 200,000 × 30: hinge loss, penalised intercept, as LIBLINEAR has it")
    X, y = make_classification(
        200_000, 30, n_informative=15, flip_y=0.05, class_sep=0.7, random_state=0
    )
    X = scale(X)
    ours, our_time = timed(LinearSVC(loss="hinge"), X, y)
    theirs, their_time = timed(SklearnLinearSVC(loss="hinge", max_iter=100), X, y)
    objective = LinearObjective(
        Problem(X, np.where(y == 1, 1.0, -1.0), np.ones(len(y))),
        CLASSIFICATION["hinge"],
        Intercept.PENALIZED,
    )
    print(ours.certificate_)
    bound = ours.certificate_.dual
    for name, model, seconds in (
        ("maxmargin", ours, our_time),
        ("sklearn LinearSVC, 100 epochs", theirs, their_time),
    ):
        primal = objective.primal(np.ravel(model.coef_), float(np.ravel(model.intercept_)[0]))
        excess = 100 * (primal / bound - 1)
        print(f"{name:32s} {seconds:6.2f} s   objective at most {excess:.2f} % above the optimum")


if __name__ == "__main__":
    breast_cancer()
    digits()
    diabetes()
    large()
