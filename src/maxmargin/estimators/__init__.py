"""The scikit-learn estimators."""

from __future__ import annotations

from maxmargin.estimators.linear import LinearSVC, LinearSVR

__all__ = ["LinearSVC", "LinearSVR"]
