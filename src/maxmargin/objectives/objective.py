"""Objective: problem + loss + intercept, with its primal and its dual."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin.data.arrays import Array, Matrix
from maxmargin.data.checks import as_floats
from maxmargin.data.problem import Problem
from maxmargin.kernels import Kernel, Precomputed, mercer_check
from maxmargin.losses import Box, Loss

#: Kernel values held at a time.
VALUES_PER_BLOCK = 2**22


#: Share of the objective of any fit worth having that counts as zero.
NEGLIGIBLE = 1e-11

#: Length of Σ β_i φ(x_i) beside Σ |β_i| ‖φ(x_i)‖ that counts as zero: its square is rounded to some
#: 1e-15 of theirs.
SHORT = 6e-8


class Intercept(Enum):
    """How f(x) = <w, x> + b treats b."""

    NONE = "none"
    FREE = "free"
    PENALIZED = "penalized"


class Frame(NamedTuple):
    """What a kernel objective is besides its samples."""

    loss: Loss
    free: bool  # the intercept
    mass: float | None
    negligible: float
    convex: bool


class SumError(NamedTuple):
    """Mean and spread of the errors of sums of kernel values; `exact` marks those without any."""

    mean: float
    spread: float
    exact: NDArray[np.bool_] | None = None


@dataclass(frozen=True, eq=False)
class Objective:
    """P(w, b) = ½‖w‖² + Σ C_i ℓ(f(x_i)), to be minimised.

    With a kernel, <w, x> is Σ c_j k(x_j, x) and ‖w‖² is c'Kc: a primal point is its coefficients c.
    A penalised intercept is a further feature of constant value `intercept_scaling`, so that
    ½ (b / intercept_scaling)² joins ½‖w‖². A free one adds the dual constraint Σ β_i = 0.

    With a `mass` s the number in the loss is a variable too: the margin ρ that is asked for in
    classification, for which −sρ joins P, or the tube ε in regression, for which sε does. In the
    dual, Σ |β_i| = s (≤ s for the tube). This is the ν-SVM with ν = s / Σ C_i, and without an
    intercept and with one class the one-class SVM. `loss` holds the value at which P is meant.

    A `hard` margin asks for y_i f(x_i) ≥ 1 of every sample and leaves β unbounded; costs are 1.
    """

    problem: Problem
    loss: Loss
    intercept: Intercept = Intercept.FREE
    intercept_scaling: float = 1.0
    kernel: Kernel | None = None
    mass: float | None = None
    hard: bool = False

    def __post_init__(self) -> None:
        as_floats(self, "intercept_scaling", "mass")
        if self.mass is not None:
            _check_mass(self)
        if self.loss.one_sided and not self.problem.extent.signs:
            labels = np.unique(self.problem.y)[:5].tolist()
            raise ValueError(f"loss={self.loss.name!r} needs labels -1 and +1, got {labels}.")

    def at(self, number: float) -> Objective:
        """Return the objective with that ρ or ε in its loss."""
        if self.loss.one_sided:
            loss = replace(self.loss, target_scale=number)
        else:
            loss = replace(self.loss, epsilon=number)
        other = replace(self, loss=loss)
        # the number is not in them
        for known in ("box", "diagonal", "convex", "negligible", "value_rounding"):
            if known in self.__dict__:
                other.__dict__[known] = self.__dict__[known]
        return other

    @property
    def frame(self) -> Frame:
        """What the certificate needs of it besides sums over the samples."""
        free = self.intercept is Intercept.FREE
        return Frame(self.loss, free, self.mass, self.negligible, self.convex)

    @cached_property
    def terms(self) -> _core.Terms:
        """The per-sample terms as the core reads them."""
        return self.terms_of(self.problem.y, self.problem.cost)

    def terms_of(self, y: Array, cost: Array) -> _core.Terms:
        """Terms with this loss and other labels or costs."""
        loss = self.loss
        return _core.Terms(y, cost, loss.target_scale, loss.epsilon, loss.one_sided, loss.bounded)

    @cached_property
    def judge(self) -> _core.Judge:
        """The same terms as the certificate reads them."""
        problem, loss = self.problem, self.loss
        return _core.Judge(
            problem.y, problem.cost, loss.target_scale, loss.epsilon, loss.one_sided, loss.bounded
        )

    @cached_property
    def box(self) -> Box:
        """Where the dual variables may lie."""
        cost = self.problem.cost
        reach = np.where(cost > 0.0, np.inf, 0.0) if self.hard else cost
        return self.loss.box(self.problem.y, reach)

    @cached_property
    def negligible(self) -> float:
        """A value of the objective that counts as zero: 1e-11 of what any fit worth having costs.

        That is P(0, 0), or the ½‖w‖² with which f reaches the size of the targets on the longest
        row, whichever is less; so a large C does not make it large. Where the margin is a variable,
        `vanishes` says instead whether the optimum is 0.
        """
        problem = self.problem
        if self.mass is not None and self.loss.one_sided:
            return 0.0
        longest = problem.longest if self.kernel is None else float(self.diagonal.max())
        reach = 1.0 if self.loss.one_sided else problem.extent.reach
        needed = 0.5 * reach**2 / longest if longest > 0.0 else np.inf
        return NEGLIGIBLE * min(self.at_zero, needed)

    @property
    def at_zero(self) -> float:
        """P(0, 0): in classification every slack is the margin asked for."""
        problem, loss = self.problem, self.loss
        if loss.one_sided:
            slack = loss.target_scale
            return float(problem.extent.total_cost) * (slack if loss.bounded else slack**2)
        return float(loss.value(problem.y, problem.cost, np.zeros(problem.n_samples)).sum())

    @cached_property
    def hopeless(self) -> float:
        """A dual value that shows a hard margin to be impossible, as far as numbers can tell.

        ½‖w‖² is then so large that the margin is less than a millionth of the largest distance from
        one of the samples.
        """
        if not self.hard or self.kernel is None:
            return math.inf
        X = self.problem.X
        apart = self.diagonal + self.diagonal[0] - 2.0 * self.kernel(X, X[:1])[:, 0]
        widest = float(apart.max())
        return 0.5e12 / widest if widest > 0.0 else math.inf

    @cached_property
    def unit(self) -> float:
        """The scale of f: 1 for margins; in regression the spread of the targets.

        That is about their mean if the intercept is free, which then costs nothing, else about 0.
        """
        if self.loss.one_sided:
            return 1.0
        y, cost = self.problem.y, self.problem.cost
        if self.intercept is Intercept.FREE:
            return spread(y, cost)
        return float(np.average(np.abs(y), weights=cost)) or 1.0

    @cached_property
    def diagonal(self) -> Array:
        """‖x_i‖² in the space where f is linear."""
        if self.kernel is None:
            return self.problem.squared_norms
        return self.kernel.diagonal(self.problem.X)

    @cached_property
    def value_rounding(self) -> float:
        """The rounding of kernel values in float64; see `Kernel.rounding`."""
        return 1.0 if self.kernel is None else self.kernel.rounding(self.problem.X)

    @cached_property
    def convex(self) -> bool:
        """Whether K is positive semidefinite."""
        return self.kernel is None or seems_mercer(self.kernel, self.problem.X)

    def kernel_values(self, coef: Array) -> Array:
        """Return Σ c_j k(x_j, x_i) of every row i, from the kernel's own formula in float64."""
        values = np.zeros(len(coef))
        for rows, block in self.kernel_blocks(coef, VALUES_PER_BLOCK):
            values[rows] = block
        return values

    def kernel_blocks(self, coef: Array, size: int) -> Iterator[tuple[slice, Array]]:
        """Yield them for some rows at a time: as many as take `size` values of the kernel."""
        assert self.kernel is not None
        return expansion_blocks(self.kernel, self.problem.X, coef, size)

    def regularizer(self, w: Array, b: float) -> float:
        """½‖w‖², and the intercept's share if it is penalised."""
        return self.regularized(float(np.einsum("i,i->", w, w)), b)  # BLAS would wake its threads

    def regularized(self, square: float, b: float) -> float:
        """Return the same from ‖w‖²."""
        if not self.loss.regularized:
            return 0.0
        if self.intercept is Intercept.PENALIZED:
            square += (b / self.intercept_scaling) ** 2
        return 0.5 * square

    def weights_of(self, beta: Array) -> tuple[Array, float]:
        """(w, b) = Σ β_i (x_i, ·): the primal point that belongs to β. A free b is not in it."""
        return self.problem.combine(beta), self.intercept_of(beta)

    def intercept_of(self, beta: Array) -> float:
        """Return the b of `weights_of`."""
        if self.intercept is Intercept.PENALIZED:
            return self.intercept_scaling**2 * float(beta.sum())
        return 0.0

    def primal(self, w: Array, b: float) -> float:
        """P(w, b)."""
        z = self.problem.predict(w, b)
        losses = self.loss.value(self.problem.y, self.problem.cost, z)
        return self.regularizer(w, b) + float(losses.sum())

    def dual(self, beta: Array) -> float:
        """D(β), for a feasible β."""
        w, b = self.weights_of(beta)
        terms = self.loss.conjugate(self.problem.y, self.problem.cost, beta)
        return float(terms.sum()) - self.regularizer(w, b)

    def best_intercept(self, z: Array, start: float = 0.0) -> float:
        """Minimise Σ C_i ℓ(z_i + b) over b, sought from some b on.

        At the optimum of an absolute one, that is the b which all support vectors on the edge of
        the margin agree on.
        """
        return float(self.judge.best_intercept(z, start))

    def best_offsets(self, z: Array) -> tuple[float, float]:
        """Minimise P over a free intercept and the number in the loss, where that is a variable."""
        best = self.judge.best_offsets(z, self.intercept is Intercept.FREE, self.mass or 0.0)
        return best.b, best.number

    def balanced(self, beta: Array) -> bool:
        """Whether Σ β_i = 0 up to rounding, where a free intercept demands it."""
        free = self.intercept is Intercept.FREE
        return not free or sums_to_zero(float(beta.sum()), float(np.abs(beta).sum()))

    def edge(self, beta: Array) -> NDArray[np.bool_]:
        """Which samples are support vectors on the edge of the margin or tube."""
        return np.asarray((beta != 0.0) & (beta > self.box.lower) & (beta < self.box.upper))

    def near_kink(self, f: Array, width: float) -> NDArray[np.bool_]:
        """Which samples have an f within that width of a kink of the loss."""
        miss = self.loss.target_scale * self.problem.y - f
        return np.asarray(np.abs(np.abs(miss) - self.loss.epsilon) <= width)

    def doubt(self, f: Array, beta: Array, error: SumError) -> float:
        """How much the gap may exceed what it seems to be, if f has errors of that mean and spread.

        A sample's share of the gap changes with f at the rate β_i − pull_i, where pull_i is the end
        of its box to which f draws it, or, near a kink of the loss, any end. Errors of different
        samples are independent: four standard deviations of their sum are allowed for.
        """
        box, epsilon, (bias, spread, exact) = self.box, self.loss.epsilon, error
        miss = self.loss.target_scale * self.problem.y - f
        ends = np.where(miss < -epsilon, box.lower, 0.0)
        rate = beta - np.where(miss > epsilon, box.upper, ends)
        unsure = self.near_kink(f, abs(bias) + spread)
        if exact is not None:
            rate[exact], unsure[exact] = 0.0, False
        kinks = float((box.upper - box.lower).sum(where=unsure))
        if self.mass is not None and self.loss.one_sided:  # with a ρ that is lower by 2 errors
            beyond = (miss * self.problem.y > 0.0) & ~unsure
            kinks = min(kinks, 2.0 * abs(self.mass - float(self.problem.cost.sum(where=beyond))))
        sums = abs(bias * float(rate.sum())) + 4.0 * spread * math.sqrt(float(rate @ rate))
        return sums + (abs(bias) + spread) * kinks

    def vanishes(self, beta: Array, square: float) -> bool:
        """Whether ‖w_β‖² is rounding, and the margin a variable: then w = 0, ρ = 0 is the optimum.

        P is at most 0 there, and at least −½‖w_β‖² for any feasible β. No tolerance enters, but
        the square must be a sum in float64.
        """
        if self.mass is None or not self.loss.one_sided:
            return False
        return short(beta, self.diagonal, square)

    def feasible(self, beta: Array) -> Array:
        """Make the dual point feasible: clipped to its box and, for a free intercept, balanced.

        Without a regulariser only β = 0 is known to be feasible.
        """
        if not self.loss.regularized:
            return np.zeros_like(beta)
        clipped = np.empty_like(beta)
        if self.hard:
            np.clip(beta, self.box.lower, self.box.upper, out=clipped)
        else:
            self.judge.clip(beta, clipped)
        if self.mass is not None and self.loss.one_sided:
            return self._filled(clipped, self.mass)
        if self.intercept is Intercept.FREE:
            self.judge.balance(clipped)
        if self.mass is not None:
            clipped *= min(1.0, self.mass / max(float(np.abs(clipped).sum()), self.mass))
        return clipped

    def _filled(self, beta: Array, mass: float) -> Array:
        """Σ |β_i| = mass, in equal shares of the two labels; scaled down, or filled up evenly."""
        y, cost = self.problem.y, self.problem.cost
        sides = [y > 0.0, y < 0.0] if self.intercept is Intercept.FREE else [y > 0.0]
        for side in sides:
            size, most = np.abs(beta[side]), cost[side]
            total, share = float(size.sum()), min(mass / len(sides), float(most.sum()))
            room = float((most - size).sum())
            if total > share:
                size *= share / total
            elif total < share and room > 0.0:
                size += (most - size) * min(1.0, (share - total) / room)
            beta[side] = y[side] * size
        return beta


def sums_to_zero(left: float, size: float) -> bool:
    """Whether Σ β_i is no more than rounding leaves of 0, beside Σ |β_i|, or less than counts."""
    return abs(left) <= max(1e-9 * size, 1e-300)


def short(beta: Array, diagonal: Array, square: float) -> bool:
    """Whether ‖Σ β_i φ(x_i)‖² is no more than rounding leaves of 0, beside its terms."""
    return square <= (SHORT * float(np.abs(beta) @ np.sqrt(np.maximum(diagonal, 0.0)))) ** 2


def spread(y: Array, cost: Array) -> float:
    """Return the mean distance of the targets from their mean; 1 if they are all the same.

    From the first of positive cost on, so that targets far from 0 keep the digits of their spread.
    """
    y = y - y[np.argmax(cost > 0.0)]
    return float(np.average(np.abs(y - np.average(y, weights=cost)), weights=cost)) or 1.0


def far_level(y: Array) -> float:
    """Return about where the targets are if that is far from 0 beside their spread, else 0.

    A free intercept takes it up; with it in the targets, digits of their differences would be lost.
    """
    few = np.sort(y[:: max(1, len(y) // 16)])
    middle, width = float(few[len(few) // 2]), float(few[3 * len(few) // 4] - few[len(few) // 4])
    return middle if abs(middle) > 1e3 * width else 0.0


def seems_mercer(kernel: Kernel, X: Matrix) -> bool:
    """Whether K is positive semidefinite; a kernel of unknown kind is tried on a sample.

    Of a kernel matrix the sample is large, as its values cost nothing.
    """
    if kernel.mercer is not None:
        return bool(kernel.mercer)
    n_samples = 1000 if isinstance(kernel, Precomputed) else 100
    return mercer_check(kernel, X, n_samples=n_samples).passed


def expansion_blocks(
    kernel: Kernel, X: Matrix, coef: Array, size: int
) -> Iterator[tuple[slice, Array]]:
    """Yield Kc for some rows at a time; c is a vector, or a matrix with a column for each f."""
    support = np.flatnonzero(coef if coef.ndim == 1 else coef.any(axis=1))
    if len(support) == 0:
        return
    basis, step = X[support], max(1, size // len(support))
    for begin in range(0, len(coef), step):
        rows = slice(begin, begin + step)
        yield rows, kernel(X[rows], basis) @ coef[support]


def _check_mass(objective: Objective) -> None:
    """Refuse a mass that the boxes cannot hold, or a combination that has no meaning."""
    problem, loss, mass = objective.problem, objective.loss, objective.mass
    assert mass is not None
    if not loss.bounded or not loss.regularized or objective.kernel is None:
        raise ValueError("A mass needs a kernel and the hinge or epsilon-insensitive loss.")
    if objective.intercept is Intercept.PENALIZED:
        raise ValueError("A mass goes with a free intercept or none, not with a penalised one.")
    sides = [problem.y > 0.0, problem.y < 0.0]
    if objective.intercept is Intercept.NONE:
        if not loss.one_sided or sides[1].any():
            raise ValueError("A mass without an intercept is for one class, y = +1 throughout.")
        sides = sides[:1]
    most = math.inf
    if loss.one_sided:
        most = len(sides) * min(float(problem.cost[side].sum()) for side in sides)
    if not 0.0 < mass <= most * (1.0 + 1e-12):
        raise ValueError(f"mass must be positive and at most {most:g}, got {mass:g}.")
