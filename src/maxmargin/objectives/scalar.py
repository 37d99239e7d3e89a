"""Problems of one function f: what linear and kernel machines share."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin.data.arrays import Array
from maxmargin.data.problem import Problem
from maxmargin.losses import Box, Loss
from maxmargin.objectives.base import NEGLIGIBLE, Intercept, Objective


@dataclass(frozen=True, eq=False)
class ScalarObjective(Objective):
    """P(w, b) = ½‖w‖² + Σ C_i ℓ(f(x_i)), to be minimised; f = <w, ·> + b."""

    problem: Problem
    loss: Loss
    intercept: Intercept = Intercept.FREE

    def __post_init__(self) -> None:
        if self.loss.one_sided and not self.problem.target_summary.is_binary:
            labels = np.unique(self.problem.y)[:5].tolist()
            raise ValueError(f"loss={self.loss.name!r} needs labels -1 and +1, got {labels}.")

    @property
    @abstractmethod
    def diagonal(self) -> Array:
        """‖x_i‖² in the space where f is linear."""

    @property
    @abstractmethod
    def dimension(self) -> int:
        """The length of w."""

    @cached_property
    def terms(self) -> _core.Terms:
        """The per-sample terms as the core reads them."""
        return self.terms_of(self.problem.y, self.problem.cost)

    def terms_of(self, y: Array, cost: Array) -> _core.Terms:
        """Terms with this loss and other labels or costs."""
        loss = self.loss
        return _core.Terms(y, cost, loss.target_scale, loss.epsilon, loss.one_sided, loss.bounded)

    @cached_property
    def sums(self) -> _core.CertificateTerms:
        """The same terms as the certificate reads them, summed."""
        problem, loss = self.problem, self.loss
        return _core.CertificateTerms(
            problem.y, problem.cost, loss.target_scale, loss.epsilon, loss.one_sided, loss.bounded
        )

    @cached_property
    def box(self) -> Box:
        """Where the dual variables may lie."""
        return self.loss.box(self.problem.y, self.problem.cost)

    @property
    def at_zero(self) -> float:
        """P(0, 0): in classification every slack is the margin asked for."""
        problem, loss = self.problem, self.loss
        if loss.one_sided:
            slack = loss.target_scale
            return float(problem.target_summary.total_cost) * (slack if loss.bounded else slack**2)
        return float(loss.value(problem.y, problem.cost, np.zeros(problem.n_samples)).sum())

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

    def best_intercept(self, z: Array, start: float = 0.0) -> float:
        """Minimise Σ C_i ℓ(z_i + b) over b, sought from some b on.

        At the optimum of an absolute one, that is the b which all support vectors on the edge of
        the margin agree on.
        """
        return float(self.sums.best_intercept(z, start))

    def edge(self, beta: Array) -> NDArray[np.bool_]:
        """Which samples are support vectors on the edge of the margin or tube."""
        return np.asarray((beta != 0.0) & (beta > self.box.lower) & (beta < self.box.upper))

    def feasible(self, beta: Array) -> Array:
        """Make the dual point feasible: clipped to its box and, for a free intercept, balanced.

        Without a regulariser only β = 0 is known to be feasible.
        """
        if not self.loss.regularized:
            return np.zeros_like(beta)
        clipped = self._clipped(beta)
        if self.intercept is Intercept.FREE:
            self.sums.balance(clipped)
        return clipped

    def _clipped(self, beta: Array) -> Array:
        """Return β within its box."""
        clipped = np.empty_like(beta)
        self.sums.clip(beta, clipped)
        return clipped

    @cached_property
    def negligible(self) -> float:
        """A value of the objective that counts as zero: 1e-11 of what any fit costs, or of P(0, 0).

        The best constant costs c. A fit that costs less than half of that changes, on some row, by
        half the margin or half the mean residual of the constant, which takes a ½‖w‖² that only the
        longest row bounds. So neither a large C nor one large weight makes it large. Where c = 0,
        so is the optimum.
        """
        longest, cost = self._longest, self.constant_cost
        needed = 0.5 * self._squared_size / longest if longest > 0.0 else np.inf
        return NEGLIGIBLE * min(cost or self.at_zero, needed)

    @cached_property
    def constant_cost(self) -> float:
        """The least Σ C_i ℓ(b) of an intercept b that is not penalised."""
        if self.intercept is not Intercept.FREE or not self.loss.regularized:
            return self.at_zero
        problem, zeros = self.problem, np.zeros(self.problem.n_samples)
        f = zeros + self.best_intercept(zeros)
        return float(self.loss.value(problem.y, problem.cost, f).sum())

    @property
    def _squared_size(self) -> float:
        """The square of the margin, or of the mean residual of the best constant."""
        summary = self.problem.target_summary
        if self.loss.one_sided:
            return 1.0
        if self.constant_cost == 0.0:
            return float(summary.max_abs) ** 2
        mean = self.constant_cost / float(summary.total_cost)
        return mean**2 if self.loss.bounded else mean

    @property
    def _longest(self) -> float:
        """The largest of the `diagonal`, with that of a penalised intercept's feature."""
        return float(self.diagonal.max())


def spread(y: Array, cost: Array) -> float:
    """Return the mean distance of the targets from their mean; 1 if they are all the same.

    From the first of positive cost on, so that targets far from 0 keep the digits of their spread.
    """
    y = y - y[np.argmax(cost > 0.0)]
    return float(np.average(np.abs(y - np.average(y, weights=cost)), weights=cost)) or 1.0
