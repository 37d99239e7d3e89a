"""SVC and SVR by landmarks: the linear engine on Nyström features, bounds of the exact problem."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils.validation import _num_samples, check_is_fitted

from maxmargin.certificate import Certificate, Status, relative
from maxmargin.data.arrays import Array, Matrix
from maxmargin.data.checks import check_count
from maxmargin.data.targets import class_numbers
from maxmargin.embeddings import Nystroem
from maxmargin.embeddings.certificates import (
    EmbeddedCertificate,
    ExactCertificate,
    ExactEstimate,
)
from maxmargin.estimators._approximate import Posing, bounds_in_kernel_space
from maxmargin.estimators._checks import checked_targets
from maxmargin.estimators._cost import CostEstimate, CostMixin, Part, Sampled
from maxmargin.estimators._kernel_model import KernelModel
from maxmargin.estimators._posed import Posed
from maxmargin.estimators.linear import LinearSVC, LinearSVR
from maxmargin.multiclass.kernel_problems import positions
from maxmargin.runtime.delegated import Delegated
from maxmargin.solution import Solution

#: Least seconds left to the linear engine after the features were made.
_LEAST_TIME = 1e-3

#: Features that are kept in float64; more are kept in float32.
_AFFORDABLE = 2**24

#: Features up to which Newton steps are the fastest, and epochs of coordinate descent that come
#: first where there are more.
_FEW, _SWEEPS = 500, 400


class TriangularNystroem(Nystroem):
    """Coordinates that take half the time; f does not depend on which they are."""

    _triangular = True


class LandmarkModel(KernelModel):
    """A kernel machine that may be fitted in the span of landmarks.

    f = Σ_j c_j k(z_j, ·) + b over landmarks z_j then: they take the place of support vectors.
    """

    landmarks: int | None = None
    _space: Nystroem | None = None  # of a fit by landmarks
    _engine: Any = None

    def _forget_space(self) -> None:
        """Leave no solution in the span of landmarks as a start."""
        if self._space is not None:
            del self.solutions_
        self._space = self._engine = None

    def _fit_space(
        self,
        engine: LinearSVC | LinearSVR,
        posed: Posed,
        y: Any,
        cost: Array,
        begin: float,
        data_warning: Callable[[], str] = str,
    ) -> Delegated:
        """Solve the problem in the span of landmarks, and keep what predictions need.

        Time counts from `begin`; if it ends before there are features, f is a constant.
        """
        engine._works_for = type(self).__name__
        delegated = Delegated(self, posed.X, posed.y)
        m = check_count("landmarks", self.landmarks, advice="None: the exact problem.")
        if self.solver != "smo":
            raise ValueError(
                f"landmarks={m} is solved by the linear engine, got solver={self.solver!r}. Leave"
                " solver='smo', or use EmbeddedSVC with a linear machine of your choice."
            )
        space = TriangularNystroem(
            posed.kernel,
            n_components=m,
            dtype=self._type_of_features(posed.samples.shape[0]),
            random_state=self._seeds(1)[0],
            n_jobs=self.n_jobs,
        ).fit(posed.samples, sample_weight=(cost > 0.0).astype(np.float64))
        Z, late = self._features(space, posed.samples, begin)
        fit = partial(_fit_within, delegated, engine, Z, y, cost)
        self._solve_linear(engine, fit, Z.shape[1], begin)
        if late:
            engine.solutions_ = tuple(map(_without_features, engine.solutions_))
        self._space, self._engine = space, engine
        self.solutions_ = engine.solutions_
        coef = np.atleast_2d(engine.coef_) @ space.normalization_.T
        support = space.landmark_indices_.astype(np.int32)
        if posed.members:  # class by class, as support vectors go
            order = np.argsort(class_numbers(self.classes_, y[support]), kind="stable")
            coef, support = np.ascontiguousarray(coef[:, order]), support[order]
        self._finish(posed.samples, coef, support, posed.kernel)
        self._warn_if_unproven(posed.samples, data_warning)
        return delegated

    def _features(self, space: Nystroem, samples: Matrix, begin: float) -> tuple[Array, bool]:
        """Return the features, of a space without any if time ends before; and whether it does."""
        left = self._time_left(begin)
        until = math.inf if left is None else time.perf_counter() + left
        try:
            return space._coordinates(samples, until), False
        except TimeoutError:
            space.normalization_ = np.zeros((len(space.normalization_), 1))
            return np.zeros((samples.shape[0], 1)), True

    def _solve_linear(
        self, engine: Any, fit: Callable[[], None], n_features: int, begin: float
    ) -> None:
        """Sweep coordinates first where they are many; Newton steps need no more than these."""
        limit = None if self.max_iter in self._no_limit else self.max_iter
        engine.set_params(
            tol=self.tol,
            max_iter=limit,
            max_time=self._time_left(begin),
            fit_intercept=self.fit_intercept,
            penalized_intercept=False,
            random_state=self._seeds(1)[0],
            verbose=self.verbose,
        )
        if n_features > _FEW and (limit is None or limit > _SWEEPS):
            engine.set_params(solver="dual_cd", max_iter=_SWEEPS)
            fit()
            if not any(one.status is Status.STOPPED_BY_ITERATIONS for one in engine.solutions_):
                return
            engine.set_params(solver="auto", max_iter=limit, max_time=self._time_left(begin))
        fit()

    def _time_left(self, begin: float) -> float | None:
        if self._stopping().max_time is None:
            return None
        spent = time.perf_counter() - begin
        return max(_LEAST_TIME, float(self._stopping().max_time or 0.0) - spent)

    @property
    def certificate_(self) -> Certificate:
        """The proof: of the one problem solved, or of the sum of several.

        With landmarks it is that of the approximate problem, and its sentence says so;
        `exact_certificate` bounds the exact one.
        """
        certificate = super().certificate_
        if self._space is None:
            return certificate
        m = len(self._space.landmark_indices_)
        name = f"the span of {m} landmarks, which approximates the kernel (see exact_certificate)"
        return EmbeddedCertificate.of(certificate, name)

    @property
    def _growth(self) -> tuple[float, ...]:  # type: ignore[override]
        return super()._growth if self.landmarks is None else CostMixin._growth

    def _least_part(self, data: Sampled) -> int:
        if self.landmarks is None:
            return super()._least_part(data)
        return 2 * check_count("landmarks", self.landmarks, advice="1000 is usual.")

    def _completed(self, cost: CostEstimate, data: Sampled, parts: list[Part]) -> CostEstimate:
        if self.landmarks is None:
            return super()._completed(cost, data, parts)
        cost = CostMixin._completed(self, cost, data, parts)
        n, m = data.n_samples, check_count("landmarks", self.landmarks, advice="1000 is usual.")
        features = n * min(n, m) * self._type_of_features(n).itemsize  # parts of few rows hide it
        return replace(cost, memory_bytes=max(cost.memory_bytes, features))

    def _type_of_features(self, n_samples: int) -> np.dtype[Any]:
        narrow = n_samples * int(self.landmarks or 0) > _AFFORDABLE
        return np.dtype(np.float32 if narrow else np.float64)

    def _exact_bounds(
        self, X: Any, posing: Posing, cost: Array, max_values: float
    ) -> ExactCertificate | ExactEstimate:
        solutions = self._solved_here("dual point")
        samples = X if self._function else self._posed(X, None, cost).samples
        return bounds_in_kernel_space(
            self._engine, solutions, self._space, samples, posing, max_values
        )

    def _check_approximate(self, X: Any, y: Any, **numeric: bool) -> Any:
        """Return the samples and targets, or refuse the question where nothing is approximate.

        Samples whose kernel is a plain function are their positions, as at the fit.
        """
        check_is_fitted(self)
        if self._space is None:
            raise AttributeError(
                f"{type(self).__name__} was fitted without landmarks: certificate_ is that of the"
                " exact problem."
            )
        if self._function:
            return positions(_num_samples(X)), checked_targets(y, _num_samples(X), **numeric)
        return self._check_rows(X, y, reset=False, **numeric)


def _without_features(solution: Solution) -> Solution:
    """Return what a constant f is among those in the span of landmarks: P ≥ 0 is all there is."""
    found = solution.certificate
    certificate = replace(
        found,
        dual=0.0,
        gap=found.primal,
        relative_gap=relative(found.primal, 0.0),
        kkt_violation=math.nan,
        status=Status.STOPPED_BY_TIME,
    )
    return replace(solution, certificate=certificate)


def _fit_within(delegated: Delegated, engine: Any, Z: Matrix, y: Any, cost: Array) -> None:
    """Fit the engine: Ctrl-C and failures are those of the estimator around it."""
    fit = type(engine).fit.__wrapped__  # with no decoration
    with delegated.part("linear machine", engine):
        with_callbacks(fit)(engine, Z, y, cost)
