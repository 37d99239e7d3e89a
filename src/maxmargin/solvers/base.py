"""What a solver is, and where it starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from maxmargin.data.arrays import Array
from maxmargin.runtime.monitor import Monitor
from maxmargin.solution import Solution
from maxmargin.solvers.kernel.row_source import KernelSamples


class Begun(NamedTuple):
    """Dual coordinate descent under way: the first `n_active` rows of the order are active."""

    beta: Array
    w: Array
    bias_weight: float
    anchor: float
    order: NDArray[np.int32]
    n_active: int
    threshold: float
    dual: float
    epochs: int


@dataclass(frozen=True, eq=False)
class Start:
    """Where to start: a dual point and its intercept, and the seed of every random choice.

    `w` is the primal point beside it, `past` the epochs that a stochastic solver made to get there.
    `samples` are those of the problem with kernel rows that other problems share.
    `begun` is for dual coordinate descent: epochs that were made already. `state` is that of the
    last Solution.
    """

    seed: int = 0
    beta: Array | None = None
    b: Any = 0.0
    w: Array | None = None
    past: int = 1
    samples: KernelSamples | None = None
    begun: Begun | None = None
    state: Any = None


class Solver(Protocol):
    """A way to minimise an Objective."""

    name: str

    def solve(self, objective: Any, monitor: Monitor, start: Start) -> Solution:
        """Minimise an objective of a kind that it accepts, until the monitor says stop."""


class BatchSolver(Protocol):
    """A way to solve, or to begin, several problems at once."""

    def solve_many(
        self, objective: Any, group: range, starts: list[Start], monitor: Monitor
    ) -> list[Solution | Start]:
        """Return the solution of each problem of a group, or where it is to be gone on from.

        `objective` is the first of them; the solver knows by what the others differ.
        """
