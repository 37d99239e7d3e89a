"""Support vector machines that are fast and prove their answer."""

from __future__ import annotations

import sklearn as _sklearn  # noqa: F401 - before SciPy: this order takes 0.2 s less

# isort: split
from maxmargin.certificate import Certificate, Status, certify
from maxmargin.data.checks import DataWarning
from maxmargin.data.problem import Problem
from maxmargin.estimators import (
    SVC,
    SVR,
    CostEstimate,
    LinearSVC,
    LinearSVR,
    NuSVC,
    NuSVR,
    OneClassSVM,
    PegasosClassifier,
)
from maxmargin.objectives.objective import Intercept, Objective
from maxmargin.solution import NotSeparableError, Solution
from maxmargin.solvers import QP, SGD, SMO, DualCD, KernelPegasos, Newton, Pegasos

__version__ = "0.1.0"

__all__ = [
    "QP",
    "SGD",
    "SMO",
    "SVC",
    "SVR",
    "Certificate",
    "CostEstimate",
    "DataWarning",
    "DualCD",
    "Intercept",
    "KernelPegasos",
    "LinearSVC",
    "LinearSVR",
    "Newton",
    "NotSeparableError",
    "NuSVC",
    "NuSVR",
    "Objective",
    "OneClassSVM",
    "Pegasos",
    "PegasosClassifier",
    "Problem",
    "Solution",
    "Status",
    "certify",
]
