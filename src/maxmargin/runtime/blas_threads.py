"""BLAS kept to one thread while a solver has threads of its own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

#: Multiplications from which on BLAS may wake its threads, and below which these save less than
#: the 4 to 30 ms for which a thread may wait for a core that another one keeps busy.
_WAKE_THREADS, _WORTH_THREADS = 2**17, 2**28


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # a search of the loaded libraries, which takes 10 ms


class _Fits:
    """How many fits need it: the first sets the limit, the last removes it."""

    def __init__(self) -> None:
        self._lock, self._count = threading.Lock(), 0
        self._limit: Any = None

    def begin(self) -> None:
        with self._lock:
            if self._count == 0:
                self._limit = _controller().limit(limits=1, user_api="blas")
            self._count += 1

    def end(self) -> None:
        with self._lock:
            self._count -= 1
            if self._count == 0:
                self._limit.restore_original_limits()


_FITS = _Fits()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS to one thread meanwhile: its others spin on for a while after each product.

    The limit is the process's, as BLAS has no other; it is counted, so that fits side by side leave
    what they found.
    """
    _FITS.begin()
    try:
        yield
    finally:
        _FITS.end()


def blas_threads_for(multiplications: int) -> AbstractContextManager[None]:
    """Keep BLAS to one thread meanwhile, unless the work is so little or so much that it may be."""
    if _WAKE_THREADS <= multiplications < _WORTH_THREADS:
        return one_blas_thread()
    return nullcontext()
