"""NuSVC and NuSVR: ν in place of C or ε."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from maxmargin.certificate import Certificate, Status
from maxmargin.data.arrays import Array
from maxmargin.data.targets import ONE_LEFT, relative_costs
from maxmargin.estimators._docstrings import EXPANSION, KERNEL, LIMITS, PROOF, entries
from maxmargin.estimators._nu import NuShares, check_nu
from maxmargin.estimators._posed import Posed
from maxmargin.estimators._warn import warn
from maxmargin.estimators.kernel import SVC
from maxmargin.estimators.kernel_regression import SVR
from maxmargin.losses import EPSILON_INSENSITIVE, HINGE
from maxmargin.objectives.base import Intercept
from maxmargin.objectives.formulation import Formulation
from maxmargin.objectives.nu import SHORT
from maxmargin.runtime.progress import Progress
from maxmargin.solution import Solution
from maxmargin.solvers.kernel.batch_smo import Task

_ROUNDING = 1e-12
_LOWER_NU = "Lower nu, or give class_weight='balanced'."


class NuSVC(SVC):  # noqa: D101 - the docstring is composed
    __doc__ = f"""Kernel classifier whose share of margin errors is bounded by ν.

    Minimises ½‖w‖² − ρ ν Σ c_i + Σ c_i max(0, ρ − y_i f(x_i)) over w, b and the margin ρ, with
    c_i the sample weights (Schölkopf et al., Neural Computation 2000). The fitted f is divided by
    ρ, and is then that of `SVC` with C = `equivalent_C_`. Parameters and fitted attributes are
    those of `sklearn.svm.NuSVC`, with the differences named at `SVC`.

    Parameters
    ----------
    nu : float, default=0.5
        Upper bound on the share of margin errors, lower bound on that of support vectors; at most
        twice the share of the smaller class. If class weights leave that class less, a larger ν
        goes on from there, with a warning: as the `SVC` whose C is smaller in proportion.
    {KERNEL}
    {entries("shrinking probability tol cache_size class_weight")}
    {LIMITS}
    {entries("decision_function_shape break_ties n_jobs")}
    random_state : int, RandomState or None, default=None
        Accepted for scikit-learn's sake: the fit is deterministic.
    {entries("verbose")}

    Attributes
    ----------
    equivalent_C_ : float or array
        1/ρ: the C with which `SVC` has the same optimum; one entry for each pair of classes.
    margin_errors_, support_fraction_ : float or array
        Shares of samples within the margin, and of support vectors: ν lies between them, or the
        largest feasible one if class weights make it infeasible.
    {EXPANSION}
    {entries("classes_ class_weight_")}
    {PROOF}
    {entries("slack_ probA_ probB_")}

    Notes
    -----
    `certificate_` is that of the problem in w, b and ρ with a feasible ν, before f is divided by ρ.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from maxmargin import NuSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = NuSVC(nu=0.1).fit(scale(X), y)
    >>> bool(model.margin_errors_ <= 0.1 <= model.support_fraction_)
    True
    """

    solver, fit_intercept, multi_class = "smo", True, "ovo"
    _weigh_more = "lower nu"
    _one_left = f"specified nu is infeasible. {ONE_LEFT}"

    def __init__(
        self,
        *,
        nu: float = 0.5,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: bool | str = "deprecated",
        tol: float = 1e-3,
        cache_size: float | None = None,
        class_weight: dict[Any, float] | str | None = None,
        max_iter: int | None = -1,
        max_time: float | None = None,
        warm_start: bool = False,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.max_time = max_time
        self.warm_start = warm_start
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _hard(self) -> bool:
        return False

    def _sample_costs(self, X: Any, sample_weight: Any) -> Array:
        check_nu(self.nu)
        return relative_costs(X, sample_weight)

    def _formulation(self) -> Formulation:
        return Formulation(HINGE, Intercept.FREE, nu=check_nu(self.nu))

    def _infeasible(self, excesses: Sequence[float]) -> str:
        """Say which two classes leave ν the least room; nothing if all leave enough."""
        worst = int(np.abs(excesses).argmax())
        if excesses[worst] == 0.0:
            return ""
        one, other = list(itertools.combinations(self.classes_.tolist(), 2))[worst]
        most = check_nu(self.nu) / (1.0 + abs(excesses[worst]))
        return (
            f"specified nu is infeasible for classes {one!r} and {other!r}: both must supply half"
            f" of nu={self.nu:g}, and the smaller one has a share of {0.5 * most:.4g}, so that nu"
            f" can be at most {most:.4g}"
        )

    def _solve(self, posed: Posed, tasks: list[Task], *, pairs: bool = False) -> Progress:
        """Solve; where class weights ask for too large a ν, go on from the largest, and say so."""
        formulation = self._formulation()
        excesses = [formulation.excess(y, cost) for _, y, cost in tasks]
        infeasible = self._infeasible(excesses)
        if infeasible and self.class_weight is None:
            raise ValueError(f"{infeasible}. {_LOWER_NU}")
        progress = super()._solve(posed, tasks, pairs=pairs)
        self._refuse_no_margin()
        if infeasible:
            warn(
                f"{infeasible} with these class weights. The model is that of SVC with"
                f" C=equivalent_C_, which goes on from there. {_LOWER_NU}",
                UserWarning,
            )
        return progress

    def _refuse_no_margin(self) -> None:
        """Refuse w = 0 as the whole answer; where it is that of some pairs, say so."""
        pairs = itertools.combinations(self.classes_.tolist(), 2)
        flat = [
            pair for pair, found in zip(pairs, self.solutions_, strict=True) if _no_margin(found)
        ]
        if not flat:
            return
        which = " and ".join(repr(label) for label in flat[0])
        text = (
            f"nu={self.nu:g} leaves no margin between classes {which}: w = 0 is the optimum,"
            f" because means of the two with the weights that it allows coincide, to {SHORT:g} of"
            " the size of their terms in the kernel's space. Raise nu, or choose another kernel or"
            " gamma."
        )
        if len(flat) == len(self.solutions_):
            raise ValueError(text)
        warn(f"{text} Until then f is 0 for {len(flat)} of the pairs of classes.", UserWarning)

    def _for_part(self, y: NDArray[Any] | None, rows: NDArray[np.intp]) -> Any:
        """Return a copy whose ν is feasible for some of the samples if it is for all."""
        model = clone(self)
        if y is None or check_nu(self.nu) > _largest_nu(y) * (1.0 + _ROUNDING):
            return model
        return model.set_params(nu=min(check_nu(self.nu), _largest_nu(y[rows])))

    def _unit(self, solution: Solution) -> float:
        rho = solution.loss.target_scale
        if solution.certificate.primal < 0.0 < rho:  # −½‖w‖² at the optimum, so that ρ > 0
            return rho * (1.0 + abs(_excess_of(solution)))
        return rho if rho > 0.0 else 1.0

    def _offset(self, solution: Solution) -> Any:
        if _no_margin(solution):
            return 0.0 * solution.b
        return solution.b + _excess_of(solution) * solution.loss.target_scale

    @property
    def certificate_(self) -> Certificate:
        """The proof: of the one problem solved, or of the sum of several.

        Its margin is that of f as it is handed back, divided by ρ.
        """
        found = super().certificate_
        margins = [one.certificate.margin * self._unit(one) for one in self.solutions_]
        return replace(found, margin=min(margins))

    def _each(self, value: Callable[[Solution], float]) -> Any:
        """Return the value of the one solution, or of each pair's."""
        check_is_fitted(self)
        values = np.array([value(solution) for solution in self.solutions_])
        return values if len(values) > 1 else float(values[0])

    @property
    def equivalent_C_(self) -> Any:  # noqa: N802
        """1/ρ, the C of the same `SVC`."""
        return self._each(lambda solution: 1.0 / self._unit(solution))

    @property
    def margin_errors_(self) -> Any:
        """Share of the samples within the margin; at most ν."""
        return self._each(lambda solution: solution.shares.margin_errors)

    @property
    def support_fraction_(self) -> Any:
        """Share of the samples that are support vectors; at least ν."""
        return self._each(lambda solution: solution.shares.support_vectors)


def _largest_nu(y: NDArray[Any]) -> float:
    """Return the largest ν that is feasible for every two classes, unless weights say otherwise."""
    counts = np.unique(y, return_counts=True)[1]
    return float(2.0 * counts.min() / (counts.min() + counts.max()))


def _no_margin(solution: Solution) -> bool:
    """Whether w = 0 is the optimum, proven."""
    return solution.status is Status.OPTIMAL and not solution.w.any()


def _excess_of(solution: Solution) -> float:
    """Return it where there is a margin to go on from."""
    return solution.excess if solution.certificate.primal < 0.0 else 0.0


class NuSVR(NuShares, SVR):  # noqa: D101 - the docstring is composed
    __doc__ = f"""Kernel regression whose tube is as wide as ν allows.

    Minimises ½‖w‖² + C (ν ε Σ c_i + Σ c_i max(0, |y_i − f(x_i)| − ε)) over w, b and the tube ε ≥ 0.
    Parameters and fitted attributes are those of `sklearn.svm.NuSVR`, with the differences named
    at `SVC`.

    Parameters
    ----------
    nu : float, default=0.5
        Upper bound on the share of samples outside the tube, lower bound on that of support
        vectors.
    C : float, default=1.0
        Weight of tube and losses against ½‖w‖².
    {KERNEL}
    {entries("shrinking tol cache_size")}
    {LIMITS}
    {entries("n_jobs verbose")}

    Attributes
    ----------
    epsilon_ : float
        The tube: `SVR` has the same optimum with epsilon=epsilon_.
    margin_errors_, support_fraction_ : float
        Shares of samples outside the tube, and of support vectors: ν lies between them unless the
        tube is 0.
    {EXPANSION}
    {PROOF}
    {entries("slack_")}

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from maxmargin import NuSVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = NuSVR(nu=0.3, C=100.0).fit(scale(X), y)
    >>> bool(model.margin_errors_ <= 0.3 <= model.support_fraction_)
    True
    """

    solver, fit_intercept, epsilon = "smo", True, 0.0

    _variables_per_sample = 2

    def __init__(
        self,
        *,
        nu: float = 0.5,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-3,
        cache_size: float | None = None,
        max_iter: int | None = -1,
        max_time: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.max_iter = max_iter
        self.max_time = max_time
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _formulation(self) -> Formulation:
        return Formulation(EPSILON_INSENSITIVE, Intercept.FREE, nu=check_nu(self.nu))

    @property
    def epsilon_(self) -> float:
        """The tube."""
        return self.solution_.loss.epsilon
