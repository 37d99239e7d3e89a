"""The problems that are solved: each kind is a class that judges its own points."""

from __future__ import annotations

import math
from typing import TypeGuard

import numpy as np

from maxmargin.certificate import Certificate
from maxmargin.data.arrays import Array
from maxmargin.objectives.base import Intercept, Objective, PrimalDual
from maxmargin.objectives.crammer_singer import CrammerSingerObjective
from maxmargin.objectives.hard_margin import HardMarginObjective
from maxmargin.objectives.kernel import KernelObjective
from maxmargin.objectives.kernel_crammer_singer import KernelCrammerSingerObjective
from maxmargin.objectives.l1 import L1Objective
from maxmargin.objectives.linear import LinearObjective
from maxmargin.objectives.nu import NuObjective
from maxmargin.objectives.origin_margin import OriginMarginObjective
from maxmargin.objectives.scalar import ScalarObjective

__all__ = [
    "CrammerSingerObjective",
    "HardMarginObjective",
    "Intercept",
    "KernelCrammerSingerObjective",
    "KernelObjective",
    "L1Objective",
    "LinearObjective",
    "NuObjective",
    "Objective",
    "OriginMarginObjective",
    "PrimalDual",
    "ScalarObjective",
    "certify",
    "is_scalar",
]


def is_scalar(thing: object) -> TypeGuard[ScalarObjective]:
    """Whether it is the objective of one function f."""
    return isinstance(thing, ScalarObjective)


def certify(objective: ScalarObjective, w: Array, b: float, beta: Array) -> Certificate:
    """Judge the primal point (w, b) by the dual point β, which is made feasible first.

    A kernel machine's w are its coefficients.
    """
    problem = objective.problem
    for name, values, length in (
        ("w", w, objective.dimension),
        ("beta", beta, problem.n_samples),
    ):
        if values.shape != (length,) or not np.isfinite(values).all():
            raise ValueError(f"{name} must be {length} finite numbers.")
    if not math.isfinite(b):
        raise ValueError(f"b must be a finite number, got {b!r}.")
    w, beta = (np.require(values, np.float64, ("C", "A")) for values in (w, beta))
    return objective.certify(PrimalDual(w, b, objective.feasible(beta)))
