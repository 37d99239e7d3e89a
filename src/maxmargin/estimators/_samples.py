"""What each training sample is to a fitted model: its α, its slack, its KKT case."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from maxmargin.data.arrays import Array
from maxmargin.data.targets import class_costs, class_members, sample_costs
from maxmargin.estimators._checks import checked_targets, without_names
from maxmargin.losses import Loss
from maxmargin.multiclass.decomposition import binary_targets, pair_targets
from maxmargin.solution import Solution

_FIELDS = np.dtype(
    [
        ("sample", np.intp),
        ("problem", np.intp),
        ("alpha", np.float64),
        ("bound", np.float64),
        ("slack", np.float64),
        ("margin", np.float64),
        ("distance", np.float64),
        ("case", np.int8),
        ("violation", np.float64),
    ]
)

#: Share of the slacks by which their sum may differ from that of the fit before the data are taken
#: for other data: far above what float32 kernel values make of it.
_OTHER_DATA = 1e-3


class SampleTable(np.recarray):
    """One row for each training sample, and for each problem that it is in.

    Attributes
    ----------
    sample, problem : ndarray of int
        The row of X, and the place of its problem in `solutions_`.
    alpha : ndarray
        α_i ≥ 0; in regression |β_i|.
    bound : ndarray
        C_i, the most that α_i may be; infinite where the loss is squared or the margin hard.
    slack : ndarray
        ξ_i: how far the sample is on the costly side.
    margin : ndarray
        y_i f(x_i); in regression the residual y_i − f(x_i).
    distance : ndarray
        y_i f(x_i)/‖w‖, the distance to the decision boundary, negative on the wrong side; in
        regression ε − |y_i − f(x_i)|, to the edge of the tube, negative outside.
    case : ndarray of int
        Of the KKT conditions: 1 on the edge, 0 < α < C and y f(x) = 1; 2 at the bound, α = C and
        y f(x) ≤ 1; 3 away, α = 0 and y f(x) ≥ 1; 0 for samples of weight 0. With a squared loss the
        edge of a sample is 1 − α/(2C).
    violation : ndarray
        By how much that condition is missed, in the units of f.
    """

    def to_pandas(self) -> Any:
        """Return the table as a pandas.DataFrame."""
        try:
            import pandas  # noqa: PLC0415 - only this method needs it
        except ImportError as error:
            raise ImportError(
                "to_pandas() needs the package pandas: pip install pandas."
            ) from error
        return pandas.DataFrame({name: np.asarray(self[name]) for name in _FIELDS.names or ()})


class Part(NamedTuple):
    """One of a model's problems in the terms of the texts, on its training samples.

    y is ±1, or the targets; β is that of f, so that β_i = y_i α_i in classification. `scale` is
    1/‖w‖, `edge` the value of y f(x) beyond which nothing is lost.
    """

    place: int
    rows: NDArray[np.intp]
    y: Array
    cost: Array
    beta: Array
    f: Array
    edge: float
    scale: float
    loss: Loss
    solution: Solution

    @property
    def slack(self) -> Array:
        """ξ_i."""
        if self.loss.one_sided:
            return np.maximum(0.0, self.edge - self.y * self.f)
        return self.loss.slack(self.y, self.f)

    @property
    def gap(self) -> float:
        """What the samples add to the gap of f and β: a Fenchel-Young gap ≥ 0 each."""
        beta, miss = self.beta, self.edge * self.y - self.f
        conjugate = miss * beta - self.loss.epsilon * np.abs(beta)
        return float((self.lost - conjugate + 0.5 * self.loss.curvature(self.cost) * beta**2).sum())

    @property
    def lost(self) -> Array:
        """C_i ℓ of every sample."""
        return self.cost * (self.slack if self.loss.bounded else self.slack**2)

    @property
    def bound(self) -> Array:
        """The most that |β_i| may be."""
        return self.cost if self.loss.bounded else np.where(self.cost > 0.0, math.inf, 0.0)

    @property
    def finite_cost(self) -> Array:
        """C_i, or finite ones with which the problem has the same optimum."""
        return self.cost

    def table(self) -> SampleTable:
        """Return the rows of these samples."""
        table = np.recarray(len(self.rows), dtype=_FIELDS).view(SampleTable)
        table.sample, table.problem, table.alpha = self.rows, self.place, np.abs(self.beta)
        table.bound, table.slack = self.bound, self.slack
        if self.loss.one_sided:
            table.margin = self.y * self.f
            table.distance = table.margin * self.scale
        else:
            table.margin = self.y - self.f
            table.distance = self.loss.epsilon - np.abs(table.margin)
        table.case = self._cases()
        table.violation = self._violations(table.case)
        return table

    def _cases(self) -> NDArray[np.int8]:
        alpha = np.abs(self.beta)
        conditions = [self.cost == 0.0, alpha == 0.0, alpha >= self.bound]
        return np.select(conditions, [0, 3, 2], 1).astype(np.int8)

    def _violations(self, case: NDArray[np.int8]) -> Array:
        """By how much a sample is on the costly side of its edge: 0 on it, < 0 beyond."""
        if self.loss.one_sided:
            cost = self.edge - self.y * self.f
        else:
            residual = self.y - self.f
            towards = np.where(self.beta == 0.0, np.sign(residual), np.sign(self.beta))
            cost = towards * residual - self.loss.epsilon
        cost = cost - self.loss.curvature(self.cost) * np.abs(self.beta)
        sides = [np.abs(cost), np.maximum(0.0, -cost), np.maximum(0.0, cost)]
        return np.select([case == 1, case == 2, case == 3], sides, 0.0)


class HardMarginPart(Part):
    """That of a hard margin: no slack is paid for, and β has no bound."""

    @property
    def lost(self) -> Array:
        """0: slacks are those of rounding."""
        return np.zeros(len(self.cost))

    @property
    def bound(self) -> Array:
        """The most that |β_i| may be."""
        return np.where(self.cost > 0.0, math.inf, 0.0)

    @property
    def finite_cost(self) -> Array:
        """Σ α_j: no α_i is larger, nor of the same data without a sample."""
        return np.where(self.cost > 0.0, float(np.abs(self.beta).sum()), 0.0)


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


def parts_of(model: Any, X: Any, y: Any, sample_weight: Any = None) -> list[Part]:
    """Return the problems that the model has solved, on its training samples."""
    solutions = model._solved_here("table of samples")
    if any(solution.beta.ndim == 2 for solution in solutions):
        raise ValueError(
            "multi_class='crammer_singer' is one problem of all classes, where a sample has an α"
            " for each of them (alpha_) and no KKT case. Use multi_class='ovr' for this table."
        )
    _refuse_other_problems(model)
    X, y = _checked(model, X, y)
    lam = getattr(model, "lam", None)
    hard = lam is None and getattr(model, "C", 1.0) == math.inf
    C = None if not hasattr(model, "C") and hasattr(model, "lam") else getattr(model, "C", 1.0)
    places = np.empty((_num_samples(X), 0))
    cost = sample_costs(places, 1.0 if hard else C, lam, sample_weight)
    if hasattr(model, "classes_"):
        cost = class_costs(cost, model.class_weight, model.classes_, y)
    posed = _posed(without_names(model), X, y, len(solutions))
    return [
        _part(model, place, *pair, cost, HardMarginPart if hard else Part)
        for place, pair in enumerate(zip(solutions, posed, strict=True))
    ]


def _refuse_other_problems(model: Any) -> None:
    """Refuse what is no sum over samples with an α each."""
    if getattr(model, "landmarks", None) is not None:
        raise ValueError(
            f"landmarks={model.landmarks} solves an approximate problem, whose α are not those of"
            " the kernel machine. Use landmarks=None for this table."
        )
    if getattr(model, "penalty", "l2") == "l1":
        raise ValueError(
            "penalty='l1' has no w = Σ α_i y_i x_i, and so no KKT cases. Use penalty='l2'."
        )


class _Posed(NamedTuple):
    """Rows and targets of a problem, its f, and the sign that makes β that of f."""

    rows: NDArray[np.intp]
    y: Array
    f: Array
    sign: float = 1.0


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
    sign = -1.0 if n_problems == 1 and hasattr(model, "n_support_") else 1.0  # as LIBSVM solves it
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


def _part(
    model: Any, place: int, solution: Solution, posed: _Posed, cost: Array, kind: type[Part]
) -> Part:
    if len(solution.beta) != len(posed.rows):
        raise ValueError(
            f"X has {len(posed.rows)} samples in problem {place}, and the model was fitted to"
            f" {len(solution.beta)}. Give X and y of the fit."
        )
    unit, certificate = _unit(model, solution), solution.certificate
    mean = float(cost[posed.rows].mean())
    if abs(mean - solution.mean_cost) > 1e-6 * solution.mean_cost:
        raise ValueError(
            f"The mean of C × weight is {mean:.6g}, and that of the fit was"
            f" {solution.mean_cost:.6g}. Give the sample_weight of the fit, and leave C, lam and"
            " class_weight as they were."
        )
    part = kind(
        place,
        posed.rows,
        posed.y,
        cost[posed.rows] / unit,
        posed.sign * solution.beta / unit,
        posed.f,
        1.0 if hasattr(type(model), "equivalent_C_") else solution.loss.target_scale,
        certificate.margin * unit,
        solution.loss,
        solution,
    )
    if not solution.excess:  # else f goes on from the solution, with other slacks
        _refuse_other_data(part, certificate.slack_sum / unit, unit)
    return part


def _merged(part: Part) -> bool:
    """Whether equal rows were fitted as one, and so count once in the certificate."""
    return part.solution.distinct_rows is not None


def _refuse_other_data(part: Part, known: float, unit: float) -> None:
    """Refuse data whose slacks do not add up to those of the fit, or that lie in another order."""
    found = float(part.slack[part.cost > 0.0].sum())
    size = 1.0 if part.loss.one_sided else float(np.abs(part.y).max(initial=0.0))
    if not _merged(part) and abs(found - known) > _OTHER_DATA * (known + size):
        raise ValueError(
            f"The slacks of these data add up to {found:.6g}, and those of the fit to {known:.6g}."
            " Give X and y of the fit, in their order."
        )
    certificate = part.solution.certificate
    most = (certificate.gap + _OTHER_DATA * abs(certificate.primal)) / unit**2
    if not abs(part.gap) <= most and part.edge > 0.0:
        raise ValueError(
            f"With these data the model has a gap of at least {part.gap:.3g}, and the fit proved"
            f" {certificate.gap:.3g}. Give X and y of the fit, in their order."
        )
