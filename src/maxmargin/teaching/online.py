"""Pegasos and the perceptron, a sample at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from maxmargin.data.arrays import Array
from maxmargin.data.checks import check_count, check_positive
from maxmargin.teaching.samples import checked


class PegasosStep(NamedTuple):
    """Step t: from w_t to w_{t+1} = (1 − 1/t) w_t + [violated] y x/(λt), perhaps projected."""

    t: int
    sample: int
    margin: float  # y ⟨w_t, x⟩
    violated: bool  # whether it is below 1
    step_size: float  # 1/(λt)
    projected: bool  # whether w_{t+1} was longer than 1/√λ
    w: Array  # w_{t+1}
    average: Array  # of w_1, …, w_t: the point of the theorem


def pegasos(
    X: Any,
    y: Any,
    lam: float,
    *,
    max_steps: int | None = None,
    projection: bool = False,
    random_state: Any = None,
) -> Iterator[PegasosStep]:
    """Minimise λ/2 ‖w‖² + mean max(0, 1 − y_i ⟨w, x_i⟩) by steps at samples drawn uniformly.

    Parameters
    ----------
    X, y
        Samples and two labels, the larger of which is +1. There is no intercept: append a column of
        ones for a penalised one.
    lam : float
        λ.
    max_steps : int or None
        T; None goes on for ever.
    projection : bool
        Shorten w to 1/√λ where it is longer.
    random_state
        Seeds the draws.
    """
    X, y = checked(X, y)
    lam = check_positive("lam", lam, advice="It is 1/(n_samples * C).")
    if max_steps is not None:
        check_count("max_steps", max_steps, advice="None goes on for ever.")
    return _pegasos(X, y, lam, max_steps, projection, check_random_state(random_state))


def _pegasos(
    X: Array, y: Array, lam: float, max_steps: int | None, projection: bool, random: Any
) -> Iterator[PegasosStep]:
    w, average, t = np.zeros(X.shape[1]), np.zeros(X.shape[1]), 0
    while max_steps is None or t < max_steps:
        t += 1
        i = int(random.randint(len(X)))
        margin, step_size = float(y[i] * (X[i] @ w)), 1.0 / (lam * t)
        average = average + (w - average) / t
        w = (1.0 - 1.0 / t) * w
        if margin < 1.0:
            w += step_size * y[i] * X[i]
        length = math.sqrt(float(w @ w))
        projected = projection and length * math.sqrt(lam) > 1.0
        if projected:
            w /= length * math.sqrt(lam)
        yield PegasosStep(t, i, margin, margin < 1.0, step_size, projected, w, average)


class PerceptronStep(NamedTuple):
    """Step t: w_{t+1} = w_t + y x if y ⟨w_t, x⟩ ≤ 0, else w_t."""

    t: int
    sample: int
    margin: float  # y ⟨w_t, x⟩
    mistake: bool
    n_mistakes: int
    w: Array  # w_{t+1}


def perceptron(X: Any, y: Any) -> Iterator[PerceptronStep]:
    """Go through the samples in their order, for ever: stop after a pass without a mistake.

    X, y are samples and two labels, the larger of which is +1; append a column of ones to X for an
    intercept.
    """
    return _perceptron(*checked(X, y))


def _perceptron(X: Array, y: Array) -> Iterator[PerceptronStep]:
    w, t, n_mistakes = np.zeros(X.shape[1]), 0, 0
    while True:
        for i in range(len(X)):
            t += 1
            margin = float(y[i] * (X[i] @ w))
            if margin <= 0.0:
                w = w + y[i] * X[i]
                n_mistakes += 1
            yield PerceptronStep(t, i, margin, margin <= 0.0, n_mistakes, w)
