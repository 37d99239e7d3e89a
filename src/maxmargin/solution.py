"""Solution: what a solver hands back."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from maxmargin.certificate import Certificate, Status
from maxmargin.data.arrays import UNIT, Array
from maxmargin.losses import Loss
from maxmargin.objectives.base import NO_SHARES, Shares


class Record(NamedTuple):
    """One gap check of a fit."""

    time: float
    epoch: int
    primal: float
    dual: float
    gap: float


@dataclass(frozen=True)
class SolverInfo:
    """What a run took, and what its solver knows beside the solution; the defaults say nothing.

    Attributes
    ----------
    epochs, steps : int
        Epochs of a stochastic solver. Its steps, or the pairs that SMO optimised.
    rows : int
        Kernel rows that were computed.
    violation : float
        By how much LIBSVM's stopping rule is violated at the end, m − M.
    bound : float
        What the theory of Pegasos promises for the expected objective above the optimum.
    mistakes : int
        Mistakes of the perceptron.
    step0 : float
        The first step of SGD.
    """

    epochs: int = 0
    steps: int = 0
    rows: int = 0
    violation: float = math.nan
    bound: float = math.inf
    mistakes: int = 0
    step0: float | None = None


NOTHING_TO_TELL = SolverInfo()


@dataclass(frozen=True, eq=False)
class Solution:
    """The fitted point, its proof and how it was reached.

    `beta` is the dual point that the certificate judged: w = Σ β_i x_i up to the gap, and in
    classification β_i = α_i y_i. `loss` is the objective's, with the margin ρ or the tube ε that
    was found where that was a variable. K classes in one problem have w of shape (K, d), with a
    kernel (K, n), b of shape (K,) and β of shape (n, K). `state` is what a stochastic solver
    needs to go on from here with the same problem. `shares` are those of a ν-problem, `excess` is
    by how much the ν asked for exceeds the largest feasible one, with the sign of the heavier label
    (`NuSVC`). `distinct_rows` counts the rows where equal ones were fitted as one.
    """

    w: Array = field(repr=False)
    b: Any
    beta: Array = field(repr=False)
    loss: Loss
    certificate: Certificate
    solver: str
    n_iter: int
    mean_cost: float
    history: list[Record] = field(repr=False)
    info: SolverInfo = NOTHING_TO_TELL
    shares: Shares = NO_SHARES
    excess: float = 0.0
    distinct_rows: int | None = None
    state: Any = field(default=None, repr=False)

    def without_samples(self, *, weights: bool) -> Solution:
        """Return it without β and the solver's state, and if wanted without w."""
        nothing = np.empty(0)
        return replace(self, beta=nothing, state=None, w=self.w if weights else nothing)

    def moved(self, by: float, tol: float) -> Solution:
        """Return it with what a change of f by rounding may add to P: Σ C_i times that at most.

        A variable margin ρ that is lower by as much costs Σ |β_i| times that.
        """
        certificate, variable = (
            self.certificate,
            self.loss.one_sided and self.shares is not NO_SHARES,
        )
        rate = np.abs(self.beta).sum() if variable else self.mean_cost * len(self.beta)
        added = by * float(rate)
        if not added > UNIT * abs(certificate.primal):
            return self
        return replace(self, certificate=certificate.with_loss(added, tol))

    @property
    def status(self) -> Status:
        """Why the solver stopped."""
        return self.certificate.status


class NotSeparableError(ValueError):
    """No hard margin exists: a point of one class's convex hull all but meets one of the other's.

    A margin below a millionth of the largest distance from one of the samples counts as none: it is
    lost in rounding.

    Attributes
    ----------
    classes : tuple
        The two classes.
    distance : float
        How near the two points are, in the space of the kernel.
    witness : tuple of two arrays
        The weights of all training samples in the two points, each 0 or larger and summing to 1:
        the first over samples of the first class, the second over samples of the second.
    advice : str
        What else may help.
    """

    def __init__(
        self,
        classes: tuple[Any, Any],
        distance: float,
        witness: tuple[Array, Array],
        advice: str = "",
    ) -> None:
        super().__init__(classes, distance, witness, advice)
        self.classes, self.distance, self.witness = classes, distance, witness
        self.advice = advice

    def __str__(self) -> str:
        used = [np.count_nonzero(weights) for weights in self.witness]
        return (
            f"C=inf, but classes {self.classes[0]!r} and {self.classes[1]!r} cannot be separated,"
            f" not by a margin above {0.5 * self.distance:.2g}: a weighted mean of {used[0]}"
            f" samples of one and a weighted mean of {used[1]} of the other are"
            f" {self.distance:.2g} apart (see .witness). Give a finite C, or a kernel that can tell"
            f" them apart.{self.advice}"
        )
