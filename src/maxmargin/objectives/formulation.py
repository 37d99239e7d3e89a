"""Which kernel machine a problem is: its loss, its intercept, ν or a hard margin."""

from __future__ import annotations

from typing import NamedTuple

from maxmargin.data.arrays import Array
from maxmargin.data.problem import Problem
from maxmargin.data.targets import side_costs
from maxmargin.kernels import Kernel
from maxmargin.losses import HINGE, Loss
from maxmargin.objectives.base import Intercept
from maxmargin.objectives.hard_margin import HardMarginObjective
from maxmargin.objectives.kernel import KernelObjective
from maxmargin.objectives.nu import NuObjective
from maxmargin.objectives.origin_margin import OriginMarginObjective

#: Excess of ν that rounding may make.
_ROUNDING = 1e-12


class Formulation(NamedTuple):
    """Makes the objective of a problem.

    With `nu`, the margin or the tube is a variable; `hard` asks for y f(x) ≥ 1 throughout.
    """

    loss: Loss
    intercept: Intercept
    nu: float | None = None
    hard: bool = False

    def objective(self, problem: Problem, kernel: Kernel) -> KernelObjective:
        """Return the objective, or refuse an invalid kernel."""
        if self.hard:
            return self._hard_margin(problem, kernel)
        posed = problem, self.loss, self.intercept, kernel
        nu_sum = self.nu_sum(problem.y, problem.cost)
        objective = KernelObjective(*posed) if nu_sum is None else NuObjective(*posed, nu_sum)
        _ = objective.convex
        return objective

    def _hard_margin(self, problem: Problem, kernel: Kernel) -> KernelObjective:
        if self.intercept is Intercept.NONE:
            objective: KernelObjective = OriginMarginObjective.of(problem, kernel)
        else:
            side_costs(problem.y, problem.cost, "C=inf")
            objective = HardMarginObjective(problem, self.loss, self.intercept, kernel)
        if not objective.convex:
            raise ValueError(
                "C=inf needs a Mercer kernel: only there do distances mean a margin. Give a finite"
                " C, or a kernel without negative eigenvalues (see maxmargin.kernels.mercer_check)."
            )
        return objective

    def nu_sum(self, y: Array, cost: Array) -> float | None:
        """Return ν Σ C_i; of two classes no more than twice the cost of either."""
        if self.nu is None:
            return None
        if self._two_classes:
            sides = side_costs(y, cost, "NuSVC")
            return min(self.nu * sum(sides), 2.0 * min(sides))
        return self.nu * float(cost.sum())

    @property
    def constants_are_known(self) -> bool:
        """Whether the best constant f of a problem is known: of a hinge loss with a margin of 1."""
        return self.loss is HINGE and self.nu is None and not self.hard

    def excess(self, y: Array, cost: Array) -> float:
        """Return by how much ν exceeds the largest feasible one, as a share; its sign is y's.

        At that ν all samples of the lighter class are at their bounds, and the optimum is a ray:
        if ρ grows, and b with it for the heavier class, P stays. f/ρ is then the optimum of `SVC`
        with C = 1/ρ, for every such C: ρ is made larger by as much as ν is too large.
        """
        if self.nu is None or not self._two_classes:
            return 0.0
        up, down = side_costs(y, cost, "NuSVC")
        excess = self.nu * (up + down) / (2.0 * min(up, down)) - 1.0
        if excess <= _ROUNDING:
            return 0.0
        return excess if up > down else -excess

    @property
    def _two_classes(self) -> bool:
        return self.loss.one_sided and self.intercept is Intercept.FREE
