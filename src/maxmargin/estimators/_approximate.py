"""Linear answers in an embedding as answers to kernel problems, to be judged there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.data.arrays import Array, Matrix
from maxmargin.data.checks import check_positive, is_infinite
from maxmargin.data.targets import class_members
from maxmargin.embeddings.certificates import (
    Approximation,
    ExactCertificate,
    ExactEstimate,
    ExactProblem,
    exact_bounds,
)
from maxmargin.kernels import Kernel
from maxmargin.losses import EPSILON_INSENSITIVE, HINGE, Loss, regression_loss
from maxmargin.multiclass.decomposition import binary_targets, pair_targets
from maxmargin.objectives.base import Intercept
from maxmargin.solution import Solution


class Posing:
    """The problems that were solved: rows, targets and costs of each."""

    def __init__(
        self,
        rows: list[NDArray[np.intp]],
        targets: list[Array],
        cost: Array,
        costs: list[Array] | None = None,
    ) -> None:
        self.rows, self.targets, self.cost = rows, targets, cost
        self.costs = costs or [cost] * len(rows)  # of all samples, in each problem

    @classmethod
    def of_classes(
        cls, y: NDArray[Any], classes: NDArray[Any], cost: Array, *, pairs: bool
    ) -> Posing:
        """Return one problem for each pair of classes, or for each class."""
        if not np.isin(y, classes).all():
            unknown = np.setdiff1d(y, classes)[0].item()
            raise ValueError(
                f"y has the label {unknown!r}; those of the fit were {classes.tolist()}."
                " exact_certificate needs the rows, labels and weights of the fit."
            )
        if pairs and len(classes) > 2:
            rows, targets = pair_targets(class_members(y, classes))
            return cls(rows, targets, cost)
        targets = binary_targets(y, classes)
        return cls([np.arange(len(y))] * len(targets), targets, cost)

    def approximations(
        self, solutions: Any, expansions: list[tuple[Array, float]]
    ) -> list[Approximation]:
        """Join them with their linear solutions and the kernel expansions of these."""
        found = []
        for rows, target, cost, solution, (coef, b) in zip(
            self.rows, self.targets, self.costs, solutions, expansions, strict=True
        ):
            if len(solution.beta) != len(rows):
                raise ValueError(
                    f"X has {len(self.cost)} rows; the fit had others. exact_certificate needs the"
                    " rows, labels and weights of the fit."
                )
            found.append(Approximation(rows, target, cost[rows], solution.beta, coef, b))
        return found


def bounds_in_kernel_space(
    svm: Any,
    solutions: tuple[Solution, ...],
    embedding: Any,
    X: Matrix,
    posing: Posing,
    max_values: float,
) -> ExactCertificate | ExactEstimate:
    """Judge a linear machine on an embedding of kernel values, and its solutions, there."""
    if not is_infinite(max_values):
        check_positive("max_values", max_values, advice="It counts kernel values; inf: no limit.")
    loss, free = _bounded_loss(svm), _free_intercept(svm)
    weights = zip(np.atleast_2d(svm.coef_), svm.intercept_, strict=True)
    expansions = [embedding.expansion(w, float(b)) for w, b in weights]
    if not free and any(b for _, b in expansions):
        raise ValueError(
            "exact_certificate: a centred embedding gives f an intercept, so that the exact problem"
            " must have a free one. Give the machine fit_intercept=True."
        )
    kernel: Kernel = embedding.kernel_
    exact = ExactProblem(kernel, X, embedding.basis_, loss, free, embedding.n_jobs)
    return exact_bounds(exact, posing.approximations(solutions, expansions), max_values)


def _bounded_loss(svm: Any) -> Loss:
    """Return the loss, if the exact problem is that of SVC or SVR."""
    named = getattr(svm, "loss", None)
    if named == HINGE.name and getattr(svm, "multi_class", None) != "crammer_singer":
        return HINGE
    if named == EPSILON_INSENSITIVE.name:
        return regression_loss(named, float(svm.epsilon))
    raise ValueError(
        "exact_certificate compares with SVC or SVR: the machine needs loss='hinge' and"
        f" multi_class='ovr' or 'ovo', or loss='epsilon_insensitive', got {svm!r}."
    )


def _free_intercept(svm: Any) -> bool:
    """Return whether the intercept is free; a penalised one is not that of SVC or SVR."""
    intercept: Intercept = svm._intercept()
    if intercept is Intercept.PENALIZED:
        raise ValueError(
            "exact_certificate compares with SVC or SVR, whose intercept is not penalised. Fit with"
            " penalized_intercept=False."
        )
    return intercept is Intercept.FREE
