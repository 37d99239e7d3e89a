"""Regression within its tube."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.data.arrays import Array
from maxmargin.estimators._checks import without_names
from maxmargin.plots._samples import Roles, roles
from maxmargin.plots._style import GREY, colour, finish, new_axes


@dataclass(eq=False, repr=False, kw_only=True)
class TubeDisplay:
    """f of one feature, its tube of half width ε, and the support vectors outside and on its edge.

    Parameters
    ----------
    line : tuple of two arrays
        Values of the feature and f at them.
    x, y : arrays
        The samples.
    epsilon : float
        Half width of the tube.
    support : Roles
        Which samples are support vectors.
    label : str
        Name of the feature.
    """

    line: tuple[Array, Array]
    x: Array
    y: Array
    epsilon: float
    support: Roles
    label: str

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, feature: int = 0, ax: Any = None
    ) -> TubeDisplay:
        """Draw a fitted regression along one feature, the others at their medians."""
        estimator, names = without_names(estimator), getattr(X, "columns", None)
        rows = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
        x = rows[:, feature]
        along = np.tile(np.median(rows, axis=0), (300, 1))
        room = 0.03 * np.ptp(x)
        along[:, feature] = np.linspace(x.min() - room, x.max() + room, len(along))
        display = cls(
            line=(along[:, feature], estimator.predict(along)),
            x=x,
            y=np.asarray(y, dtype=np.float64),
            epsilon=float(getattr(estimator, "epsilon_", getattr(estimator, "epsilon", 0.0))),
            support=roles(estimator, rows, y),
            label=f"feature {feature}" if names is None else str(names[feature]),
        )
        return display.plot(ax=ax)

    def plot(self, ax: Any = None) -> TubeDisplay:
        """Draw into the axes, or into new ones."""
        self.ax_ = ax = new_axes(ax)
        self.figure_ = ax.figure
        at, f = self.line
        inside = ~(self.support.free | self.support.bounded)
        self.tube_ = ax.fill_between(
            at, f - self.epsilon, f + self.epsilon, color=colour(0), alpha=0.15, label="tube f ± ε"
        )
        self.line_ = ax.plot(at, f, "-", color=colour(0), lw=2.0, label="f")[0]
        self.inside_ = ax.scatter(
            self.x[inside], self.y[inside], s=18, c=GREY, label="inside: α = 0"
        )
        self.free_ = self._dots(ax, self.support.free, "o", "on the edge: 0 < α < C")
        self.bounded_ = self._dots(ax, self.support.bounded, "s", "outside: α = C")
        finish(ax, below=True, xlabel=self.label, ylabel="y")
        return self

    def _dots(self, ax: Any, chosen: Any, shape: str, label: str) -> Any:
        return ax.scatter(
            self.x[chosen],
            self.y[chosen],
            s=36,
            marker=shape,
            c=colour(1),
            edgecolor="black",
            linewidth=0.8,
            label=label,
        )

    def describe(self) -> str:
        """Say in one sentence what is to be seen."""
        outside, edge = int(self.support.bounded.sum()), int(self.support.free.sum())
        return (
            f"{len(self.x)} samples and a tube of half width {self.epsilon:.3g}: {outside} are"
            f" outside and {edge} on its edge."
        )
