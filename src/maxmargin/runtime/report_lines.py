"""What verbose=1 writes: one live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import math
import shutil
import sys
import threading
import time
from typing import TextIO

from maxmargin.certificate import relative
from maxmargin.solution import Record

#: Seconds between two states of a live line: more often nobody can read it.
_SECONDS_PER_STATE = 0.1

_ERASE_TO_END = "\x1b[K"


class ReportLines:
    """Writes on standard error how the problems of a fit go, from any thread."""

    def __init__(self, name: str, n_problems: int, tol: float, max_time: float | None) -> None:
        self._name, self._n_problems, self._tol, self._max_time = name, n_problems, tol, max_time
        self._stream: TextIO = sys.stderr
        self._live = self._stream.isatty()
        self._lock, self._written = threading.Lock(), -math.inf
        self._line = ""  # that the terminal shows
        self._first: dict[int, Record] = {}  # of each problem, with a gap
        self._solved = 0

    def show(self, task: int, record: Record, *, proven: bool) -> None:
        """Show a gap check of one problem, or work between two of them, where nothing is proven."""
        with self._lock:
            if proven:
                self._first.setdefault(task, record)
            text = self._text(task, record, proven=proven)
            if not self._live:
                self._stream.write(f"{text}\n")
                return
            now, self._line = time.perf_counter(), f"{self._name} {text}"
            if now >= self._written + _SECONDS_PER_STATE:
                self._written = now
                self._draw()

    def solved(self) -> None:
        """Count one more problem."""
        with self._lock:
            self._solved += 1

    def close(self) -> None:
        """Leave the last state on the terminal."""
        with self._lock:
            if self._live and self._line:
                self._draw()
                self._stream.write("\n")
                self._stream.flush()
                self._line = ""

    def _draw(self) -> None:
        width = shutil.get_terminal_size().columns
        self._stream.write(f"\r{self._line[: width - 1]}{_ERASE_TO_END}")
        self._stream.flush()

    def _text(self, task: int, record: Record, *, proven: bool) -> str:
        label = f"[{task + 1}/{self._n_problems}] " if self._n_problems > 1 else ""
        begin = f"{label}{record.time:8.2f} s  iteration {record.epoch:5d}"
        if not proven:
            return f"{begin}  dual {record.dual:.8g}"
        share = relative(record.gap, record.dual)
        found = f"gap {share:.2g} of {self._tol:g}{self._left(task, record, share)}"
        if self._live:
            return f"{begin}  {found}"
        return f"{begin}  primal {record.primal:.8g}  dual {record.dual:.8g}  {found}"

    def _left(self, task: int, record: Record, share: float) -> str:
        """Say what is left, if the gap shrinks by the same factor in the same time."""
        seconds = self._seconds_left(task, record, share)
        if seconds is not None and self._max_time is not None:
            seconds = min(seconds, max(0.0, self._max_time - record.time))
        return "" if seconds is None else f"  {seconds:.1f} s left"

    def _seconds_left(self, task: int, record: Record, share: float) -> float | None:
        begin = self._first[task]
        own = 0.0
        if share > self._tol:
            shrunk = relative(begin.gap, begin.dual) / share
            if not 1.0 < shrunk < math.inf or record.time <= begin.time:
                return None
            own = (record.time - begin.time) * math.log(share / self._tol) / math.log(shrunk)
        others = self._n_problems - len(self._first)
        if others == 0:
            return own
        return own + others * record.time / len(self._first) if self._solved else None
