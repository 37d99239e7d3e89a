"""Kernel machines in LIBSVM's form, which scikit-learn's and ours share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.data.arrays import Array
from maxmargin.kernels import Kernel
from maxmargin.losses import EPSILON_INSENSITIVE, HINGE
from maxmargin.objectives import Intercept
from maxmargin.theory.posed import Data, Posed, by_pairs, check_places


@dataclass(frozen=True, eq=False)
class Machine:
    """Support vectors, grouped by class, with LIBSVM's coefficients and f = … + b."""

    kernel: Kernel
    support: NDArray[Any]
    n_support: NDArray[Any]
    dual_coef: Array
    b: Array
    intercept: Intercept = Intercept.FREE

    def coefficients(self, n_samples: int) -> Array:
        """Return those of all samples, where there is one f."""
        coef = np.zeros(n_samples)
        coef[self.support] = self.dual_coef[0]
        return coef


def pairs(machine: Machine, data: Data, cost: Array, classes: NDArray[Any]) -> Iterator[Posed]:
    """Yield the problem of each pair of classes, with f positive for the first of the pair."""
    check_places(machine.support, len(cost))
    n, members = len(cost), data.members(classes)
    found = by_pairs(machine.dual_coef, machine.support, machine.n_support, n)
    samples = data.samples(machine.kernel)
    for place, (first, second) in enumerate(combinations(range(len(classes)), 2)):
        rows = np.union1d(members[first], members[second])
        two = len(classes) == 2
        yield Posed(
            samples[rows],
            np.where(data.y[rows] == classes[first], 1.0, -1.0),
            cost[rows],
            HINGE,
            found[place][rows],
            float(machine.b[place]),
            found[place][rows],
            machine.intercept,
            kernel=machine.kernel,
            name="" if two else f"{classes[first]} against {classes[second]}",
            rows=rows,
            flipped=two,
        )


def with_nu(posed: Posed, nu: float) -> Posed:
    """Return the problem in w, b and ρ, of which LIBSVM divides the answer by ρ.

    Σ |β_i| = ν Σ c_i before that, which shows what ρ was.
    """
    nu_sum = nu * float(posed.cost.sum())
    size = float(np.abs(posed.w).sum())
    rho = nu_sum / size if size > 0.0 else 1.0
    w, loss = rho * posed.w, replace(HINGE, target_scale=rho)
    return replace(posed, loss=loss, w=w, b=rho * posed.b, beta=w, nu_sum=nu_sum)


def regression(machine: Machine, data: Data, cost: Array, epsilon: float) -> Posed:
    """Return the problem of regression with a tube of that half width."""
    check_places(machine.support, len(cost))
    coef = machine.coefficients(len(cost))
    return Posed(
        data.samples(machine.kernel),
        data.targets,
        cost,
        replace(EPSILON_INSENSITIVE, epsilon=epsilon),
        coef,
        float(machine.b[0]),
        coef,
        machine.intercept,
        kernel=machine.kernel,
    )


def with_tube(posed: Posed, nu: float) -> Posed:
    """Return the problem in w, b and ε, at the ε that is best for the model's f.

    Σ C_i max(0, |r_i| − ε) + νε Σ C_i is least where the cost of those outside is ν Σ C_i.
    """
    assert posed.kernel is not None
    support = np.flatnonzero(posed.w)
    f = posed.kernel(posed.X, posed.X[support]) @ posed.w[support] + posed.b
    apart = np.abs(posed.y - f)
    order, nu_sum = np.argsort(-apart), nu * float(posed.cost.sum())
    outside = np.cumsum(posed.cost[order]) >= nu_sum * (1.0 - 1e-12)
    epsilon = float(apart[order[int(np.argmax(outside))]]) if outside.any() else 0.0
    return replace(posed, loss=replace(posed.loss, epsilon=epsilon), nu_sum=nu_sum)


def region(machine: Machine, data: Data, nu: float) -> Posed:
    """Return the one-class problem in w and ρ = −b."""
    check_places(machine.support, len(data.weight))
    coef, n = machine.coefficients(len(data.weight)), len(data.weight)
    return Posed(
        data.samples(machine.kernel),
        np.ones(n),
        data.weight,
        replace(HINGE, target_scale=-float(machine.b[0])),
        coef,
        0.0,
        coef,
        Intercept.NONE,
        kernel=machine.kernel,
        nu_sum=nu * float(data.weight.sum()),
    )
