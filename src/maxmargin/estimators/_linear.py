"""What the linear machines share: the problem of rows and targets, weights and intercepts."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from maxmargin.data.arrays import Array, Matrix, view_rows
from maxmargin.data.checks import check_magnitudes, check_positive, wild_scales
from maxmargin.data.origin import UNMOVED, Level, centred, far_centre
from maxmargin.data.problem import Problem
from maxmargin.data.targets import class_numbers
from maxmargin.estimators._base import CertifiedModel
from maxmargin.estimators._solvers import given_solver, joint_solver
from maxmargin.losses import Loss
from maxmargin.multiclass.decomposition import collapsed
from maxmargin.multiclass.linear_problems import LinearProblems
from maxmargin.multiclass.subproblems import OneProblem
from maxmargin.objectives.base import Intercept
from maxmargin.objectives.crammer_singer import CrammerSingerObjective
from maxmargin.objectives.linear import LinearObjective
from maxmargin.solution import Solution
from maxmargin.solvers import SOLVERS, DualCD, Newton, Solver
from maxmargin.solvers.auto import FEW_FEATURES

#: Distance of dense rows from 0, beside their spread, from which they are centred: coordinate
#: descent takes three times the epochs from the first on, others lose digits from the second on.
_OFF_CENTRE, _FAR = 2.0, 1e3

#: Solvers whose steps use the rows as they are.
_STOCHASTIC = ("pegasos", "sgd")


class LinearModel(CertifiedModel):
    """f(x) = <w, x> + b, fitted by any solver, with the certificate of the fit."""

    def _data_warning(self, X: Matrix) -> str:
        found = "" if self._on_coordinates else wild_scales(X)
        return found.strip().replace("The", "the", 1)

    def _intercept(self) -> Intercept:
        if not self.fit_intercept:
            return Intercept.NONE
        return Intercept.PENALIZED if self.penalized_intercept else Intercept.FREE

    def _given_solver(self) -> Solver | None:
        """Return the solver asked for; None if the problem is to choose it."""
        if isinstance(self.solver, str) and self.solver == "auto":
            return None
        return given_solver(self.solver, SOLVERS, "auto")

    def _reads_often(self, loss: Loss) -> bool:
        """Whether the solver goes through the rows so often that a copy without zeros pays."""
        named = isinstance(self.solver, str) and self.solver in ("auto", "newton", "dual_cd")
        return loss.regularized and (named or isinstance(self.solver, DualCD | Newton))

    def _scaling(self) -> float:
        return check_positive(
            "intercept_scaling", self.intercept_scaling, advice="1.0 is LIBLINEAR's."
        )

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
        kind: type[LinearObjective] = LinearObjective,
        solver: Solver | None = None,
        data_warning: Callable[[], str] = str,
    ) -> None:
        """Solve one problem for each column of targets and store what was learnt.

        If `members` are given, a problem has those rows only; if `numbers`, the targets are those
        of one class against the rest, by the number of each row's class. `level` was
        subtracted from the targets. A `solver` given here is for a kind of its own.
        """
        begin = time.perf_counter()
        self._members = members  # a callback may predict at any gap check
        name = None
        if loss.regularized and solver is None:
            name = getattr(self.solver, "name", self.solver)
        if members is None:
            often = solver is None and self._reads_often(loss)
            problem = self._problem(X, targets[0], costs[0], compress=often, solver=name)
            object.__setattr__(problem, "level", level)
        else:
            none = np.zeros(X.shape[0])
            problem = self._problem(X, none, none, solver=name)
        problems = LinearProblems(
            problem,
            targets,
            costs,
            members,
            self._starts(costs, self._seeds(len(targets)), X.shape[1], problem),
            kind,
            loss,
            self._intercept(),
            self._scaling(),
            solver or self._given_solver(),
            numbers,
        )
        rebuild = partial(_weights_so_far, n_features=X.shape[1])
        solutions, progress = self._solve_all(problems, X, y, rebuild, begin)
        self._store(solutions)
        progress.end()
        self._warn_if_unproven(X, data_warning)

    def _fit_joint(self, X: Matrix, y: NDArray[Any], cost: Array) -> None:
        """Solve the one problem of all classes and store what was learnt."""
        begin = time.perf_counter()
        solver, self._members = joint_solver(self.solver), None
        numbers = class_numbers(self.classes_, y).astype(np.float64)
        n_classes = len(self.classes_)
        problem = self._problem(X, numbers, cost, compress=True, solver=solver.name)
        scaling, intercept = self._scaling(), self._intercept()
        constant = scaling if intercept is Intercept.PENALIZED else 0.0
        check_magnitudes(problem.longest, problem.target_summary, constant)
        objective = CrammerSingerObjective(problem, n_classes, intercept, scaling)
        by_class = np.broadcast_to(cost[:, np.newaxis], (len(cost), n_classes))
        (start,) = self._starts([by_class], self._seeds(1), X.shape[1], problem)
        rebuild = partial(_joint_weights_so_far, n_features=X.shape[1], n_classes=n_classes)
        one = OneProblem(objective, solver, start)
        (solution,), progress = self._solve_all(one, X, y, rebuild, begin)
        self.solutions_, self.n_iter_ = (solution,), solution.n_iter
        self.coef_, self.intercept_ = collapsed(solution.w, solution.b)
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


def _weights_so_far(found: list[Solution | None], n_features: int) -> dict[str, Any]:
    """Return the fitted attributes as of the solutions so far."""
    coef = [solution.w if solution else np.zeros(n_features) for solution in found]
    intercept = [solution.b if solution else 0.0 for solution in found]
    return {"coef_": np.array(coef), "intercept_": np.array(intercept)}


def _joint_weights_so_far(
    found: list[Solution | None], n_features: int, n_classes: int
) -> dict[str, Any]:
    """Return the same of the one problem of all classes."""
    (solution,) = found
    w, b = np.zeros((n_classes, n_features)), np.zeros(n_classes)
    coef, intercept = collapsed(*((solution.w, solution.b) if solution else (w, b)))
    return {"coef_": coef, "intercept_": intercept}
