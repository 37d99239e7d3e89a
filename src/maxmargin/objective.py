"""Objective: problem + loss + intercept, with its primal and its dual."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np

import maxmargin._core as _core
from maxmargin.kernels import Kernel, mercer_check
from maxmargin.losses import Box, Loss
from maxmargin.problem import Problem
from maxmargin.validation import Array

#: Kernel values held at a time.
_VALUES_PER_BLOCK = 2**22


class Intercept(Enum):
    """How f(x) = <w, x> + b treats b."""

    NONE = "none"
    FREE = "free"
    PENALIZED = "penalized"


@dataclass(frozen=True, eq=False)
class Objective:
    """P(w, b) = ½‖w‖² + Σ C_i ℓ(f(x_i)), to be minimised.

    With a kernel, <w, x> is Σ c_j k(x_j, x) and ‖w‖² is c'Kc: a primal point is its coefficients c.
    A penalised intercept is a further feature of constant value `intercept_scaling`, so that
    ½ (b / intercept_scaling)² joins ½‖w‖². A free one adds the dual constraint Σ β_i = 0.
    """

    problem: Problem
    loss: Loss
    intercept: Intercept = Intercept.FREE
    intercept_scaling: float = 1.0
    kernel: Kernel | None = None

    def __post_init__(self) -> None:
        y = self.problem.y
        if self.loss.one_sided and not (np.abs(y) == 1.0).all():
            raise ValueError(
                f"loss={self.loss.name!r} needs labels -1 and +1, got {np.unique(y)[:5].tolist()}."
            )

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
        return self.loss.box(self.problem.y, self.problem.cost)

    @cached_property
    def negligible(self) -> float:
        """A value of the objective that counts as zero: 1e-11 of what any fit worth having costs.

        That is P(0, 0), or the ½‖w‖² with which f reaches the size of the targets on the longest
        row, whichever is less; so a large C does not make it large.
        """
        y, cost = self.problem.y, self.problem.cost
        at_zero = float(self.loss.value(y, cost, np.zeros_like(y)).sum())
        longest = float(self.diagonal.max())
        needed = 0.5 * float(np.abs(y).max()) ** 2 / longest if longest > 0.0 else np.inf
        return 1e-11 * min(at_zero, needed)

    @cached_property
    def unit(self) -> float:
        """The scale of f: 1 for margins, the spread of the targets in regression."""
        if self.loss.one_sided:
            return 1.0
        y, cost = self.problem.y, self.problem.cost
        spread = np.average(np.abs(y - np.average(y, weights=cost)), weights=cost)
        return float(spread) or 1.0

    @cached_property
    def diagonal(self) -> Array:
        """‖x_i‖² in the space where f is linear."""
        if self.kernel is None:
            return self.problem.squared_norms
        return self.kernel.diagonal(self.problem.X)

    @cached_property
    def convex(self) -> bool:
        """Whether K is positive semidefinite; a kernel of unknown kind is tried on a sample."""
        if self.kernel is None or self.kernel.mercer is not None:
            return self.kernel is None or bool(self.kernel.mercer)
        return mercer_check(self.kernel, self.problem.X, n_samples=100).passed

    def kernel_values(self, coef: Array) -> Array:
        """Return Σ c_j k(x_j, x_i) of every row i, from the kernel's own formula in float64."""
        assert self.kernel is not None
        X, support = self.problem.X, np.flatnonzero(coef)
        values = np.zeros(len(coef))
        if len(support) == 0:
            return values
        basis, step = X[support], max(1, _VALUES_PER_BLOCK // len(support))
        for begin in range(0, len(coef), step):
            block = X[begin : begin + step]
            values[begin : begin + step] = self.kernel(block, basis) @ coef[support]
        return values

    def regularizer(self, w: Array, b: float) -> float:
        """½‖w‖², and the intercept's share if it is penalised."""
        if not self.loss.regularized:
            return 0.0
        square = float(np.einsum("i,i->", w, w))  # not BLAS: waking its threads takes longer
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

    def best_intercept(self, z: Array) -> float:
        """Minimise Σ C_i ℓ(z_i + b) over b for an absolute loss; the middle if several b do.

        The derivative in b falls by `upper` where a sample leaves its costly side and by −`lower`
        where it enters the other one: walk through those breakpoints until it crosses 0.
        """
        pull = self.loss.target_scale * self.problem.y - z
        places = np.concatenate([pull - self.loss.epsilon, pull + self.loss.epsilon])
        falls = np.concatenate([self.box.upper, -self.box.lower])
        places, falls = places[falls > 0.0], falls[falls > 0.0]
        order = np.argsort(places)
        places, left = places[order], self.box.upper.sum() - np.cumsum(falls[order])
        slack = 1e-12 * falls.sum()
        first = min(int(np.searchsorted(-left, -slack)), len(places) - 1)
        last = min(int(np.searchsorted(-left, slack, side="right")), len(places) - 1)
        return 0.5 * float(places[first] + places[last])

    def feasible(self, beta: Array) -> Array:
        """Make the dual point feasible: clipped to its box and, for a free intercept, balanced.

        Without a regulariser only β = 0 is known to be feasible.
        """
        if not self.loss.regularized:
            return np.zeros_like(beta)
        clipped = np.empty_like(beta)
        self.judge.clip(beta, clipped)
        return self._balanced(clipped) if self.intercept is Intercept.FREE else clipped

    def _balanced(self, beta: Array) -> Array:
        """Σ β_i = 0, by scaling down entries of the heavier sign; 0 lies in every box.

        The entries inside their box give way first, so that those at a bound stay there.
        """
        excess = float(beta.sum())
        if excess == 0.0:
            return beta
        heavier = beta > 0.0 if excess > 0.0 else beta < 0.0
        inside = heavier & (beta != self.box.lower) & (beta != self.box.upper)
        enough = abs(float(beta.sum(where=inside))) >= abs(excess)
        entries = inside if enough else heavier
        remaining = max(0.0, 1.0 - excess / float(beta.sum(where=entries)))
        return np.multiply(beta, remaining, out=beta, where=entries)
