"""Support vector machines that are fast and prove their answer."""

from __future__ import annotations

from maxmargin.certificate import Certificate, Status, certify
from maxmargin.estimators import LinearSVC, LinearSVR, PegasosClassifier
from maxmargin.objective import Intercept, Objective
from maxmargin.problem import Problem
from maxmargin.solution import Solution

__version__ = "0.1.0"

__all__ = [
    "Certificate",
    "Intercept",
    "LinearSVC",
    "LinearSVR",
    "Objective",
    "PegasosClassifier",
    "Problem",
    "Solution",
    "Status",
    "certify",
]
