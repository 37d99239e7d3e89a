"""Warnings that point to the caller's own line."""

from __future__ import annotations

import sys
import warnings

#: Packages whose frames lie between a fit and its caller: this one, and those of decorators,
#: pipelines and searches.
_BETWEEN = ("maxmargin", "sklearn", "joblib", "contextlib")


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the first frame outside of these packages.

    `skip_file_prefixes` of Python 3.12 does the same.
    """
    frame, level = sys._getframe(), 1
    while frame.f_back and str(frame.f_globals.get("__name__")).partition(".")[0] in _BETWEEN:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
