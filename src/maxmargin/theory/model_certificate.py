"""The certificate of any library's model, on its own problem."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context
from typing import Any, overload

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from maxmargin import objectives
from maxmargin.certificate import Certificate, total
from maxmargin.data.arrays import Array, view_rows
from maxmargin.data.checks import check_positive
from maxmargin.data.problem import Problem
from maxmargin.estimators import LinearSVC, LinearSVR
from maxmargin.objectives import (
    CrammerSingerObjective,
    KernelCrammerSingerObjective,
    PrimalDual,
    ScalarObjective,
)
from maxmargin.theory.models import bare, liblinear, libsvm, ours, scikit
from maxmargin.theory.models.bare import Terms
from maxmargin.theory.models.wrapped import inner
from maxmargin.theory.posed import Data, Posed, PosedAbsolute, PosedJoint, rows_of

_READABLE = (
    "a fitted model of maxmargin; scikit-learn's SVC, NuSVC, SVR, NuSVR, OneClassSVM, LinearSVC,"
    " LinearSVR or SGDClassifier; what svm_train of libsvm or train of liblinear returns; a pair"
    " (w, b) with C=; or an Objective with w, b and beta"
)


@dataclass(frozen=True)
class ModelCertificate:
    """What is proven of a model's answer to its own problem.

    Attributes
    ----------
    name : str
        Whose answer it is.
    certificates : tuple of Certificate
        Of each problem that it answers: several for several classes.
    problems : tuple of str
        Which they are; "" where there is one.
    found : bool
        Whether the dual point was computed here, because the model has none.
    space : str
        Where the problem is posed: "" for the model's own, the kernel's or that of the features.
    """

    name: str
    certificates: tuple[Certificate, ...]
    problems: tuple[str, ...]
    found: bool
    space: str = ""

    @property
    def certificate(self) -> Certificate:
        """The proof: of the one problem, or of the sum of several."""
        return total(self.certificates)

    @property
    def primal(self) -> float:
        """P, the value of the objective at the model's answer."""
        return self.certificate.primal

    @property
    def dual(self) -> float:
        """D, which no answer can get below."""
        return self.certificate.dual

    @property
    def gap(self) -> float:
        """P − D."""
        return self.certificate.gap

    @property
    def relative_gap(self) -> float:
        """By which fraction of the optimum the answer is above it at most."""
        return self.certificate.relative_gap

    def sentence(self) -> str:
        """Say in words what is proven."""
        whole, where = self.certificate, f", in {self.space}" if self.space else ""
        if whole.gap == 0.0 and whole.relative_gap == 0.0:
            return f"{self.name}'s answer is optimal{where}"
        if not (whole.convex and np.isfinite(whole.relative_gap)):
            return f"{self.name}'s answer: {whole.sentence()}{where}"
        several = f", the sum of {whole.n_problems} problems" if whole.n_problems > 1 else ""
        percent = _rounded_up(100.0 * whole.relative_gap)
        return f"{self.name}'s answer is within {percent} % of the optimum{several}{where}"

    def __str__(self) -> str:
        whole = self.certificate
        point = "found by maxmargin" if self.found else "the model's own"
        lines = [
            f"primal           {whole.primal:.10g}",
            f"dual             {whole.dual:.10g} (dual point: {point})",
            f"gap              {whole.gap:.3g} (relative {whole.relative_gap:.2g})",
            f"KKT violation    {whole.kkt_violation:.2g}",
        ]
        if len(self.certificates) > 1:
            pairs = zip(self.problems, self.certificates, strict=True)
            lines += [f"  {name}: relative gap {proof.relative_gap:.2g}" for name, proof in pairs]
        return "\n".join([*lines, self.sentence()])


@overload
def certify(model: ScalarObjective, /, w: Array, b: float, beta: Array) -> Certificate: ...
@overload
def certify(
    model: object, /, X: Any, y: Any = None, sample_weight: Any = None, **options: Any
) -> ModelCertificate: ...
def certify(model: Any, /, *point: Any, **options: Any) -> Certificate | ModelCertificate:
    """Prove how far an answer is from the optimum of its problem.

    `certify(model, X, y, sample_weight=None, …)` reads the problem off the model and its training
    data. `certify(objective, w, b, beta)` judges the primal point (w, b) of an `Objective` by the
    dual point β, which is made feasible first, and returns a `Certificate`.

    Parameters
    ----------
    model : estimator, library model, (w, b) or Objective
        A fitted model of maxmargin; scikit-learn's SVC, NuSVC, SVR, NuSVR, OneClassSVM, LinearSVC,
        LinearSVR or SGDClassifier; what `svm_train` of libsvm or `train` of liblinear returns; or
        weights and intercept, a row of weights for each class. A pipeline or a search that ends in
        one of these is judged on the rows that reach it; OneVsRestClassifier and OneVsOneClassifier
        as the sum of their machines.
    X, y, sample_weight : arrays
        Those of the fit, in their order. With kernel="precomputed" X is the kernel matrix.
    class_weight : dict or None
        Factors of C by class: for (w, b), and for models of libsvm and liblinear trained with -wi,
        which they do not keep. The others know their own.
    tol : float, default=1e-6
        Relative gap to which a dual point is sought where the model has none.
    C, loss, epsilon, intercept, intercept_scaling, penalty
        What (w, b) minimise: ½‖w‖² + Σ C_i ℓ(f(x_i)), by default with the "hinge" and a "free"
        intercept; others are "squared_hinge", "epsilon_insensitive",
        "squared_epsilon_insensitive", "squared", and "penalized" or "none". With the squared hinge
        penalty="l1" has ‖w‖₁ in place of ½‖w‖².

    Returns
    -------
    ModelCertificate
        Its `sentence()` says what is proven.

    Notes
    -----
    A kernel machine's dual point is its own: β = y α from its coefficients. Where a linear model
    has weights only, the dual problem is solved here to `tol`; the certificate is of the model's
    weights all the same. Either way any β is a proof, a bad one a weak proof.
    """
    if objectives.is_scalar(model):
        return objectives.certify(model, *point, **options)
    return _certify_model(model, *point, **options)


def _certify_model(
    model: Any,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    class_weight: dict[Any, float] | None = None,
    tol: float = 1e-6,
    **terms: Any,
) -> ModelCertificate:
    tol = check_positive("tol", tol, advice="It is the relative gap of the dual point.")
    machines = inner(model, X, y, sample_weight)
    posed: list[Posed | PosedJoint] = []
    for machine in machines:
        data = Data.checked(rows_of(machine.model, machine.X), machine.y, machine.weight)
        some, name = read(machine.model, data, class_weight, terms)
        posed += [replace(one, name=machine.name or one.name) for one in some]
    found = any(problem.beta is None for problem in posed)
    certificates = [
        _joint(problem, tol) if isinstance(problem, PosedJoint) else _one(problem, tol)
        for problem in posed
    ]
    space = machines[0].space or ours.space(machines[0].model)
    names = tuple(problem.name for problem in posed)
    return ModelCertificate(name, tuple(certificates), names, found, space)


def read(
    model: Any, data: Data, class_weight: dict[Any, float] | None, terms: dict[str, Any]
) -> tuple[list[Posed] | list[PosedJoint], str]:
    """Return the problems that the model answers, and its name."""
    if bare.reads(model):
        return bare.problems(model, data, Terms(**terms), class_weight), "(w, b)"
    if terms:
        raise TypeError(
            f"certify of a model takes no {next(iter(terms))}=: the model knows its own problem."
        )
    for library in (libsvm, liblinear):
        if library.reads(model):
            return library.problems(model, data, class_weight), library.name(model)
    if class_weight is not None:
        raise TypeError("certify takes no class_weight= here: the model knows its own.")
    for package in (ours, scikit):
        if package.reads(model):
            return package.problems(model, data), package.name(model)
    raise TypeError(f"certify cannot read a {type(model).__name__}. Give {_READABLE}.")


def _one(posed: Posed, tol: float) -> Certificate:
    X, rows = view_rows(posed.X)
    objective = posed.objective(Problem(X, posed.y, posed.cost, rows))
    beta = _dual_point(posed, tol) if posed.beta is None else posed.beta
    return objectives.certify(objective, posed.w, posed.b, beta)


def _dual_point(posed: Posed, tol: float) -> Array:
    """Return the best dual point of a linear problem, to a relative gap of tol."""
    options: dict[str, Any] = {
        "loss": posed.loss.name,
        "fit_intercept": posed.intercept.value != "none",
        "penalized_intercept": posed.intercept.value == "penalized",
        "intercept_scaling": posed.scaling,
        "tol": tol,
        "random_state": 0,
    }
    if posed.loss.one_sided:
        model = LinearSVC(**options, penalty="l1" if isinstance(posed, PosedAbsolute) else "l2")
    else:
        model = LinearSVR(**options, epsilon=posed.loss.epsilon)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a weak proof says so itself
        warnings.simplefilter("ignore", UserWarning)  # scales of X: the model is theirs
        solution = model.fit(posed.X, posed.y, sample_weight=posed.cost).solution_
    return np.asarray(solution.beta)


def _joint(posed: PosedJoint, tol: float) -> Certificate:
    X, rows = view_rows(posed.X)
    problem, K = Problem(X, posed.y, posed.cost, rows), len(posed.w)
    beta = _joint_dual_point(posed, tol) if posed.beta is None else posed.beta
    if posed.kernel is not None:
        expansion = KernelCrammerSingerObjective(problem, K, posed.intercept, kernel=posed.kernel)
        if not np.array_equal(posed.w.T, beta):
            raise ValueError(
                "The model's coefficients differ from its dual point, by which they are judged."
                " Fit it again."
            )
        return expansion.certify(PrimalDual(beta.T, posed.b, beta))
    objective = CrammerSingerObjective(problem, K, posed.intercept, posed.scaling)
    w = np.ascontiguousarray(posed.w)
    beta = objective.feasible(beta, objective.lay_out(w), posed.b)
    return objective.certify(PrimalDual(w, posed.b, beta))


def _joint_dual_point(posed: PosedJoint, tol: float) -> Array:
    """Return the best dual point of the one problem of all classes."""
    model = LinearSVC(
        multi_class="crammer_singer",
        fit_intercept=posed.intercept.value != "none",
        penalized_intercept=posed.intercept.value == "penalized",
        intercept_scaling=posed.scaling,
        tol=tol,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        solution = model.fit(posed.X, posed.y, sample_weight=posed.cost).solution_
    return np.asarray(solution.beta)


def _rounded_up(value: float) -> str:
    """Return two digits of it, rounded up: what is printed is proven as well."""
    return f"{float(Context(prec=2, rounding=ROUND_CEILING).create_decimal(value)):g}"
