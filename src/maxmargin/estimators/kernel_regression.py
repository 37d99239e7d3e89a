"""SVR: kernel regression."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from maxmargin.data.arrays import Array, Matrix
from maxmargin.data.checks import LARGEST_C, check_tube, is_infinite
from maxmargin.data.origin import levelled
from maxmargin.data.targets import real_targets, sample_costs
from maxmargin.embeddings.certificates import MAX_VALUES, ExactCertificate, ExactEstimate
from maxmargin.estimators._approximate import Posing
from maxmargin.estimators._base import fitting
from maxmargin.estimators._docstrings import EXPANSION, KERNEL, LIMITS, PROOF, entries
from maxmargin.estimators._landmarks import LandmarkModel
from maxmargin.estimators._posed import Posed
from maxmargin.estimators._traps import poor_regression
from maxmargin.estimators.linear import LinearSVR
from maxmargin.losses import regression_loss
from maxmargin.objectives.base import Intercept
from maxmargin.objectives.formulation import Formulation
from maxmargin.objectives.scalar import spread


@dataclass(eq=False, repr=False, kw_only=True)
class SVR(RegressorMixin, LandmarkModel):  # noqa: D101 - the docstring is composed
    __doc__ = f"""Kernel support vector regression that proves its answer.

    Minimises ½‖w‖² + Σ C_i max(0, |y_i − f(x_i)| − ε). Parameters and fitted attributes are those
    of `sklearn.svm.SVR`, with the differences named at `SVC`.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses against ½‖w‖². `inf` stands for 10¹⁰.
    {KERNEL}
    {entries("fit_intercept")}
    epsilon : float, default=0.1
        Errors up to this size cost nothing.
    landmarks : int or None, default=None
        As in `SVC`, drawn with a fixed seed.
    solver : str or Solver, default="smo"
        "smo"; "qp" for up to 5,000 samples, with the extra `maxmargin[qp]`; or a Solver with
        settings of its own.
    {entries("shrinking tol cache_size")}
    {LIMITS}
    {entries("n_jobs verbose")}

    Attributes
    ----------
    {EXPANSION}
    {PROOF}
    {entries("slack_")}

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import SVR
    >>> X = np.linspace(0, 6, 60)[:, np.newaxis]
    >>> model = SVR(C=10.0, epsilon=0.05, tol=1e-4).fit(X, np.sin(X[:, 0]))
    >>> bool(np.abs(model.predict(X) - np.sin(X[:, 0])).max() < 0.06)
    True
    >>> model.certificate_.relative_gap < 1e-4
    True
    """

    _solvers = ("smo", "qp")

    kernel: Any = "rbf"
    degree: int = 3
    gamma: float | str = "scale"
    coef0: float = 0.0
    C: float = 1.0
    epsilon: float = 0.1
    shrinking: bool = True
    fit_intercept: bool = True
    solver: Any = "smo"
    tol: float = 1e-3
    cache_size: float | None = None
    max_iter: int | None = -1
    max_time: float | None = None
    warm_start: bool = False
    landmarks: int | None = None
    n_jobs: int | None = None
    verbose: int = 0

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SVR:
        """Fit to the rows of X with targets y; `sample_weight` multiplies C."""
        begin = time.perf_counter()
        X, y = self._training(X, y, y_numeric=True)
        check_tube(self.epsilon)
        cost = self._costs(X, sample_weight)
        posed, target = self._posed(X, y, cost), real_targets(y)
        self._forget_space()
        if self.landmarks is not None:
            self._scale_of_f = spread(target, cost)
            engine = LinearSVR(loss="epsilon_insensitive", epsilon=self.epsilon)
            data_warning = partial(self._poor, target, cost)
            delegated = self._fit_space(engine, posed, target, cost, begin, data_warning)
            self._n_support = np.array([len(self.support_)], dtype=np.int32)
            delegated.end()
            return self
        if self._intercept() is Intercept.FREE:
            target, level = levelled(target)
            posed = posed._replace(level=level)
        self._scale_of_f = spread(target, cost)
        progress = self._solve(posed, [(np.arange(X.shape[0]), target, cost)])
        self._keep_solutions(posed)
        progress.end()
        self._warn_if_unproven(posed.samples, partial(self._poor, real_targets(y), cost))
        return self

    def _costs(self, X: Any, sample_weight: Any) -> Array:
        C = LARGEST_C if is_infinite(self.C) else self.C
        return sample_costs(X, C, None, sample_weight)

    def _data_warning(self, X: Matrix) -> str:
        return super()._data_warning(X) or self._blind(X)

    def _poor(self, y: Array, cost: Array) -> str:
        solution = self.solution_
        centre = float(np.ravel(solution.b)[0]) if self.fit_intercept else 0.0
        norm = 1.0 / solution.certificate.margin if solution.w.any() else 0.0
        kind = self._intercept()
        return poor_regression(solution, y, cost, kind=kind, centre=centre, norm=norm)

    def exact_certificate(
        self, X: Any, y: Any, sample_weight: Any = None, *, max_values: float = MAX_VALUES
    ) -> ExactCertificate | ExactEstimate:
        """Bound the exact kernel problem, of which a fit by landmarks solved an approximation.

        In one pass over X, y and the weights of the fit; see `SVC.exact_certificate`.
        """
        X, y = self._check_approximate(X, y, y_numeric=True)
        cost = self._costs(X, sample_weight)
        posing = Posing([np.arange(X.shape[0])], [real_targets(y)], cost)
        return self._exact_bounds(X, posing, cost, max_values)

    def _keep_solutions(self, posed: Posed) -> None:
        self._keep_one(posed, self.solution_)

    def _formulation(self) -> Formulation:
        loss = regression_loss("epsilon_insensitive", float(self.epsilon))
        return Formulation(loss, self._intercept())

    def predict(self, X: Any) -> Array:
        """f(x) of each row."""
        check_is_fitted(self)
        return np.asarray(self._values(X, self._coef)[:, 0] + self._offsets[0])
