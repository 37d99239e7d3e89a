"""The exact solution of a machine among the samples that may be support vectors."""

from __future__ import annotations

from functools import cached_property

import numpy as np

import maxmargin._core as _core
from maxmargin.data.arrays import Array
from maxmargin.runtime.memory import free_memory
from maxmargin.theory.machine import VALUES_PER_BLOCK, Indices, Machine

#: Relative gap to which the machine itself is solved again, and the rounding of sums that counts.
FINE, _ROUNDING = 1e-11, 1e-13

#: By how much y f may fall short of 1 at a sample that is no column.
VIOLATED = 1e-9

#: Relative gap up to which the point of the fit counts as the optimum.
_TIGHT = 1e-8

#: Most outer steps of the machine itself.
_STEPS = 100_000

#: Samples beside the support vectors that may become some, at least.
_FEW = 20


class Optimum:
    """A machine solved to the last digits, with the kernel values of some samples with all.

    These samples, the columns, are the support vectors and those that are nearest to being some;
    the others keep β = 0. `values` has k(x, x_j) of all samples with each column; `beta`, `y`,
    `cost`, `lower` and `upper` are of the columns, `z` and `f` of all samples, and `free` has the
    places of free support vectors among the columns.
    """

    def __init__(self, machine: Machine, *, everyone: bool = False) -> None:
        self.machine, loss = machine, machine.part.loss
        self.signed, self.epsilon = loss.one_sided, loss.epsilon
        support = machine.support
        away = np.flatnonzero((machine.alpha == 0.0) & (machine.cost > 0.0))
        n_more = len(away) if everyone else len(support) // 2 + _FEW
        near = machine.y * machine.f if self.signed else -np.abs(machine.y - machine.f)
        nobody = np.zeros(0, dtype=np.intp)
        self.columns, self.values = nobody, np.empty((machine.n, 0))
        self.beta = np.empty(0)
        self.widen(np.concatenate([support, away[np.argsort(near[away])[:n_more]]]))
        self.beta = machine.part.beta[self.columns]
        self._solve()
        while len(missed := self._missed()):
            self.widen(missed)
            self._solve()
        f, beta = self.f[:, np.newaxis], self.beta[:, np.newaxis]
        self.gap = float(self.gaps(nobody, f, beta)[0])

    def _missed(self) -> Indices:
        """Return the samples that should be columns: their β = 0 is not the optimum."""
        slack = self.slacks(self.f[:, np.newaxis])[:, 0]
        violated = (slack > VIOLATED) & (self.machine.cost > 0.0)
        violated[self.columns] = False
        return np.flatnonzero(violated)

    def slacks(self, f: Array) -> Array:
        """ξ_i of every sample, at each column of values f."""
        y = self.machine.y[:, np.newaxis]
        if self.signed:
            return np.maximum(0.0, 1.0 - y * f)
        return np.maximum(0.0, np.abs(y - f) - self.epsilon)

    def widen(self, more: Indices) -> None:
        """Let these samples be columns as well, with β = 0."""
        machine, columns = self.machine, np.append(self.columns, more)
        needed = 8.0 * len(columns) * (machine.n + 3.0 * len(columns))
        if needed > free_memory():
            raise MemoryError(
                f"Leaving out each of {machine.n} samples with {len(machine.support)} support"
                f" vectors needs {needed / 1e9:.1f} GB. Use theory.xi_alpha, or fewer samples."
            )
        values = np.empty((machine.n, len(columns)))
        values[:, : len(self.columns)] = self.values
        for rows in machine.blocks(len(more)):
            values[rows, len(self.columns) :] = machine.gram(rows, more)
        self.columns, self.values = columns, values
        self.beta = np.append(self.beta, np.zeros(len(more)))
        self.cost, self.curvature = machine.cost[columns], machine.curvature[columns]
        self.y, K = machine.y[columns], values[columns]
        self.K = 0.5 * (K + K.T)
        self.K[np.diag_indices_from(self.K)] += self.curvature
        reach = self._reach()
        self.upper = np.where(self.y > 0.0, reach, 0.0) if self.signed else reach
        self.lower = np.where(self.y < 0.0, -reach, 0.0) if self.signed else -reach

    @property
    def miss(self) -> Array:
        """By how much f misses the targets of the columns, less what a squared loss allows for."""
        return np.asarray(self.y - self.f[self.columns] - self.curvature * self.beta)

    def _reach(self) -> Array:
        """Return the most that |β| may be; of a squared loss more than it can be.

        There |β| = 2 C ξ, and C ξ² is no more than the losses of a constant f.
        """
        if self.machine.part.loss.bounded:
            return np.asarray(self.cost)
        used, y, cost = self.cost > 0.0, self.machine.y, self.machine.cost
        level = 0.0
        if self.machine.free and not self.signed:
            level = float(cost @ y) / float(cost.sum())
        losses = float(cost @ self.slacks(np.full((len(y), 1), level))[:, 0] ** 2)
        return np.asarray(4.0 * used * np.sqrt(self.cost * losses))

    def _solve(self) -> None:
        """Solve the machine to the last digits: samples that are no columns keep β = 0."""
        bounds = self.lower[np.newaxis], self.upper[np.newaxis]
        smo = _core.DenseSmo(self.K, self.y, *bounds, self.epsilon, self.machine.free, 0.0)
        smo.start(self.beta[np.newaxis])
        smo.run(FINE, 0.0, _STEPS, never)
        self.beta = np.asarray(smo.beta).ravel()
        self.z = self.values @ self.beta
        found = self.z[self.columns] + self.curvature * self.beta
        self.free = np.flatnonzero(self.inside(self.beta[:, np.newaxis])[:, 0])
        miss = self.y - found
        self.b = float(self.intercepts(miss[:, np.newaxis], self.beta[:, np.newaxis])[0])
        self.f = self.z + self.b
        tube = self.epsilon * float(np.abs(self.beta).sum())
        self.dual = float(self.y @ self.beta - 0.5 * self.beta @ found) - tube

    def everywhere(self) -> Array | float:
        """F of all samples of the model, where this problem has only some of them."""
        machine, used = self.machine, np.flatnonzero(self.beta)
        n = machine.everyone.shape[0]
        if n == machine.n:
            return 0.0
        f, basis = np.empty(n), machine.X[self.columns[used]]
        step = max(1, VALUES_PER_BLOCK // max(1, len(used)))
        for begin in range(0, n, step):
            rows = slice(begin, begin + step)
            K = machine.kernel(machine.everyone[rows], basis) + machine.constant
            f[rows] = K @ self.beta[used] + self.b
        return f

    def inside(self, beta: Array) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Which coefficients of columns of β are free."""
        lower, upper = self.lower[:, np.newaxis], self.upper[:, np.newaxis]
        return np.asarray((beta > lower) & (beta < upper) & (beta != 0.0))

    @cached_property
    def longest(self) -> float:
        """Return max k(x, x)."""
        return float(self.machine.diagonal.max())

    def intercepts(self, miss: Array, beta: Array, left_out: Indices | None = None) -> Array:
        """Return b of each column: the mean of y − Kβ on the edge, or amid what is allowed.

        Each column may be without one sample, at β = 0: that does not count in it.
        """
        if not self.machine.free:
            return np.zeros(beta.shape[1])
        inside = self.inside(beta)
        edge = inside.any(axis=1)
        count = np.maximum(inside.sum(axis=0), 1)
        missed = miss[edge] - self.epsilon * np.sign(beta[edge])
        b = (missed * inside[edge]).sum(axis=0) / count
        none = ~inside.any(axis=0)
        if none.any():
            without = None if left_out is None else left_out[none]
            b[none] = self._middles(miss[:, none], beta[:, none], without)
        return np.asarray(b)

    def _middles(self, miss: Array, beta: Array, left_out: Indices | None) -> Array:
        """Return the middle of the intercepts that are as good as each other."""
        lower, upper = self.lower[:, np.newaxis], self.upper[:, np.newaxis]
        rising = miss - self.epsilon * np.where(beta >= 0.0, 1.0, -1.0)
        falling = miss - self.epsilon * np.where(beta > 0.0, 1.0, -1.0)
        can_rise, can_fall = beta < upper, beta > lower
        if left_out is not None:
            own = left_out, np.arange(len(left_out))
            can_rise[own] = can_fall[own] = False
        least = np.where(can_rise, rising, -np.inf).max(axis=0)
        most = np.where(can_fall, falling, np.inf).min(axis=0)
        least, most = (
            np.where(np.isfinite(least), least, most),
            np.where(np.isfinite(most), most, least),
        )
        return np.asarray(0.5 * (least + most))

    def gaps(self, samples: Indices, f: Array, beta: Array) -> Array:
        """P − D of each point, without its sample if there is one: Fenchel-Young gaps."""
        machine, cost = self.machine, self.machine.cost
        slack = self.slacks(f)
        loss = slack if machine.part.loss.bounded else slack**2
        values = cost @ loss
        if len(samples):
            at = self.columns[samples]
            values -= cost[at] * loss[at, np.arange(f.shape[1])]
        size = np.abs(beta)
        pull = beta * (self.y[:, np.newaxis] - f[self.columns]) - self.epsilon * size
        pull -= 0.5 * self.curvature[:, np.newaxis] * beta**2
        sizes = values + np.abs(pull).sum(axis=0)
        return np.asarray(np.maximum(values - pull.sum(axis=0), 0.0) + _ROUNDING * sizes)


def exact_point(machine: Machine) -> tuple[Array, Array, str]:
    """Return α and ξ of the exact optimum, and a remark where they are those of the fit.

    Theorems about support vectors are about the optimum's: a loose fit may have fewer.
    """
    gap = machine.part.solution.certificate.relative_gap
    if gap <= _TIGHT:
        return machine.alpha, machine.slack, ""
    try:
        optimum = Optimum(machine)
    except MemoryError:
        return (
            machine.alpha,
            machine.slack,
            (
                f"It is of the fit's support vectors, which is within {100.0 * gap:.2g} % of the"
                " optimum: the optimum may have others."
            ),
        )
    alpha = np.zeros(machine.n)
    alpha[optimum.columns] = np.abs(optimum.beta)
    return alpha, optimum.slacks(optimum.f[:, np.newaxis])[:, 0], ""


def never() -> bool:
    """Refits are short; Ctrl-C is heard as this is called."""
    return False
