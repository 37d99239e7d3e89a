"""The scikit-learn estimators."""

from __future__ import annotations

from maxmargin.estimators._cost import CostEstimate
from maxmargin.estimators.embedded import EmbeddedSVC, EmbeddedSVR
from maxmargin.estimators.kernel import SVC
from maxmargin.estimators.kernel_regression import SVR
from maxmargin.estimators.linear import LinearSVC, LinearSVR
from maxmargin.estimators.nu import NuSVC, NuSVR
from maxmargin.estimators.one_class import OneClassSVM
from maxmargin.estimators.pegasos import PegasosClassifier

__all__ = [
    "SVC",
    "SVR",
    "CostEstimate",
    "EmbeddedSVC",
    "EmbeddedSVR",
    "LinearSVC",
    "LinearSVR",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "PegasosClassifier",
]
