"""Ctrl-C as a request to stop, which fits hear between their steps."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupt:
    """A request to stop, shared by the fits that it concerns."""

    def __init__(self) -> None:
        self.requested = False


@contextmanager
def interruptible() -> Iterator[Interrupt]:
    """Turn the first Ctrl-C into a request to stop; the second is raised as usual.

    Only in the main thread, where Python delivers signals, and only if nobody else has taken the
    signal over.
    """
    interrupt = Interrupt()
    previous = signal.getsignal(signal.SIGINT)
    if (
        threading.current_thread() is not threading.main_thread()
        or previous is not signal.default_int_handler
    ):
        yield interrupt
        return

    def request(_signal: int, _frame: FrameType | None) -> None:
        interrupt.requested = True
        signal.signal(signal.SIGINT, previous)

    signal.signal(signal.SIGINT, request)
    try:
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, previous)
