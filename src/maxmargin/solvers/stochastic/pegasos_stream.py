"""Pegasos on a stream: batches that come one after the other and are not kept."""

from __future__ import annotations

import math
from copy import copy
from typing import Any

import numpy as np

import maxmargin._core as _core
from maxmargin.data.arrays import Array, Matrix
from maxmargin.data.problem import Problem
from maxmargin.losses import HINGE, Loss
from maxmargin.objectives.base import Intercept
from maxmargin.objectives.crammer_singer import CrammerSingerObjective
from maxmargin.objectives.linear import LinearObjective
from maxmargin.runtime.monitor import SECONDS_PER_CALL
from maxmargin.solvers.linear.intercept import AnyLinear
from maxmargin.solvers.stochastic.epochs import (
    Iterate,
    batch_seed,
    bias_feature,
    bias_reach,
    curvature,
    diverged,
)
from maxmargin.solvers.stochastic.multiclass_epochs import Layout
from maxmargin.solvers.stochastic.pegasos import Pegasos, PegasosMethod


class PegasosStream:
    """Pegasos on batches that come one after the other and are not kept.

    Minimises λ/2 ‖w‖² + E[weight · ℓ] for a fixed λ, one pass over each batch, with the step 1/(λt)
    going on from batch to batch. As the rows are gone, there is no dual point and no certificate of
    the whole; `certify` judges the model on any batch that is at hand.

    Parameters
    ----------
    n_features, lam : int, float
        Columns of every batch; λ.
    settings : Pegasos
        As for `Pegasos.solve`. Suffix averages restart when the number of steps has doubled.
    loss, intercept, intercept_scaling : Loss, Intercept, float
        As for an Objective.
    seed : int
        Of the order within the batches.
    """

    def __init__(  # noqa: PLR0913 - an LinearObjective without its rows
        self,
        n_features: int,
        lam: float,
        settings: Pegasos | None = None,
        loss: Loss = HINGE,
        intercept: Intercept = Intercept.FREE,
        *,
        intercept_scaling: float = 1.0,
        seed: int = 0,
    ) -> None:
        self.lam, self.settings = lam, settings or Pegasos()
        self.loss, self.intercept, self.intercept_scaling = loss, intercept, intercept_scaling
        self.iterate, self.n_sums = Iterate(n_features), 1
        self.seed, self.n_batches = seed, 0
        self.offset, self.anchor = 0.0, 0.0
        self.feature = math.nan  # of the bias, chosen from the rows so far
        self.norms = RowNorms()
        self.heaviest, self.resumed = 1.0, 0.0  # the largest mean weight so far; ‖w‖ at `resume`
        self.horizon = 0

    def __copy__(self) -> PegasosStream:
        other = object.__new__(type(self))
        other.__dict__ = self.__dict__ | {"iterate": copy(self.iterate), "norms": copy(self.norms)}
        return other

    @property
    def radius(self) -> float:
        """Of a ball that holds the optimum: ‖w*‖² ≤ E[weight]/λ, and at least 1/λ.

        It never falls: neither below that of an earlier mean weight nor below ‖w‖ at `resume`.
        """
        return max(self.resumed, math.sqrt(self.heaviest / self.lam))

    def resume(self, w: Array, b: float, steps: int) -> None:
        """Go on from a fitted point as if it had been reached in so many steps of the stream."""
        self.iterate.set(w, b)
        self.resumed = self._length()
        self.offset, self.anchor = float(steps), b if self.intercept is Intercept.FREE else 0.0

    @property
    def t(self) -> int:
        """Steps taken so far."""
        return int(self.iterate.core.steps)

    def point(self) -> tuple[Array, float]:
        """(w, b) as it stands: averaged, if the settings say so."""
        w, b = self.iterate.average()
        if diverged(w, b):
            raise FloatingPointError(
                "Pegasos diverged on this stream: the steps are too long for these data."
                " Standardise X (sklearn.preprocessing.StandardScaler), or give a larger lam."
            )
        return w, b

    def objective(self, X: Matrix, y: Array, weight: Array | None = None) -> LinearObjective:
        """Return the objective of one batch: C_i = weight / (λ n)."""
        problem = Problem(X, y, self._cost(X, weight))
        return LinearObjective(problem, self.loss, self.intercept, self.intercept_scaling)

    def _cost(self, X: Matrix, weight: Array | None) -> Array:
        n = X.shape[0]
        return np.full(n, 1.0 / (self.lam * n)) if weight is None else weight / (self.lam * n)

    def _rows(self, objective: LinearObjective) -> Any:
        """Return the rows that the steps run over."""
        return objective.problem.rows

    def _bias(self) -> _core.Bias:
        """Return the intercept as the steps move it."""
        return _core.Bias(self.feature, self.anchor)

    def _follow(self) -> None:
        """Move the anchor of a free intercept."""
        self.anchor = self.point()[1]

    def step(self, X: Matrix, y: Array, weight: Array | None = None) -> None:
        """One pass over a batch; X, y and the weights as for a Problem."""
        objective = self.objective(X, y, weight)
        order, uniform = np.arange(X.shape[0], dtype=np.int32), self.settings.sampling == "uniform"
        sampler = _core.Sampler(order, self.settings.batch_size or 1, uniform)
        if self.n_batches == 0:
            self.horizon = sampler.n_batches
        self.norms.add(objective.diagonal, objective.problem.cost * (self.lam * X.shape[0]))
        self.heaviest = max(self.heaviest, self.norms.mean_weight)
        self._set_feature(self._feature_of(objective))
        rows, offset = self._rows(objective), max(self.offset, curvature(objective))
        before = self._length()
        radius = self.radius if self.settings.projection else math.inf
        method = PegasosMethod(self.settings, objective, self.iterate, self._bias(), offset, radius)
        window = _core.Window(np.zeros((0, self.n_sums + 1)), self.horizon)
        random = _core.Random(batch_seed(self.seed, self.n_batches))
        state = _core.EpochState(sampler, window, random)
        budget = _core.EpochBudget(1, False, SECONDS_PER_CALL)
        while sampler.epochs == 0:
            _core.descend(rows, objective.terms, method.core, state, budget)
        self.n_batches += 1
        self.horizon = window.horizon
        self.point()  # raises if the steps ran away
        self._pull_back(X, before)
        if self.intercept is Intercept.FREE:
            self._follow()

    def _feature_of(self, objective: AnyLinear) -> float:
        """Return the bias feature for rows of the typical length so far; an outlier is none."""
        if self.intercept is not Intercept.FREE:
            return bias_feature(objective)
        return bias_reach(objective) * max(self.norms.typical, math.sqrt(self.lam))

    def _set_feature(self, feature: float) -> None:
        """Change the feature; the intercept stays as it is."""
        self.feature = feature

    def _length(self) -> float:
        """‖w‖ after the last step."""
        last = self.iterate.last()[0]
        return float(np.linalg.norm(last[: len(last) - self.iterate.n_biases]))

    def _pull_back(self, X: Matrix, before: float) -> None:
        """Shorten a w that the batch made longer than both the radius and ‖w‖ `before` it.

        Done with and without `projection`, which keeps every step in the ball: a row far longer
        than the others would else be felt for as many steps as it is longer. b is cut to what
        typical rows can need.
        """
        del X
        core, norm, most = self.iterate.core, self._length(), max(self.radius, before)
        if norm > most:
            self.iterate.shorten(most / norm)
        if self.intercept is Intercept.FREE:
            core.b = float(np.clip(core.b, -self._farthest, self._farthest))

    @property
    def _farthest(self) -> float:
        """No |b| beyond 1 + 4 ‖w‖‖x‖ of the longest w and a typical x."""
        return 1.0 + 4.0 * self.radius * self.norms.typical


class RowNorms:
    """The typical length of the rows so far: the median, by weight, of those other than 0.

    Counted by powers of two, so that neither the rows need be kept nor outliers matter.
    """

    def __init__(self) -> None:
        self.weights: dict[int, float] = {}
        self.total, self.n_rows = 0.0, 0

    def __copy__(self) -> RowNorms:
        other = RowNorms()
        other.weights, other.total, other.n_rows = dict(self.weights), self.total, self.n_rows
        return other

    def add(self, squares: Array, weight: Array) -> None:
        """Count the rows of a batch by their squared lengths."""
        self.total, self.n_rows = self.total + float(weight.sum()), self.n_rows + len(weight)
        used = squares > 0.0
        exponents = np.frexp(np.sqrt(squares[used]))[1]
        for exponent in np.unique(exponents):
            share = float(weight[used][exponents == exponent].sum())
            self.weights[int(exponent)] = self.weights.get(int(exponent), 0.0) + share

    @property
    def mean_weight(self) -> float:
        """Of the rows so far."""
        return self.total / max(1, self.n_rows)

    @property
    def typical(self) -> float:
        """The middle of the median's power of two; 0 if all rows were 0."""
        left = 0.5 * sum(self.weights.values())
        for exponent in sorted(self.weights):
            left -= self.weights[exponent]
            if left <= 0.0:
                return math.ldexp(0.75, exponent)
        return 0.0


class ClassPegasosStream(PegasosStream):
    """Pegasos on a stream for K classes in one problem; y numbers the classes.

    The weights stay as the last batch needed them laid out, dense or CSR.
    """

    anchor: Array  # type: ignore[assignment]

    def __init__(
        self, n_classes: int, n_features: int, lam: float, settings: Pegasos, **options: Any
    ) -> None:
        super().__init__(0, lam, settings, **options)
        self.layout, self.n_sums = Layout(n_classes, n_features, by_feature=False), n_classes
        self.iterate = Iterate(self.layout.size, n_classes)
        self.feature, self.anchor = 0.0, np.zeros(n_classes)

    def resume(self, w: Array, b: Array, steps: int) -> None:  # type: ignore[override]
        """Go on from a fitted point as if it had been reached in so many steps of the stream."""
        penalized = self.intercept is Intercept.PENALIZED
        w_bias = b / self.intercept_scaling if penalized else np.zeros_like(b)
        super().resume(self.layout.vector(w, w_bias), 0.0, steps)
        self.anchor = np.zeros_like(b) if penalized else b.copy()

    def point(self) -> tuple[Array, Array]:  # type: ignore[override]
        """Return W of shape (K, d) and b as they stand: averaged, if the settings say so."""
        v, _ = super().point()
        return self.layout.coef(v), self.anchor + self.feature * self.layout.parts(v)[1]

    def objective(  # type: ignore[override]
        self, X: Matrix, y: Array, weight: Array | None = None
    ) -> CrammerSingerObjective:
        """Return the objective of one batch: C_i = weight / (λ n)."""
        problem = Problem(X, y, self._cost(X, weight))
        return CrammerSingerObjective(
            problem, self.layout.n_classes, self.intercept, self.intercept_scaling
        )

    def _rows(self, objective: CrammerSingerObjective) -> _core.RivalRows:  # type: ignore[override]
        old, new = self.layout, Layout.of(objective)
        if new != old:
            state = self.iterate.__getstate__()
            for name in ("v", "u"):
                state[name] = new.vector(old.coef(state[name]), old.parts(state[name])[1])
            self.iterate.__setstate__(state)
            self.layout = new
        rows, labels = objective.problem.rows, objective.labels
        return _core.RivalRows(rows, labels, new.n_classes, self.feature, self.anchor)

    def _bias(self) -> _core.Bias:
        return _core.Bias(0.0, 0.0)

    def _set_feature(self, feature: float) -> None:
        if self.feature > 0.0 and feature != self.feature:
            self.iterate.scale_biases(self.feature / feature)
        self.feature = feature

    def _pull_back(self, X: Matrix, before: float) -> None:
        super()._pull_back(X, before)
        if self.intercept is Intercept.FREE:
            b = self.anchor + self.feature * self.layout.parts(self.iterate.last()[0])[1]
            self.iterate.shift_last(
                (np.clip(b, -self._farthest, self._farthest) - b) / self.feature
            )

    def _follow(self) -> None:
        _, b = self.point()
        self.iterate.shift_biases((self.anchor - b) / self.feature)
        self.anchor = b
