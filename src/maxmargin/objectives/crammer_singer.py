"""JointObjective: K classes in one problem, as Crammer and Singer pose it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin.data.arrays import Array
from maxmargin.data.checks import as_floats
from maxmargin.data.problem import Problem
from maxmargin.kernels import Kernel, Linear
from maxmargin.losses import HINGE, Loss
from maxmargin.objectives.objective import (
    VALUES_PER_BLOCK,
    Intercept,
    expansion_blocks,
    seems_mercer,
)


@dataclass(frozen=True, eq=False)
class JointObjective:
    """P(W, b) = ½‖W‖² + Σ C_i max_j (1[j ≠ y_i] + f_j(x_i) − f_y(x_i)), to be minimised.

    f_j(x) = <w_j, x> + b_j, ‖W‖ is the Frobenius norm and problem.y numbers the classes 0, …, K−1.
    The dual point β has a row for each sample and a column for each class, W = β'X, and

        D(β) = Σ_i β_{i,y_i} − ½‖β'X‖²,   β_ij ≤ C_i 1[j = y_i],   Σ_j β_ij = 0.

    A penalised intercept is a further feature of constant value `intercept_scaling`; a free one
    adds the constraints Σ_i β_ij = 0. For two classes this is half the binary problem of the hinge
    loss with the costs 2 C_i, and its w is w_1 − w_0.

    Weights are kept as the core lays them out (core/data/class_weights.hpp): `lay_out` makes that
    of the matrix of shape (K, d), `coef` goes back.
    """

    loss: ClassVar[Loss] = HINGE
    hopeless: ClassVar[float] = math.inf  # an optimum always exists
    unit: ClassVar[float] = 1.0  # the scale of f

    problem: Problem
    n_classes: int
    intercept: Intercept = Intercept.FREE
    intercept_scaling: float = 1.0

    def __post_init__(self) -> None:
        as_floats(self, "intercept_scaling")
        y = self.problem.y
        if not (np.isin(y, np.arange(self.n_classes)).all() and self.n_classes >= 2):
            raise ValueError(
                f"problem.y must number at least two classes from 0 to {self.n_classes - 1}."
            )

    @cached_property
    def labels(self) -> NDArray[np.int32]:
        """The class numbers y_i."""
        return self.problem.y.astype(np.int32)

    @cached_property
    def own(self) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
        """Where a matrix of samples and classes has the entry of each sample's own class."""
        return np.arange(self.problem.n_samples), self.labels

    @cached_property
    def classes(self) -> _core.Classes:
        """Labels and costs as the core reads them."""
        problem = self.problem
        return _core.Classes(self.labels, problem.cost, self.diagonal, self.n_classes)

    @cached_property
    def diagonal(self) -> Array:
        """‖x_i‖² in the space where f is linear."""
        return self.problem.squared_norms

    @cached_property
    def negligible(self) -> float:
        """A value of the objective that counts as zero; see `Objective.negligible`."""
        longest = float(self.diagonal.max())
        needed = 0.25 / longest if longest > 0.0 else np.inf
        return 1e-11 * min(self.at_zero, needed)

    @property
    def at_zero(self) -> float:
        """P(0, 0)."""
        return float(self.problem.extent.total_cost)

    @cached_property
    def terms(self) -> _core.Terms:
        """The loss as a hinge of z_y − max z_j, j ≠ y, with the label +1."""
        cost = self.problem.cost
        return _core.Terms(np.ones_like(cost), cost, 1.0, 0.0, True, True)

    def lay_out(self, coef: Array) -> Array:
        """Return the weights of shape (K, d) as the core reads them."""
        return lay_out(coef, by_feature=_core.by_feature(self.problem.rows))

    def coef(self, W: Array) -> Array:
        """Return a copy of the core's weights, of shape (K, d)."""
        return coef_of(W, self.n_classes, by_feature=_core.by_feature(self.problem.rows))

    def zero(self, *, narrow: bool = False) -> Array:
        """Return the weights 0, laid out; in float32 if they are to be narrow."""
        return zero_weights(self.problem, self.n_classes, narrow=narrow)

    def widened(self, W: Array) -> Array:
        """Return weights, laid out, in float64."""
        if W.dtype == np.float64:
            return W
        wide = self.zero()
        wide[:, : self.n_classes] = W[:, : self.n_classes]
        return wide

    def weights(self, beta: Array) -> Array:
        """Return W = β'X, laid out."""
        return combine_classes(self.problem, beta)

    def values(self, W: Array, b: Array) -> Array:
        """f_j(x_i), of shape (n, K)."""
        return predict_classes(self.problem, W, self.n_classes) + b

    def regularizer(self, W: Array, b: Array) -> float:
        """½‖W‖², and the intercepts' share if they are penalised."""
        square = float(np.einsum("ij,ij->", W, W))
        if self.intercept is Intercept.PENALIZED:
            square += float(b @ b) / self.intercept_scaling**2
        return 0.5 * square

    def intercept_of(self, beta: Array) -> Array:
        """Return the b that belongs to β. A free b is not in it."""
        if self.intercept is Intercept.PENALIZED:
            return np.asarray(self.intercept_scaling**2 * beta.sum(axis=0))
        return np.zeros(self.n_classes)

    def primal(self, coef: Array, b: Array) -> float:
        """P(W, b)."""
        slack = self.pulls(self.values(self.lay_out(coef), b)).max(axis=1)
        return self.regularizer(coef, b) + float(self.problem.cost @ slack)

    def dual(self, beta: Array) -> float:
        """D(β), for a feasible β."""
        regularizer = self.regularizer(self.weights(beta), self.intercept_of(beta))
        return float(beta[self.own].sum()) - regularizer

    def best_constant(self) -> Array:
        """Return the b that minimises P(0, b): a class with more than half of the cost leads by 1.

        If b_m is the largest and leads by δ, the loss is at least (1 − p)(1 + δ) + p max(0, 1 − δ)
        for the share p of class m, so the best δ is 0 or 1.
        """
        shares = np.bincount(self.labels, self.problem.cost, self.n_classes)
        return np.asarray(shares > 0.5 * shares.sum(), dtype=np.float64)

    def pulls(self, Z: Array) -> Array:
        """1[j ≠ y_i] + f_j(x_i) − f_y(x_i): the loss is the largest of a row."""
        pulls = Z - Z[self.own][:, np.newaxis] + 1.0
        pulls[self.own] = 0.0
        return np.asarray(pulls)

    def feasible(self, beta: Array, W: Array, b: Array) -> Array:
        """Make the dual point feasible: in its simplex and, for a free intercept, balanced.

        Of all ways to balance it, one that costs little at the weights given is taken.
        """
        beta = self.within_simplices(beta)
        if self.intercept is Intercept.FREE:
            balance(beta, self.own, self.problem.cost, self.pulls(self.values(W, b)))
        return beta

    def within_simplices(self, beta: Array) -> Array:
        """Return β with β_ij ≤ C_i 1[j = y_i] and Σ_j β_ij = 0."""
        beta = np.minimum(beta, 0.0)
        beta[self.own] = 0.0
        total, cost = -beta.sum(axis=1), self.problem.cost
        scale = np.divide(cost, total, out=np.ones_like(cost), where=total > cost)
        beta *= scale[:, np.newaxis]
        beta[self.own] = np.minimum(cost, -beta.sum(axis=1))
        return beta


@dataclass(frozen=True, eq=False)
class JointExpansion(JointObjective):
    """The same problem for f_j(x) = Σ_i c_ij k(x_i, x) + b_j, with ½‖W‖² = ½ Σ_j c_j'K c_j.

    A primal point is its coefficients c, of the shape of β; an intercept is free or absent.
    """

    kernel: Kernel = field(default_factory=Linear)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.intercept is Intercept.PENALIZED:
            raise ValueError("With a kernel an intercept is free or absent, not penalised.")

    @cached_property
    def diagonal(self) -> Array:
        """k(x_i, x_i)."""
        return self.kernel.diagonal(self.problem.X)

    @cached_property
    def value_rounding(self) -> float:
        """The rounding of kernel values in float64; see `Kernel.rounding`."""
        return self.kernel.rounding(self.problem.X)

    @cached_property
    def convex(self) -> bool:
        """Whether K is positive semidefinite."""
        return seems_mercer(self.kernel, self.problem.X)

    def kernel_values(self, coef: Array) -> Array:
        """Kc, from the kernel's own formula in float64."""
        values = np.zeros_like(coef)
        for rows, block in self.kernel_blocks(coef, VALUES_PER_BLOCK):
            values[rows] = block
        return values

    def kernel_blocks(self, coef: Array, size: int) -> Iterator[tuple[slice, Array]]:
        """Yield them for some rows at a time: as many as take `size` values of the kernel."""
        return expansion_blocks(self.kernel, self.problem.X, coef, size)

    def lay_out(self, coef: Array) -> Array:
        """Return the coefficients as they are."""
        return coef

    def values(self, W: Array, b: Array) -> Array:
        """f_j(x_i), of shape (n, K)."""
        return np.asarray(self.kernel_values(W) + b)

    def regularizer(self, W: Array, b: Array) -> float:  # noqa: ARG002 - b is not penalised
        """½‖W‖²."""
        return 0.5 * float(np.einsum("ij,ij->", W, self.kernel_values(W)))

    def dual(self, beta: Array) -> float:
        """D(β), for a feasible β."""
        return float(beta[self.own].sum()) - self.regularizer(beta, np.zeros(self.n_classes))

    def doubt(self, f: Array, beta: Array, error: tuple[Array, float]) -> float:
        """How much the gap may exceed what it seems to be; see `Objective.doubt`.

        The errors of f have a mean for each class and one spread. A sample's share of the gap
        changes with f_j at the rate β_ij + C_i (1[j pulls most] − 1[j = y_i]).
        """
        bias, spread = error
        pulls, cost = self.pulls(f), self.problem.cost
        rate = beta.copy()
        rate[self.own] -= cost
        np.add.at(rate, (self.own[0], pulls.argmax(axis=1)), cost)
        second, first = np.partition(pulls, -2, axis=1)[:, -2:].T
        reach = 2.0 * (float(np.abs(bias).max()) + spread)
        kinks = float(cost.sum(where=first - second <= reach))
        sums = float(np.abs(bias * rate.sum(axis=0)).sum())
        return sums + 4.0 * spread * float(np.linalg.norm(rate)) + reach * kinks


def lay_out(coef: Array, *, by_feature: bool) -> Array:
    """Return weights of shape (K, d) as the core reads them, for dense or for CSR rows."""
    if not by_feature:
        return np.ascontiguousarray(coef)
    K, d = coef.shape
    W = np.zeros((d, _core.padded(K)))
    W[:, :K] = coef.T
    return W


def zero_weights(problem: Problem, n_classes: int, *, narrow: bool = False) -> Array:
    """Return the weights 0, laid out; in float32 if they are to be narrow."""
    if not _core.by_feature(problem.rows):
        return np.zeros((n_classes, problem.n_features), np.float32 if narrow else np.float64)
    padded = _core.padded(n_classes, narrow)
    return np.zeros((problem.n_features, padded), np.float32 if narrow else np.float64)


def coef_of(W: Array, n_classes: int, *, by_feature: bool) -> Array:
    """Return a copy of the core's weights, of shape (K, d)."""
    return (W[:, :n_classes].T if by_feature else W).copy(order="C")


def predict_classes(problem: Problem, W: Array, n_classes: int) -> Array:
    """Return ⟨w_j, x_i⟩, of shape (n, K), for weights that are laid out."""
    Z = np.empty((problem.n_samples, _core.padded(n_classes)))
    for begin, end in problem.blocks():
        _core.predict_classes(problem.rows, W, n_classes, begin, end, Z)
    return Z[:, :n_classes]


def combine_classes(problem: Problem, beta: Array) -> Array:
    """Return w_j = Σ_i β_ij x_i for β of shape (n, K), laid out."""
    W = zero_weights(problem, beta.shape[1])
    beta = np.ascontiguousarray(beta)
    for begin, end in problem.blocks():
        _core.combine_classes(problem.rows, beta, begin, end, W)
    return W


def balance(
    beta: Array,
    own: tuple[NDArray[np.intp], NDArray[np.int32]],
    cost: Array,
    pulls: Array,
) -> None:
    """Make every column of β sum to 0, in place, by moves within rows that keep it feasible.

    With α_ij = C_i 1[j = y_i] − β_ij ≥ 0, columns whose α is too heavy give to those too light:
    first where the loss of the dual, pull_ik − pull_ij, is least; what a few rounds leave over is
    taken from all entries in proportion. The moves are added to β itself: α of a large C has no
    digits left for a small β.
    """
    negligible = 1e-15 * float(np.abs(beta).sum())
    for _ in range(10):
        excess, alpha = beta.sum(axis=0), _room(beta, own, cost)
        light, heavy = excess > negligible, excess < -negligible
        if not (light.any() and heavy.any()):
            return
        to = np.where(light, pulls, -np.inf).argmax(axis=1)
        rows, givers = np.nonzero((alpha > 0.0) & heavy)
        order = np.argsort(pulls[rows, givers] - pulls[rows, to[rows]], kind="stable")
        rows, givers = rows[order], givers[order]
        takers = to[rows]
        amounts = _rationed(alpha[rows, givers], givers, -excess)
        amounts = _rationed(amounts, takers, excess)
        np.add.at(beta, (rows, givers), amounts)
        np.subtract.at(beta, (rows, takers), amounts)
    excess, alpha = beta.sum(axis=0), _room(beta, own, cost)
    surplus, need = np.maximum(-excess, 0.0), np.maximum(excess, 0.0)
    if not need.any():
        return
    mass = alpha.sum(axis=0)
    taken = alpha * np.divide(surplus, mass, out=np.zeros_like(mass), where=mass > 0.0)
    beta += taken - np.outer(taken.sum(axis=1), need / need.sum())


def _room(beta: Array, own: tuple[NDArray[np.intp], NDArray[np.int32]], cost: Array) -> Array:
    """Return α: by how much each β_ij may rise."""
    alpha = -beta
    alpha[own] += cost
    return np.asarray(np.maximum(alpha, 0.0))


def _rationed(amounts: Array, group: NDArray[np.intp], limits: Array) -> Array:
    """Cut the amounts, first come first served, to keep each group's sum within its limit."""
    order = np.argsort(group, kind="stable")
    sorted_amounts, sorted_group = amounts[order], group[order]
    before = np.cumsum(sorted_amounts) - sorted_amounts
    first = np.searchsorted(sorted_group, np.arange(len(limits)))
    left = limits[sorted_group] - (before - before[first[sorted_group]])
    cut = np.empty_like(amounts)
    cut[order] = np.minimum(np.maximum(left, 0.0), sorted_amounts)
    return cut
