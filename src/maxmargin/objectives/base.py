"""What every kind of problem has: points, their certificates, and the numbers a solver needs."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin.certificate import Certificate
from maxmargin.data.problem import Problem
from maxmargin.losses import Loss

#: Share of the objective of any fit worth having that counts as zero.
NEGLIGIBLE = 1e-11


class Intercept(Enum):
    """How f(x) = <w, x> + b treats b."""

    NONE = "none"
    FREE = "free"
    PENALIZED = "penalized"


class SumError(NamedTuple):
    """Mean and spread of the errors of sums of kernel values; `exact` marks those without any."""

    mean: float
    spread: float
    exact: NDArray[np.bool_] | None = None


@dataclass(frozen=True, eq=False)
class PrimalDual:
    """A primal point (w, b), a dual point β, and what is known beside them.

    `z` holds the values of <w, x> at the samples, `dual` those of w_β, or w_β itself for a linear
    machine: Σ β_i x_i. `error` is that of z. With `beta` None the dual point follows from w, which
    it does for squared losses; with `w` None the primal point is that of β. A kernel machine's w
    are its coefficients.
    """

    w: Any
    b: Any
    beta: Any
    z: Any = None
    dual: Any = None
    error: Any = None


class Shares(NamedTuple):
    """The shares of margin errors and of support vectors of a ν-problem: ν lies between them."""

    margin_errors: float
    support_vectors: float


#: Of a problem without ν.
NO_SHARES = Shares(math.nan, math.nan)


class Judged(NamedTuple):
    """A completed point, its certificate, and what was found with it.

    `loss` has the ρ or ε that belongs to the point, `error_bound` is the part of the gap that is
    due to errors of float32, `shares` are those of a ν-problem. If `paired`, the primal point is
    that of the dual point, and the two are kept as a pair.
    """

    point: PrimalDual
    certificate: Certificate
    loss: Loss
    error_bound: float = 0.0
    shares: Shares = NO_SHARES
    paired: bool = False


class Objective(ABC):
    """A convex problem with a primal value, a dual bound and a judgement of points."""

    problem: Problem
    loss: Loss
    intercept: Intercept

    #: Functions f that a term of the sum depends on at a point, and its subgradient changes.
    functions_per_term: ClassVar[int] = 1

    #: A dual value beyond which there is no primal point: of a hard margin only.
    infeasible_above: float = math.inf

    @property
    @abstractmethod
    def negligible(self) -> float:
        """A value of the objective that counts as zero."""

    @abstractmethod
    def judge(self, point: PrimalDual) -> Judged:
        """Complete the point, a feasible β and the best intercept, and certify it."""

    @abstractmethod
    def certify(self, point: PrimalDual) -> Certificate:
        """Certify a point as it is; β must be feasible."""


def refuse_intercept(intercept: Intercept, b: Any) -> None:
    """Refuse b ≠ 0 where there is none: it would be a point of another problem."""
    if intercept is Intercept.NONE and (np.any(b) if isinstance(b, np.ndarray) else b):
        raise ValueError(
            f"b must be 0 where the objective has no intercept, got {b!r}. Give b=0, or"
            " intercept=Intercept.FREE."
        )


def sums_to_zero(left: float, size: float) -> bool:
    """Whether Σ β_i is no more than rounding leaves of 0, beside Σ |β_i|, or less than counts."""
    return abs(left) <= max(1e-9 * size, 1e-300)


def adds_up(size: float, nu_sum: float) -> bool:
    """Whether Σ |β_i| is the s of a ν-problem, up to rounding."""
    return abs(nu_sum - size) <= 1e-9 * nu_sum


def rounding_slip(free: bool, b: Any, left: Any, size: float) -> float:
    """Return by how much Σ β = `left` ≠ 0 weakens the bound; more than rounding voids it.

    `size` is Σ |β|. For K classes `b` and `left` have an entry for each.
    """
    if not free:
        return 0.0
    left = np.abs(left)
    return float(np.sum(np.abs(b) * left)) if sums_to_zero(float(np.max(left)), size) else math.inf
