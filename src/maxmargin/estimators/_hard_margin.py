"""Hard margins: through the origin, and of linear machines."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from maxmargin.data.arrays import Array, Matrix
from maxmargin.data.checks import scale_advice
from maxmargin.data.targets import class_members
from maxmargin.kernels.pairwise import plain
from maxmargin.multiclass.decomposition import pair_targets
from maxmargin.runtime.delegated import Delegated
from maxmargin.solution import NotSeparableError

#: What a LinearSVC with C=inf hands to the kernel machine.
_SHARED = (
    "C",
    "fit_intercept",
    "multi_class",
    "class_weight",
    "tol",
    "max_iter",
    "max_time",
    "n_jobs",
    "verbose",
)


class NotSeparableThroughOriginError(NotSeparableError):
    """No hyperplane through 0 separates the classes: 0 is in the hull of all y_i x_i, or as good.

    Attributes
    ----------
    classes : tuple
        The two classes.
    distance : float
        How near the hull comes to 0, in the space of the kernel.
    witness : tuple of two arrays
        The weights of all training samples, those of the first class and those of the second: each
        0 or larger, summing to 1 together. The weighted sums of both sides are `distance` apart.
    """

    def __str__(self) -> str:
        return (
            f"C=inf and fit_intercept=False, but no hyperplane through the origin separates classes"
            f" {self.classes[0]!r} and {self.classes[1]!r} by a margin above {self.distance:.2g}:"
            f" weighted sums of both, with weights that sum to 1, are as near (see .witness). Give"
            f" fit_intercept=True, a finite C, or a kernel that can tell them apart.{self.advice}"
        )


def fit_hard_linear(model: Any, X: Matrix, y: Any, sample_weight: Any) -> None:
    """Fit a LinearSVC with C=inf by the kernel machine of the same problem."""
    from maxmargin.estimators.kernel import SVC  # noqa: PLC0415 - SVC is built on LinearSVC

    svc = SVC(kernel="linear", **{name: getattr(model, name) for name in _SHARED})
    delegated = Delegated(model, X, y)
    with delegated.part("kernel machine", svc):
        svc.fit(X, y, sample_weight)
    model.classes_, model._members = svc.classes_, None
    pairs = len(svc.classes_) > 2 and model.multi_class == "ovo"
    if pairs:
        model._members = pair_targets(class_members(y, svc.classes_))[0]
    sign = -1.0 if len(svc.solutions_) == 1 else 1.0  # of two classes SVC solves the first's
    coef = np.array(plain(svc.coef_))
    model.solutions_ = tuple(
        replace(found, w=w, b=float(b), beta=sign * found.beta)
        for found, w, b in zip(svc.solutions_, coef, svc.intercept_, strict=True)
    )
    model.coef_, model.intercept_ = coef, svc.intercept_
    model.n_iter_ = int(np.max(svc.n_iter_))
    model._probabilities = svc._probabilities
    delegated.end()


def refuse_through_origin(
    pair: tuple[Any, Any], witness: Array, distance: float, X: Matrix
) -> None:
    """Raise that no hyperplane through 0 separates them."""
    total = float(np.abs(witness).sum())
    sides = np.maximum(witness, 0.0) / total, np.maximum(-witness, 0.0) / total
    raise NotSeparableThroughOriginError(pair, distance, sides, scale_advice(X))
