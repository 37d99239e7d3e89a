"""What each training sample is to a fitted model: its α, its slack, its KKT case."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from maxmargin.data.arrays import UNIT, Array
from maxmargin.data.checks import LARGEST_C
from maxmargin.data.targets import (
    class_costs,
    class_members,
    costs_against_rest,
    relative_costs,
    sample_costs,
)
from maxmargin.estimators._checks import checked_targets, without_names
from maxmargin.estimators._sample_table import HardMarginPart, JointPart, Part, SampleTable
from maxmargin.kernels.pairwise import squares
from maxmargin.multiclass.decomposition import binary_targets, pair_targets
from maxmargin.objectives.rounding import sum_error
from maxmargin.solution import Solution

#: Share of the slacks by which their sum may differ from that of the fit before the data are taken
#: for other data: far above what float32 kernel values make of it.
_OTHER_DATA = 1e-3


class SamplesMixin:
    """`samples`, `alpha_` and `slack_` of a fitted model."""

    solutions_: tuple[Solution, ...]
    _slack_of: tuple[tuple[Solution, ...], Any]

    def samples(self, X: Any, y: Any = None, sample_weight: Any = None) -> SampleTable:
        """Return what each sample of the training data is to the model: α, ξ, y f(x), KKT case.

        X, y and `sample_weight` must be those of the fit, as the model does not keep them.
        """
        tables = [part.table() for part in parts_of(self, X, y, sample_weight)]
        self._slack_of = self.solutions_, _by_problem([table.slack for table in tables])
        return np.concatenate(tables).view(SampleTable)

    @property
    def alpha_(self) -> Any:
        """α_i of every training sample, in regression |β_i|; a list if there are several problems.

        K classes in one problem have α_ij = |β_ij|.
        """
        solutions = self._solved_here("dual variables")  # type: ignore[attr-defined]
        return _by_problem([np.abs(found.beta) / _unit(self, found) for found in solutions])

    @property
    def slack_(self) -> Any:
        """ξ_i of every training sample, known once `samples` was called with the training data."""
        solutions = self._solved("slacks")  # type: ignore[attr-defined]
        known, slack = getattr(self, "_slack_of", (None, None))
        if known is not solutions:
            raise AttributeError(
                "slack_ needs the training data, which the model does not keep: call"
                " samples(X, y), which has the slacks in its column slack."
            )
        return slack


def _by_problem(values: list[Array]) -> Any:
    return values[0] if len(values) == 1 else values


def _unit(model: Any, solution: Solution) -> float:
    """By what f and β of a solution are divided: ρ of a NuSVC."""
    return float(model._unit(solution)) if hasattr(model, "_unit") else 1.0


def parts_of(model: Any, X: Any, y: Any, sample_weight: Any = None) -> list[Part | JointPart]:
    """Return the problems that the model has solved, on its training samples."""
    solutions = model._solved_here("table of samples")
    X, y = _checked(model, X, y)
    costs, hard = _costs(model, X, y, sample_weight)
    error = _rounding_of_values(model, X)
    if solutions[0].beta.ndim == 2:
        return [_joint_part(without_names(model), solutions[0], X, y, costs[0], error)]
    posed = (
        one._replace(error=error) for one in _posed(without_names(model), X, y, len(solutions))
    )
    return [
        _part(model, place, *triple, HardMarginPart if hard else Part)
        for place, triple in enumerate(zip(solutions, posed, costs, strict=True))
    ]


def _rounding_of_values(model: Any, X: Any) -> float:
    """Bound the rounding of f(x_i): of <w, x_i> + b, or of Σ c_j k(x_j, x_i) + b."""
    if _any_samples(model):
        return 0.0
    size = float(np.abs(getattr(model, "intercept_", 0.0)).max())
    if not hasattr(model, "dual_coef_"):
        longest, norm = float(squares(X).max()), float(np.linalg.norm(model.coef_))
        return sum_error(model.n_features_in_) * (math.sqrt(longest) * norm + size)
    kernel, largest, own = model._fitted_kernel, 0.0, 1.0
    if kernel is None:
        largest = float(abs(X).max())
    else:
        largest, own = float(np.abs(kernel.diagonal(X)).max()), kernel.rounding(X)
    total = float(abs(model.dual_coef_).sum())
    return (sum_error(model.dual_coef_.shape[1]) + own * UNIT) * (total * largest + size)


def _costs(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[list[Array], bool]:
    """Return C_i of each problem, of a hard margin 1 × the weight, and if the margin is hard."""
    lam = getattr(model, "lam", None)
    C = None if not hasattr(model, "C") and hasattr(model, "lam") else getattr(model, "C", 1.0)
    hard = model._hard()
    if lam is None and math.inf == C:
        C = 1.0 if hard else LARGEST_C
    rows = np.empty((_num_samples(X), 0))
    if {"C", "lam"} & model.get_params(deep=False).keys():
        cost = sample_costs(rows, C, lam, sample_weight)
    else:
        cost = relative_costs(rows, sample_weight)
    if not hasattr(model, "classes_"):
        return [cost], hard
    if getattr(model, "_rest_has_no_weight", False):
        return costs_against_rest(cost, model.class_weight, model.classes_, y), hard
    cost = class_costs(cost, model.class_weight, model.classes_, y)
    return [cost] * len(model.solutions_), hard


class _Posed(NamedTuple):
    """Rows and targets of a problem, its f, the sign that makes β that of f, the rounding of f."""

    rows: NDArray[np.intp]
    y: Array
    f: Array
    sign: float = 1.0
    error: float = 0.0


def _any_samples(model: Any) -> bool:
    """Whether samples may be anything, as the kernel is a plain function."""
    return bool(getattr(model, "_function", False))


def _checked(model: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """Return X and y as `fit` reads them."""
    if y is None and not hasattr(model, "offset_"):
        raise ValueError("y must be the labels or targets of the fit, got None.")
    if y is None:
        return (X if _any_samples(model) else model._check_rows(X, reset=False)), None
    if _any_samples(model):
        y = checked_targets(y, _num_samples(X), y_numeric=not hasattr(model, "classes_"))
    else:
        X, y = model._check_rows(X, y, reset=False)
    if hasattr(model, "classes_") and not np.isin(y, model.classes_).all():
        raise ValueError(
            f"y has labels other than {model.classes_.tolist()}, on which the model was fitted."
            " Give the labels of the fit."
        )
    return X, y


def _posed(model: Any, X: Any, y: Any, n_problems: int) -> Iterator[_Posed]:
    """Yield rows, targets and values of each problem."""
    everyone = np.arange(_num_samples(X))
    if hasattr(model, "offset_"):
        yield _Posed(everyone, np.ones(len(everyone)), model.score_samples(X))
        return
    if not hasattr(model, "classes_"):
        yield _Posed(everyone, np.asarray(y, dtype=np.float64), model.predict(X))
        return
    values = _values(model, X)
    if _by_pairs(model):
        pairs = pair_targets(class_members(y, model.classes_))
        for rows, target, f in zip(*pairs, values.T, strict=True):
            yield _Posed(rows, target, f[rows])
        return
    machine = hasattr(model, "n_support_") and getattr(model, "landmarks", None) is None
    sign = -1.0 if n_problems == 1 and machine else 1.0  # as LIBSVM solves it
    for target, f in zip(binary_targets(y, model.classes_), values.T, strict=True):
        yield _Posed(everyone, target, f, sign)


def _by_pairs(model: Any) -> bool:
    """Whether there is a problem for each pair of more than two classes."""
    if hasattr(model, "n_support_"):
        return bool(model._by_pairs)
    return getattr(model, "_members", None) is not None and len(model.classes_) > 2


def _values(model: Any, X: Any) -> Array:
    """F of every row and every problem."""
    if hasattr(model, "_values_by_problem"):
        return np.asarray(model._values_by_problem(model._rows_to_predict(X)))
    if _by_pairs(model):
        return np.asarray(X @ model.coef_.T + model.intercept_)
    values = np.asarray(model.decision_function(X))
    return values.reshape(len(values), -1)


def _check_fit(solution: Solution, place: int, cost: Array) -> None:
    """Refuse another number of samples, or other costs, than those of the fit."""
    if len(solution.beta) != len(cost):
        raise ValueError(
            f"X has {len(cost)} samples in problem {place}, and the model was fitted to"
            f" {len(solution.beta)}. Give X and y of the fit."
        )
    mean = float(cost.mean())
    if abs(mean - solution.mean_cost) > 1e-6 * solution.mean_cost:
        raise ValueError(
            f"The mean of C × weight is {mean:.6g}, and that of the fit was"
            f" {solution.mean_cost:.6g}. Give the sample_weight of the fit, and leave C, lam and"
            " class_weight as they were."
        )


def _part(
    model: Any, place: int, solution: Solution, posed: _Posed, cost: Array, kind: type[Part]
) -> Part:
    _check_fit(solution, place, cost[posed.rows])
    unit, certificate = _unit(model, solution), solution.certificate
    edge = solution.loss.target_scale
    if hasattr(type(model), "equivalent_C_") and edge > 0.0:  # f is in units of ρ, unless w = 0
        edge = 1.0
    part = kind(
        place,
        posed.rows,
        posed.y,
        cost[posed.rows] / unit,
        posed.sign * solution.beta / unit,
        posed.f,
        edge,
        certificate.margin * unit,
        solution.loss,
        solution,
    )
    if not solution.excess:  # else f goes on from the solution, with other slacks
        size = 1.0 if part.loss.one_sided else float(np.abs(part.y).max(initial=0.0))
        _refuse_other_data(part, certificate.slack_sum / unit, (unit, size, posed.error))
    return part


def _joint_part(
    model: Any, solution: Solution, X: Any, y: Any, cost: Array, error: float
) -> JointPart:
    """Return the one problem of all classes; two have half of the difference each."""
    _check_fit(solution, 0, cost)
    f = np.asarray(model.decision_function(X))
    if f.ndim == 1:
        f = np.column_stack([-0.5 * f, 0.5 * f])
    products = solution.w @ (f if hasattr(model, "dual_coef_") else solution.w.T)
    own = np.diag(products)
    squares = own + own[:, np.newaxis] - products - products.T
    part = JointPart(np.searchsorted(model.classes_, y), cost, solution.beta, f, squares, solution)
    _refuse_other_data(part, solution.certificate.slack_sum, (1.0, 1.0, 2.0 * error))
    return part


def _refuse_other_data(
    part: Part | JointPart, known: float, scales: tuple[float, float, float]
) -> None:
    """Refuse data whose slacks do not add up to those of the fit, or that lie in another order.

    The scales are those of f and of the targets, and the rounding of f.
    """
    unit, size, error = scales
    live = part.cost > 0.0
    found, rounding = float(part.slack[live].sum()), error * float(np.count_nonzero(live))
    merged = part.solution.distinct_rows is not None  # equal rows count once in the certificate
    if not merged and abs(found - known) > _OTHER_DATA * (known + size) + rounding:
        raise ValueError(
            f"The slacks of these data add up to {found:.6g}, and those of the fit to {known:.6g}."
            " Give X and y of the fit, in their order."
        )
    certificate = part.solution.certificate
    most = (certificate.gap + _OTHER_DATA * abs(certificate.primal)) / unit**2
    rates = part.cost if part.bounded else 2.0 * part.cost * (part.slack + error)
    most += error * float(rates.sum() + np.abs(part.beta).sum())
    if not abs(part.gap) <= most and getattr(part, "edge", 1.0) > 0.0:
        raise ValueError(
            f"With these data the model has a gap of at least {part.gap:.3g}, and the fit proved"
            f" {certificate.gap:.3g}. Give X and y of the fit, in their order."
        )
