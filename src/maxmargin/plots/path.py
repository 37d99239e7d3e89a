"""Weights and dual variables against C."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from maxmargin.data.arrays import Array
from maxmargin.data.checks import check_choice
from maxmargin.kernels.pairwise import plain
from maxmargin.plots._style import colour, dash, finish, marker, new_axes
from maxmargin.theory.model_certificate import read
from maxmargin.theory.posed import Data, Posed


class PathDisplay:
    """What C does: a line for each weight, or for each sample's α / C.

    Parameters
    ----------
    Cs : array of shape (m,)
        The values of C.
    weights : array of shape (m, d) or None
        The weights at them; None with a kernel.
    shares : array of shape (m, n)
        |β_i| / C_i: 0 away from the margin, 1 at the bound.
    """

    def __init__(self, Cs: Array, weights: Array | None, shares: Array) -> None:
        self.Cs = Cs
        self.weights = weights
        self.shares = shares

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        Cs: Any = None,
        quantity: str = "duals",
        ax: Any = None,
    ) -> PathDisplay:
        """Fit copies of the estimator for every C, by default 25 from 1e-3 to 1e3, and draw them.

        `quantity` is "duals" or "weights". It is for one problem: two classes, or regression.
        """
        Cs = np.sort(np.asarray(np.geomspace(1e-3, 1e3, 25) if Cs is None else Cs, np.float64))
        data, weights, shares = Data.checked(X, y, None), [], []
        for C in Cs:
            model = clone(estimator).set_params(C=float(C)).fit(data.X, data.y)
            posed = read(model, data, None, {})[0][0]
            if len(model.solutions_) > 1 or not isinstance(posed, Posed):
                raise ValueError("A path is of one problem: give samples of two classes.")
            assert posed.beta is not None
            shares.append(np.abs(posed.beta) / posed.cost)
            weights.append(np.ravel(plain(model.coef_)) if hasattr(model, "coef_") else None)
        whole = None if weights[0] is None else np.array(weights)
        return cls(Cs, whole, np.array(shares)).plot(quantity=quantity, ax=ax)

    def plot(self, *, quantity: str = "duals", ax: Any = None) -> PathDisplay:
        """Draw into the axes, or into new ones."""
        check_choice("quantity", quantity, ("duals", "weights"))
        if quantity == "weights" and self.weights is None:
            raise ValueError("quantity='weights' needs a linear model. Use quantity='duals'.")
        self.ax_ = ax = new_axes(ax)
        self.figure_ = ax.figure
        if quantity == "weights":
            self.lines_ = self._draw_weights(ax)
            ax.axhline(0.0, color="black", lw=0.6)
        else:
            self.lines_ = ax.plot(self.Cs, self.shares, color=colour(0), lw=0.7, alpha=0.35)
            mean = self.shares.mean(axis=1)
            self.lines_ += ax.plot(self.Cs, mean, color=colour(1), lw=2.2, label="mean")
            self.lines_[0].set_label("one sample")
        ax.set_xscale("log")
        name = "weight" if quantity == "weights" else "α / C"
        finish(ax, below=True, columns=4, xlabel="C", ylabel=name)
        return self

    def _draw_weights(self, ax: Any) -> list[Any]:
        """Draw the weights, the eight that are largest at the end with names."""
        assert self.weights is not None
        largest = np.argsort(-np.abs(self.weights[-1]))
        lines = []
        for place, j in enumerate(largest):
            named = place < 8
            style: dict[str, Any] = {"color": colour(place) if named else "#BBBBBB"}
            style["ls"] = dash(place // 2)
            style |= {"marker": marker(place), "markersize": 4} if named else {"lw": 0.6}
            lines += ax.plot(
                self.Cs, self.weights[:, j], label=f"feature {j}" if named else None, **style
            )
        return lines

    def describe(self) -> str:
        """Say in one sentence what is to be seen."""
        used = (self.shares > 0.0).mean(axis=1)
        return (
            f"From C = {self.Cs[0]:.3g} to {self.Cs[-1]:.3g} the share of support vectors goes from"
            f" {100 * used[0]:.0f} % to {100 * used[-1]:.0f} %."
        )
