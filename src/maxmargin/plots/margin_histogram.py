"""How margins are distributed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.data.arrays import Array
from maxmargin.plots._samples import margins
from maxmargin.plots._style import colour, finish, new_axes

_HATCHES = ("///", "\\\\\\", "...", "xxx", "+++", "ooo")


class MarginHistogramDisplay:
    """How many samples have which margin: y f(x), or f_y(x) − max f_j(x) for several classes.

    Left of 0 are the errors, left of 1 the samples that cost something.

    Parameters
    ----------
    margins : array
        Of each sample.
    y : array
        Their places among the classes.
    classes : array
        The labels.
    """

    def __init__(self, margins: Array, y: NDArray[np.intp], classes: NDArray[Any]) -> None:
        self.margins = margins
        self.y = y
        self.classes = classes

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, bins: int = 40, ax: Any = None
    ) -> MarginHistogramDisplay:
        """Draw a fitted classifier's margins on any labelled data."""
        places = np.searchsorted(estimator.classes_, y)
        display = cls(margins(estimator, X, y), places, estimator.classes_)
        return display.plot(bins=bins, ax=ax)

    def plot(self, *, bins: int = 40, ax: Any = None) -> MarginHistogramDisplay:
        """Draw into the axes, or into new ones."""
        self.ax_ = ax = new_axes(ax)
        self.figure_ = ax.figure
        groups = [self.margins[self.y == place] for place in range(len(self.classes))]
        self.counts_, self.edges_, self.bars_ = ax.hist(
            groups,
            bins=bins,
            stacked=True,
            color=[colour(place) for place in range(len(groups))],
            edgecolor="white",
            linewidth=0.4,
            label=[f"class {label}" for label in self.classes],
        )
        for place, bars in enumerate(self.bars_ if len(groups) > 1 else [self.bars_]):
            for bar in bars:
                bar.set_hatch(_HATCHES[place % len(_HATCHES)])
        ax.axvspan(min(float(self.margins.min()), 0.0), 0.0, color="black", alpha=0.08, zorder=0)
        self.lines_ = [
            ax.axvline(0.0, color="black", lw=1.8, label="decision boundary"),
            ax.axvline(1.0, color="black", lw=1.0, ls="--", label="margin"),
        ]
        several = len(self.classes) > 2
        label = "f of the own class − largest of the others" if several else "margin y f(x)"
        finish(ax, below=True, xlabel=label, ylabel="samples")
        return self

    def describe(self) -> str:
        """Say in one sentence what is to be seen."""
        wrong, within = float((self.margins <= 0.0).mean()), float((self.margins < 1.0).mean())
        return (
            f"Of {len(self.margins)} margins {100 * wrong:.1f} % are errors and"
            f" {100 * within:.1f} % less than 1; the median is {np.median(self.margins):.2g}."
        )
