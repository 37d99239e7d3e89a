"""The map of C and γ."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV

from maxmargin.data.arrays import Array
from maxmargin.plots._style import finish, new_axes


class TuningDisplay:
    """Cross-validated scores for every C and γ, with the best cell marked.

    Parameters
    ----------
    Cs, gammas : arrays
        In increasing order.
    scores : array of shape (len(gammas), len(Cs))
        Mean scores, larger is better.
    name : str
        Of the score.
    """

    def __init__(self, Cs: Array, gammas: Array, scores: Array, name: str = "score") -> None:
        self.Cs = Cs
        self.gammas = gammas
        self.scores = scores
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        Cs: Any = None,
        gammas: Any = None,
        cv: Any = 5,
        ax: Any = None,
    ) -> TuningDisplay:
        """Cross-validate copies of the estimator, by default for 7 × 7 pairs, and draw them."""
        grid = {
            "C": np.geomspace(1e-2, 1e4, 7) if Cs is None else np.sort(Cs),
            "gamma": np.geomspace(1e-4, 1e2, 7) if gammas is None else np.sort(gammas),
        }
        return cls.from_cv_results(GridSearchCV(estimator, grid, cv=cv).fit(X, y), ax=ax)

    @classmethod
    def from_cv_results(cls, search: Any, *, ax: Any = None) -> TuningDisplay:
        """Draw a fitted search over C and gamma, a GridSearchCV for example."""
        results = search.cv_results_
        names = [next((n for n in results if n.endswith(end)), None) for end in ("_C", "_gamma")]
        if None in names:
            raise ValueError("The search must be over C and gamma: both are the map's axes.")
        C, gamma = (np.asarray(results[name], dtype=np.float64) for name in names)
        Cs, gammas = np.unique(C), np.unique(gamma)
        scores = np.full((len(gammas), len(Cs)), np.nan)
        scores[np.searchsorted(gammas, gamma), np.searchsorted(Cs, C)] = results["mean_test_score"]
        return cls(Cs, gammas, scores, _name(search)).plot(ax=ax)

    @property
    def best(self) -> tuple[float, float, float]:
        """C, γ and the score of the best cell."""
        row, column = np.unravel_index(np.nanargmax(self.scores), self.scores.shape)
        return (
            float(self.Cs[column]), float(self.gammas[row]), float(self.scores[row, column])
        )  # fmt: skip

    def plot(self, ax: Any = None) -> TuningDisplay:
        """Draw into the axes, or into new ones."""
        self.ax_ = ax = new_axes(ax)
        self.figure_ = ax.figure
        self.mesh_ = ax.pcolormesh(
            _edges(self.Cs), _edges(self.gammas), self.scores, cmap="cividis"
        )
        self.bar_ = self.figure_.colorbar(self.mesh_, ax=ax, label=f"cross-validated {self.name}")
        C, gamma, score = self.best
        label = f"best: C = {C:.3g}, γ = {gamma:.3g}, {score:.3g}"
        self.best_ = ax.scatter(
            [C], [gamma], s=160, marker="*", c="white", edgecolor="black", label=label, zorder=3
        )
        if self.scores.size <= 100:
            self._write(ax)
        ax.set(xscale="log", yscale="log")
        finish(ax, below=True, xlabel="C", ylabel="γ")
        return self

    def _write(self, ax: Any) -> None:
        """Write each score into its cell, in black or white by what is behind."""
        middle = 0.5 * (np.nanmin(self.scores) + np.nanmax(self.scores))
        for (row, column), score in np.ndenumerate(self.scores):
            if np.isfinite(score) and score != self.best[2]:
                ink = "black" if score > middle else "white"
                place = self.Cs[column], self.gammas[row]
                text = f"{score:.2f}"
                ax.text(*place, text, color=ink, ha="center", va="center", fontsize="x-small")

    def describe(self) -> str:
        """Say in one sentence what is to be seen."""
        C, gamma, score = self.best
        return (
            f"Of {self.scores.size} pairs, C = {C:.3g} and gamma = {gamma:.3g} have the best"
            f" {self.name}, {score:.4g}."
        )


def _edges(values: Array) -> Array:
    """Return the borders between values, as far from both on a logarithmic scale."""
    at = np.log(values)
    middle = 0.5 * (at[:-1] + at[1:])
    first = at[0] - (middle[0] - at[0] if len(middle) else 0.5)
    last = at[-1] + (at[-1] - middle[-1] if len(middle) else 0.5)
    return np.asarray(np.exp([first, *middle, last]))


def _name(search: Any) -> str:
    given = getattr(search, "scoring", None)
    if isinstance(given, str):
        return given
    return "accuracy" if hasattr(search, "classes_") else "score"
