"""Kernel Pegasos: the steps of Pegasos, on the rows of `core/stochastic/kernel_rows.hpp`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import maxmargin._core as _core
from maxmargin.certificate import Status
from maxmargin.data.arrays import Array, Matrix, view_rows
from maxmargin.data.problem import Problem
from maxmargin.kernels import Kernel
from maxmargin.objectives.base import Intercept, PrimalDual
from maxmargin.objectives.kernel import KernelObjective
from maxmargin.runtime.monitor import Monitor
from maxmargin.solution import Solution
from maxmargin.solvers.base import Start
from maxmargin.solvers.kernel.row_cache import check_row_settings, row_capacity
from maxmargin.solvers.kernel.row_source import KernelSamples, affords_float64
from maxmargin.solvers.kernel.value_checks import refuse_huge, refuse_negative
from maxmargin.solvers.requirements import require, require_regularized
from maxmargin.solvers.stochastic.epochs import Descent, Iterate, Method
from maxmargin.solvers.stochastic.pegasos import Pegasos
from maxmargin.solvers.stochastic.pegasos_stream import PegasosStream

#: Rows computed together, at most and at least: a tile is 6 rows high.
_MOST_ROWS, _LEAST_ROWS = 96, 6

#: Products for them in one go, so that Ctrl-C need not wait.
_WORK = 2**30


@dataclass(frozen=True)
class KernelPegasos(Pegasos):
    """Pegasos in the feature space of a kernel (Shalev-Shwartz et al., 2011, section 4).

    A step at x_i changes the coefficient c_i of f = Σ c_j k(x_j, ·) alone. The values f(x_i) are
    kept, so that only a sample that violates its margin costs a kernel row: an epoch costs at most
    n rows, and no more than the violators' once the cache holds them. The settings, the average,
    the dual point, the bound and the free intercept are those of `Pegasos`; there is no projection.

    Parameters
    ----------
    cache_size : float or None
        Megabytes for kernel rows; None: half of the memory that is free.
    n_threads : int
        Threads for kernel values.
    """

    cache_size: float | None = None
    n_threads: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_row_settings(self)
        if self.projection:
            raise ValueError(
                "projection=True is for linear problems; with a kernel the steps 1/(λt) go without."
                " Give projection=False."
            )

    def solve(self, objective: Any, monitor: Monitor, start: Start) -> Solution:
        """Descend, from a given start with the steps that come after those made before."""
        require(objective, self.name, (KernelObjective,))
        require_regularized(objective, self.name)
        _require_values(objective)
        return self._run(KernelDescent(self, objective, start.seed), monitor, start)

    def view(self, kernel: Kernel, X: Matrix, n_features: int) -> _core.KernelView:
        """Return the kernel matrix of X as rows."""
        n, d = X.shape
        together = int(np.clip(_WORK // (n * max(1, d)), _LEAST_ROWS, _MOST_ROWS))
        capacity = row_capacity(n, self.cache_size, together)
        rows = KernelSamples(kernel, X, self.n_threads).rows()
        return _core.KernelView(rows, n_features, capacity, together)


class KernelDescent(Descent):
    """Epochs on the kernel matrix: a point is (c, Kc)."""

    rows: _core.KernelView

    def __init__(self, settings: KernelPegasos, objective: KernelObjective, seed: int) -> None:
        size = settings.rows_a_step(objective.problem.n_samples)
        super().__init__(objective, size, seed, uniform=settings.sampling == "uniform")  # type: ignore[arg-type]
        self.kernel = objective.kernel
        self.dimension = 2 * objective.problem.n_samples
        self.rows = settings.view(self.kernel, objective.problem.X, self.dimension)

    def state(self, settings: Any, method: Method, schedule: Any = None) -> None:
        """Return none: the diagonal does not tell one kernel matrix from another."""

    def combine(self, beta: Array) -> Array:
        """(β, Kβ)."""
        return np.concatenate([beta, *self._values(beta)])

    def judge(self, monitor: Monitor, w: Array, b: float, beta: Array) -> Status:
        """Show the monitor a point, with kernel values that are computed again."""
        coef, beta = w[: len(beta)].copy(), self.objective.feasible(beta)
        values, dual_values = self._values(coef, beta)
        return monitor.judge(PrimalDual(coef, b, beta, values, dual_values), self.sampler.epochs)

    def _values(self, *coefs: Array) -> Array:
        """Return Kc of each c, in float64 where that is not felt, else from the float32 rows."""
        X, coef = self.objective.problem.X, np.stack(coefs)
        support = np.flatnonzero(coef.any(axis=0)).astype(np.int32)
        coef = np.ascontiguousarray(coef[:, support])
        if affords_float64(X, len(support) * X.shape[0]):
            values = KernelSamples(self.kernel, X[support]).exact(X, coef).T
            return np.ascontiguousarray(values)
        sums = np.zeros((len(coef), X.shape[0]))
        self.rows.combine(support, coef, sums)
        return sums


class KernelPegasosStream(PegasosStream):
    """Kernel Pegasos on batches that come one after the other: of each, the violators are kept.

    Memory is that of the support vectors, and of a kernel matrix of one batch. Beyond
    `max_support`, those with the shortest c_j φ(x_j) give way, which moves f the least (removal, in
    Wang, Crammer and Vucetic, 2012), the oldest first.
    """

    settings: KernelPegasos

    def __init__(
        self, kernel: Kernel, lam: float, settings: KernelPegasos, max_support: int | None,
        **options: Any,
    ) -> None:  # fmt: skip
        super().__init__(0, lam, settings, **options)
        self.kernel, self.max_support = kernel, max_support
        self.support: Matrix | None = None
        self.shares = np.zeros(0)  # what of each coefficient is in b: the squared bias feature

    def resume_at(self, support: Matrix, coef: Array, b: float, steps: int) -> None:
        """Go on from a fitted expansion as if it had been reached in so many steps."""
        self.support, self.iterate = support, Iterate(len(coef))
        self.resume(coef, b, steps)

    def objective(self, X: Matrix, y: Array, weight: Array | None = None) -> Any:
        """Return the objective of one batch: C_i = weight / (λ n)."""
        problem = Problem(X, y, self._cost(X, weight))
        objective = KernelObjective(problem, self.loss, self.intercept, kernel=self.kernel)
        _require_values(objective)
        return objective

    def step(self, X: Matrix, y: Array, weight: Array | None = None) -> None:
        """One pass over a batch, whose coefficients and values are put before those kept."""
        n, old = X.shape[0], self.iterate
        wider = Iterate(2 * n + len(old.v))
        wider.__setstate__(old.__getstate__() | {"v": wider.v, "u": wider.u})
        wider.v[2 * n :], wider.u[2 * n :] = old.v, old.u
        if self.support is not None and self.support.shape[0] > 0:
            samples = KernelSamples(self.kernel, self.support, self.settings.n_threads)
            wider.v[n : 2 * n] = samples.predict(X, old.v[np.newaxis])[:, 0]
        self.iterate = wider
        super().step(X, y, weight)
        self._keep(X)

    def _length(self) -> float:
        return 0.0  # not known, and not needed

    def _pull_back(self, X: Matrix, before: float) -> None:
        """Shorten what alone is longer than the ball's radius, and b as without a kernel."""
        del before
        core, n = self.iterate.core, X.shape[0]
        roots = np.sqrt(np.maximum(self.kernel.diagonal(X), 0.0))
        lengths = np.abs(core.scale * self.iterate.v[:n]) * roots
        shorter = np.minimum(1.0, self.radius / np.maximum(lengths, 1e-300))
        change = (shorter - 1.0) * self.iterate.v[:n]
        self.iterate.v[:n] += change
        self.iterate.u[:n] += core.mass * change
        if self.intercept is Intercept.FREE:
            core.b = float(np.clip(core.b, -self._farthest, self._farthest))

    def _rows(self, objective: Any) -> Any:
        return self.settings.view(self.kernel, objective.problem.X, len(self.iterate.v))

    def _keep(self, X: Matrix) -> None:
        """Keep the samples that have a coefficient, or the largest of them."""
        n, wider = X.shape[0], self.iterate
        rows = X if self.support is None else _stacked(self.support, X)
        v, u = (np.concatenate([part[2 * n :], part[:n]]) for part in (wider.v, wider.u))
        new = np.full(len(v) - len(self.shares), self.feature**2)
        shares = np.concatenate([self.shares, new])
        kept = np.flatnonzero((v != 0.0) | (u != 0.0))
        state = wider.__getstate__()
        if self.max_support is not None and len(kept) > self.max_support:
            kept = _merge_equal(rows, shares, kept, (v, u))
        if self.max_support is not None and len(kept) > self.max_support:
            lengths = np.abs(v[kept]) * np.sqrt(np.maximum(self.kernel.diagonal(rows[kept]), 0.0))
            order = np.argsort(lengths, kind="stable")
            gone, kept = kept[order[: -self.max_support]], np.sort(kept[order[-self.max_support :]])
            share = shares[gone]  # of b, which goes with them
            state["b"] -= float(share @ v[gone]) * state["scale"]
            state["b_sum"] -= float(share @ (state["mass"] * v[gone] - u[gone]))
        self.support, self.shares = view_rows(rows[kept])[0], shares[kept]
        self.iterate = Iterate(0)
        self.iterate.__setstate__(state | {"v": v[kept], "u": u[kept]})
        if self.intercept is Intercept.FREE:
            self.anchor = self.point()[1]


def _merge_equal(
    rows: Matrix, shares: Array, kept: NDArray[np.intp], coefs: tuple[Array, Array]
) -> NDArray[np.intp]:
    """Add the coefficients of equal rows to those of the first; return the rows to keep."""
    first: dict[tuple[bytes, ...], int] = {}
    for row in kept:
        at = first.setdefault((*_key(rows, row), shares[row].tobytes()), row)
        if at != row:
            for coef in coefs:
                coef[at], coef[row] = coef[at] + coef[row], 0.0
    return np.array(list(first.values()), dtype=np.intp)


def _key(rows: Matrix, row: int) -> tuple[bytes, ...]:
    """Return what two rows have in common if they are equal, zeros without signs."""
    if not sparse.issparse(rows):
        return ((rows[row] + 0.0).tobytes(),)
    part = slice(rows.indptr[row], rows.indptr[row + 1])
    return (rows.data[part] + 0.0).tobytes(), rows.indices[part].tobytes()


def _stacked(first: Matrix, second: Matrix) -> Matrix:
    if sparse.issparse(first) or sparse.issparse(second):
        return sparse.vstack([first, second], format="csr")
    return np.concatenate([first, second])


def _require_values(objective: KernelObjective) -> None:
    refuse_negative(objective.diagonal)
    refuse_huge(objective.diagonal)
