"""The solvers: interchangeable ways to minimise one Objective."""

from __future__ import annotations

from maxmargin.solvers.auto import choose
from maxmargin.solvers.base import Monitor, Solver, Start, Stopping
from maxmargin.solvers.class_smo import ClassSMO, ExpansionMonitor
from maxmargin.solvers.crammer_singer import CrammerSinger, JointMonitor
from maxmargin.solvers.dual_cd import DualCD
from maxmargin.solvers.interrupt import interruptible
from maxmargin.solvers.kernel_pegasos import KernelPegasos
from maxmargin.solvers.newton import Newton
from maxmargin.solvers.pegasos import Pegasos
from maxmargin.solvers.qp import QP
from maxmargin.solvers.sgd import SGD
from maxmargin.solvers.smo import SMO

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
    "ExpansionMonitor",
    "JointMonitor",
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
