"""K classes in one problem for the stochastic solvers (`core/stochastic/multiclass_rows.hpp`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

import maxmargin._core as _core
from maxmargin.certificate import Status
from maxmargin.data.arrays import Array
from maxmargin.objectives.base import Intercept, Objective, PrimalDual
from maxmargin.objectives.class_weights import coef_of, lay_out
from maxmargin.objectives.crammer_singer import CrammerSingerObjective
from maxmargin.objectives.linear import LinearObjective
from maxmargin.runtime.monitor import Monitor
from maxmargin.solvers.base import Start
from maxmargin.solvers.linear.intercept import AnyLinear
from maxmargin.solvers.stochastic.epochs import Descent, Method, bias_feature


@dataclass(frozen=True)
class Layout:
    """K classes as one vector: the weights as the core lays them out, then a bias weight each."""

    n_classes: int
    n_features: int
    by_feature: bool

    @staticmethod
    def of(objective: CrammerSingerObjective) -> Layout:
        """Return the layout that the rows of the objective need."""
        problem = objective.problem
        return Layout(objective.n_classes, problem.n_features, _core.by_feature(problem.rows))

    @property
    def size(self) -> int:
        """Length of the vector."""
        K, d = self.n_classes, self.n_features
        return d * (_core.padded(K) if self.by_feature else K) + K

    def vector(self, coef: Array, w_bias: Array) -> Array:
        """Return the weights of shape (K, d) and the bias weights as one vector."""
        return np.concatenate([lay_out(coef, by_feature=self.by_feature).ravel(), w_bias])

    def parts(self, v: Array) -> tuple[Array, Array]:
        """Return the weights, laid out, and the bias weights."""
        length = _core.padded(self.n_classes) if self.by_feature else self.n_features
        return v[: -self.n_classes].reshape(-1, length), v[-self.n_classes :]

    def coef(self, v: Array) -> Array:
        """Return the weights of shape (K, d)."""
        return coef_of(self.parts(v)[0], self.n_classes, by_feature=self.by_feature)


class ClassDescent(Descent):
    """Epochs on rows that face a rival class; the point is one vector, with its biases in it.

    They need O((n + d) K) memory, like the exact solver.
    """

    objective: CrammerSingerObjective  # type: ignore[assignment]
    rows: _core.RivalRows

    def __init__(
        self,
        objective: CrammerSingerObjective,
        batch_size: int,
        seed: int,
        *,
        uniform: bool = False,
    ) -> None:
        super().__init__(objective, batch_size, seed, uniform=uniform)  # type: ignore[arg-type]
        problem, K = objective.problem, objective.n_classes
        self.layout, self.n_biases = Layout.of(objective), K
        self.feature = bias_feature(objective)
        free = objective.intercept is Intercept.FREE
        self.anchor = objective.best_constant() if free else np.zeros(K)
        self.rows = _core.RivalRows(problem.rows, objective.labels, K, self.feature, self.anchor)
        self.dimension = self.rows.n_features
        self.tally = np.zeros((problem.n_samples, K + 1))
        self.window = _core.Window(self.tally, self.sampler.n_batches)

    @cached_property
    def bias(self) -> _core.Bias:
        """None beside those in the vector."""
        return _core.Bias(0.0, 0.0)

    def beta(self) -> Array:
        """Return the dual point: how often, of the recent visits, a row faced each class.

        The entries of the own classes, the sums of the others, are left to `feasible`.
        """
        sums, visits = self.tally[:, :-1], self.tally[:, -1:]
        return np.asarray(-sums / np.maximum(visits, 1.0))

    def judge(self, monitor: Monitor, w: Array, b: float, beta: Array) -> Status:
        """Show the monitor a point."""
        return monitor.judge(PrimalDual(*self._point(w, b), beta), self.sampler.epochs)

    def follow(self, method: Method, point: tuple[Array, float]) -> None:
        """Move the anchors to the intercepts of the point; those of the method stay."""
        w_bias = self.layout.parts(point[0])[1]
        self.anchor += self.feature * w_bias
        method.shift_biases(-w_bias)

    def primal(self, w: Array, b: float) -> float:
        """P of a point."""
        return self.objective.primal(self.layout.coef(w), self._point(w, b)[1])

    def start_point(self, start: Start) -> tuple[Array, float]:
        """Return the vector as given, or of the given dual point; else 0 and the best constant."""
        objective, free = self.objective, self.objective.intercept is Intercept.FREE
        if start.beta is None:
            return np.zeros(self.dimension), 0.0
        if free:
            self.anchor[:] = start.b
        if start.w is not None:
            penalized = objective.intercept is Intercept.PENALIZED
            w_bias = start.b / self.feature if penalized else np.zeros(self.n_biases)
            return self.layout.vector(start.w, w_bias), 0.0
        beta = objective.feasible(start.beta, objective.zero(), self.anchor)
        coef = objective.coef(objective.weights(beta))
        w_bias = np.zeros(self.n_biases) if free else self.feature * beta.sum(axis=0)
        return self.layout.vector(coef, w_bias), 0.0

    def _point(self, w: Array, b: float) -> tuple[Array, Array]:
        """Return the weights, laid out, and the intercepts."""
        W, w_bias = self.layout.parts(w)
        return W, self.anchor + self.feature * w_bias + b


#: The kinds of problem that the stochastic solvers take, each with its epochs.
_DESCENTS: dict[type[Objective], Callable[..., Descent]] = {
    LinearObjective: Descent,
    CrammerSingerObjective: ClassDescent,
}


def descent_on(
    objective: AnyLinear,
    batch_size: int,
    seed: int,
    *,
    uniform: bool = False,
) -> Descent:
    """Return the epochs on the rows of one f, or of K classes."""
    return _DESCENTS[type(objective)](objective, batch_size, seed, uniform=uniform)
