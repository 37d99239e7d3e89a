"""Solution: what a solver hands back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from maxmargin.certificate import Certificate, Status
from maxmargin.losses import Loss
from maxmargin.validation import Array


class Record(NamedTuple):
    """One look at the progress of a fit."""

    time: float
    epoch: int
    primal: float
    dual: float
    gap: float


@dataclass(frozen=True, eq=False)
class Solution:
    """The fitted point, its proof and how it was reached.

    `beta` is the dual point that the certificate judged: w = Σ β_i x_i up to the gap, and in
    classification β_i = α_i y_i. `loss` is the objective's, with the margin ρ or the tube ε that was
    found where that was a variable.
    """

    w: Array = field(repr=False)
    b: float
    beta: Array = field(repr=False)
    loss: Loss
    certificate: Certificate
    solver: str
    n_iter: int
    mean_cost: float
    history: list[Record] = field(repr=False)
    notes: dict[str, float] = field(default_factory=dict)

    @property
    def status(self) -> Status:
        """Why the solver stopped."""
        return self.certificate.status
