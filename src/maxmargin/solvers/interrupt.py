"""Ctrl-C as a request to stop, which fits hear between their steps."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupt:
    """A request to stop, shared by the fits that it concerns.

    It was `heard` when a fit stopped for it.
    """

    def __init__(self) -> None:
        self.requested = self.heard = False


@contextmanager
def interruptible() -> Iterator[Interrupt]:
    """Turn the first Ctrl-C into a request to stop; the second is raised as usual.

    So is one that came too late for a fit to hear it: a loop of short fits would not end else. Only
    in the main thread, where Python delivers signals, and only if nobody else has taken the
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

    pressed = False

    def request(_signal: int, _frame: FrameType | None) -> None:
        nonlocal pressed
        interrupt.requested = pressed = True
        signal.signal(signal.SIGINT, previous)

    signal.signal(signal.SIGINT, request)
    try:
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, previous)
    if pressed and not interrupt.heard:
        raise KeyboardInterrupt
