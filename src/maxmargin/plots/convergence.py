"""Primal, dual and gap against time or epochs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from maxmargin.data.arrays import Array
from maxmargin.data.checks import check_choice
from maxmargin.plots._style import GREY, colour, dash, finish, marker, new_axes


class Course(NamedTuple):
    """Gap checks of a fit: seconds, epochs, P, D, P − D, and Pegasos' bound at them, or None."""

    time: Array
    epoch: Array
    primal: Array
    dual: Array
    gap: Array
    bound: Array | None = None


class ConvergenceDisplay:
    """How fits came to their proofs: one or several of them in one picture.

    Parameters
    ----------
    courses : dict
        Names and courses.
    """

    def __init__(self, courses: Mapping[str, Course]) -> None:
        self.courses = dict(courses)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, x: str = "time", quantity: str = "gap", ax: Any = None
    ) -> ConvergenceDisplay:
        """Draw a fitted model, or several by name: `{"Newton": model, "Pegasos": other}`.

        `x` is "time" or "epoch". `quantity` is "gap", P − D beside the last dual value, or
        "objective", P from above and D from below. For Pegasos, the bound of its theorem on the
        expected objective above the optimum is drawn too, where it holds (see `bound_`).
        """
        given = estimator if isinstance(estimator, Mapping) else {_name(estimator): estimator}
        courses = {
            f"{name}{said}": course
            for name, model in given.items()
            for said, course in _courses(model)
        }
        return cls(courses).plot(x=x, quantity=quantity, ax=ax)

    def plot(self, *, x: str = "time", quantity: str = "gap", ax: Any = None) -> ConvergenceDisplay:
        """Draw into the axes, or into new ones."""
        check_choice("x", x, ("time", "epoch"))
        check_choice("quantity", quantity, ("gap", "objective"))
        self.ax_ = ax = new_axes(ax)
        self.figure_ = ax.figure
        self.lines_: list[Any] = []
        for place, (name, course) in enumerate(self.courses.items()):
            at = course.time if x == "time" else course.epoch
            style = {"color": colour(place), "marker": marker(place), "markersize": 4}
            if quantity == "gap":
                self._draw_gap(ax, name, course, at, style | {"ls": dash(place)})
            else:
                self.lines_ += ax.plot(at, course.primal, "-", label=f"{name}, primal", **style)
                self.lines_ += ax.plot(at, course.dual, "--", label=f"{name}, dual", **style)
        if quantity == "gap":
            ax.set_yscale("log")
        if x == "time":
            ax.set_xscale("log")
        else:
            ax.set_xscale("symlog", linthresh=1.0)
            ax.set_xlim(left=0.0)
        label = "gap / last dual value" if quantity == "gap" else "objective"
        finish(ax, xlabel="seconds" if x == "time" else "epochs or steps", ylabel=label)
        return self

    def _draw_gap(
        self, ax: Any, name: str, course: Course, at: Array, style: dict[str, Any]
    ) -> None:
        scale = float(np.abs(course.dual[-1])) or 1.0
        shown = (course.gap > 0.0) & np.isfinite(course.gap)
        self.lines_ += ax.plot(at[shown], course.gap[shown] / scale, label=name, **style)
        if course.bound is not None:
            bound = course.bound / scale
            label = f"{name}: bound of the theorem"
            self.lines_ += ax.plot(at, bound, color=GREY, ls=":", lw=1.8, label=label)

    def describe(self) -> str:
        """Say in one sentence what is to be seen."""
        ends = [f"{name} to {course.gap[-1]:.2g}" for name, course in self.courses.items()]
        return f"The duality gap of {len(ends)} fits closes: {', '.join(ends)}."


def _name(model: Any) -> str:
    name, solver = type(model).__name__, model.solutions_[0].solver
    return name if solver in name.lower() else f"{name} ({solver})"


def _courses(model: Any) -> list[tuple[str, Course]]:
    """Return the courses of its problems, with a word on which it is."""
    several = len(model.solutions_) > 1
    return [
        (f", problem {place}" if several else "", _course(model, solution))
        for place, solution in enumerate(model.solutions_, 1)
        if solution.history
    ]


def _course(model: Any, solution: Any) -> Course:
    columns = (np.array(column, dtype=np.float64) for column in zip(*solution.history, strict=True))
    course = Course(*columns)
    total, steps = solution.info.bound, solution.info.steps
    if hasattr(model, "bound_") and math.isfinite(total) and steps > 1.0 and course.epoch[-1] > 0:
        taken = np.maximum(1.0, steps * course.epoch / course.epoch[-1])
        last = (1.0 + math.log(steps)) / steps
        course = course._replace(bound=total * (1.0 + np.log(taken)) / taken / last)
    return course
