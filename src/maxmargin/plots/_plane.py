"""A plane through the data, on which decision regions are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.data.arrays import Array


@dataclass(frozen=True, eq=False)
class Plane:
    """centre + u first + v second; `labels` name u and v."""

    centre: Array
    directions: Array
    labels: tuple[str, str]
    whole: bool  # whether all of space is in it

    @classmethod
    def through(cls, X: Any, features: Any = None, names: Any = None) -> Plane:
        """Return the plane of two features, or of the two first principal components.

        With two named features, the others are at their medians.
        """
        X = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
        names = [f"feature {j}" for j in range(X.shape[1])] if names is None else list(names)
        if features is None and X.shape[1] == 2:
            features = (0, 1)
        if features is None:
            return cls._principal(X)
        first, second = (names.index(f) if isinstance(f, str) else int(f) for f in features)
        centre = np.median(X, axis=0)
        centre[[first, second]] = 0.0
        axes = np.eye(X.shape[1])[[first, second]]
        return cls(centre, axes, (names[first], names[second]), X.shape[1] == 2)

    @classmethod
    def _principal(cls, X: Array) -> Plane:
        if X.shape[1] < 2:
            raise ValueError(
                "Decision regions need two features or more, X has one. Use MarginHistogramDisplay,"
                " or TubeDisplay for regression."
            )
        centre = X.mean(axis=0)
        _, sizes, axes = np.linalg.svd(X - centre, full_matrices=False)
        shares = sizes**2 / max(float((sizes**2).sum()), 1e-300)
        said = [f"principal component {j + 1} ({100 * shares[j]:.0f} %)" for j in (0, 1)]
        return cls(centre, axes[:2], (said[0], said[1]), False)

    def project(self, X: Any) -> Array:
        """Return (u, v) of every row."""
        X = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
        return np.asarray((X - self.centre) @ self.directions.T)

    def lift(self, points: Array) -> Array:
        """Return the rows in the space of the data of points (u, v)."""
        return np.asarray(self.centre + points @ self.directions)

    def grid(self, points: Array, resolution: int) -> tuple[Array, Array, Array]:
        """Return coordinates around the points, and the rows that they are."""
        low, high = points.min(axis=0), points.max(axis=0)
        room = 0.08 * np.where(high > low, high - low, 1.0)
        sides = [
            np.linspace(a, b, resolution) for a, b in zip(low - room, high + room, strict=True)
        ]
        u, v = np.meshgrid(*sides)
        return u, v, self.lift(np.column_stack([u.ravel(), v.ravel()]))
