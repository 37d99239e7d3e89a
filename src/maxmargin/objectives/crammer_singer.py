"""K classes in one problem, as Crammer and Singer pose it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin.certificate import Certificate, certificate_of_sums
from maxmargin.data.arrays import UNIT, Array
from maxmargin.data.checks import as_floats
from maxmargin.data.problem import Problem
from maxmargin.losses import HINGE, Loss
from maxmargin.objectives.balance import balance
from maxmargin.objectives.base import (
    NEGLIGIBLE,
    Intercept,
    Judged,
    Objective,
    PrimalDual,
    refuse_intercept,
    rounding_slip,
)
from maxmargin.objectives.class_weights import (
    coef_of,
    combine_classes,
    lay_out,
    predict_classes,
    zero_weights,
)
from maxmargin.objectives.rounding import (
    added,
    counts,
    exact_products,
    lower_bound,
    row_error,
    sum_error,
)


@dataclass(frozen=True, eq=False)
class CrammerSingerObjective(Objective):
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

    loss: ClassVar[Loss] = HINGE  # type: ignore[misc]
    unit: ClassVar[float] = 1.0  # the scale of f
    functions_per_term: ClassVar[int] = 2  # that of the own class, and its strongest rival

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
        longest, constant = float(self.diagonal.max()), self.at_zero
        if self.intercept is Intercept.PENALIZED:
            longest += self.intercept_scaling**2
        if self.intercept is Intercept.FREE:
            shares = self._shares
            constant = min(constant, 2.0 * float(np.sort(shares)[:-1].sum())) or constant
        needed = 0.25 / longest if longest > 0.0 else np.inf
        return NEGLIGIBLE * min(constant, needed)

    @property
    def _shares(self) -> Array:
        """The cost of each class."""
        return np.asarray(np.bincount(self.labels, self.problem.cost, self.n_classes), np.float64)

    @property
    def at_zero(self) -> float:
        """P(0, 0)."""
        return float(self.problem.target_summary.total_cost)

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
        slack = self.augmented_scores(self.values(self.lay_out(coef), b)).max(axis=1)
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
        shares = self._shares
        return np.asarray(shares > 0.5 * shares.sum(), dtype=np.float64)

    def augmented_scores(self, Z: Array) -> Array:
        """Return 1[j ≠ y_i] + f_j(x_i) − f_y(x_i): the loss is the largest of a row."""
        scores = Z - Z[self.own][:, np.newaxis] + 1.0
        scores[self.own] = 0.0
        return np.asarray(scores)

    def feasible(self, beta: Array, W: Array, b: Array) -> Array:
        """Make the dual point feasible: in its simplex and, for a free intercept, balanced.

        Of all ways to balance it, one that costs little at the weights given is taken.
        """
        beta = self.within_simplices(beta)
        if self.intercept is Intercept.FREE:
            balance(beta, self.own, self.problem.cost, self.augmented_scores(self.values(W, b)))
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

    def judge(self, point: PrimalDual) -> Judged:
        """Certify the weights, laid out, by β made feasible; the point has them of shape (K, d)."""
        W, b = point.w, point.b
        beta, coef = self.feasible(point.beta, W, b), self.coef(W)
        if self.n_classes == 2:
            coef = opposite(coef)
            W = self.lay_out(coef)
        b = self._representable(coef, b)
        return Judged(PrimalDual(coef, b, beta), self._certify(W, b, beta), self.loss)

    def _representable(self, coef: Array, b: Array) -> Array:
        """Return the b nearest to this one that estimators can give back."""
        given = self.problem.given_intercept(coef, b)
        if self.n_classes == 2:
            given = opposite(given)
        return np.asarray(self.problem.own_intercept(coef, given))

    def certify(self, point: PrimalDual) -> Certificate:
        """Judge the weights of K classes, of shape (K, d), by a feasible β.

        P(W, b) − D(β) = ½‖W − W_β‖² + Σ of brackets that are not negative
        (core/objective/multiclass_certificate.hpp). The KKT violation is the worst bracket in units
        of the margin.
        """
        return self._certify(self.lay_out(point.w), point.b, point.beta)

    def _certify(self, W: Array, b: Array, beta: Array) -> Certificate:
        """Do the same for weights that are laid out."""
        refuse_intercept(self.intercept, b)
        problem = self.problem
        dual_W = np.zeros_like(W)
        parts = [
            self.classes.sum_rows(problem.rows, W, b, beta, begin, end, dual_W)
            for begin, end in problem.blocks()
        ]
        part, dual_b = reduce(add, parts), self.intercept_of(beta)
        slip = multiclass_slip(self, b, beta)
        distance = self.regularizer(W - dual_W, b - dual_b)
        square = float(np.einsum("ij,ij->", W, W))
        lost = slip + _dual_rounding(self, part.conjugates, distance)
        largest = float(np.abs(b).max())
        lost += _rates(self, part) * row_error(problem, math.sqrt(square), largest)
        losses, brackets = part.losses, part.fenchel_young
        error_bound = _error_bound(self, part, math.sqrt(square), b)
        primal, gap = self.regularizer(W, b) + losses, brackets + distance + lost + error_bound
        dual_square = self.regularizer(dual_W, dual_b)
        own = slip + _dual_rounding(self, part.conjugates, dual_square)
        dual = max(part.conjugates - dual_square - own, lower_bound(problem, primal, gap))
        if counts(error_bound, gap - error_bound, primal):
            losses, brackets = _exact_brackets(self, W, b, beta)
            primal = self.regularizer(W, b) + losses
            gap = brackets + distance + (lost if lost > UNIT * primal else 0.0)
            dual = lower_bound(problem, primal, gap)
        return certificate_of_sums(part, (primal, dual, gap), square, self.negligible)


def opposite(numbers: Array) -> Array:
    """Return half the difference of two classes' numbers for one, and minus that for the other.

    Estimators give back the difference, f of the binary problem, which is then not rounded.
    """
    half = 0.5 * (numbers[1] - numbers[0])
    return np.stack([-half, half])


def _error_bound(
    objective: CrammerSingerObjective, part: _core.CertificateSums, length: float, b: Array
) -> float:
    """Return how much the rounding of f_j(x_i) may add to the gap at most; `length` is ‖W‖."""
    problem = objective.problem
    largest = float(np.abs(b).max())
    f = math.sqrt(problem.longest) * length + largest
    sums = sum_error(problem.n_samples) * part.conjugates * (1.0 + largest)
    rounding = sum_error(problem.most_stored) * f * _rates(objective, part)
    return float(rounding + UNIT * part.losses + sums)


def _rates(objective: CrammerSingerObjective, part: _core.CertificateSums) -> float:
    """Return how fast the gap may change with an error of every f_j(x_i)."""
    return 2.0 * float(objective.problem.target_summary.total_cost + part.conjugates)


def _dual_rounding(objective: CrammerSingerObjective, total: float, square: float) -> float:
    """Return what the rounding of β'X may add to the gap; total is Σ β_iy, square ½‖W − W_β‖²."""
    problem = objective.problem
    length = math.sqrt(problem.longest)
    if objective.intercept is Intercept.PENALIZED:
        length += objective.intercept_scaling
    rows = 0.0 if problem.origin is None else problem.origin.error
    error = 2.0 * total * (sum_error(problem.n_samples) * length + rows)
    return error * (math.sqrt(2.0 * square) + 0.5 * error)


def _exact_brackets(
    objective: CrammerSingerObjective, W: Array, b: Array, beta: Array
) -> tuple[float, float]:
    """Return the sums of losses and brackets from f_j(x_i) to twice the digits."""
    problem, own = objective.problem, objective.own
    high, low = np.empty((2, *beta.shape))
    for j, w in enumerate(objective.coef(W)):
        high[:, j], low[:, j] = added(*exact_products(problem, w), float(b[j]))
    scores, rest = added(high, low, -high[own][:, np.newaxis])
    scores, rest = added(scores, rest - low[own][:, np.newaxis], 1.0)
    scores += rest
    scores[own] = 0.0
    slack, chosen, cost = scores.max(axis=1), beta[own], problem.cost
    shares = beta * (scores - slack[:, np.newaxis])
    shares[own] = np.maximum(0.0, cost - chosen) * slack
    return float(cost @ slack), float(shares.sum())


def multiclass_slip(objective: CrammerSingerObjective, b: Array, beta: Array) -> float:
    """Return what rounding leaves of Σ_i β_ij = 0 weakens the bound by; more than that voids it."""
    free = objective.intercept is Intercept.FREE
    return rounding_slip(free, b - b.mean(), beta.sum(axis=0), float(np.abs(beta).sum()))
