"""With a free intercept, a dual point whose Σ β is off by more than rounding proves nothing."""

import math

import numpy as np
import pytest

from maxmargin import (
    CrammerSingerObjective,
    HardMarginObjective,
    Intercept,
    KernelCrammerSingerObjective,
    KernelObjective,
    L1Objective,
    LinearObjective,
    NuObjective,
    Objective,
    PrimalDual,
    Problem,
)
from maxmargin.kernels import Linear
from maxmargin.losses import HINGE, SQUARED_HINGE
from maxmargin.objectives import OriginMarginObjective, ScalarObjective
from synthetic import TUBE, overlapping, regression, separable

FREE = Intercept.FREE
CLASSES = Problem(overlapping()[0], np.arange(60.0) % 3, np.ones(60))


def posed(data):
    X, y = data
    return Problem(X, y, np.ones(len(y)))


CASES = {
    "linear": LinearObjective(posed(overlapping()), HINGE, FREE),
    "squared": LinearObjective(posed(overlapping()), SQUARED_HINGE, FREE),
    "tube": LinearObjective(posed(regression()), TUBE, FREE),
    "l1": L1Objective(posed(overlapping()), intercept=FREE),
    "kernel": KernelObjective(posed(overlapping()), HINGE, FREE, Linear()),
    "kernel tube": KernelObjective(posed(regression()), TUBE, FREE, Linear()),
    "nu margin": NuObjective(posed(overlapping()), HINGE, FREE, Linear(), nu_sum=20.0),
    "nu tube": NuObjective(posed(regression()), TUBE, FREE, Linear(), nu_sum=20.0),
    "hard margin": HardMarginObjective(posed(separable()), HINGE, FREE, Linear()),
    "classes": CrammerSingerObjective(CLASSES, 3, FREE),
    "kernel classes": KernelCrammerSingerObjective(CLASSES, 3, FREE, kernel=Linear()),
}


def kinds(parent=Objective):
    """Every kind of problem that the package has and that is not abstract."""
    for kind in parent.__subclasses__():
        if kind.__module__.startswith("maxmargin.") and kind is not ScalarObjective:
            yield kind
        yield from kinds(kind)


def some_beta(objective):
    """A feasible dual point that is not 0."""
    y = objective.problem.y
    if isinstance(objective, CrammerSingerObjective):
        beta = -0.1 * np.ones((len(y), 3))
        beta[objective.own] = 0.2
        return beta
    signs = np.where(y > np.median(y), 1.0, -1.0)
    return objective.feasible(np.ascontiguousarray(0.2 * signs))


def certified(objective, beta):
    """The certificate of w_β, with an intercept that is not 0."""
    if isinstance(objective, KernelCrammerSingerObjective):
        return objective.certify(PrimalDual(beta.T, np.array([0.1, 0.2, 0.0]), beta))
    if isinstance(objective, CrammerSingerObjective):
        coef = np.ascontiguousarray(objective.coef(objective.weights(beta)))
        return objective.certify(PrimalDual(coef, np.array([0.1, 0.2, 0.0]), beta))
    if isinstance(objective, LinearObjective):
        return objective.certify(PrimalDual(objective.problem.combine(beta), 0.01, beta))
    return objective.certify(PrimalDual(beta, 0.01, beta))


def shifted(objective, beta, share):
    """The point with one entry less, by that share of Σ |β|: of K classes within its row."""
    beta = beta.copy()
    amount = share * np.abs(beta).sum()
    if beta.ndim == 2:
        at = int(np.flatnonzero(objective.problem.y == 0.0)[0])
        beta[at] += [-amount, amount, 0.0]
        return beta
    at = int(np.abs(beta).argmax())
    beta[at] -= amount * np.sign(beta[at])
    return beta


@pytest.mark.parametrize("name", CASES)
def test_a_sum_that_is_off_voids_the_bound(name):
    objective = CASES[name]
    beta = some_beta(objective)
    assert np.abs(beta).sum() > 0.0
    assert np.abs(beta.sum(axis=0)).max() <= 1e-12 * np.abs(beta).sum()
    balanced = certified(objective, beta)
    assert balanced.dual > -math.inf
    off = certified(objective, shifted(objective, beta, 1e-6))
    assert off.dual == -math.inf
    assert off.gap == math.inf
    assert off.relative_gap == math.inf


@pytest.mark.parametrize("name", CASES)
def test_what_rounding_leaves_of_the_sum_only_weakens_the_bound(name):
    objective = CASES[name]
    beta = some_beta(objective)
    before = certified(objective, beta)
    after = certified(objective, shifted(objective, beta, 1e-12))
    assert after.dual == pytest.approx(before.dual, rel=1e-9, abs=1e-9)
    assert after.gap == pytest.approx(before.gap, rel=1e-6, abs=1e-9)


def test_every_kind_of_problem_is_among_them():
    without = {OriginMarginObjective}  # it has no intercept
    assert set(kinds()) - without == {type(objective) for objective in CASES.values()}
