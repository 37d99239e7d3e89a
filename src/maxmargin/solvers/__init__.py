"""The solvers: interchangeable ways to minimise one Objective."""

from __future__ import annotations

from maxmargin.runtime.interrupt import interruptible
from maxmargin.runtime.monitor import Monitor, Stopping
from maxmargin.solvers.auto import choose
from maxmargin.solvers.base import Solver, Start
from maxmargin.solvers.kernel.crammer_singer import ClassSMO
from maxmargin.solvers.kernel.smo import SMO
from maxmargin.solvers.linear.crammer_singer import CrammerSinger
from maxmargin.solvers.linear.dual_cd import DualCD
from maxmargin.solvers.linear.newton import Newton
from maxmargin.solvers.qp import QP
from maxmargin.solvers.stochastic.kernel_pegasos import KernelPegasos
from maxmargin.solvers.stochastic.pegasos import Pegasos
from maxmargin.solvers.stochastic.sgd import SGD

#: The solvers by name, with their default settings.
SOLVERS: dict[str, type[Solver]] = {
    solver.name: solver for solver in (DualCD, Newton, Pegasos, SGD, QP)
}

#: Those of the one problem of K classes.
JOINT_SOLVERS: dict[str, type[CrammerSinger | Pegasos | SGD]] = {
    solver.name: solver for solver in (CrammerSinger, Pegasos, SGD)
}

__all__ = [
    "JOINT_SOLVERS",
    "QP",
    "SGD",
    "SMO",
    "SOLVERS",
    "ClassSMO",
    "CrammerSinger",
    "DualCD",
    "KernelPegasos",
    "Monitor",
    "Newton",
    "Pegasos",
    "Solver",
    "Start",
    "Stopping",
    "choose",
    "interruptible",
]
