"""Decision regions with margins, support vectors and slacks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from maxmargin.data.arrays import Array
from maxmargin.plots._plane import Plane
from maxmargin.plots._samples import Roles, roles, signs
from maxmargin.plots._style import GREY, colour, equal_scales, finish, marker, new_axes

#: Slacks below it are not drawn, nor is a way to the margin that does not end there.
_SMALL = 0.02


class Grid(NamedTuple):
    """Coordinates in the plane, and f or the place of the predicted class there."""

    u: Array
    v: Array
    values: Array


@dataclass(eq=False, repr=False, kw_only=True)
class MarginDisplay:
    """Where a classifier decides how, and which samples decide it.

    Two classes: the boundary f = 0 is a solid line, the margins f = ±1 are dashed; several: the
    borders between the regions. Support vectors on the edge are ringed by a circle, those at the
    bound by a square; a line goes from each sample with a slack to the margin that it misses.

    Parameters
    ----------
    grid : Grid
        Of f for two classes, of the place of the predicted class for more.
    points : array of shape (n, 2)
        The samples in the plane.
    y : array
        Their places among the classes.
    classes : array
        The labels.
    support : Roles
        Which samples are support vectors.
    slack_lines : array of shape (m, 2, 2)
        From samples to the margin.
    labels : tuple of two str
        Names of the axes.
    """

    grid: Grid
    points: Array
    y: NDArray[np.intp]
    classes: NDArray[Any]
    support: Roles
    slack_lines: Array
    labels: tuple[str, str]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        features: Any = None,
        resolution: int = 300,
        ax: Any = None,
    ) -> MarginDisplay:
        """Draw a fitted classifier with the data of its fit.

        Beyond two dimensions that is on a plane: through two `features`, by number or name, with
        the others at their medians, or by default along the two first principal components.
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "classes_"):
            raise ValueError(
                f"MarginDisplay is for classifiers, got {type(estimator).__name__}. TubeDisplay"
                " draws regressions."
            )
        names = getattr(X, "columns", None)
        rows = X if names is None else X.to_numpy()
        plane = Plane.through(rows, features, names)
        points, decide = plane.project(rows), _values(estimator, names)
        u, v, lifted = plane.grid(points, resolution)
        values = decide(lifted).reshape(u.shape)
        two = len(estimator.classes_) == 2
        lines = np.zeros((0, 2, 2))
        if two and plane.whole:
            lines = _ways_to_the_margin(decide, points, signs(estimator, y), plane)
        display = cls(
            grid=Grid(u, v, values),
            points=points,
            y=np.searchsorted(estimator.classes_, y),
            classes=estimator.classes_,
            support=roles(estimator, rows, y, sample_weight),
            slack_lines=lines,
            labels=plane.labels,
        )
        return display.plot(ax=ax)

    def plot(self, ax: Any = None) -> MarginDisplay:
        """Draw into the axes, or into new ones."""
        self.ax_ = ax = new_axes(ax)
        self.figure_ = ax.figure
        self._draw_regions(ax)
        self._draw_slacks(ax)
        self.samples_ = []
        for place, label in enumerate(self.classes):
            of_class = self.points[self.y == place]
            style = {"c": colour(place), "marker": marker(place), "edgecolor": "white"}
            dots = ax.scatter(*of_class.T, s=26, lw=0.5, zorder=3, label=f"class {label}", **style)
            self.samples_.append(dots)
        self.free_ = self._ring(ax, self.support.free, "o", "free support vector, 0 < α < C")
        self.bounded_ = self._ring(ax, self.support.bounded, "s", "bounded support vector, α = C")
        ax.set(xlim=self.grid.u[0, [0, -1]], ylim=self.grid.v[[0, -1], 0])
        equal_scales(ax)
        finish(ax, below=True, xlabel=self.labels[0], ylabel=self.labels[1])
        return self

    def _draw_regions(self, ax: Any) -> None:
        u, v, values = self.grid
        tints = [colour(place) for place in range(len(self.classes))]
        if len(tints) > 2:
            self._draw_several(ax, tints)
            return
        limit = float(np.abs(values).max()) + 1.0
        levels = [-limit, 0.0, limit]
        self.regions_ = ax.contourf(u, v, values, levels=levels, colors=tints, alpha=0.13)
        self.lines_ = ax.contour(
            u,
            v,
            values,
            levels=[-1.0, 0.0, 1.0],
            colors="black",
            linestyles=["--", "-", "--"],
            linewidths=[1.0, 1.8, 1.0],
        )
        ax.plot([], [], "k-", lw=1.8, label="f = 0")
        ax.plot([], [], "k--", lw=1.0, label="f = ±1")

    def _draw_several(self, ax: Any, tints: list[str]) -> None:
        """Tint the region of each class, with borders between them."""
        from matplotlib.colors import ListedColormap

        u, v, values = self.grid
        borders = np.arange(len(tints) - 1) + 0.5
        self.regions_ = ax.pcolormesh(
            u,
            v,
            values,
            cmap=ListedColormap(tints),
            vmin=-0.5,
            vmax=len(tints) - 0.5,
            alpha=0.13,
            shading="nearest",
            rasterized=True,
        )
        self.lines_ = ax.contour(u, v, values, levels=borders, colors="black", linewidths=1.2)

    def _draw_slacks(self, ax: Any) -> None:
        if len(self.slack_lines) == 0:
            self.slacks_ = None
            return
        from matplotlib.collections import LineCollection

        self.slacks_ = LineCollection(
            list(self.slack_lines), colors=GREY, linewidths=0.8, zorder=2, label="slack"
        )
        ax.add_collection(self.slacks_)

    def _ring(self, ax: Any, chosen: NDArray[np.bool_], shape: str, label: str) -> Any:
        if not chosen.any():
            return None
        return ax.scatter(
            *self.points[chosen].T,
            s=90,
            marker=shape,
            facecolors="none",
            edgecolors="black",
            linewidths=1.1,
            zorder=4,
            label=label,
        )

    def describe(self) -> str:
        """Say in one sentence what is to be seen."""
        free, bounded = int(self.support.free.sum()), int(self.support.bounded.sum())
        return (
            f"{len(self.points)} samples of {len(self.classes)} classes on the plane of"
            f" {self.labels[0]} and {self.labels[1]}, {free} of them free and {bounded} bounded"
            f" support vectors, {len(self.slack_lines)} with a slack drawn."
        )


def _values(estimator: Any, names: Any) -> Callable[[Array], Array]:
    """Return what is drawn: f for two classes, the place of the predicted class for more."""

    def decide(rows: Array) -> Array:
        given: Any = rows
        if names is not None:
            import pandas as pd

            given = pd.DataFrame(rows, columns=names)
        if len(estimator.classes_) == 2:
            return np.asarray(estimator.decision_function(given), dtype=np.float64)
        places = np.searchsorted(estimator.classes_, estimator.predict(given))
        return np.asarray(places, dtype=np.float64)

    return decide


def _ways_to_the_margin(
    f: Callable[[Array], Array], points: Array, y: Array, plane: Plane
) -> Array:
    """Return lines from samples with a slack to where y f = 1, down the gradient of f."""
    start = points[y * f(plane.lift(points)) < 1.0 - _SMALL]
    asked = y[y * f(plane.lift(points)) < 1.0 - _SMALL]
    if len(start) == 0:
        return np.zeros((0, 2, 2))
    at, step = start.copy(), 1e-5 * np.ptp(points, axis=0).max()
    for _ in range(20):
        lacking = asked - f(plane.lift(at))
        slopes = [
            (f(plane.lift(at + ahead)) - f(plane.lift(at - ahead))) / (2.0 * step)
            for ahead in step * np.eye(2)
        ]
        slope = np.column_stack(slopes)
        at = at + (lacking / np.maximum((slope**2).sum(axis=1), 1e-12))[:, np.newaxis] * slope
    there = np.abs(f(plane.lift(at)) - asked) < _SMALL
    near = np.abs(at - start).max(axis=1) < np.ptp(points, axis=0).max()
    return np.asarray(np.stack([start, at], axis=1)[there & near])
