"""Pegasos: `core/pegasos.hpp` takes the steps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

import maxmargin._core as _core
from maxmargin.losses import HINGE, Loss
from maxmargin.objective import Intercept, Objective
from maxmargin.problem import Problem
from maxmargin.solution import Solution
from maxmargin.solvers.base import SECONDS_PER_CALL, Monitor, Start, bias_of, require
from maxmargin.solvers.stochastic import (
    Descent,
    Iterate,
    check_flag,
    curvature,
    diverged,
    stochastic_bias,
)
from maxmargin.validation import Array, Matrix, check_choice, check_count


@dataclass(frozen=True)
class Pegasos:
    """Stochastic subgradient descent with the step 1/(λt) (Shalev-Shwartz et al., 2011).

    One epoch costs one pass, and a second one over the rows that violate the margin. The point
    comes close fast; the proof, made of the same subgradients, follows at the rate 1/epochs.

    Parameters
    ----------
    sampling : {"shuffle", "uniform"}
        Epochs in a new order each, or independent draws as in the theorems. Shuffled epochs meet
        every row equally often, which makes the dual point much better.
    batch_size : int
        Rows a step.
    projection : bool
        Keep w in the ball of radius √P(0), which holds the optimum: 1/√λ for the hinge.
    averaging : {"none", "uniform", "suffix", "weighted"}
        What is returned: the last point, the mean of all, the mean since the epoch count was last
        a power of two, or the mean with the weights t.
    """

    sampling: str = "shuffle"
    batch_size: int = 1
    projection: bool = False
    averaging: str = "suffix"

    name = "pegasos"

    def __post_init__(self) -> None:
        check_choice("sampling", self.sampling, ("shuffle", "uniform"))
        check_count("batch_size", self.batch_size, advice="1 is the classic choice.")
        check_flag("projection", self.projection)
        check_choice("averaging", self.averaging, ("none", "uniform", "suffix", "weighted"))

    def solve(self, objective: Objective, monitor: Monitor, start: Start) -> Solution:
        """Descend; a given start counts as one epoch already made."""
        require(objective, self.name, regularized=True)
        uniform = self.sampling == "uniform"
        return self._run(
            Descent(objective, self.batch_size, start.seed, uniform=uniform), monitor, start
        )

    def _run(self, descent: Descent, monitor: Monitor, start: Start) -> Solution:
        objective = descent.objective
        iterate, offset = Iterate(descent.dimension), curvature(objective)
        bias = stochastic_bias(objective)
        iterate.set(*descent.start_point(start))
        if start.beta is not None:
            offset += descent.sampler.n_batches
            bias.anchor = start.b if objective.intercept is Intercept.FREE else 0.0
        method = PegasosMethod(self, objective, iterate, bias, offset)
        status = descent.run(method, monitor, start)
        steps, horizon = iterate.core.steps, descent.window.horizon
        forgotten = horizon // 2 if horizon > descent.sampler.n_batches else 0
        bound = self.bound(objective, steps, forgotten) if offset == 0.0 else math.inf
        return monitor.finish(self.name, status, steps=steps, bound=bound)

    def radius(self, objective: Objective) -> float:
        """√P(0) ≥ ‖w*‖: at the optimum ‖w‖² + Σ C_i ℓ = Σ conjugate_i(β_i) ≤ P(0)."""
        if not self.projection:
            return math.inf
        return math.sqrt(objective.primal(np.zeros(objective.problem.n_features), 0.0))

    def bound(self, objective: Objective, steps: int, forgotten: int = 0) -> float:
        """Upper bound on the expected P(w) − P* after so many steps, ∞ where there is none.

        With subgradients of P/S no longer than G it is c G²/(λT), where c is (1 + ln T)/2 for the
        mean of all points (the lecture's 2X² ln(T+1)/(λT), as G ≤ 2X), 17 (1 + ln T) for the last
        one (Shamir and Zhang, 2013), (2 + 2.5 ln(1/(1−a)))/a for the mean of the last aT (Rakhlin
        et al., 2012; the mean of all while nothing is `forgotten`), and 5 T/(T+1) for the weights
        t, by the same argument. The theorems are about independent draws, absolute losses, no free
        intercept, and a start from 0: for sampling="shuffle" the bound is a guide, not a proof.
        """
        if objective.intercept is Intercept.FREE or not objective.loss.bounded or steps == 0:
            return math.inf
        log = 1.0 + math.log(steps)
        recent = 1.0 - forgotten / steps
        factor = {
            "none": 17.0 * log,
            "uniform": 0.5 * log,
            "weighted": 5.0,
            "suffix": (2.0 - 2.5 * math.log1p(-recent)) / recent if 0 < recent < 1 else 0.5 * log,
        }[self.averaging]
        problem, bias = objective.problem, bias_of(objective, reach=0.0)
        norms = np.sqrt(objective.diagonal + bias.feature**2)
        # S G = 2 max n C_i ‖x_i‖ with S = 1/λ = Σ C_i, which also turns P/S into P.
        longest = 2.0 * problem.n_samples * float((problem.cost * norms).max())
        return factor * longest**2 / steps


class PegasosMethod:
    """An iterate and Pegasos's rule to move it."""

    def __init__(
        self,
        settings: Pegasos,
        objective: Objective,
        iterate: Iterate,
        bias: _core.Bias,
        offset: float,
    ) -> None:
        self.iterate = iterate
        self.core = _core.Pegasos(
            iterate.core,
            bias,
            objective.problem.n_samples,
            offset,
            getattr(_core.Averaging, settings.averaging),
            settings.radius(objective),
            objective.intercept is Intercept.PENALIZED,
        )

    def point(self) -> tuple[Array, float]:
        """Return the average that the settings ask for."""
        return self.iterate.average()

    def follow(self, b: float) -> None:
        """Move the anchor of a free intercept to b."""
        self.core.bias.anchor = b


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

    def __init__(  # noqa: PLR0913 - an Objective without its rows
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
        self.iterate = Iterate(n_features)
        self.seed, self.n_batches = seed, 0
        self.offset = self.anchor = 0.0
        self.feature = math.nan  # of the bias, chosen from the first batch
        self.horizon = 0

    def resume(self, w: Array, b: float, steps: int) -> None:
        """Go on from a fitted point as if it had been reached in so many steps of the stream."""
        self.iterate.set(w, b)
        self.offset, self.anchor = float(steps), b

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

    def objective(self, X: Matrix, y: Array, weight: Array | None = None) -> Objective:
        """Return the objective of one batch: C_i = weight / (λ n)."""
        problem = Problem(X, y, self._cost(X, weight))
        return Objective(problem, self.loss, self.intercept, self.intercept_scaling)

    def _cost(self, X: Matrix, weight: Array | None) -> Array:
        n = X.shape[0]
        return np.full(n, 1.0 / (self.lam * n)) if weight is None else weight / (self.lam * n)

    def _rows(self, objective: Objective) -> Any:
        """Return the rows that the steps run over."""
        return objective.problem.rows

    def step(self, X: Matrix, y: Array, weight: Array | None = None) -> None:
        """One pass over a batch; X, y and the weights as for a Problem."""
        objective = self.objective(X, y, weight)
        order, uniform = np.arange(X.shape[0], dtype=np.int32), self.settings.sampling == "uniform"
        sampler = _core.Sampler(order, self.settings.batch_size, uniform)
        if self.n_batches == 0:
            self.feature, self.horizon = stochastic_bias(objective).feature, sampler.n_batches
        self.offset = max(self.offset, curvature(objective))
        bias = _core.Bias(self.feature, self.anchor)
        method = PegasosMethod(self.settings, objective, self.iterate, bias, self.offset)
        window = _core.Window(np.zeros((0, 2)), self.horizon)
        random = _core.Random(batch_seed(self.seed, self.n_batches))
        rows = self._rows(objective)
        while sampler.epochs == 0:
            _core.descend(
                rows, objective.terms, method.core, sampler, window, random,
                1, False, SECONDS_PER_CALL,
            )  # fmt: skip
        self.n_batches += 1
        self.horizon = window.horizon
        if self.intercept is Intercept.FREE:
            self.anchor = self.point()[1]


def batch_seed(seed: int, batch: int) -> int:
    """Derive a seed for each batch, so that a stream can be stored between two of them."""
    return int(np.random.SeedSequence([seed, batch]).generate_state(1, np.uint64)[0])
