"""Callbacks of an estimator whose work another estimator does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Delegated:
    """The fit of such an estimator as scikit-learn's callbacks see it: parts, and its end."""

    def __init__(self, estimator: Any, X: Any, y: Any) -> None:
        self._estimator, self._data = estimator, {"X": X, "y": y}
        self._context: Any = None  # no callback
        if getattr(estimator, "_skl_callbacks", ()) or hasattr(estimator, "_parent_callback_ctx"):
            self._context = estimator._init_callback_context(max_subtasks=None)
            self._context.call_on_fit_task_begin(estimator=estimator, **self._data)

    @contextmanager
    def part(self, name: str, worker: Any) -> Iterator[None]:
        """Let the callbacks that go on to others see what the other estimator does."""
        if self._context is None:
            yield
            return
        context = self._context.subcontext(name)
        context.call_on_fit_task_begin(estimator=self._estimator, **self._data)
        with context.propagate_callback_context(worker):
            yield
        context.call_on_fit_task_end(estimator=self._estimator, **self._data)

    def end(self) -> None:
        """Announce that the estimator is fitted."""
        if self._context is not None:
            self._context.call_on_fit_task_end(
                estimator=self._estimator, **self._data, reconstruction_attributes={}
            )
