"""Ctrl-C as a request to stop, which fits check between their steps."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupt:
    """A request to stop, shared by the fits that it concerns; `pressed` if it came by Ctrl-C."""

    def __init__(self) -> None:
        self.requested = self.pressed = False

    def __call__(self, _signal: int, _frame: FrameType | None) -> None:
        """Take the signal: the first Ctrl-C is a request, the second is raised as usual."""
        if self.pressed:
            raise KeyboardInterrupt
        self.requested = self.pressed = True


@contextmanager
def interruptible() -> Iterator[Interrupt]:
    """Turn the first Ctrl-C into a request to stop; the outermost of these raises it in the end.

    What is opened within shares the request. Only in the main thread, where Python delivers
    signals, and only if no other handler is installed.
    """
    previous = signal.getsignal(signal.SIGINT)
    main = threading.current_thread() is threading.main_thread()
    if main and isinstance(previous, Interrupt):
        yield previous
        return
    interrupt = Interrupt()
    if not main or previous is not signal.default_int_handler:
        yield interrupt
        return
    signal.signal(signal.SIGINT, interrupt)
    try:
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, previous)
