"""Sequential minimal optimisation for kernel machines: `core/smo.hpp` makes the steps."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import maxmargin._core as _core
from maxmargin.certificate import Status
from maxmargin.kernels import Gaussian, Kernel
from maxmargin.objective import Intercept, Objective
from maxmargin.solution import Solution
from maxmargin.solvers.base import Monitor, Start, require_intercept
from maxmargin.validation import Array, Matrix, check_count, check_positive

#: Between looks at a gap that is not promising.
_STEPS_PER_LOOK = 1000

#: Restarts from residuals in float64 in a row that do not lower the gap by a tenth. Each is a step
#: of iterative refinement: what float32 gets wrong is relative to the change that it makes, and at
#: a large C the gap jumps about before it falls.
_PATIENCE = 30

#: Kernel values beyond it leave the range of float32 in sums and products.
_LARGEST = 1e30

#: Free support vectors for which a linear system costs next to nothing.
_FEW_FREE = 300

#: Kernel values whose computation in float64 is not felt.
EXACT_VALUES = 2**23


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
    """

    working_set: int = 512
    cache_size: float | None = None
    n_threads: int = 1

    name = "smo"

    def __post_init__(self) -> None:
        check_count("working_set", self.working_set - 1, advice="512 is usual, 2 the least.")
        check_count("n_threads", self.n_threads, advice="1 opens no thread.")
        if self.cache_size is not None:
            check_positive("cache_size", self.cache_size, advice="It is in megabytes.")

    def solve(self, objective: Objective, monitor: Monitor, start: Start) -> Solution:
        """Make outer steps; when the gap looks small enough, ask for the proof."""
        _require(objective)
        problem, n, form = objective.problem, objective.problem.n_samples, _Form.of(objective)
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
            row_capacity(len(form.target), self.cache_size, self.working_set),
        )
        begin = form.begin if start.beta is None else form.unfold(objective, start.beta)
        if begin.any():
            smo.start(begin, monitor.stopped)
        target = form.target[:n]
        steps, tol = 0, monitor.tol  # a start is looked at before the first step
        if start.beta is None:
            steps = monitor.iterations_left(0, _STEPS_PER_LOOK)
        least, failures = math.inf, 0
        while True:
            before = smo.outer_steps
            smo.run(tol, form.negligible, steps, monitor.stopped)
            satisfied = smo.outer_steps < before + steps  # its own estimate, in float32, was
            beta = form.fold(smo.beta)
            exact = n * np.count_nonzero(beta) <= EXACT_VALUES
            if exact:
                z = objective.kernel_values(beta)
            else:
                fresh = smo.fresh_residual(monitor.stopped)  # nothing if it was stopped
                z = target - (fresh if len(fresh) else smo.residual)[:n]
            status = monitor.judge_expansion(beta, z, smo.outer_steps)
            if status is Status.OPTIMAL and exact:
                better = polished(objective, beta, z, form)
                if better is not None:
                    values = z + objective.kernel_values(better - beta)
                    monitor.improve_expansion(better, values)
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
            smo.correct(form.target - np.tile(z, len(form.target) // n))
            steps = monitor.iterations_left(smo.outer_steps, _STEPS_PER_LOOK)
        return monitor.finish(
            self.name, status, violation=smo.violation, steps=smo.steps, rows=smo.rows_computed
        )


class KernelSamples:
    """Samples as the core's kernel tiles read them: float32, and centred for the Gaussian.

    Centring changes no distance, and saves the small ones from cancellation.
    """

    def __init__(self, kernel: Kernel | None, X: Matrix, n_threads: int = 1) -> None:
        assert kernel is not None
        self.n_threads = n_threads
        self.kernel, self.X, self.formula = kernel, X, kernel.formula()
        self.centre: Array | None = None
        if isinstance(kernel, Gaussian) and not sparse.issparse(X) and X.shape[0] > 0:
            self.centre = X.mean(axis=0, dtype=np.float64)

    def prepared(self, X: Matrix) -> tuple[Matrix, Array]:
        """Return the samples in float32 and their squared norms."""
        if sparse.issparse(X):
            X = X.astype(np.float32, copy=False)
            square = np.asarray(X.power(2).sum(axis=1), dtype=np.float32).ravel()
            return X, np.ascontiguousarray(square)
        X = X if self.centre is None else X - self.centre
        X = np.ascontiguousarray(X, dtype=np.float32)
        return X, np.einsum("ij,ij->i", X, X, dtype=np.float64).astype(np.float32)

    def rows(self) -> _core.KernelRows:
        """Return the source of kernel rows."""
        X = self.X
        if self.formula is None:
            return _core.KernelRows(self._block, X.shape[0])
        samples, square = self.prepared(X)
        if sparse.issparse(X):
            return _core.KernelRows(
                samples.data, samples.indices, samples.indptr, X.shape[1], square, self.formula
            )
        return _core.KernelRows(samples, square, self.formula, self.n_threads)

    def _block(self, index: Array) -> Array:
        return np.ascontiguousarray(self.kernel(self.X[index], self.X), dtype=np.float32)

    def predict(self, X: Matrix, coef: Array) -> Array:
        """Σ c_j k(x_j, x) of every row x of X and every row c of coef, in bounded memory.

        In float64 where that is not felt, else in float32 tiles.
        """
        values = np.zeros((X.shape[0], len(coef)))
        if self.X.shape[0] == 0:
            return values
        tiled = self.formula is not None and not sparse.issparse(self.X) and not sparse.issparse(X)
        if tiled and X.shape[0] * self.X.shape[0] > EXACT_VALUES:
            samples, square = self.prepared(X)
            self.rows().predict(samples, square, np.ascontiguousarray(coef), values)
            return values
        step = max(1, 2**22 // self.X.shape[0])
        for begin in range(0, X.shape[0], step):
            block = self.kernel(X[begin : begin + step], self.X)
            values[begin : begin + step] = block @ coef.T
        return values


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


def _poured(most: Array, mass: float) -> Array:
    """Fill one entry after the other until the mass is spent."""
    before = np.cumsum(most) - most
    return np.clip(mass - before, 0.0, most)


def polished(
    objective: Objective, beta: Array, z: Array, form: _Form | None = None
) -> Array | None:
    """Solve for the free variables exactly, where there are few: KKT conditions as equations.

    With z = Kβ and the pieces of all samples as they are, the change δ of the free variables and
    the thresholds t of their groups satisfy K_FF δ + t = target_F ∓ ε − z_F and Σ δ = 0 in each
    group. If β + δ stays in the box, it is the optimum itself; else there is nothing to return.
    """
    box, form = objective.box, form or _Form.of(objective)
    free = np.flatnonzero(objective.edge(beta))
    if not 0 < len(free) <= _FEW_FREE:
        return None
    assert objective.kernel is not None
    X, size, before = objective.problem.X[free], len(free), beta[free]
    groups = np.zeros((size, 0))
    if form.balanced:
        of_free = (before < 0.0) if form.doubled else form.group[free]
        groups = (of_free[:, np.newaxis] == np.unique(of_free)).astype(float)
    system = np.zeros((size + groups.shape[1],) * 2)
    system[:size, :size] = objective.kernel(X, X)
    system[:size, size:], system[size:, :size] = groups, groups.T
    target = form.target[free] - form.epsilon * np.sign(before)
    right = np.append(target - z[free], np.zeros(groups.shape[1]))
    after = before + np.linalg.lstsq(system, right, rcond=1e-13)[0][:size]
    inside = (after > box.lower[free]) & (after < box.upper[free])
    if not (inside & (np.sign(after) == np.sign(before))).all():
        return None
    better = beta.copy()
    better[free] = after
    return better


def row_capacity(n: int, cache_size: float | None, least: int) -> int:
    """Kernel rows that so many megabytes hold; of half the free memory if there is no limit."""
    size = 1e6 * cache_size if cache_size is not None else 0.5 * free_memory()
    return int(min(n, max(least, size // (4 * n))))


def free_memory() -> float:
    """Bytes that are free; a gigabyte where the system does not tell."""
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return 1e9


def _require(objective: Objective) -> None:
    if objective.kernel is None:
        raise ValueError("solver='smo' needs an objective with a kernel: kernel=Linear().")
    if not objective.loss.bounded or not objective.loss.regularized:
        raise ValueError(
            f"solver='smo' is for the hinge and epsilon-insensitive losses, not for"
            f" {objective.loss.name!r}."
        )
    if objective.kernel.mercer is not False:
        refuse_negative(objective.diagonal)
    refuse_huge(objective.diagonal)
    require_intercept(objective, "smo")


def refuse_negative(diagonal: Array) -> None:
    """Refuse k(x, x) < 0."""
    if not (diagonal >= 0.0).all():
        raise ValueError("The kernel is negative on its diagonal, k(x, x) < 0: it is no kernel.")


def refuse_huge(diagonal: Array) -> None:
    """Refuse values that overflow in the float32 of the kernel rows."""
    if not (np.abs(diagonal) < _LARGEST).all():
        raise ValueError(
            f"Kernel values reach {diagonal.max():.1e}, beyond what float32 can work with. Scale X"
            " (sklearn.preprocessing.StandardScaler), or lower gamma or degree."
        )
