"""What the stochastic solvers share: epochs, gap checks and dual point."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cached_property, partial
from typing import Any, NamedTuple, Protocol

import numpy as np

import maxmargin._core as _core
from maxmargin.certificate import Status
from maxmargin.data.arrays import Array
from maxmargin.objectives.base import Intercept, PrimalDual
from maxmargin.objectives.linear import LinearObjective
from maxmargin.runtime.monitor import Monitor
from maxmargin.solvers.base import Start
from maxmargin.solvers.linear.intercept import AnyLinear, best_constant, bias_of

#: A point that has run away is seen by `diverged`, without NumPy's warnings before.
_OVERFLOW_ALLOWED = partial(np.errstate, over="ignore", invalid="ignore")

#: A free intercept's feature in units of a typical row, for each f that a step changes: it adds
#: little to the noise of the steps. That of K classes must be longer, as the best b is not known
#: from the values of f. Measured: with 0.25 the gap left after 256 epochs is up to 100 times that
#: of 0.5; 1 is noisier.
_REACH = 0.25

_NUMBERS = ("scale", "mass", "total", "b", "b_sum", "steps")


class Method(Protocol):
    """A solver's point, and the rule of the core that moves it."""

    core: Any

    @property
    def steps(self) -> int:
        """Number of steps so far."""

    def point(self) -> tuple[Array, float]:
        """(w, b) to be shown: an average, or the last one."""

    def follow(self, b: float) -> None:
        """Move the anchor of a free intercept to b."""

    def shift_biases(self, amount: Array) -> None:
        """Add to the bias weights of K classes, at the present point and in the average."""

    def state(self) -> dict[str, Any]:
        """Return a copy of the point, its average, the memory of past steps and their number."""

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from such a copy."""


class State(NamedTuple):
    """A descent at the end of a fit: a warm start of the same problem goes on from it.

    `key` says which problem, rows and settings it belongs to.
    """

    key: tuple[Any, ...]
    schedule: Any
    method: dict[str, Any]
    anchor: Array
    tally: Array
    horizon: int
    steps: int


class Iterate:
    """w = scale · v; the sum of its past is mass · v − u (core/stochastic/averaged_iterate.hpp).

    With K classes, the last `n_biases` = K entries are the bias weights.
    """

    def __init__(self, n_features: int, n_biases: int = 0) -> None:
        self.v, self.u, self.n_biases = np.zeros(n_features), np.zeros(n_features), n_biases
        self.core = _core.Iterate(self.v, self.u, n_biases)

    def __getstate__(self) -> dict[str, Any]:
        arrays = {"v": self.v, "u": self.u, "n_biases": self.n_biases}
        return {name: getattr(self.core, name) for name in _NUMBERS} | arrays

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.v, self.u = np.array(state["v"]), np.array(state["u"])  # a memory map may be read-only
        self.n_biases = state["n_biases"]
        self.core = _core.Iterate(self.v, self.u, self.n_biases)
        for name in _NUMBERS:
            setattr(self.core, name, state[name])

    def copied(self) -> dict[str, Any]:
        """Return its state, to be changed by nobody."""
        return self.__getstate__() | {"v": self.v.copy(), "u": self.u.copy()}

    def restore(self, state: dict[str, Any]) -> None:
        """Take over such a state; the core's iterate stays the same one."""
        self.v[:], self.u[:] = state["v"], state["u"]
        for name in _NUMBERS:
            setattr(self.core, name, state[name])

    def set(self, w: Array, b: float) -> None:
        """Start from another point than 0."""
        self.v[:] = w
        self.core.b = b

    def shift_biases(self, amount: Array) -> None:
        """Add to the bias weights, at the present point and in the average."""
        core, change = self.core, amount / self.core.scale
        self.v[-self.n_biases :] += change
        self.u[-self.n_biases :] += core.mass * change - core.total * amount

    def scale_biases(self, factor: float) -> None:
        """Multiply the bias weights, at the present point and in the average."""
        for part in (self.v, self.u):
            part[len(part) - self.n_biases :] *= factor

    def shift_last(self, amount: Array) -> None:
        """Add to the bias weights at the present point alone."""
        change = amount / self.core.scale
        self.v[-self.n_biases :] += change
        self.u[-self.n_biases :] += self.core.mass * change

    def shorten(self, factor: float) -> None:
        """Multiply w, without its bias weights, at the present point alone."""
        inside = slice(0, len(self.v) - self.n_biases)
        change = (factor - 1.0) * self.v[inside]
        self.v[inside] += change
        self.u[inside] += self.core.mass * change

    def last(self) -> tuple[Array, float]:
        """Return the point after the last step."""
        with _OVERFLOW_ALLOWED():
            return self.core.scale * self.v, self.core.b

    def average(self) -> tuple[Array, float]:
        """Return the average of the points that were recorded; the last one if none was."""
        core = self.core
        if core.total == 0.0:
            return self.last()
        with _OVERFLOW_ALLOWED():
            return (core.mass * self.v - self.u) / core.total, core.b_sum / core.total


class IterateMethod:
    """A method that moves an `Iterate`; `core` is its rule."""

    iterate: Iterate
    core: Any

    @property
    def bias(self) -> _core.Bias:
        """The intercept as the rule moves it."""
        bias: _core.Bias = self.core.bias
        return bias

    @property
    def steps(self) -> int:
        """Number of steps so far."""
        return int(self.iterate.core.steps)

    def state(self) -> dict[str, Any]:
        """Return a copy of the iterate and of the anchor."""
        return self.iterate.copied() | {"anchor": self.bias.anchor}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from such a copy."""
        self.iterate.restore(state)
        self.bias.anchor = state["anchor"]

    def follow(self, b: float) -> None:
        """Move the anchor of a free intercept to b."""
        self.bias.anchor = b

    def shift_biases(self, amount: Array) -> None:
        """Add to the bias weights of K classes, at the present point and in the average."""
        self.iterate.shift_biases(amount)


class Descent:
    """Epochs of a method on an objective, checked after 1, 2, 3, 4, 6, 8, 12, … of them.

    The gap checks fall where the window of the dual point is about to start afresh, or half full.
    """

    rows: _core.Rows | _core.RivalRows | _core.KernelView

    def __init__(
        self, objective: LinearObjective, batch_size: int, seed: int, *, uniform: bool = False
    ) -> None:
        n = objective.problem.n_samples
        self.objective = objective
        self.rows, self.dimension = objective.problem.rows, objective.problem.n_features
        self.n_biases, self.anchor = 0, np.zeros(0)
        self.random = _core.Random(seed)
        self.order = np.arange(n, dtype=np.int32)
        self.sampler = _core.Sampler(self.order, batch_size, uniform)
        self.tally = np.zeros((n, 2))
        self.window = _core.Window(self.tally, self.sampler.n_batches)

    @cached_property
    def bias(self) -> _core.Bias:
        """The intercept as the method moves it."""
        return stochastic_bias(self.objective)

    def state(self, settings: Any, method: Method, schedule: Any = None) -> State | None:
        """Return where the descent is, unless it ran away."""
        if diverged(*method.point()):
            return None
        kept, steps = method.state(), method.steps
        horizon, key = int(self.window.horizon), problem_key(self.objective, settings)
        return State(key, schedule, kept, self.anchor.copy(), self.tally.copy(), horizon, steps)

    def restore(self, state: State, method: Method, seed: int) -> None:
        """Go on from there, with rows in an order that was not used before."""
        method.restore(state.method)
        self.anchor[:], self.tally[:] = state.anchor, state.tally
        self.window = _core.Window(self.tally, state.horizon)
        self.random = _core.Random(batch_seed(seed, state.steps))

    def resume(self, start: Start) -> int:
        """Go on after the epochs before the start, if it is one; return the steps made in them.

        The dual point counts as the mean of their recent half.
        """
        if start.beta is None:
            return 0
        steps = start.past * int(self.sampler.n_batches)
        self.window = _core.Window(self.tally, 2 * steps)
        if start.beta.ndim == 1:
            visits = max(1.0, 0.5 * start.past)
            self.tally[:, 0], self.tally[:, 1] = visits * start.beta, visits
        return steps

    def beta(self) -> Array:
        """Return the dual point: the mean subgradient at the recent visits to each row."""
        total, visits = self.tally.T
        beta = np.divide(total, visits, out=np.zeros_like(total), where=visits > 0.0)
        if self.objective.loss.bounded:  # a bound, met at every visit, is not missed by rounding
            for bound in (self.objective.box.lower, self.objective.box.upper):
                np.copyto(beta, bound, where=np.abs(beta - bound) <= 1e-12 * np.abs(bound))
        return beta

    def descend(self, method: Method, monitor: Monitor, epoch: int) -> Status:
        """Go on to the end of that epoch, or to where the monitor or a perceptron stops."""
        objective, sampler = self.objective, self.sampler
        status, until_clean = Status.RUNNING, not objective.loss.regularized
        state = _core.EpochState(sampler, self.window, self.random)
        while status is Status.RUNNING and sampler.epochs < epoch:
            epochs = monitor.iterations_left(sampler.epochs, epoch - sampler.epochs)
            budget = _core.EpochBudget(epochs, until_clean, monitor.seconds_left)
            _core.descend(self.rows, objective.terms, method.core, state, budget)
            status = monitor.halted(sampler.epochs)
            if until_clean and sampler.cursor == 0 and self.window.epoch_mistakes == 0:
                break
        return status

    def run(
        self, method: Method, monitor: Monitor, start: Start, state: State | None = None
    ) -> Status:
        """Descend until the monitor is content, from the state if there is one."""
        objective, checks, status = self.objective, _epochs_of_checks(), Status.RUNNING
        if objective.loss.regularized:  # w = 0 costs a perceptron nothing, and is no answer
            w, b = self.start_point(start)
            beta = self.beta() if start.beta is None else start.beta
            status = self.judge(monitor, w, b, beta)
        if state is not None:
            self.restore(state, method, start.seed)
        before: tuple[Array, float] | None = None
        while status is Status.RUNNING:
            self.descend(method, monitor, next(checks))
            w, b = method.point()
            if diverged(w, b):
                if not monitor.history:  # a perceptron that ran away at once
                    self.judge(monitor, *self.start_point(start), self.beta())
                return Status.DIVERGED
            status = self.judge(monitor, w, b, self.beta())
            if status is Status.RUNNING and before and self._at_rest(before, (w, b)):
                return Status.STALLED
            before = w, b
            if objective.intercept is Intercept.FREE:
                self.follow(method, (w, b))
        return status

    def _at_rest(self, before: tuple[Array, float], now: tuple[Array, float]) -> bool:
        """Whether a perceptron no longer moves, though a sample is not proven to be on its side."""
        clean = not self.objective.loss.regularized and self.window.epoch_mistakes == 0
        return clean and before[1] == now[1] and np.array_equal(before[0], now[0])

    def follow(self, method: Method, point: tuple[Array, float]) -> None:
        """Move the anchor of a free intercept to that of the point."""
        method.follow(point[1])

    def primal(self, w: Array, b: float) -> float:
        """P of a point."""
        return self.objective.primal(w, b)

    def judge(self, monitor: Monitor, w: Array, b: float, beta: Array) -> Status:
        """Show the monitor a point."""
        return monitor.judge(PrimalDual(w.copy(), b, beta), self.sampler.epochs)

    def start_point(self, start: Start) -> tuple[Array, float]:
        """(w, b) as given, or of the given dual point; if there is none, 0 and the best constant.

        A free intercept is anchored there.
        """
        objective = self.objective
        if start.beta is None:
            return np.zeros(self.dimension), self.bias.anchor
        free = objective.intercept is Intercept.FREE
        if free:
            self.bias.anchor = start.b
        if start.w is not None:
            return start.w, start.b if objective.intercept is not Intercept.NONE else 0.0
        beta = objective.feasible(start.beta)
        return self.combine(beta), start.b if free else objective.intercept_of(beta)

    def combine(self, beta: Array) -> Array:
        """Return w = Σ β_i x_i."""
        return self.objective.problem.combine(beta)


def problem_key(objective: AnyLinear, settings: Any) -> tuple[Any, ...]:
    """Tell one problem with its settings from another: rows by their lengths."""
    problem, digest = objective.problem, hashlib.blake2b()
    for values in (problem.y, problem.cost, objective.diagonal):
        digest.update(np.asarray(values, dtype=np.float64).tobytes())
    kind, shape = type(objective), (problem.n_samples, problem.n_features)
    intercept = objective.intercept, objective.intercept_scaling
    return (settings, kind, shape, objective.loss, *intercept, digest.digest())


def known_state(start: Start, objective: AnyLinear, settings: Any) -> State | None:
    """Return the state of the start, if it belongs to this problem and these settings."""
    state = start.state
    if not isinstance(state, State) or start.beta is None:
        return None
    return state if state.key == problem_key(objective, settings) else None


def batch_seed(seed: int, batch: int) -> int:
    """Derive a seed for each part of a run, so that the run can be stored between two of them."""
    return int(np.random.SeedSequence([seed, batch]).generate_state(1, np.uint64)[0])


def _epochs_of_checks() -> Iterator[int]:
    yield 1
    power = 2
    while True:
        yield power
        yield power + power // 2
        power *= 2


def diverged(w: Array, b: float) -> bool:
    """Whether the steps were too long for these data."""
    return not max(float(np.max(np.abs(w), initial=0.0)), abs(b)) < 1e100


def bias_feature(objective: AnyLinear) -> float:
    """Return the constant feature whose weights the intercepts are."""
    return float(bias_of(objective, bias_reach(objective)).feature)


def bias_reach(objective: AnyLinear) -> float:
    """Return the length of a free intercept's feature in units of a typical row."""
    return _REACH * objective.functions_per_term


def stochastic_bias(objective: LinearObjective) -> _core.Bias:
    """Return the intercept as a feature, and its anchor: steps from 0 might take for ever to b."""
    bias = _core.Bias(bias_feature(objective), 0.0)
    if objective.intercept is Intercept.FREE and objective.loss.regularized:
        bias.anchor = best_constant(objective)
    return bias


def row_squares(objective: AnyLinear) -> Array:
    """Return the squared length of the rows that the steps add, the bias feature included.

    With K classes a row is added to one class and taken from another.
    """
    squares = objective.diagonal + bias_feature(objective) ** 2
    return np.asarray(objective.functions_per_term * squares)


def curvature(objective: AnyLinear) -> float:
    """L/λ: the largest curvature of one row's term in units of the regulariser's, 0 if bounded.

    A step along the gradient of a squared loss must not be longer than 1/L, else it grows.
    """
    if objective.loss.bounded:
        return 0.0
    problem = objective.problem
    return 2.0 * problem.n_samples * float((problem.cost * row_squares(objective)).max())
