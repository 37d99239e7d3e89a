"""The facts of a fit in one block: as text, as a dict, as HTML."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from maxmargin.certificate import Certificate, Status
from maxmargin.solvers.auto import FEW_FEATURES

#: What is minimised, by the name of the loss; ν-problems have a further variable.
_LOSS_FORMULAS = {
    "hinge": "max(0, 1 − y_i f(x_i))",
    "squared_hinge": "max(0, 1 − y_i f(x_i))²",
    "perceptron": "max(0, −y_i f(x_i))",
    "epsilon_insensitive": "max(0, |y_i − f(x_i)| − ε)",
    "squared_epsilon_insensitive": "max(0, |y_i − f(x_i)| − ε)²",
    "squared": "(y_i − f(x_i))²",
}

_SOLVERS = {
    "newton": "semismooth Newton",
    "dual_cd": "dual coordinate descent",
    "l1": "coordinate descent on the weights",
    "smo": "SMO",
    "qp": "interior point",
    "pegasos": "Pegasos",
    "sgd": "stochastic gradient descent",
}


@dataclass(frozen=True)
class Report:
    """What a fit found, proved and took.

    Attributes
    ----------
    name : str
        The estimator.
    facts : dict
        Names and values, in the order in which they are told: numbers as they are.
    warnings : tuple of str
        What is less than was asked for, or looks wrong.
    """

    name: str
    facts: dict[str, Any]
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as a new dict."""
        return {"model": self.name, **self.facts, "warnings": list(self.warnings)}

    def __str__(self) -> str:
        width = max(len(name) for name in self.facts)
        lines = [f"{name:{width}}  {_text(value)}" for name, value in self.facts.items()]
        notes = [f"warning: {warning}" for warning in self.warnings]
        return "\n".join([self.name, "-" * len(self.name), *lines, *notes])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        cell = 'style="text-align:left;padding:1px 12px 1px 0"'
        rows = "".join(
            f"<tr><th {cell}>{escape(name)}</th><td {cell}>{escape(_text(value))}</td></tr>"
            for name, value in self.facts.items()
        )
        notes = "".join(f"<p>⚠ {escape(warning)}</p>" for warning in self.warnings)
        caption = f"<caption {cell}><b>{escape(self.name)}</b></caption>"
        return f'<table style="font-size:small">{caption}{rows}</table>{notes}'


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)


class Reported:
    """An estimator that tells the facts of its fit."""

    def report(self) -> Report:
        """Return the facts of the fit: print it, take `to_dict()`, or show it in a notebook."""
        return report_of(self)

    def _html_repr(self) -> str:
        """Put the facts of the fit beside scikit-learn's diagram."""
        diagram: str = super()._html_repr()  # type: ignore[misc]
        if not hasattr(self, "solutions_"):
            return diagram
        return f"{diagram}{self.report()._repr_html_()}"


def report_of(model: Any) -> Report:
    """Return the report of a fitted model."""
    certificate: Certificate = model.certificate_
    solutions = model.solutions_
    n_samples, n_support = _n_samples(model), len(model.support_)
    facts: dict[str, Any] = {"objective": _objective(model), "samples": n_samples}
    if len(solutions) > 1:
        facts["problems"] = len(solutions)
    facts |= {
        "primal": certificate.primal,
        "dual": certificate.dual,
        "gap": certificate.gap,
        "relative gap": certificate.relative_gap,
        "proof": certificate.sentence(),
        "support vectors": n_support,
        "free, bounded": f"{certificate.n_support_free}, {certificate.n_support_bounded}",
    }
    facts |= _margins(model, certificate, n_samples)
    if _bounds_leave_one_out(model, certificate):
        facts["leave-one-out error ≤ |SV|/n"] = n_support / n_samples
    facts |= _course(model)
    return Report(type(model).__name__, facts, tuple(_warnings(model, n_support, n_samples)))


def _bounds_leave_one_out(model: Any, certificate: Certificate) -> bool:
    """Whether a fit without one of the other samples gives the same model.

    That holds at an optimum, for support vectors: not for those of an unfinished fit, or landmarks.
    """
    proven = certificate.status is Status.OPTIMAL and not _approximate(model)
    return proven and hasattr(model, "classes_")


def _approximate(model: Any) -> bool:
    """Whether f is a sum over landmarks, which have the place of support vectors."""
    return getattr(model, "landmarks", None) is not None


def _n_samples(model: Any) -> int:
    """Return the number of samples of the fit, of which a pair of classes has a part."""
    if hasattr(model, "shape_fit_"):
        return int(model.shape_fit_[0])
    members = getattr(model, "_members", None)
    if members is not None:
        return len(np.unique(np.concatenate(members)))
    return len(model.solutions_[0].beta)


def _objective(model: Any) -> str:
    """Write down what was minimised."""
    if getattr(model, "multi_class", "") == "crammer_singer":
        return "½‖W‖² + Σ C_i max_j (1[j ≠ y_i] + f_j(x_i) − f_y(x_i))"
    if model._hard():
        return "½‖w‖² with y_i f(x_i) ≥ 1 (hard margin)"
    loss = _LOSS_FORMULAS[model.solutions_[0].loss.name]
    if getattr(model, "penalty", "l2") == "l1":
        return f"‖w‖₁ + Σ C_i {loss}"
    if not model.solutions_[0].loss.regularized:
        return f"Σ C_i {loss}"
    if hasattr(model, "nu"):
        regression = hasattr(model, "epsilon_")
        loss = loss.replace("1", "ρ")
        number = "+ ν ε Σ C_i" if regression else "− ν ρ Σ c_i"
        return f"½‖w‖² {number} + Σ {'C' if regression else 'c'}_i {loss}"
    penalized = getattr(model, "penalized_intercept", False) and model.fit_intercept
    return f"½‖w‖²{' + ½ (b/s)²' if penalized else ''} + Σ C_i {loss}"


def _margins(model: Any, certificate: Certificate, n_samples: int) -> dict[str, Any]:
    """Return the width of the margin and the slacks; of a hard margin in both of its forms."""
    least = "least " if certificate.n_problems > 1 else ""
    found: dict[str, Any] = {f"{least}margin 1/‖w‖": certificate.margin}
    if model._hard() and certificate.n_problems == 1:
        found["margin γ of max γ, ‖u‖ = 1"] = 1.0 / math.sqrt(2.0 * certificate.primal)
    found["sum of slacks"] = certificate.slack_sum
    found["mean slack"] = certificate.slack_sum / (n_samples * certificate.n_problems)
    return found


def _course(model: Any) -> dict[str, Any]:
    """Return which solver was taken and why, and what it took."""
    solution = model.solutions_[0]
    last = [found.history[-1].time for found in model.solutions_ if found.history]
    return {
        "solver": f"{_SOLVERS.get(solution.solver, solution.solver)} ({_reason(model)})",
        "iterations": int(np.max(model.n_iter_)),
        "seconds": max(last, default=0.0),
        "ended": model.certificate_.status.value,
    }


def _reason(model: Any) -> str:
    """Say why this solver was taken."""
    given, name = getattr(model, "solver", "smo"), model.solutions_[0].solver
    if _approximate(model):
        return "on the features of the landmarks"
    fixed = {
        "smo": "the solver of kernel machines",
        "l1": "the solver of penalty='l1'",
        "sgd": "chosen: there is no regulariser" if given == "auto" else "as asked for",
    }
    if name in fixed:
        return fixed[name]
    if given != "auto":
        return "as asked for"
    features = model.n_features_in_
    if name == "newton":
        few = "few" if features <= FEW_FEATURES else "few beside the samples"
        return f"chosen: {features} features are {few}, so a step costs little"
    if getattr(model, "multi_class", "") == "crammer_singer":
        return "chosen: the solver of all classes in one problem"
    return f"chosen: {features} features are many, or the costs small"


def _warnings(model: Any, n_support: int, n_samples: int) -> list[str]:
    """Return what is less than was asked for, or looks wrong."""
    found = [unproven] if (unproven := model._unproven()) else []
    if n_support == n_samples > 1 and hasattr(model, "classes_") and not _approximate(model):
        narrow = ", or the kernel too narrow" if hasattr(model, "kernel") else ""
        found.append(f"every sample is a support vector: C may be too small{narrow}")
    if not any(solution.w.any() for solution in model.solutions_):
        found.append("w = 0: f is constant")
    return found
