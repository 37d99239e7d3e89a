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

    def objective(
        self, problem: Problem, kernel: Kernel, convex: bool | None = None
    ) -> KernelObjective:
        """Return the objective, or refuse an invalid kernel.

        Whether it is `convex` may be known from another objective of these samples.
        """
        objective = self._made(problem, kernel)
        if convex is not None:
            objective.__dict__["convex"] = convex
        if not objective.convex and self.hard:
            raise ValueError(
                "C=inf needs a Mercer kernel: only there do distances mean a margin. Give a finite"
                " C, or a kernel without negative eigenvalues (see maxmargin.kernels.mercer_check)."
            )
        return objective

    def _made(self, problem: Problem, kernel: Kernel) -> KernelObjective:
        if not self.hard:
            posed = problem, self.loss, self.intercept, kernel
            nu_sum = self.nu_sum(problem.y, problem.cost)
            return KernelObjective(*posed) if nu_sum is None else NuObjective(*posed, nu_sum)
        if self.intercept is Intercept.NONE:
            return OriginMarginObjective.of(problem, kernel)
        side_costs(problem.y, problem.cost, "C=inf")
        return HardMarginObjective(problem, self.loss, self.intercept, kernel)

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
        """Whether a problem left without time has an answer: the best constant f; 0 for ν."""
        return self.loss is HINGE and not self.hard

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
