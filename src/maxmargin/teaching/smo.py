"""The lecture's SMO: a violator of the KKT conditions, a random partner, L and H, the threshold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from maxmargin.data.arrays import Array
from maxmargin.data.checks import check_positive
from maxmargin.kernels import Linear, as_kernel
from maxmargin.teaching.samples import checked

#: Share of C below which a change of α_j is no step, and a distance from a bound none.
_LEAST = 1e-10


class SmoStep(NamedTuple):
    """A step in α_i and α_j: the best α_j on the line that keeps Σ y α, clipped to [L, H]."""

    step: int
    i: int  # violates a KKT condition
    j: int  # drawn at random among the others
    low: float  # L
    high: float  # H
    unclipped: float  # the best α_j on the whole line
    alpha_i: float
    alpha_j: float
    b_i: float  # the threshold with which i has y f(x) = 1
    b_j: float
    b: float
    dual: float  # Σ α − ½ Σ α_i α_j y_i y_j k(x_i, x_j), which never falls
    n_violators: int  # before the step
    alpha: Array


def smo(
    X: Any,
    y: Any,
    C: float = 1.0,
    *,
    kernel: Any = None,
    tol: float = 1e-3,
    random_state: Any = None,
) -> Iterator[SmoStep]:
    """Maximise Σ α − ½ ΣΣ α_i α_j y_i y_j k(x_i, x_j), 0 ≤ α ≤ C, Σ y α = 0, two α at a time.

    It ends when every α satisfies its KKT condition within `tol`. Where no pair gains any more but
    the threshold of the last step violates one, the last step has the threshold of all samples.

    Parameters
    ----------
    X, y
        Samples and two labels, the larger of which is +1.
    C : float
        The bound of every α.
    kernel : None, Kernel or callable
        None is the linear kernel.
    tol : float
        By how much y f(x) may miss its KKT condition.
    random_state
        Seeds the partners.
    """
    X, y = checked(X, y)
    C = check_positive("C", C, advice="It bounds every α.")
    tol = check_positive("tol", tol, advice="1e-3 is usual.")
    of = Linear() if kernel is None else as_kernel(kernel).fitted(X, np.ones(len(X)))
    return _Smo(of(X, X), y, C, tol, check_random_state(random_state)).run()


class _Smo:
    """α, f without its threshold, and the threshold b."""

    def __init__(self, K: Array, y: Array, C: float, tol: float, random: Any) -> None:
        self.K, self.y, self.C, self.tol, self.random = K, y, C, tol, random
        self.alpha, self.z, self.b = np.zeros(len(y)), np.zeros(len(y)), 0.0
        self.steps = 0

    def run(self) -> Iterator[SmoStep]:
        """Step until no sample violates its condition, or no pair gains."""
        last: SmoStep | None = None
        while len(violators := self.violators()):
            step = self.first_gain(violators)
            if step is None:
                break
            last = step
            yield step
        if len(self.violators()) and last is not None:
            self.b = self.middle()
            yield last._replace(step=self.steps + 1, b=self.b, n_violators=len(self.violators()))

    def violators(self) -> NDArray[np.intp]:
        """Return which α violate their KKT condition: the three cases."""
        margin = self.y * (self.z + self.b)
        rising = (self.alpha < self.C) & (margin < 1.0 - self.tol)
        falling = (self.alpha > 0.0) & (margin > 1.0 + self.tol)
        return np.flatnonzero(rising | falling)

    def first_gain(self, violators: NDArray[np.intp]) -> SmoStep | None:
        """Return a step of a violator and a random partner; None if no pair of any gains."""
        for i in violators:
            for j in self.random.permutation(len(self.y)):
                step = None if i == j else self.step(int(i), int(j), len(violators))
                if step is not None:
                    return step
        return None

    def ends(self, i: int, j: int) -> tuple[float, float]:
        """L and H: between them α_j keeps α_i in [0, C]."""
        one, two, C = float(self.alpha[i]), float(self.alpha[j]), self.C
        if self.y[i] == self.y[j]:
            return max(0.0, one + two - C), min(C, one + two)
        return max(0.0, two - one), min(C, C + two - one)

    def step(self, i: int, j: int, n_violators: int) -> SmoStep | None:
        """Take the step of a pair; None if it changes nothing."""
        K, y, C = self.K, self.y, self.C
        low, high = self.ends(i, j)
        curvature = float(K[i, i] + K[j, j] - 2.0 * K[i, j])
        if high - low <= _LEAST * C or curvature <= 0.0:
            return None
        errors = self.z[[i, j]] - y[[i, j]]
        unclipped = float(self.alpha[j] + y[j] * (errors[0] - errors[1]) / curvature)
        best = self.snapped(min(max(unclipped, low), high))
        change_j = best - float(self.alpha[j])
        if abs(change_j) <= _LEAST * C:
            return None
        other = self.snapped(float(self.alpha[i] - y[i] * y[j] * change_j))
        change_i = other - float(self.alpha[i])
        self.z += y[i] * change_i * K[i] + y[j] * change_j * K[j]
        self.alpha[i], self.alpha[j], self.steps = other, best, self.steps + 1
        b_i, b_j = float(y[i] - self.z[i]), float(y[j] - self.z[j])
        if 0.0 < other < C:
            self.b = b_i
        elif 0.0 < best < C:
            self.b = b_j
        else:
            self.b = 0.5 * (b_i + b_j)
        dual = float(self.alpha.sum() - 0.5 * (self.alpha * y) @ self.z)
        return SmoStep(
            self.steps, i, j, low, high, unclipped, other, best, b_i, b_j, self.b, dual,
            n_violators, self.alpha.copy(),
        )  # fmt: skip

    def snapped(self, alpha: float) -> float:
        """Return α, at its bound if rounding is all that keeps it from there."""
        if alpha < _LEAST * self.C:
            return 0.0
        return self.C if alpha > (1.0 - _LEAST) * self.C else alpha

    def middle(self) -> float:
        """Return the threshold in the middle of those that the samples allow."""
        each, up = self.y - self.z, self.y > 0.0
        rises = np.where(up, self.alpha < self.C, self.alpha > 0.0)
        falls = np.where(up, self.alpha > 0.0, self.alpha < self.C)
        least, most = each[rises].max(initial=-np.inf), each[falls].min(initial=np.inf)
        return float(0.5 * (least + most)) if np.isfinite(least + most) else self.b
