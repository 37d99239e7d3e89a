"""Certificate: the proof that goes with every fitted model.

Each kind of problem certifies its own points (`maxmargin.objectives`), and nothing else does: the
certificate depends on nothing of the solver that found the point. It recomputes every product from
the rows, with the formulas of `core/objective/certificate.hpp`, which share nothing with those of
the solvers. There are two exceptions: the values of f of a large kernel machine come from the
solver's float32 kernel rows, summed again (docs/certificates.md), and classes that shared their
first epochs and were then stopped have their products from common passes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Literal

import maxmargin._core as _core

#: What the numbers rest on: sums in float64, or sums of float32 kernel rows whose error was found
#: on a sample and allowed for.
Evidence = Literal["float64", "sampled"]

#: Part of the primal value by which rounding may put the dual value above it.
_ROUNDING = 1e-12


class Status(Enum):
    """Why the solver stopped."""

    RUNNING = "running"
    OPTIMAL = "optimal"
    STOPPED_BY_ITERATIONS = "stopped by max_iter"
    STOPPED_BY_TIME = "stopped by max_time"
    INTERRUPTED = "interrupted"
    STALLED = "stalled at the precision of the arithmetic"
    INFEASIBLE = "infeasible: the classes cannot be separated"
    STATIONARY = "stationary, of a kernel that is not positive semidefinite"
    DIVERGED = "diverged"


@dataclass(frozen=True)
class Certificate:
    """Primal value, dual bound and what lies between them.

    Attributes
    ----------
    primal : float
        P(w, b), the value of the objective at the fitted model.
    dual : float
        D(β), a lower bound of P everywhere; P itself where rounding would put D above it.
    gap : float
        P − D ≥ 0, summed from non-negative parts, so that rounding cannot turn it negative.
    relative_gap : float
        gap / dual: the fitted objective exceeds the optimum by at most this fraction; gap / −primal
        for the objectives that are negative, infinite where neither is positive, and for a
        perceptron unless y f(x) > 0 at every sample. A gap below `Objective.negligible` is compared
        with that, if the optimum is smaller still; 0 where rounding alone tells that of a ν-machine
        from 0.
    kkt_violation : float
        Worst violation of the optimality conditions, in units of the margin.
    n_support_free, n_support_bounded : int
        Support vectors with β inside its box, and at a bound other than 0.
    margin : float
        1/‖w‖, the distance from the separator to where y f(x) = 1; of a ν-problem's solution, with
        w not yet divided by ρ.
    slack_sum : float
        Σ ξ_i, unweighted.
    status : Status
        Why the solver stopped.
    convex : bool
        False where the kernel is not positive semidefinite: then D bounds nothing.
    n_problems : int
        More than 1 for the sum of several problems.
    evidence : {"float64", "sampled"}
        What the numbers rest on: sums in float64, or sums of float32 kernel rows with an allowance
        for their error, which a sample shows.
    """

    primal: float
    dual: float
    gap: float
    relative_gap: float
    kkt_violation: float
    n_support_free: int
    n_support_bounded: int
    margin: float
    slack_sum: float
    status: Status = Status.RUNNING
    convex: bool = True
    n_problems: int = 1
    evidence: Evidence = "float64"

    def __post_init__(self) -> None:
        if self.primal < self.dual <= self.primal + _ROUNDING * abs(self.primal):
            object.__setattr__(self, "dual", self.primal)

    def with_status(self, status: Status) -> Certificate:
        """Return the same numbers under another status."""
        return replace(self, status=status)

    def with_loss(self, added: float, tol: float) -> Certificate:
        """Return that of a point whose primal value may be larger by so much."""
        gap = self.gap + added
        share, status = relative(gap, self.dual), self.status
        if status is Status.OPTIMAL and share > tol:
            status = Status.STALLED
        primal = self.primal + added
        return replace(self, primal=primal, gap=gap, relative_gap=share, status=status)

    def sentence(self) -> str:
        """Say in words what is proven."""
        if not self.convex:
            stopped = self.status in (Status.STATIONARY, Status.OPTIMAL)
            kind = "a stationary point to a gap of" if stopped else "a point with a gap of"
            return (
                f"{kind} {self.gap:.2g}; the kernel is not positive semidefinite, so nothing is"
                " proven about the optimum"
            )
        if self.primal == math.inf:
            return self._without_separator()
        if self.gap == 0.0:
            nothing = "no separator found yet: the loss is 0, but not every sample is on its side"
            return nothing if self.relative_gap > 0.0 else "objective proven optimal"
        if not math.isfinite(self.relative_gap):
            within = f" but an objective within {self.gap:.3g} of the optimum"
            return f"nothing proven yet{within if math.isfinite(self.gap) else ''}"
        if self.relative_gap * max(self.dual, -self.primal) < 0.999 * self.gap:
            return f"objective proven within {_at_most(self.gap)} of the optimum, which is nearly 0"
        proven = f"objective proven within {_at_most(100 * self.relative_gap)} % of the optimum"
        return f"{proven}, from sampled float32 sums" if self.evidence == "sampled" else proven

    def _without_separator(self) -> str:
        """Say how near the classes are, of which a hard margin has not been found."""
        found = "no separator" if self.status is Status.INFEASIBLE else "no separator found yet"
        if self.n_problems > 1:
            return f"{found} in at least one of {self.n_problems} problems"
        if not 0.0 < self.dual < math.inf:
            return found
        return f"{found}; the classes' convex hulls come within {math.sqrt(2.0 / self.dual):.2g}"

    def __str__(self) -> str:
        support = self.n_support_free + self.n_support_bounded
        return "\n".join(
            [
                f"status           {self.status.value}",
                f"primal           {self.primal:.8g}",
                f"dual             {self.dual:.8g}",
                f"gap              {self.gap:.3g} (relative {self.relative_gap:.2g})",
                f"KKT violation    {self.kkt_violation:.2g}",
                f"support vectors  {support} ({self.n_support_free} free,"
                f" {self.n_support_bounded} bounded)",
                f"margin 1/‖w‖     {self.margin:.6g}",
                f"sum of slacks    {self.slack_sum:.6g}",
                f"evidence         {self.evidence}",
                self.sentence(),
            ]
        )


def total(certificates: Sequence[Certificate]) -> Certificate:
    """Return the certificate of a sum of independent objectives, one-vs-rest for example."""
    if len(certificates) == 1:
        return certificates[0]
    gap, dual = sum(c.gap for c in certificates), sum(c.dual for c in certificates)
    dual = -math.inf if math.isnan(dual) else dual  # nothing is known of the sum of ∞ and −∞
    proven = max(c.relative_gap for c in certificates)
    of_sum = relative(gap, dual) if gap > 0.0 else math.inf
    unsolved = [c.status for c in certificates if c.status is not Status.OPTIMAL]
    return Certificate(
        primal=sum(c.primal for c in certificates),
        dual=dual,
        gap=gap,
        relative_gap=min(of_sum, proven),
        kkt_violation=max(c.kkt_violation for c in certificates),
        n_support_free=sum(c.n_support_free for c in certificates),
        n_support_bounded=sum(c.n_support_bounded for c in certificates),
        margin=min(c.margin for c in certificates),
        slack_sum=sum(c.slack_sum for c in certificates),
        convex=all(c.convex for c in certificates),
        status=unsolved[0] if unsolved else Status.OPTIMAL,
        n_problems=sum(c.n_problems for c in certificates),
        evidence="sampled" if any(c.evidence == "sampled" for c in certificates) else "float64",
    )


def _at_most(value: float) -> str:
    """Return two digits of it, rounded up: what is printed is proven as well."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    rounded = unit * math.ceil((1.0 - 1e-9) * value / unit) if unit > 0.0 else value
    return f"{rounded:.2g}"


def relative(gap: float, dual: float, negligible: float = 0.0) -> float:
    """Return the bound on (P − P*) / |P*|: gap / dual, or gap / −primal if the primal is negative.

    A gap that is negligible is compared with that.
    """
    scale = max(dual, -(dual + gap))
    scale = max(scale, negligible) if gap <= negligible else scale
    if gap == 0.0:
        return 0.0
    return gap / scale if scale > 0.0 and gap < math.inf else math.inf


def certificate_of_sums(
    part: _core.CertificateSums,
    values: tuple[float, float, float],
    square: float,
    negligible: float,
    **kind: Any,
) -> Certificate:
    """Return the certificate from what the samples add to it, P, D and P − D, and ‖w‖².

    `kind` is its status, whether it is convex, and its evidence.
    """
    primal, dual, gap = values
    return Certificate(
        primal=primal,
        dual=dual,
        gap=gap,
        relative_gap=relative(gap, dual, negligible),
        kkt_violation=part.kkt_violation,
        n_support_free=part.n_free,
        n_support_bounded=part.n_bounded,
        margin=1.0 / math.sqrt(square) if square > 0.0 else math.inf,
        slack_sum=part.slacks,
        **kind,
    )
