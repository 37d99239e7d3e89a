"""The solvers: interchangeable ways to minimise one Objective."""

from __future__ import annotations

from maxmargin.solvers.auto import choose
from maxmargin.solvers.base import Monitor, Solver, Start, Stopping, interruptible
from maxmargin.solvers.dual_cd import DualCD
from maxmargin.solvers.newton import Newton

#: The solvers by name, with their default settings.
SOLVERS: dict[str, type[Solver]] = {solver.name: solver for solver in (DualCD, Newton)}

__all__ = [
    "SOLVERS",
    "DualCD",
    "Monitor",
    "Newton",
    "Solver",
    "Start",
    "Stopping",
    "choose",
    "interruptible",
]
