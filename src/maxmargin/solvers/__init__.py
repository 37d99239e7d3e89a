"""The solvers: interchangeable ways to minimise one Objective."""

from __future__ import annotations

from maxmargin.solvers.base import Monitor, Solver, Start, Stopping
from maxmargin.solvers.dual_cd import DualCD
from maxmargin.solvers.newton import Newton

__all__ = ["DualCD", "Monitor", "Newton", "Solver", "Start", "Stopping"]
