"""Warnings that point to the caller's own line, once each."""

from __future__ import annotations

import re
import sys
import warnings
from types import FrameType
from typing import Any

#: Packages whose frames lie between a fit and its caller: this one, and those of decorators,
#: pipelines and searches.
_BETWEEN = ("maxmargin", "sklearn", "joblib", "contextlib")

#: Actions of warning filters that show a sentence once.
_ONCE = ("default", "module", "once")

_NUMBERS = re.compile(r"[-+]?\d[\d.,]*(e[-+]?\d+)?")

#: Sentences that were said, but for their numbers, where, and under which filters.
_said: dict[tuple[Any, ...], tuple[Any, ...]] = {}


def warn(message: str, category: type[Warning], *, anywhere: bool = False) -> None:
    """Warn at the first frame outside of these packages.

    `skip_file_prefixes` of Python 3.12 does the same. Where the filters show a warning once, so
    are those that differ by their numbers only: a search over parameters would repeat each for
    every fit. Where they show all, all are shown. One said `anywhere` is not repeated elsewhere.
    """
    frame, level = sys._getframe(), 1
    while frame.f_back and str(frame.f_globals.get("__name__")).partition(".")[0] in _BETWEEN:
        frame, level = frame.f_back, level + 1
    if _action(message, category, frame) in _ONCE:
        site = () if anywhere else (frame.f_code.co_filename, frame.f_lineno)
        key, filters = (category, _NUMBERS.sub("#", message), *site), tuple(warnings.filters)
        if _said.get(key) == filters:
            return
        _said[key] = filters
    warnings.warn(message, category, stacklevel=level)


def _action(message: str, category: type[Warning], frame: FrameType) -> str:
    """Return what the filters make of a warning, as `warnings.warn` reads them."""
    module, line = str(frame.f_globals.get("__name__") or "<unknown>"), frame.f_lineno
    for action, text, kind, where, number in warnings.filters:
        if (
            (text is None or _matches(text, message))
            and issubclass(category, kind)
            and (where is None or _matches(where, module))
            and number in (0, line)
        ):
            return action
    return str(getattr(warnings, "defaultaction", "default"))


def _matches(pattern: Any, text: str) -> bool:
    """Whether a filter's pattern, a string in some of Python's own filters, is met."""
    return text == pattern if isinstance(pattern, str) else pattern.match(text) is not None
