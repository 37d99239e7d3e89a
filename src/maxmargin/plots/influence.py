"""The samples whose removal moves the boundary most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from maxmargin.data.arrays import Array
from maxmargin.data.checks import check_count
from maxmargin.estimators._checks import without_names
from maxmargin.plots._plane import Plane
from maxmargin.plots._samples import roles
from maxmargin.plots._style import colour, equal_scales, finish, marker, new_axes

#: Where the number of a sample may stand beside it.
_SIDES = ((1, 1), (1, -1), (-1, 1), (-1, -1))


@dataclass(eq=False, repr=False, kw_only=True)
class InfluenceDisplay:
    """By how much f moves when a sample is left out.

    Only support vectors can move it; each that is tried costs a refit.

    Parameters
    ----------
    points : array of shape (n, 2)
        The samples in the plane.
    y, classes : arrays
        Their places among the classes, and the labels.
    influence : array of shape (n,)
        Root mean square of the change of f over all samples; 0 where nothing changes, NaN where
        it was not tried.
    grids : tuple of arrays
        Coordinates, f, and f without the most influential sample.
    labels : tuple of two str
        Names of the axes.
    """

    points: Array
    y: NDArray[np.intp]
    classes: NDArray[Any]
    influence: Array
    grids: tuple[Array, Array, Array, Array]
    labels: tuple[str, str]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        candidates: int = 50,
        features: Any = None,
        ax: Any = None,
    ) -> InfluenceDisplay:
        """Refit copies of a fitted classifier of two classes without one support vector each.

        At most `candidates` are tried: those that violate the margin most first, then those on its
        edge. Beyond two dimensions the picture is on a plane, as of MarginDisplay.
        """
        check_count("candidates", candidates, advice="Each costs a refit.")
        if len(estimator.classes_) != 2:
            raise ValueError("Influence is shown for two classes: give samples of two.")
        names = getattr(X, "columns", None)
        X, y = np.asarray(X, dtype=np.float64), np.asarray(y)
        estimator = without_names(estimator)
        f, support = estimator.decision_function(X), roles(estimator, X, y)
        places = np.searchsorted(estimator.classes_, y)
        order = np.argsort((2.0 * places - 1.0) * f)
        tried = order[(support.bounded | support.free)[order]][:candidates]
        influence = np.where(support.bounded | support.free, np.nan, 0.0)
        without = {}
        for i in tried:
            kept = np.arange(len(y)) != i
            without[i] = clone(estimator).fit(X[kept], y[kept])
            change = without[i].decision_function(X) - f
            influence[i] = float(np.sqrt(np.mean(change**2)))
        plane = Plane.through(X, features, names)
        points = plane.project(X)
        u, v, lifted = plane.grid(points, 200)
        models = [estimator, without[tried[np.argmax(influence[tried])]]]
        values = [model.decision_function(lifted).reshape(u.shape) for model in models]
        display = cls(
            points=points,
            y=places,
            classes=estimator.classes_,
            influence=influence,
            grids=(u, v, values[0], values[1]),
            labels=plane.labels,
        )
        return display.plot(ax=ax)

    def plot(self, *, top: int = 5, ax: Any = None) -> InfluenceDisplay:
        """Draw into the axes, or into new ones, with the row numbers of the `top` samples."""
        self.ax_ = ax = new_axes(ax)
        self.figure_ = ax.figure
        u, v, f, without = self.grids
        self.boundary_ = ax.contour(u, v, f, levels=[0.0], colors="black", linewidths=1.8)
        self.moved_ = ax.contour(
            u, v, without, levels=[0.0], colors="black", linestyles=":", linewidths=1.8
        )
        ax.plot([], [], "k-", lw=1.8, label="boundary")
        first = int(self.ranking[0])
        ax.plot([], [], "k:", lw=1.8, label=f"boundary without sample {first}")
        sizes = 14.0 + 260.0 * np.nan_to_num(self.influence) / np.nanmax(self.influence)
        self.samples_ = []
        for place, label in enumerate(self.classes):
            own = self.y == place
            style = {"c": colour(place), "marker": marker(place), "edgecolor": "white"}
            dots = ax.scatter(
                *self.points[own].T,
                s=sizes[own],
                lw=0.5,
                alpha=0.75,
                label=f"class {label}",
                **style,
            )
            self.samples_.append(dots)
        self.names_ = self._names(ax, [int(i) for i in self.ranking[:top]])
        equal_scales(ax)
        finish(ax, below=True, xlabel=self.labels[0], ylabel=self.labels[1])
        for handle in ax.get_legend().legend_handles:
            if hasattr(handle, "set_sizes"):
                handle.set_sizes([30.0])
        return self

    def _names(self, ax: Any, rows: list[int]) -> list[Any]:
        """Write the numbers of these rows, each on the side where it is farthest from others."""
        span = np.ptp(self.points, axis=0)
        written: list[Any] = []
        names = []
        for i in rows:
            at = self.points[i] / span + 0.03 * np.array(_SIDES)
            apart = [min((np.abs(p - q).sum() for q in written), default=1.0) for p in at]
            side = int(np.argmax(np.minimum(apart, 0.15)))
            written.append(at[side])
            names.append(self._name(ax, i, _SIDES[side]))
        return names

    def _name(self, ax: Any, i: int, side: tuple[int, int]) -> Any:
        from matplotlib.patheffects import withStroke

        return ax.annotate(
            str(i),
            self.points[i],
            xytext=(7 * side[0], 7 * side[1]),
            textcoords="offset points",
            ha="left" if side[0] > 0 else "right",
            va="bottom" if side[1] > 0 else "top",
            fontsize="small",
            fontweight="bold",
            path_effects=[withStroke(linewidth=2.5, foreground="white")],
        )

    @property
    def ranking(self) -> NDArray[np.intp]:
        """Rows from the most influential down, those without influence left out."""
        order = np.argsort(-np.nan_to_num(self.influence))
        return order[np.nan_to_num(self.influence)[order] > 0.0]

    def describe(self) -> str:
        """Say in one sentence what is to be seen."""
        first = int(self.ranking[0])
        return (
            f"Without sample {first} f changes most, by {self.influence[first]:.2g} on the average;"
            f" {len(self.ranking)} of {len(self.y)} samples change it when they are left out."
        )
