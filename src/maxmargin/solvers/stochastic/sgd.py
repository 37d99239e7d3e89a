"""Stochastic gradient descent: `core/stochastic/sgd.hpp` takes the steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import maxmargin._core as _core
from maxmargin.certificate import Status
from maxmargin.data.arrays import Array
from maxmargin.data.checks import as_floats, check_choice, check_count, check_flag
from maxmargin.data.problem import Problem
from maxmargin.objectives.crammer_singer import CrammerSingerObjective
from maxmargin.objectives.linear import LinearObjective
from maxmargin.runtime.monitor import Monitor
from maxmargin.solution import Solution, SolverInfo
from maxmargin.solvers.base import Start
from maxmargin.solvers.linear.intercept import AnyLinear
from maxmargin.solvers.requirements import require
from maxmargin.solvers.stochastic.epochs import (
    Descent,
    Iterate,
    IterateMethod,
    curvature,
    diverged,
    known_state,
    row_squares,
)
from maxmargin.solvers.stochastic.multiclass_epochs import descent_on
from maxmargin.solvers.stochastic.schedules import (
    SCHEDULES,
    Constant,
    Decay,
    InverseSqrt,
    InverseTime,
    Schedule,
    check_below,
)

RULES = ("plain", "momentum", "nesterov", "adagrad", "rmsprop", "adam")

#: Rows on which the length of the first step is tried out.
_TRIAL_ROWS = 2**13
_MOST_TRIALS = 10

#: A step that goes nowhere, in units of the first one tried.
_AT_REST = 1e-12


@dataclass(frozen=True)
class SGD:
    """Stochastic (sub)gradient descent on P/S = λ/2 ‖w‖² + weighted mean loss, λ = 1/S = 1/Σ C_i.

    The perceptron is the case without regulariser, with step 1: w moves only at mistakes, and the
    solver stops after an epoch without any.

    Parameters
    ----------
    schedule : Schedule or {"auto", "inverse_time", "decay", "constant", "inverse_sqrt"}
        Step sizes (`schedules.py`). "auto": "decay" for plain steps, "constant" for AdaGrad, which
        has a decay of its own, and for the perceptron, "inverse_sqrt" for the other rules.
    rule : {"plain", "momentum", "nesterov", "adagrad", "rmsprop", "adam"}
        Plain steps cost O(stored values of the row). The other rules change every weight at every
        step, so their mini-batches are larger by default.
    batch_size : int or None
        Rows a step. None: 1 for plain steps, 32 for the others.
    averaging : bool
        Return the mean of the points since the epoch count was last a power of two, not the last.
    momentum : float
        Share of the past in the direction of "momentum", "nesterov" and "adam".
    """

    schedule: Schedule | str = "auto"
    rule: str = "plain"
    batch_size: int | None = None
    averaging: bool = True
    momentum: float = 0.9

    name = "sgd"

    def __post_init__(self) -> None:
        check_choice("rule", self.rule, RULES)
        check_flag("averaging", self.averaging)
        as_floats(self, "momentum")
        check_below("momentum", self.momentum, 1.0, advice="0.9 is usual, 0 forgets the past.")
        if self.batch_size is not None:
            check_count("batch_size", self.batch_size, advice="None chooses it for the rule.")
        if not isinstance(self.schedule, Schedule):
            check_choice("schedule", self.schedule, ("auto", *SCHEDULES))

    def solve(self, objective: AnyLinear, monitor: Monitor, start: Start) -> Solution:
        """Choose the first step, if it was left open, and descend from the given start."""
        require(objective, self.name, (LinearObjective, CrammerSingerObjective))
        state = known_state(start, objective, self)
        schedule = state.schedule if state else self.steps(objective, monitor, start.seed)
        descent = self._descent(objective, start.seed)
        point = descent.start_point(start)
        method = self._method(descent, schedule)
        method.set(*point)
        if isinstance(method, _Plain):  # others have a memory, which the start has not
            method.iterate.core.steps = descent.resume(start)
        status = descent.run(method, monitor, start, state)
        info = SolverInfo(
            steps=method.steps,
            epochs=method.steps // descent.sampler.n_batches,
            mistakes=descent.window.mistakes,
            step0=schedule.step0,
        )
        solution = monitor.finish(self.name, status, info)
        return replace(solution, state=descent.state(self, method, schedule))

    def steps(self, objective: AnyLinear, monitor: Monitor, seed: int) -> Schedule:
        """Return the schedule without open ends; the first step is found by trial (Bottou, 2012).

        One epoch on a sample of the rows, with shorter and shorter or longer and longer steps as
        long as that helps. The start, 1/‖x‖² of a typical row, can about settle a row in one step.
        """
        schedule = self._schedule(objective)
        if isinstance(schedule, InverseTime) and schedule.t0 is None:
            return replace(schedule, t0=curvature(objective))
        if schedule.step0 is not None or isinstance(schedule, InverseTime):
            return schedule
        if not objective.loss.regularized:
            return replace(schedule, step0=1.0)
        trial = _sample(objective, seed)

        def cost(step0: float) -> float:
            return self._trial(trial, monitor, replace(schedule, step0=step0), seed)

        if self._adaptive:
            return replace(schedule, step0=_lowest(cost, 0.05))
        square = float(np.average(row_squares(objective), weights=objective.problem.cost))
        step0 = _lowest(cost, 1.0 / square if square > 0.0 else 1.0)
        if (steepest := curvature(objective)) > 0.0:  # the sample may have missed the longest rows
            step0 = min(step0, float(objective.problem.cost.sum()) / steepest)
        return replace(schedule, step0=step0)

    @property
    def _adaptive(self) -> bool:
        """Whether the rule divides the gradient by its own size."""
        return self.rule in ("adagrad", "rmsprop", "adam")

    def _schedule(self, objective: AnyLinear) -> Schedule:
        if isinstance(self.schedule, Schedule):
            return self.schedule
        if self.schedule != "auto":
            return SCHEDULES[self.schedule]()
        if self.rule == "adagrad" or not objective.loss.regularized:
            return Constant()
        return Decay() if self.rule == "plain" else InverseSqrt()

    def _trial(
        self,
        trial: AnyLinear,
        monitor: Monitor,
        schedule: Schedule,
        seed: int,
    ) -> float:
        """P after one epoch; NaN, never the lower one, once the fit is to end."""
        if monitor.halted(0) is not Status.RUNNING:
            return math.nan
        descent = self._descent(trial, seed)
        method = self._method(descent, schedule)
        descent.descend(method, monitor, 1)
        w, b = method.point()
        return math.inf if diverged(w, b) else descent.primal(w, b)

    def _descent(self, objective: AnyLinear, seed: int) -> Descent:
        usual = 1 if self.rule == "plain" else 32
        return descent_on(objective, usual if self.batch_size is None else self.batch_size, seed)

    def _method(self, descent: Descent, schedule: Schedule) -> _Plain | _Dense:
        objective = descent.objective
        total = float(objective.problem.cost.sum())
        lam = 1.0 / total if objective.loss.regularized else 0.0
        per_row = objective.problem.n_samples / total
        problem = _core.SgdProblem(lam, per_row, schedule.core(lam), descent.bias)
        averaging = self.averaging and objective.loss.regularized
        if self.rule == "plain":
            iterate = Iterate(descent.dimension, descent.n_biases)
            return _Plain(iterate, problem, averaging=averaging)
        memory = np.zeros((5, descent.dimension + 1))
        decay = 0.9 if self.rule == "rmsprop" else 0.999
        core = _core.DenseSgd(
            memory, problem, getattr(_core.Update, self.rule), self.momentum, decay
        )
        return _Dense(memory, core, descent.n_biases, averaging=averaging)


def _sample(objective: AnyLinear, seed: int) -> AnyLinear:
    """Return the objective on some of the rows, their costs raised to stand for all.

    If none of them has weight, it is that of all.
    """
    problem, size = objective.problem, _TRIAL_ROWS
    n = problem.n_samples
    if n <= size:
        return objective
    rows = np.sort(np.random.default_rng(seed).choice(n, size, replace=False))
    if not problem.cost[rows].any():
        return objective
    sample = Problem(problem.X[rows], problem.y[rows], problem.cost[rows] * (n / size))
    return replace(objective, problem=sample)


def _lowest(cost: Callable[[float], float], start: float, factor: float = 4.0) -> float:
    """Find a local minimum of cost among start × factor^k; of near equals the smaller one.

    The cost is that of a short run, and short steps are the better ones in the long run. Equals are
    near beside what the run gains, which is little where there is little to learn.
    """
    best, lowest, at_rest = start, cost(start), cost(_AT_REST * start)
    for _ in range(_MOST_TRIALS):
        near = min(0.02 * lowest, 0.2 * max(0.0, at_rest - lowest))
        if not (value := cost(best / factor)) <= lowest + near:
            break
        best, lowest = best / factor, min(value, lowest)
    if best != start:
        return best if lowest < at_rest else start  # a short run tells nothing
    for _ in range(_MOST_TRIALS):
        if not (value := cost(best * factor)) < 0.98 * lowest:
            break
        best, lowest = best * factor, value
    return best


class _Plain(IterateMethod):
    """An iterate that costs O(stored values of the row) a step."""

    core: _core.PlainSgd

    def __init__(self, iterate: Iterate, problem: _core.SgdProblem, *, averaging: bool) -> None:
        self.iterate, self.averaging = iterate, averaging
        self.iterate.core.b = problem.bias.anchor
        self.core = _core.PlainSgd(self.iterate.core, problem)

    @property
    def bias(self) -> _core.Bias:
        return self.core.problem.bias

    def set(self, w: Array, b: float) -> None:
        self.iterate.set(w, b)

    def point(self) -> tuple[Array, float]:
        return self.iterate.average() if self.averaging else self.iterate.last()


class _Dense:
    """An iterate with a memory of past gradients.

    The last entry is the weight of the bias; those of K classes come before it.
    """

    def __init__(
        self, memory: Array, core: _core.DenseSgd, n_biases: int, *, averaging: bool
    ) -> None:
        self.memory, self.core, self.n_biases = memory, core, n_biases
        self.averaging = averaging

    @property
    def steps(self) -> int:
        return int(self.core.steps)

    @property
    def bias(self) -> _core.Bias:
        return self.core.problem.bias

    def set(self, w: Array, b: float) -> None:
        self.memory[0, :-1] = w
        if b != self.bias.anchor:
            self.memory[0, -1] = (b - self.bias.anchor) / self.bias.feature

    def point(self) -> tuple[Array, float]:
        w = self.memory[1 if self.averaging and self.core.averaged else 0]
        return w[:-1].copy(), float(self.bias.anchor + self.bias.feature * w[-1])

    def state(self) -> dict[str, Any]:
        numbers = {"steps": self.steps, "averaged": self.core.averaged}
        return numbers | {"memory": self.memory.copy(), "anchor": self.bias.anchor}

    def restore(self, state: dict[str, Any]) -> None:
        self.memory[:], self.bias.anchor = state["memory"], state["anchor"]
        self.core.steps, self.core.averaged = state["steps"], state["averaged"]

    def follow(self, b: float) -> None:
        """Move the anchor, and the bias weights so that b itself stays."""
        self.memory[:2, -1] -= (b - self.bias.anchor) / self.bias.feature
        self.bias.anchor = b

    def shift_biases(self, amount: Array) -> None:
        self.memory[:2, -1 - self.n_biases : -1] += amount
