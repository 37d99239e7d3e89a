"""Support vector machines that are fast and prove their answer."""

from __future__ import annotations

import sklearn as _sklearn  # noqa: F401 - before SciPy: this order takes 0.2 s less

# isort: split
from maxmargin.certificate import Certificate, Status
from maxmargin.data.checks import DataWarning
from maxmargin.data.problem import Problem
from maxmargin.estimators import (
    SVC,
    SVR,
    CostEstimate,
    EmbeddedSVC,
    EmbeddedSVR,
    LinearSVC,
    LinearSVR,
    NuSVC,
    NuSVR,
    OneClassSVM,
    PegasosClassifier,
)
from maxmargin.objectives import (
    CrammerSingerObjective,
    HardMarginObjective,
    Intercept,
    KernelCrammerSingerObjective,
    KernelObjective,
    L1Objective,
    LinearObjective,
    NuObjective,
    Objective,
    PrimalDual,
)
from maxmargin.solution import NotSeparableError, Solution
from maxmargin.solvers import QP, SGD, SMO, DualCD, KernelPegasos, Newton, Pegasos
from maxmargin.theory.model_certificate import ModelCertificate, certify
from maxmargin.theory.verification import Verification, verify

__version__ = "0.1.0"

__all__ = [
    "QP",
    "SGD",
    "SMO",
    "SVC",
    "SVR",
    "Certificate",
    "CostEstimate",
    "CrammerSingerObjective",
    "DataWarning",
    "DualCD",
    "EmbeddedSVC",
    "EmbeddedSVR",
    "HardMarginObjective",
    "Intercept",
    "KernelCrammerSingerObjective",
    "KernelObjective",
    "KernelPegasos",
    "L1Objective",
    "LinearObjective",
    "LinearSVC",
    "LinearSVR",
    "ModelCertificate",
    "Newton",
    "NotSeparableError",
    "NuObjective",
    "NuSVC",
    "NuSVR",
    "Objective",
    "OneClassSVM",
    "Pegasos",
    "PegasosClassifier",
    "PrimalDual",
    "Problem",
    "Solution",
    "Status",
    "Verification",
    "certify",
    "verify",
]
