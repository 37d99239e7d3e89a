"""OneClassSVM: the smallest region that holds all but a share ν of the samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from maxmargin.certificate import Status
from maxmargin.data.arrays import Array, Matrix
from maxmargin.data.targets import relative_costs
from maxmargin.estimators._base import fitting
from maxmargin.estimators._docstrings import EXPANSION, KERNEL, LIMITS, PROOF, entries
from maxmargin.estimators._kernel_model import KernelModel
from maxmargin.estimators._nu import NuShares, check_nu
from maxmargin.estimators._posed import Posed
from maxmargin.estimators._warn import warn
from maxmargin.losses import HINGE
from maxmargin.objectives.base import Intercept
from maxmargin.objectives.formulation import Formulation


@dataclass(eq=False, repr=False, kw_only=True)
class OneClassSVM(NuShares, OutlierMixin, KernelModel):  # noqa: D101 - the docstring is composed
    __doc__ = f"""The smallest region that holds all but a share ν of the samples.

    Minimises ½‖w‖² − ρ ν Σ c_i + Σ c_i max(0, ρ − <w, φ(x_i)>) over w and ρ, with c_i the sample
    weights (Schölkopf et al., Neural Computation 2001). A sample is an outlier where
    f(x) = <w, φ(x)> − ρ is negative. Parameters and fitted attributes are those of
    `sklearn.svm.OneClassSVM`, with the differences named at `SVC`.

    Parameters
    ----------
    nu : float, default=0.5
        Upper bound on the share of outliers, lower bound on that of support vectors.
    {KERNEL}
    {entries("shrinking tol cache_size")}
    {LIMITS}
    {entries("n_jobs verbose")}

    Attributes
    ----------
    offset_ : ndarray of shape (1,)
        ρ.
    margin_errors_, support_fraction_ : float
        Shares of outliers, and of support vectors: ν lies between them.
    {EXPANSION}
    {PROOF}

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import OneClassSVM
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = OneClassSVM(nu=0.1).fit(X)
    >>> model.predict([[0.0, 0.0], [5.0, 5.0]])
    array([ 1, -1])
    >>> bool(model.margin_errors_ <= 0.1 <= model.support_fraction_)
    True
    """

    solver, fit_intercept = "smo", False

    kernel: Any = "rbf"
    degree: int = 3
    gamma: float | str = "scale"
    coef0: float = 0.0
    shrinking: bool = True
    tol: float = 1e-3
    nu: float = 0.5
    cache_size: float | None = None
    max_iter: int | None = -1
    max_time: float | None = None
    warm_start: bool = False
    n_jobs: int | None = None
    verbose: int = 0

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> OneClassSVM:
        """Fit to the rows of X; y is for the scores of callbacks only, 1 for all rows if None."""
        X = self._training(X, "no_validation")
        check_nu(self.nu)
        cost = relative_costs(X, sample_weight)
        inside = np.ones(X.shape[0])
        posed = self._posed(X, inside if y is None else y, cost)
        progress = self._solve(posed, [(np.arange(X.shape[0]), inside, cost)])
        self._keep_solutions(posed)
        progress.end()
        solution = self.solution_
        if solution.status is Status.OPTIMAL and not solution.w.any():
            warn(
                "No direction separates the samples from the origin: w = 0, rho = 0 is the optimum,"
                " up to rounding, and every row scores 0. Use kernel='rbf', or do not centre X.",
                UserWarning,
            )
        self._warn_if_unproven(posed.samples)
        return self

    def _data_warning(self, X: Matrix) -> str:
        return super()._data_warning(X) or self._blind(X)

    def _keep_solutions(self, posed: Posed) -> None:
        self._keep_one(posed, self.solution_)
        # Samples on the edge belong to the region, whatever float32 makes of their f = 0.
        self.offset_ = np.array([self.solution_.loss.target_scale * (1.0 - 1e-6)])
        self.intercept_ = -self.offset_
        self._scale_of_f = float(abs(self.offset_[0])) or 1.0

    def _formulation(self) -> Formulation:
        return Formulation(HINGE, Intercept.NONE, nu=check_nu(self.nu))

    def score_samples(self, X: Any) -> Array:
        """<w, φ(x)> of each row."""
        check_is_fitted(self)
        return np.asarray(self._values(X, self._coef)[:, 0])

    def decision_function(self, X: Any) -> Array:
        """f(x) of each row, negative for outliers."""
        return np.asarray(self.score_samples(X) - self.offset_)

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Return +1 for each row inside the region, −1 for each outlier."""
        return np.where(self.decision_function(X) >= 0.0, 1, -1)
