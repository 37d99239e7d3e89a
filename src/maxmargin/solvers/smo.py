"""Sequential minimal optimisation for kernel machines: `core/smo.hpp` makes the steps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

import maxmargin._core as _core
from maxmargin.certificate import Status
from maxmargin.objective import Intercept, Objective
from maxmargin.solution import Solution
from maxmargin.solvers.base import Monitor, Start
from maxmargin.solvers.kernel_samples import EXACT_VALUES, KernelSamples
from maxmargin.solvers.memory import free_memory
from maxmargin.validation import Array, check_count, check_positive

#: Between looks at a gap that is not promising; small problems are looked at often, because a look
#: brings a step in all free variables at once.
_STEPS_PER_LOOK, _STEPS_IF_SMALL = 1000, 20

#: Restarts from residuals in float64 in a row that do not lower the gap by a tenth. Each is a step
#: of iterative refinement: what float32 gets wrong is relative to the change that it makes, and at
#: a large C the gap jumps about before it falls.
_PATIENCE = 30

#: Kernel values beyond it leave the range of float32 in sums and products.
_LARGEST = 1e30

#: Free support vectors for which a linear system costs next to nothing.
_FEW_FREE = 300

#: Values of a caller's kernel between two looks at the clock and at Ctrl-C.
_VALUES_PER_POLL = 2**16

#: Bytes of a kernel matrix that is kept whole without a look at the memory that is free.
_SMALL = 2**26


@dataclass(frozen=True)
class SMO:
    """Two-level sequential minimal optimisation.

    Pairs of dual variables are optimised inside a working set whose kernel block fits the cache;
    kernel rows are computed in float32 tiles when they are first needed, and kept.

    Parameters
    ----------
    working_set : int
        Samples whose kernel values among each other are at hand at a time.
    cache_size : float or None
        Megabytes for kernel rows; None: half of the memory that is free.
    n_threads : int
        Threads for kernel values.
    small : int
        Up to so many dual variables there are no working sets: the whole kernel matrix is made, in
        float64. Not for kernels of unknown kind: a user's function may be slow, and is asked for
        the rows that are needed only.
    """

    working_set: int = 512
    cache_size: float | None = None
    n_threads: int = 1
    small: int = 1024

    name = "smo"

    def __post_init__(self) -> None:
        check_count("working_set", self.working_set - 1, advice="512 is usual, 2 the least.")
        check_count("n_threads", self.n_threads, advice="1 opens no thread.")
        if self.cache_size is not None:
            check_positive("cache_size", self.cache_size, advice="It is in megabytes.")

    def solve(self, objective: Objective, monitor: Monitor, start: Start) -> Solution:
        """Make outer steps; when the gap looks small enough, ask for the proof."""
        _require(objective)
        try:
            return self._solve(objective, monitor, start)
        except MemoryError as error:
            n = objective.problem.n_samples
            raise MemoryError(
                f"Out of memory with cache_size={self.cache_size}. Give fewer megabytes; at least"
                f" {min(n, self.working_set)} kernel rows of {n} samples, {4e-6 * n:.3g} MB each,"
                " are kept besides a float32 copy of X. Or fit fewer samples."
            ) from error

    def _solve(self, objective: Objective, monitor: Monitor, start: Start) -> Solution:
        problem, n, form = objective.problem, objective.problem.n_samples, _Form.of(objective)
        K = form.doubly(_whole(objective)) if self._is_small(objective, form) else None
        rows = KernelSamples(objective.kernel, problem.X, self.n_threads).rows()
        smo = _core.Smo(
            rows.twice() if form.doubled else rows,
            form.target,
            form.lower,
            form.upper,
            form.group,
            form.epsilon,
            form.balanced,
            self.working_set,
            self._capacity(len(form.target)),
            K,
        )
        begin = form.begin if start.beta is None else form.unfold(objective, start.beta)
        if begin.any():
            smo.start(begin, monitor.stopped)
        target = form.target[:n]
        steps, tol = 0, monitor.tol  # a start is looked at before the first step
        most = _STEPS_PER_LOOK if K is None else _STEPS_IF_SMALL
        if start.beta is None:
            steps = monitor.iterations_left(0, most)
        least, failures = math.inf, 0
        while True:
            before = smo.outer_steps
            smo.run(tol, form.negligible, steps, monitor.stopped)
            satisfied = smo.outer_steps < before + steps  # its own estimate, in float32, was
            variables = smo.beta
            beta = form.fold(variables)
            z = None
            if K is not None:
                z = K[:n, :n] @ beta
            elif n * np.count_nonzero(beta) <= EXACT_VALUES:
                z = _exact_values(objective, beta, monitor)
            exact = z is not None
            if z is None:
                fresh = smo.fresh_residual(monitor.stopped)  # nothing if it was stopped
                z = target - (fresh if len(fresh) else smo.residual)[:n]
            status = monitor.judge_expansion(beta, z, smo.outer_steps)
            if status is Status.OPTIMAL and exact:
                _polish(objective, form, monitor, beta, z)
            if status is not Status.RUNNING:
                break
            if satisfied:
                tol *= 0.5
                gap = monitor.history[-1].gap
                failures = 0 if gap < 0.9 * least else failures + 1
                least = min(least, gap)
                if failures >= (_PATIENCE if exact else 3):
                    status = Status.STALLED
                    break
            if exact:
                moved = _moved(objective, form, variables, z)
                z = z + objective.kernel_values(form.fold(moved) - beta)
                variables = moved
            smo.go_on(variables, form.target - np.tile(z, len(form.target) // n))
            steps = monitor.iterations_left(smo.outer_steps, most)
        return monitor.finish(
            self.name, status, violation=smo.violation, steps=smo.steps, rows=smo.rows_computed
        )

    def _is_small(self, objective: Objective, form: _Form) -> bool:
        assert objective.kernel is not None
        return len(form.target) <= self.small and objective.kernel.mercer is not None

    def _capacity(self, n: int) -> int:
        """Rows that the cache may hold: at least a working set."""
        given = self.cache_size
        if given is None and 4 * n**2 <= _SMALL:
            return n
        size = 1e6 * given if given is not None else 0.5 * free_memory()
        return int(min(n, max(self.working_set, size // (4 * n))))


@dataclass(frozen=True, eq=False)
class _Form:
    """A kernel objective as the core has it: target, box, and sums kept per group.

    A margin ρ that is a variable keeps the sum of each label's β as it is at the start, and makes
    the target 0: what is left is −½β'Kβ. A hard margin is the same problem with mass 2, the
    nearest points of the two convex hulls. A tube that is a variable splits β in its positive and
    its negative part, each a group; every sample is there twice.
    """

    target: Array
    lower: Array
    upper: Array
    group: NDArray[np.uint8]
    begin: Array
    epsilon: float = 0.0
    balanced: bool = True
    doubled: bool = False
    negligible: float = 0.0

    @classmethod
    def of(cls, objective: Objective) -> _Form:
        y, cost, box = objective.problem.y, objective.problem.cost, objective.box
        if objective.hard or (objective.mass is not None and objective.loss.one_sided):
            group = (y < 0.0).astype(np.uint8)
            most = (cost > 0.0).astype(float) if objective.hard else cost
            mass = 2.0 if objective.hard or objective.mass is None else objective.mass
            begin = np.zeros_like(y)
            for side in range(n_groups := 1 + int(group.max())):
                begin[group == side] = _poured(most[group == side], mass / n_groups)
            upper, lower = np.where(y > 0.0, most, 0.0), np.where(y < 0.0, -most, 0.0)
            negligible = 1.0 / objective.hopeless if objective.hard else objective.negligible
            return cls(np.zeros_like(y), lower, upper, group, y * begin, negligible=negligible)
        if objective.mass is not None:
            half = _poured(cost, 0.5 * objective.mass)
            zeros, ones = np.zeros_like(y), np.ones(len(y), dtype=np.uint8)
            return cls(
                np.tile(y, 2),
                np.append(zeros, -cost),
                np.append(cost, zeros),
                np.append(0 * ones, ones),
                np.append(half, -half),
                doubled=True,
            )
        return cls(
            objective.loss.target_scale * y,
            box.lower,
            box.upper,
            np.zeros(len(y), dtype=np.uint8),
            np.zeros_like(y),
            objective.loss.epsilon,
            objective.intercept is Intercept.FREE,
        )

    def doubly(self, K: Array) -> Array:
        """Return the matrix of the variables from that of the samples."""
        return np.tile(K, (2, 2)) if self.doubled else K

    def fold(self, variables: Array) -> Array:
        """Return β."""
        if not self.doubled:
            return variables
        half = len(variables) // 2
        return variables[:half] + variables[half:]

    def unfold(self, objective: Objective, beta: Array) -> Array:
        """Return the variables of a β that is made feasible; `begin` if that is of no use."""
        beta = objective.feasible(beta)
        if objective.hard:
            positive = float(beta.sum(where=beta > 0.0))
            return beta / positive if positive > 0.0 else self.begin
        if not self.doubled:
            return beta
        up, down = np.maximum(beta, 0.0), np.minimum(beta, 0.0)
        lacking = 0.5 * (objective.mass or 0.0) - float(up.sum())
        room = np.minimum(self.upper[: len(beta)] - up, down - self.lower[len(beta) :])
        both = _poured(room, min(lacking, float(room.sum())))
        return np.append(up + both, down - both)


def _whole(objective: Objective) -> Array:
    """Return K in float64, exactly symmetric."""
    assert objective.kernel is not None
    K = objective.kernel(objective.problem.X, objective.problem.X)
    return np.ascontiguousarray(0.5 * (K + K.T))


def _poured(most: Array, mass: float) -> Array:
    """Fill one entry after the other until the mass is spent."""
    before = np.cumsum(most) - most
    return np.clip(mass - before, 0.0, most)


def _exact_values(objective: Objective, beta: Array, monitor: Monitor) -> Array | None:
    """Kβ in float64; None if a caller's kernel takes so long that it is to stop first."""
    assert objective.kernel is not None
    if objective.kernel.formula() is not None:
        return objective.kernel_values(beta)
    values = np.zeros(len(beta))
    for rows, block in objective.kernel_blocks(beta, _VALUES_PER_POLL):
        values[rows] = block
        if rows.stop < len(beta) and monitor.stopped():
            return None
    return values


def _polish(objective: Objective, form: _Form, monitor: Monitor, beta: Array, z: Array) -> None:
    """Solve for the free variables exactly, where there are few: KKT conditions as equations.

    With the pieces of all samples as SMO left them, the change δ of the free variables and the
    thresholds t of their groups satisfy K_FF δ + t = target_F ∓ ε − z_F and Σ δ = 0 in each group.
    If β + δ stays in the box, it is the optimum itself.
    """
    box, edge, n = objective.box, objective.edge(beta), objective.problem.n_samples
    group: NDArray[Any] = form.group[:n]
    tries = [(edge, group)]
    if form.doubled:  # the tube may be 0: then there is one threshold, and 0 is a value like others
        tries = [(edge, beta < 0.0), ((beta > box.lower) & (beta < box.upper), group)]
    for free, group in tries:
        at = np.flatnonzero(free)
        if not 0 < len(at) <= _FEW_FREE:
            continue
        after = beta[at] + _change(objective, form, at, group[at], (beta, z))
        inside = (after > box.lower[at]) & (after < box.upper[at])
        same = np.sign(after) == np.sign(beta[at]) if free is edge else True
        if (inside & same).all():
            polished = beta.copy()
            polished[at] = after
            monitor.improve_expansion(polished, z + objective.kernel_values(polished - beta))


def _moved(objective: Objective, form: _Form, variables: Array, z: Array) -> Array:
    """Return the variables after the same change, as far as it goes inside the box.

    Where K is nearly singular, pairs crawl along the directions that such a step takes at once.
    """
    beta = form.fold(variables)
    free = np.flatnonzero(objective.edge(beta))
    if not 0 < len(free) <= _FEW_FREE:
        return variables
    negative, place = beta[free] < 0.0, free
    if form.doubled:
        place = free + len(beta) * negative
    change = _change(objective, form, free, form.group[place], (beta, z))
    at, most = variables[place], np.where(negative, 0.0, form.upper[place])
    least = np.where(negative, form.lower[place], 0.0)
    room = np.where(change > 0.0, most - at, at - least)
    with np.errstate(divide="ignore", invalid="ignore"):
        step = min(1.0, float(np.nanmin(room / np.abs(change))))
    moved = variables.copy()
    moved[place] = np.clip(at + step * change, least, most)
    return moved


def _change(
    objective: Objective,
    form: _Form,
    free: NDArray[Any],
    group: NDArray[Any],
    point: tuple[Array, Array],
) -> Array:
    """Return δ of the equations at (β, z)."""
    assert objective.kernel is not None
    X, size, (beta, z) = objective.problem.X[free], len(free), point
    thresholds = np.zeros((size, 0))
    if form.balanced:
        thresholds = (group[:, np.newaxis] == np.unique(group)).astype(float)
    system = np.zeros((size + thresholds.shape[1],) * 2)
    system[:size, :size] = objective.kernel(X, X)
    system[:size, size:], system[size:, :size] = thresholds, thresholds.T
    target = form.target[free] - form.epsilon * np.sign(beta[free])
    right = np.append(target - z[free], np.zeros(thresholds.shape[1]))
    return np.asarray(linalg.lstsq(system, right, cond=1e-13, lapack_driver="gelsy")[0][:size])


def _require(objective: Objective) -> None:
    if objective.kernel is None:
        raise ValueError("solver='smo' needs an objective with a kernel: kernel=Linear().")
    if not objective.loss.bounded or not objective.loss.regularized:
        raise ValueError(
            f"solver='smo' is for the hinge and epsilon-insensitive losses, not for"
            f" {objective.loss.name!r}."
        )
    diagonal = objective.diagonal
    if objective.kernel.mercer is not False and not (diagonal >= 0.0).all():
        raise ValueError("The kernel is negative on its diagonal, k(x, x) < 0: it is no kernel.")
    if not (np.abs(diagonal) < _LARGEST).all():
        raise ValueError(
            f"Kernel values reach {diagonal.max():.1e}, beyond what float32 can work with. Scale X"
            " (sklearn.preprocessing.StandardScaler), or lower gamma or degree."
        )
    if objective.intercept is Intercept.PENALIZED:
        raise ValueError("solver='smo' has a free intercept or none, not a penalised one.")
