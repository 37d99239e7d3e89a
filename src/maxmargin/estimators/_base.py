"""What the estimators share: parameters in, Solutions out."""

from __future__ import annotations

import math
import numbers
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial, wraps
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import assert_all_finite, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

import maxmargin._core as _core
from maxmargin.certificate import Certificate, Status, total
from maxmargin.data.arrays import Array, Matrix, explaining, plain_rows, plain_targets, view_rows
from maxmargin.data.checks import (
    DataWarning,
    check_choice,
    check_count,
    check_flag,
    check_magnitudes,
    check_positive,
    scale_advice,
    wild_scales,
)
from maxmargin.data.origin import UNMOVED, Level, centred, far_centre
from maxmargin.data.problem import Problem
from maxmargin.data.targets import class_numbers
from maxmargin.estimators._checks import flat_targets, named_alike
from maxmargin.estimators._report import Reported
from maxmargin.estimators._samples import SamplesMixin
from maxmargin.estimators._warn import warn
from maxmargin.losses import Loss
from maxmargin.multiclass.decomposition import collapsed
from maxmargin.multiclass.subproblems import Fit, Tasks
from maxmargin.objectives.base import Intercept
from maxmargin.objectives.crammer_singer import CrammerSingerObjective
from maxmargin.objectives.linear import LinearObjective
from maxmargin.runtime.blas_threads import one_blas_thread
from maxmargin.runtime.progress import Progress
from maxmargin.runtime.threads import n_threads
from maxmargin.solution import Record, Solution
from maxmargin.solvers import (
    JOINT_SOLVERS,
    SOLVERS,
    CrammerSinger,
    DualCD,
    Monitor,
    Newton,
    Solver,
    Start,
    Stopping,
    choose,
    interruptible,
)
from maxmargin.solvers.auto import FEW_FEATURES
from maxmargin.solvers.linear.newton import MAX_FEATURES

#: Numbers of features for which Newton's BLAS would take several threads: little faster, and far
#: slower beside other fits.
_THREADED_BLAS = range(200, MAX_FEATURES + 1)

#: Distance of dense rows from 0, beside their spread, from which they are centred: coordinate
#: descent takes three times the epochs from the first on, others lose digits from the second on.
_OFF_CENTRE, _FAR = 2.0, 1e3

#: Solvers whose steps are told the rows as they are.
_STOCHASTIC = ("pegasos", "sgd")


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


class CertifiedModel(SamplesMixin, Reported, CallbackSupportMixin, BaseEstimator):
    """An estimator whose fit leaves `solutions_`, each with its certificate."""

    solutions_: tuple[Solution, ...]
    n_features_in_: int
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

    def _warn_if_unproven(self, X: Matrix) -> None:
        """Say what was reached if it is less than was asked for; else, what it may be worth."""
        with interruptible() as interrupt:
            if interrupt.pressed:
                return  # `fitting` raises Ctrl-C, with the same words
        if unproven := self._unproven():
            warn(f"{unproven}{scale_advice(X)}", ConvergenceWarning)
        elif trap := self._trap(X):
            warn(f"{type(self).__name__} is fitted, but {trap}", DataWarning)

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

    def _trap(self, _X: Matrix) -> str:
        """Say why the fit may mean little, and what to do about it."""
        return ""


class LinearModel(CertifiedModel):
    """f(x) = <w, x> + b, fitted by any solver, with the certificate of the fit."""

    def _trap(self, X: Matrix) -> str:
        return wild_scales(X).strip().replace("The", "the", 1)

    def _intercept(self) -> Intercept:
        for name in ("fit_intercept", "penalized_intercept", "warm_start"):
            check_flag(name, getattr(self, name))
        if not self.fit_intercept:
            return Intercept.NONE
        return Intercept.PENALIZED if self.penalized_intercept else Intercept.FREE

    def _solver(self, objective: LinearObjective) -> Solver:
        return given_solver(self.solver, {"auto": lambda: choose(objective), **SOLVERS})

    def _reads_often(self, loss: Loss) -> bool:
        """Whether the solver goes through the rows so often that a copy without zeros pays."""
        named = isinstance(self.solver, str) and self.solver in ("auto", "newton", "dual_cd")
        return loss.regularized and (named or isinstance(self.solver, DualCD | Newton))

    def _scaling(self) -> float:
        return check_positive(
            "intercept_scaling", self.intercept_scaling, advice="1.0 is LIBLINEAR's."
        )

    def _linear_objective(
        self, problem: Problem, y: Array, cost: Array, loss: Loss
    ) -> LinearObjective:
        posed = problem.with_targets(y, cost)
        return LinearObjective(posed, loss, self._intercept(), self._scaling())

    def _fit_targets(
        self,
        X: Matrix,
        y: NDArray[Any],
        targets: list[Array],
        costs: list[Array],
        loss: Loss,
        *,
        members: list[NDArray[np.intp]] | None = None,
        numbers: NDArray[np.int32] | None = None,
        level: Level = UNMOVED,
    ) -> None:
        """Solve one problem for each column of targets and store what was learnt.

        If `members` are given, a problem has those rows only; if `numbers`, the targets are those
        of one class against the rest, by the number of each row's class. `level` was
        subtracted from the targets.
        """
        begin, stopping = time.perf_counter(), self._stopping()
        self._members = members  # a callback may predict at any look
        name = getattr(self.solver, "name", self.solver) if loss.regularized else None
        if members is None:
            often = self._reads_often(loss)
            problem = self._problem(X, targets[0], costs[0], compress=often, solver=name)
            object.__setattr__(problem, "level", level)
        else:
            none = np.zeros(X.shape[0])
            problem = self._problem(X, none, none, solver=name)
        starts = self._starts(costs, self._seeds(len(targets)), X.shape[1], problem)
        tasks = Tasks(
            problem,
            targets,
            costs,
            members,
            starts,
            partial(self._linear_objective, loss=loss),
            self._solver,
        )
        if members is None and not self._sweeps_afresh(tasks):
            numbers = None
        with interruptible() as interrupt:
            progress = Progress(self, X, y, len(targets), interrupt)
            progress.begin()
            jobs = n_threads(getattr(self, "n_jobs", None), len(targets))
            fit = Fit(tasks, numbers, stopping, interrupt, progress, begin, jobs)
            with one_blas_thread() if X.shape[1] in _THREADED_BLAS else nullcontext():
                self._store(fit.run())
        progress.end()
        self._warn_if_unproven(X)

    def _sweeps_afresh(self, tasks: Tasks) -> bool:
        """Whether coordinate descent starts from 0."""
        solver = tasks.solver_of_all  # refused before anybody is told of a fit
        return isinstance(solver, DualCD) and tasks.starts[0].beta is None

    def _fit_joint(self, X: Matrix, y: NDArray[Any], cost: Array) -> None:
        """Solve the one problem of all classes and store what was learnt."""
        begin = time.perf_counter()
        solver, stopping, self._members = joint_solver(self.solver), self._stopping(), None
        numbers, n_classes = class_numbers(self.classes_, y), len(self.classes_)
        problem = self._problem(X, numbers, cost, compress=True, solver=solver.name)
        check_magnitudes(problem.longest, problem.extent)
        objective = CrammerSingerObjective(problem, n_classes, self._intercept(), self._scaling())
        by_class = np.broadcast_to(cost[:, np.newaxis], (len(cost), n_classes))
        (start,) = self._starts([by_class], self._seeds(1), X.shape[1], problem)
        with interruptible() as interrupt:
            progress = Progress(self, X, y, 1, interrupt)
            progress.begin()
            with progress.reporting(0) as report:

                def tell(record: Record, w: Array | None, b: Any, loss: Loss) -> bool:
                    assert w is not None
                    return report is not None and report(record, *collapsed(w, b), loss)

                monitor = Monitor(objective, stopping, interrupt, tell, begin)
                solution = solver.solve(objective, monitor, start)
            self.solutions_ = (solution,)
            self.coef_, self.intercept_ = collapsed(solution.w, solution.b)
            self.n_iter_ = solution.n_iter
        progress.end()
        self._warn_if_unproven(X)

    def _problem(
        self,
        X: Matrix,
        y: Array,
        cost: Array,
        *,
        compress: bool = False,
        solver: str | None = None,
    ) -> Problem:
        """Return the problem, after the check that X is finite: the row norms show it.

        Its rows may be a copy: without zeros where that pays (`compress`), or centred where that
        helps the solver.
        """
        X, rows = view_rows(X)
        far = self._far_centre(X, solver)
        if far is not None:
            centred_rows, origin = centred(X, far)
            problem = Problem(centred_rows, y, cost, origin=origin)
        else:
            problem = Problem(X, y, cost, rows)
            problem = problem.compressed() if compress else problem
        if not math.isfinite(problem.longest):
            self._check_finite(X)
        return problem

    def _far_centre(self, X: Matrix, solver: str | None) -> Array | None:
        """Return the origin to choose for dense rows, where the intercept is free.

        Stochastic steps are taken on the rows as they are.
        """
        if solver is None or solver in _STOCHASTIC:
            return None
        if sparse.issparse(X) or self._intercept() is not Intercept.FREE:
            return None
        sweeps = solver == "dual_cd" or (solver == "auto" and X.shape[1] > FEW_FEATURES)
        return far_centre(X, _OFF_CENTRE if sweeps else _FAR)

    def _store(self, solutions: list[Solution]) -> None:
        self.solutions_ = tuple(solutions)
        self.coef_ = np.array([solution.w for solution in solutions])
        self.intercept_ = np.array([solution.b for solution in solutions])
        self.n_iter_ = max(solution.n_iter for solution in solutions)

    @property
    def support_(self) -> NDArray[np.intp]:
        """Rows that are support vectors of at least one problem."""
        betas = [solution.beta for solution in self._solved_here("list of support vectors")]
        if self._members is not None:
            found = [rows[beta != 0.0] for rows, beta in zip(self._members, betas, strict=True)]
            return np.unique(np.concatenate(found))
        used = betas[0].any(axis=1) if betas[0].ndim == 2 else np.any(betas, axis=0)
        return np.flatnonzero(used)


def given_solver(given: Any, named: Mapping[str, Callable[[], Solver]]) -> Solver:
    """Return the solver that the parameter means: an instance, or one of these by name."""
    if isinstance(given, type):
        raise ValueError(f"solver must be an instance: write solver={given.__name__}().")
    if hasattr(given, "solve"):
        solver: Solver = given
        return solver
    return named[check_choice("solver", given, named)]()


def joint_solver(given: Any) -> Any:
    """Return the solver of the one problem of all classes that the parameter means."""
    if isinstance(given, str) and given in ("auto", *JOINT_SOLVERS):
        return JOINT_SOLVERS.get(given, CrammerSinger)()
    if type(given) in JOINT_SOLVERS.values():
        return given
    raise ValueError(
        f"multi_class='crammer_singer' is solved by solver='dual_cd', 'pegasos' or 'sgd', got"
        f" {given!r}. Use solver='auto', or multi_class='ovr'."
    )
