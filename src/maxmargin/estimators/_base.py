"""What the estimators share: parameters in, Solutions out."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import assert_all_finite, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

import maxmargin._core as _core
from maxmargin.certificate import Certificate, Status, total
from maxmargin.data.arrays import Array, Matrix, explaining, plain_rows, plain_targets
from maxmargin.data.checks import (
    DataWarning,
    check_count,
    check_positive,
    scale_advice,
)
from maxmargin.data.problem import Problem
from maxmargin.estimators._checks import check_parameters, flat_targets, named_alike
from maxmargin.estimators._cost import CostMixin
from maxmargin.estimators._report import Reported
from maxmargin.estimators._samples import SamplesMixin
from maxmargin.estimators._warn import warn
from maxmargin.multiclass.subproblems import Schedule, Subproblems
from maxmargin.runtime.progress import Progress, Rebuild
from maxmargin.runtime.threads import n_threads
from maxmargin.solution import Record, Solution
from maxmargin.solvers import (
    Start,
    Stopping,
    interruptible,
)

_GO_ON = "Fit again{again} to go on"

#: How a fit without a proof ended, and what to do about it.
_ENDS = {
    Status.RUNNING: ("was not finished", _GO_ON),
    Status.STOPPED_BY_ITERATIONS: ("was stopped by max_iter", "Raise max_iter"),
    Status.STOPPED_BY_TIME: ("was stopped by max_time", "Raise max_time"),
    Status.INTERRUPTED: ("was interrupted", _GO_ON),
    Status.STALLED: ("stalled at the precision of the arithmetic", "Scale X, or raise tol"),
    Status.INFEASIBLE: (
        "found classes that cannot be separated",
        "Give a finite C, or a kernel that can tell them apart",
    ),
    Status.STATIONARY: ("ended at a stationary point", "Use a Mercer kernel"),
    Status.DIVERGED: (
        "diverged",
        "Scale X, or give SGD a smaller step0, for InverseTime a larger t0",
    ),
}


@contextmanager
def unchanged_on_failure(model: Any) -> Iterator[None]:
    """Leave the estimator as it was if what is done with it fails."""
    before = dict(vars(model))
    try:
        yield
    except BaseException:
        vars(model).clear()
        vars(model).update(before)
        raise


def fitting(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Run a fit with scikit-learn's callbacks; one that fails leaves the estimator as it was.

    Ctrl-C ends the fit with the best model so far, and is raised after it: a search or a loop
    around it ends too. So is one that came too late for the fit to hear it.
    """
    with_all_callbacks = with_callbacks(fit)

    @wraps(fit)
    def whole_or_nothing(self: Any, *args: Any, **kwargs: Any) -> Any:
        with interruptible() as interrupt:
            try:
                with unchanged_on_failure(self):
                    check_parameters(self)
                    with_all_callbacks(self, *args, **kwargs)
            except BaseException as error:
                if interrupt.pressed and isinstance(error, Exception):
                    raise KeyboardInterrupt(f"Ctrl-C during a fit that failed: {error}") from error
                raise
        if interrupt.pressed:
            fitted = f"{type(self).__name__} is fitted: {self.certificate_.sentence()}."
            raise KeyboardInterrupt(self._unproven() or fitted)
        return self

    return whole_or_nothing


class CertifiedModel(CostMixin, SamplesMixin, Reported, CallbackSupportMixin, BaseEstimator):
    """An estimator whose fit leaves `solutions_`, each with its certificate."""

    solutions_: tuple[Solution, ...]
    n_features_in_: int
    _on_coordinates = False  # whether the columns of X are what an embedding made them
    _works_for = ""  # name of the estimator whose engine this is, which gives the warnings
    _no_limit: tuple[int | None, ...] = (None, -1)  # values of max_iter; -1 is scikit-learn's

    def _check_training(self, X: Any, y: Any, **numeric: bool) -> Any:
        """All but whether X is finite: `_problem` sees that as it measures the rows."""
        return self._check_rows(X, y, ensure_all_finite=False, **numeric)

    def _check_rows(
        self,
        X: Any,
        y: Any = "no_validation",
        *,
        reset: bool = True,
        ensure_all_finite: bool = True,
        **numeric: bool,
    ) -> Any:
        """Return X, and y if it is given, as the core reads them, or raise scikit-learn's errors.

        Where there is nothing to convert, scikit-learn's search for data frames is left out: it
        takes longer than a small fit. `y_numeric=True` converts objects in y to numbers.
        """
        alone = isinstance(y, str) and y == "no_validation"
        named = hasattr(self, "feature_names_in_")
        plain = plain_rows(X) and (alone or plain_targets(y, X.shape[0])) and not named
        if plain and (reset or X.shape[1] == getattr(self, "n_features_in_", None)):
            if ensure_all_finite:
                self._check_finite(X)
            if reset:
                self.n_features_in_ = X.shape[1]
            return X if alone else (X, y)
        with explaining(X, None if alone else y):
            checked = validate_data(
                self if reset else named_alike(self, X),
                X,
                y if alone else flat_targets(y),
                reset=reset,
                accept_sparse="csr",
                accept_large_sparse=True,
                dtype=[np.float64, np.float32],
                order="C",
                ensure_all_finite=ensure_all_finite,
                **numeric,
            )
            if numeric:  # None becomes NaN after scikit-learn has looked for it
                assert_all_finite(checked[1], input_name="y")
        return checked

    def _check_finite(self, X: Matrix) -> None:
        with explaining(X):
            assert_all_finite(X, estimator_name=type(self).__name__, input_name="X")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _hard(self) -> bool:
        """Whether the margin is hard."""
        return False

    def _stopping(self) -> Stopping:
        max_iter = None if self.max_iter in self._no_limit else self.max_iter
        if max_iter is not None:
            check_count("max_iter", max_iter, advice="None means no limit.")
        max_time = self.max_time
        if max_time is not None:
            max_time = check_positive("max_time", max_time, advice="None means no limit.")
        tol = check_positive("tol", self.tol, advice="It is the relative gap to prove.")
        return Stopping(tol, max_iter, max_time)

    def _seeds(self, count: int) -> list[int]:
        """Return a seed for each problem."""
        given = getattr(self, "random_state", 0)
        if isinstance(given, numbers.Integral) and 0 <= int(given) < 2**32:
            random = _core.Random(int(given))  # NumPy's generator takes long to seed
            return [int(random.below(2**31)) for _ in range(count)]
        try:
            drawn = check_random_state(given).random_sample(count)  # faster than randint
        except ValueError:
            raise ValueError(
                f"random_state must be None, a whole number from 0 to 2**32 - 1 or a"
                f" numpy.random.RandomState, got {given!r}."
            ) from None
        return [int(2**31 * number) for number in drawn]

    @property
    def certificate_(self) -> Certificate:
        """The proof: of the one problem solved, or of the sum of several."""
        return total([solution.certificate for solution in self._solved("certificate")])

    def _solved(self, wanted: str) -> tuple[Solution, ...]:
        """Return the solutions, or say why there is none that has what is wanted."""
        if not hasattr(self, "solutions_") and hasattr(self, "intercept_"):
            raise AttributeError(
                f"A stream is not kept, so there is no {wanted} after partial_fit. Use"
                " maxmargin.certify on a batch that is at hand."
            )
        check_is_fitted(self, "solutions_")
        return self.solutions_

    def _solved_here(self, wanted: str) -> tuple[Solution, ...]:
        """Return the solutions with their dual variables, or say that a pickle left these out."""
        solutions = self._solved(wanted)
        if solutions[0].beta.size == 0:
            raise AttributeError(
                f"A pickled or copied model, or one fitted in a worker process, has no {wanted}:"
                f" fit {type(self).__name__}(warm_start=True), which keeps the dual variables."
            )
        return solutions

    _keeps_state = False  # in a pickle, whatever warm_start is
    _weights_by_feature = True  # w of a solution, rather than a number for each sample

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is as long as the data, unless a further fit is to start from it."""
        state = dict(super().__getstate__())
        if "solutions_" in state and not (self._keeps_state or getattr(self, "warm_start", False)):
            state["solutions_"] = tuple(
                solution.without_samples(weights=self._weights_by_feature)
                for solution in self.solutions_
            )
            if "_members" in state:
                state["_members"] = state["_members"] and []
        return state

    @property
    def solution_(self) -> Solution:
        """The Solution, where one problem was solved; `solutions_` has one for each class."""
        solutions = self._solved("solution")
        if len(solutions) > 1:
            raise AttributeError("There is one solution for each class: see solutions_.")
        return solutions[0]

    @property
    def history_(self) -> list[Record] | list[list[Record]]:
        """(time, epoch, primal, dual, gap) at each gap check; a list a class if there are > 2."""
        histories = [solution.history for solution in self._solved("history")]
        return histories[0] if len(histories) == 1 else histories

    def _starts(
        self,
        costs: list[Array],
        seeds: list[int],
        n_features: int | None = None,
        problem: Problem | None = None,
    ) -> list[Start]:
        """Where the last fit ended, if warm_start is on and the problems have the same shapes.

        Weights are told to those that have `n_features` of them, and the intercept is that for the
        rows and targets of `problem`. The problem is the one that the
        parameters pose now: without an intercept, that of the last fit is dropped.
        """
        last = getattr(self, "solutions_", ())
        same = [solution.beta.shape for solution in last] == [cost.shape for cost in costs]
        if not (getattr(self, "warm_start", False) and same):
            return [Start(seed) for seed in seeds]
        starts = []
        for seed, solution, cost in zip(seeds, last, costs, strict=True):
            ratio = float(cost.mean()) / max(solution.mean_cost, 1e-300)
            w = solution.w if solution.w.shape[-1] == n_features else None
            past = solution.info.epochs if ratio == 1.0 else 1  # else from the start
            b = solution.b if getattr(self, "fit_intercept", True) else 0.0 * solution.b
            if problem is not None and w is not None:
                b = problem.own_intercept(w, b)
            start = Start(seed, ratio * solution.beta, b, w, max(1, past), state=solution.state)
            starts.append(start)
        return starts

    def _solve_all(
        self, problems: Subproblems, X: Any, y: Any, rebuild: Rebuild, begin: float
    ) -> tuple[list[Solution], Progress]:
        """Return the solutions, and the progress to end when the model is made of them.

        `rebuild` makes the fitted attributes of solutions so far, for callbacks; the limit of time
        counts from `begin`.
        """
        jobs, stopping = n_threads(getattr(self, "n_jobs", None), len(problems)), self._stopping()
        with interruptible() as interrupt:
            progress = Progress(self, X, y, len(problems), interrupt, rebuild)
            progress.begin()
            schedule = Schedule(problems, stopping, interrupt, progress, begin, jobs)
            with progress.shown():
                return schedule.run(), progress

    def _warn_if_unproven(self, X: Matrix, data_warning: Callable[[], str] = str) -> None:
        """Say what was reached if it is less than was asked for; else, what it may be worth.

        Of what it may be worth one thing is said; `data_warning` is asked last.
        """
        if self._works_for:
            return
        with interruptible() as interrupt:
            if interrupt.pressed:
                return  # `fitting` raises Ctrl-C, with the same words
        if unproven := self._unproven():
            statuses = {solution.status for solution in self.solutions_} - {Status.OPTIMAL}
            kernel_only = statuses == {Status.STATIONARY}  # of every fit with that kernel
            text = unproven if self._on_coordinates else f"{unproven}{scale_advice(X)}"
            warn(text, ConvergenceWarning, anywhere=kernel_only)
        elif found := self._data_warning(X) or data_warning():
            warn(f"{type(self).__name__} is fitted, but {found}", DataWarning)

    def _unproven(self) -> str:
        """Return what was reached in the worst problem, if it is less than was asked for."""
        unproven = [
            (solution.certificate, place)
            for place, solution in enumerate(self.solutions_, 1)
            if solution.status is not Status.OPTIMAL
        ]
        if not unproven:
            return ""
        certificate, place = max(unproven, key=lambda pair: pair[0].relative_gap)
        several = len(self.solutions_) > 1
        where = f" in problem {place} of {len(self.solutions_)}" if several else ""
        ended, advice = _ENDS[certificate.status]
        n_iter = int(np.max(self.n_iter_))
        which = "; the model is the best before" if certificate.status is Status.DIVERGED else ""
        again = " with warm_start=True" if hasattr(self, "warm_start") else ""
        return (
            f"{type(self).__name__} {ended} after {n_iter} iteration{'s' if n_iter != 1 else ''}"
            f"{where}{which}: {certificate.sentence()}, and tol={self.tol:g} was asked for."
            f" {advice.format(again=again)}, or accept the model as it is."
        )

    def _data_warning(self, _X: Matrix) -> str:
        """Say why the fit may mean little, and what to do about it."""
        return ""
