"""What the lecture texts prove, as numbers of a fitted model: each with assumptions and source.

Functions of a fitted model and its training data. A result has a `value`, the `assumptions` under
which it means what it says, its `source`, and a `remark` where the value is vacuous here.
"""

from maxmargin.theory.leave_one_out import (
    LeaveOneOut,
    LeaveOneOutRegression,
    XiAlpha,
    leave_one_out,
    removal_bound,
    span,
    support_vector_bound,
    xi_alpha,
)
from maxmargin.theory.margins import (
    MarginBound,
    MaximumMargin,
    Novikoff,
    NuProperty,
    RadiusMargin,
    SupportVectorRisk,
    margin_bound,
    maximum_margin,
    novikoff,
    nu_property,
    radius_margin,
    support_vector_risk,
)
from maxmargin.theory.model_certificate import ModelCertificate, certify
from maxmargin.theory.pegasos import PegasosRate, pegasos_bound, pegasos_rate
from maxmargin.theory.result import Result
from maxmargin.theory.verification import Check, Verification, verify

__all__ = [
    "Check",
    "LeaveOneOut",
    "LeaveOneOutRegression",
    "MarginBound",
    "MaximumMargin",
    "ModelCertificate",
    "Novikoff",
    "NuProperty",
    "PegasosRate",
    "RadiusMargin",
    "Result",
    "SupportVectorRisk",
    "Verification",
    "XiAlpha",
    "certify",
    "leave_one_out",
    "margin_bound",
    "maximum_margin",
    "novikoff",
    "nu_property",
    "pegasos_bound",
    "pegasos_rate",
    "radius_margin",
    "removal_bound",
    "span",
    "support_vector_bound",
    "support_vector_risk",
    "verify",
    "xi_alpha",
]
