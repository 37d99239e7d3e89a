"""The certificate of K classes at once."""

from __future__ import annotations

import math
from functools import reduce
from operator import add

import numpy as np

from maxmargin.certificate import Certificate, refuse_intercept, tallied
from maxmargin.joint import JointExpansion, JointObjective
from maxmargin.objective import Intercept
from maxmargin.validation import Array


def certify_joint(objective: JointObjective, W: Array, b: Array, beta: Array) -> Certificate:
    """Judge the weights of K classes, laid out, and their intercepts by a feasible β.

    P(W, b) − D(β) = ½‖W − W_β‖² + Σ of brackets that are not negative (core/class_certificate.hpp).
    The KKT violation is the worst bracket in units of the margin.
    """
    refuse_intercept(objective.intercept, b)
    problem = objective.problem
    dual_W = np.zeros_like(W)
    parts = [
        objective.classes.tally(problem.rows, W, b, beta, begin, end, dual_W)
        for begin, end in problem.blocks()
    ]
    part, dual_b, slip = reduce(add, parts), objective.intercept_of(beta), _slip(objective, b, beta)
    dual = part.conjugates - objective.regularizer(dual_W, dual_b) - slip
    gap = part.brackets + objective.regularizer(W - dual_W, b - dual_b) + slip
    primal, square = objective.regularizer(W, b) + part.losses, float(np.einsum("ij,ij->", W, W))
    return tallied(part, (primal, dual, gap), square, objective.negligible)


def certify_joint_expansion(
    objective: JointExpansion,
    beta: Array,
    b: Array,
    z: Array | None = None,
    error: tuple[Array, float] | None = None,
) -> Certificate:
    """Judge f_j = Σ_i β_ij k(x_i, ·) + b_j of K classes by the feasible β itself; z = Kβ if known.

    If z has errors, they are allowed for in the gap.
    """
    refuse_intercept(objective.intercept, b)
    z = objective.kernel_values(beta) if z is None else z
    square = float(np.einsum("ij,ij->", beta, z))
    part = objective.classes.tally_values(z + b, beta)
    lost = 0.0 if error is None else objective.doubt(z + b, beta, error)
    lost += _slip(objective, b, beta)
    dual, gap = part.conjugates - 0.5 * square - lost, part.brackets + lost
    primal, convex = 0.5 * square + part.losses, objective.convex
    return tallied(part, (primal, dual, gap), square, objective.negligible, convex=convex)


def _slip(objective: JointObjective, b: Array, beta: Array) -> float:
    """Return what rounding leaves of Σ_i β_ij = 0 weakens the bound by; more than that voids it."""
    if objective.intercept is not Intercept.FREE:
        return 0.0
    left = np.abs(beta.sum(axis=0))
    balanced = float(left.max()) <= 1e-9 * float(np.abs(beta).sum())
    return float(np.abs(b - b.mean()) @ left) if balanced else math.inf
