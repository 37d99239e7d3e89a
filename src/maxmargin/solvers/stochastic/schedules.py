"""Step sizes of stochastic gradient descent, and what each implies for its convergence.

The lecture's condition: "square summable but not summable". Σ η_t = ∞ lets the steps reach the
optimum from anywhere, Σ η_t² < ∞ makes their noise die out.
"""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import maxmargin._core as _core
from maxmargin.data.checks import as_floats, check_positive


def check_below(name: str, value: object, limit: float, *, advice: str) -> None:
    """Refuse what is not a number from 0 to below the limit."""
    if (
        isinstance(value, bool)
        or not isinstance(value, numbers.Real)
        or not 0.0 <= float(value) < limit
    ):
        bound = "finite" if limit == math.inf else f"below {limit:g}"
        raise ValueError(
            f"{name} must be a number of at least 0 and {bound}, got {value!r}. {advice}"
        )


@dataclass(frozen=True)
class Schedule(ABC):
    """η_t for t = 1, 2, …, given λ (`lam`).

    Parameters
    ----------
    step0 : float or None
        γ₀, the size of the first steps. None: found by trial (`SGD.steps`).
    """

    step0: float | None = None

    summable: ClassVar[bool] = False
    square_summable: ClassVar[bool]

    def __post_init__(self) -> None:
        as_floats(self, "step0")
        if self.step0 is not None:
            check_positive("step0", self.step0, advice="None finds it by trial.")

    @property
    def first(self) -> float:
        """γ₀, 1 if it was left open."""
        return 1.0 if self.step0 is None else self.step0

    @abstractmethod
    def numbers(self, lam: float) -> tuple[float, float, float, float]:
        """first, offset, rate, power of η_t = first / (offset + rate t)^power."""

    def core(self, lam: float) -> _core.Schedule:
        """Return the schedule as the core reads it."""
        return _core.Schedule(*self.numbers(lam))

    def step(self, t: int, lam: float) -> float:
        """η_t."""
        first, offset, rate, power = self.numbers(lam)
        return float(first / (offset + rate * t) ** power)

    def describe(self) -> str:
        """Return a sentence on whether and why SGD converges with these steps."""
        sums = (
            f"{type(self).__name__}: the steps are"
            f" {'summable' if self.summable else 'not summable'} and"
            f" {'square summable' if self.square_summable else 'not square summable'}"
        )
        return f"{sums}; {self.consequence}"

    consequence: ClassVar[str] = "SGD converges to the optimum."


@dataclass(frozen=True)
class InverseTime(Schedule):
    """η_t = 1/(λ (t + t₀)): the step of Pegasos. `step0` has no part in it.

    Parameters
    ----------
    t0 : float or None
        None: that of Pegasos, 0 for an absolute loss; for a squared one so large that the first
        step is no longer than one over the largest curvature (`epochs.curvature`).
    """

    t0: float | None = None

    square_summable: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        as_floats(self, "t0")
        if self.t0 is not None:
            check_below("t0", self.t0, math.inf, advice="None takes that of Pegasos.")

    def numbers(self, lam: float) -> tuple[float, float, float, float]:
        """1/λ over t + t₀; without a regulariser λ = 1 in it."""
        return 1.0 / lam if lam > 0.0 else 1.0, self.t0 or 0.0, 1.0, 1.0


@dataclass(frozen=True)
class Decay(Schedule):
    """η_t = γ₀/(1 + γ₀ λ t): the lecture's γ₀/(1 + γ₀ t/C), whose C is 1/λ.

    The same as `InverseTime` with t₀ = 1/(γ₀ λ): it leaves out the first, far too long steps.
    """

    square_summable: ClassVar[bool] = True

    def numbers(self, lam: float) -> tuple[float, float, float, float]:
        """γ₀ over 1 + γ₀ λ t; without a regulariser it stays γ₀."""
        return self.first, 1.0, self.first * lam, 1.0


@dataclass(frozen=True)
class Constant(Schedule):
    """η_t = γ₀."""

    square_summable: ClassVar[bool] = False
    consequence: ClassVar[str] = (
        "SGD reaches a neighbourhood of the optimum, the smaller the shorter the step, and then"
        " wanders about in it; only an average settles. AdaGrad, and the perceptron on separable"
        " data, need no more."
    )

    def numbers(self, lam: float) -> tuple[float, float, float, float]:  # noqa: ARG002
        """γ₀ whatever t."""
        return self.first, 1.0, 0.0, 0.0


@dataclass(frozen=True)
class InverseSqrt(Schedule):
    """η_t = γ₀/√t."""

    square_summable: ClassVar[bool] = False
    consequence: ClassVar[str] = (
        "the squares only just diverge, like ln t: the average of the points converges, at the"
        " slower rate 1/√t, which asks for no strong convexity."
    )

    def numbers(self, lam: float) -> tuple[float, float, float, float]:  # noqa: ARG002
        """γ₀ over √t."""
        return self.first, 0.0, 1.0, 0.5


SCHEDULES: dict[str, type[Schedule]] = {
    "inverse_time": InverseTime,
    "decay": Decay,
    "constant": Constant,
    "inverse_sqrt": InverseSqrt,
}
