"""What the theory says of a fitted model: proofs, checks and bounds as numbers."""

from maxmargin.theory.model_certificate import ModelCertificate, certify
from maxmargin.theory.verification import Check, Verification, verify

__all__ = ["Check", "ModelCertificate", "Verification", "certify", "verify"]
