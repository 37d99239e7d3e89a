"""The rows of a table of samples: α, slack and KKT case of each, problem by problem."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin.data.arrays import Array
from maxmargin.losses import Loss
from maxmargin.solution import Solution

_FIELDS = np.dtype(
    [
        ("sample", np.intp),
        ("problem", np.intp),
        ("alpha", np.float64),
        ("bound", np.float64),
        ("slack", np.float64),
        ("margin", np.float64),
        ("distance", np.float64),
        ("case", np.int8),
        ("violation", np.float64),
    ]
)

#: Share of C_i by which a sum of its α_ij may fall short of it by rounding.
_ROUNDING = 1e-12


class SampleTable(np.recarray):
    """One row for each training sample, and for each problem that it is in.

    Attributes
    ----------
    sample, problem : ndarray of int
        The row of X, and the place of its problem in `solutions_`.
    alpha : ndarray
        α_i ≥ 0; in regression |β_i|.
    bound : ndarray
        C_i, the most that α_i may be; infinite where the loss is squared or the margin hard.
    slack : ndarray
        ξ_i: how far the sample is on the costly side.
    margin : ndarray
        y_i f(x_i); in regression the residual y_i − f(x_i).
    distance : ndarray
        y_i f(x_i)/‖w‖, the distance to the decision boundary, negative on the wrong side; in
        regression ε − |y_i − f(x_i)|, to the edge of the tube, negative outside. Of all classes in
        one problem margin is f_y(x_i) − f_j(x_i) with j the best rival, and distance is that to the
        boundary between these two, margin/‖w_y − w_j‖.
    case : ndarray of int
        Of the KKT conditions: 1 on the edge, 0 < α < C and y f(x) = 1; 2 at the bound, α = C and
        y f(x) ≤ 1; 3 away, α = 0 and y f(x) ≥ 1; 0 for samples of weight 0. With a squared loss the
        edge of a sample is 1 − α/(2C).
    violation : ndarray
        By how much that condition is missed, in the units of f.
    """

    def to_pandas(self) -> Any:
        """Return the table as a pandas.DataFrame."""
        try:
            import pandas  # noqa: PLC0415 - only this method needs it
        except ImportError as error:
            raise ImportError(
                "to_pandas() needs the package pandas: pip install pandas."
            ) from error
        return pandas.DataFrame({name: np.asarray(self[name]) for name in _FIELDS.names or ()})


class Part(NamedTuple):
    """One of a model's problems in the terms of the texts, on its training samples.

    y is ±1, or the targets; β is that of f, so that β_i = y_i α_i in classification. `scale` is
    1/‖w‖, `edge` the value of y f(x) beyond which nothing is lost.
    """

    place: int
    rows: NDArray[np.intp]
    y: Array
    cost: Array
    beta: Array
    f: Array
    edge: float
    scale: float
    loss: Loss
    solution: Solution

    @property
    def bounded(self) -> bool:
        """Whether C_i bounds α_i."""
        return self.loss.bounded

    @property
    def slack(self) -> Array:
        """ξ_i."""
        if self.loss.one_sided:
            return np.maximum(0.0, self.edge - self.y * self.f)
        return self.loss.slack(self.y, self.f)

    @property
    def gap(self) -> float:
        """What the samples add to the gap of f and β: a Fenchel-Young gap ≥ 0 each."""
        beta, miss = self.beta, self.edge * self.y - self.f
        conjugate = miss * beta - self.loss.epsilon * np.abs(beta)
        return float((self.lost - conjugate + 0.5 * self.loss.curvature(self.cost) * beta**2).sum())

    @property
    def lost(self) -> Array:
        """C_i ℓ of every sample."""
        return self.cost * (self.slack if self.bounded else self.slack**2)

    @property
    def bound(self) -> Array:
        """The most that |β_i| may be."""
        return self.cost if self.bounded else np.where(self.cost > 0.0, math.inf, 0.0)

    @property
    def finite_cost(self) -> Array:
        """C_i, or finite ones with which the problem has the same optimum."""
        return self.cost

    def table(self) -> SampleTable:
        """Return the rows of these samples."""
        table = np.recarray(len(self.rows), dtype=_FIELDS).view(SampleTable)
        table.sample, table.problem, table.alpha = self.rows, self.place, np.abs(self.beta)
        table.bound, table.slack = self.bound, self.slack
        if self.loss.one_sided:
            table.margin = self.y * self.f
            distance = np.zeros(len(self.rows))  # 0 on the boundary, if w = 0 too
            table.distance = np.multiply(
                table.margin, self.scale, out=distance, where=table.margin != 0.0
            )
        else:
            table.margin = self.y - self.f
            table.distance = self.loss.epsilon - np.abs(table.margin)
        table.case = cases(self.cost, np.abs(self.beta), self.bound)
        table.violation = self._violations(table.case)
        return table

    def _violations(self, case: NDArray[np.int8]) -> Array:
        """By how much a sample is on the costly side of its edge: 0 on it, < 0 beyond."""
        if self.loss.one_sided:
            cost = self.edge - self.y * self.f
        else:
            residual = self.y - self.f
            towards = np.where(self.beta == 0.0, np.sign(residual), np.sign(self.beta))
            cost = towards * residual - self.loss.epsilon
        cost = cost - self.loss.curvature(self.cost) * np.abs(self.beta)
        sides = [np.abs(cost), np.maximum(0.0, -cost), np.maximum(0.0, cost)]
        return np.select([case == 1, case == 2, case == 3], sides, 0.0)


class HardMarginPart(Part):
    """That of a hard margin: no slack is paid for, and β has no bound."""

    @property
    def lost(self) -> Array:
        """0: slacks are those of rounding."""
        return np.zeros(len(self.cost))

    @property
    def bound(self) -> Array:
        """The most that |β_i| may be."""
        return np.where(self.cost > 0.0, math.inf, 0.0)

    @property
    def finite_cost(self) -> Array:
        """Σ α_j: no α_i is larger, nor of the same data without a sample."""
        return np.where(self.cost > 0.0, float(np.abs(self.beta).sum()), 0.0)


class JointPart(NamedTuple):
    """The one problem of all classes, as Crammer and Singer pose it, on its training samples.

    A sample has Σ_j α_ij ≤ C_i over the rivals j of its class y, with α_ij = −β_ij, and the margin
    f_y(x_i) − max_j f_j(x_i). `squares` has ‖w_y − w_j‖² for each pair of classes.
    """

    own: NDArray[np.intp]
    cost: Array
    beta: Array
    f: Array
    squares: Array
    solution: Solution

    @property
    def bounded(self) -> bool:
        """Whether C_i bounds the sum of the α_ij."""
        return True

    @property
    def _scores(self) -> Array:
        """1 + f_j − f_y of each rival; −∞ in place of the own class."""
        rows = np.arange(len(self.own))
        scores = 1.0 + self.f - self.f[rows, self.own][:, np.newaxis]
        scores[rows, self.own] = -math.inf
        return np.asarray(scores)

    @property
    def slack(self) -> Array:
        """ξ_i."""
        return np.asarray(np.maximum(0.0, self._scores.max(axis=1)))

    @property
    def gap(self) -> float:
        """What the samples add to the gap of f and β: a Fenchel-Young gap ≥ 0 each."""
        own = self.beta[np.arange(len(self.own)), self.own]
        return float((self.cost * self.slack - own + (self.beta * self.f).sum(axis=1)).sum())

    def table(self) -> SampleTable:
        """Return the rows of these samples."""
        rows, scores, slack = np.arange(len(self.own)), self._scores, self.slack
        table = np.recarray(len(rows), dtype=_FIELDS).view(SampleTable)
        table.sample, table.problem = rows, 0
        table.alpha, table.bound = self.beta[rows, self.own], self.cost
        rival = scores.argmax(axis=1)
        table.slack, table.margin = slack, 1.0 - scores[rows, rival]
        apart = np.sqrt(np.maximum(self.squares[self.own, rival], 0.0))
        table.distance = table.margin * np.divide(1.0, apart, where=apart > 0.0, out=0.0 * apart)
        table.case = cases(self.cost, table.alpha, self.cost * (1.0 - _ROUNDING))
        missed = np.where(self.beta < 0.0, np.abs(slack[:, np.newaxis] - scores), 0.0).max(axis=1)
        missed = np.maximum(missed, np.where(table.case == 2, 0.0, slack))
        table.violation = np.where(table.case == 0, 0.0, missed)
        return table


def cases(cost: Array, alpha: Array, bound: Array) -> NDArray[np.int8]:
    """Return which case of the KKT conditions each sample is."""
    return np.select([cost == 0.0, alpha == 0.0, alpha >= bound], [0, 3, 2], 1).astype(np.int8)
