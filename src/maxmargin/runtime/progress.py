"""Report progress: lines on standard error if verbose, scikit-learn's callbacks."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from maxmargin.certificate import Certificate, relative
from maxmargin.data.arrays import Array
from maxmargin.losses import HINGE, Loss
from maxmargin.runtime.interrupt import Interrupt
from maxmargin.runtime.monitor import Report
from maxmargin.runtime.report_lines import ReportLines
from maxmargin.solution import Record, Solution

#: Makes the fitted attributes of a model from its solutions so far, None if unbegun.
Rebuild = Callable[[list[Solution | None]], dict[str, Any]]


class Progress:
    """The fit of one estimator: a task for each gap check, below a task for each class if several.

    Classes may be fitted in threads; the callbacks see one gap check at a time. A model is made
    from the solutions so far where a callback asks for it.
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        n_classes: int,
        interrupt: Interrupt,
        rebuild: Rebuild,
    ) -> None:
        self._estimator, self._interrupt = estimator, interrupt
        self._lines: ReportLines | None = None
        if estimator.verbose:
            stopping = estimator._stopping()
            name = estimator._works_for or type(estimator).__name__
            self._lines = ReportLines(name, n_classes, stopping.tol, stopping.max_time)
        self._data = {"X": X, "y": y}
        self._rebuild = rebuild
        self._solutions: list[Solution | None] = [None] * n_classes
        self._watched = bool(getattr(estimator, "_skl_callbacks", ()))
        self._lock = threading.Lock()
        self._several = n_classes > 1
        self._context: Any = None  # no callback
        if self._watched or hasattr(estimator, "_parent_callback_ctx"):
            self._context = estimator._init_callback_context(
                max_subtasks=n_classes if self._several else None,
                sequential_subtasks=not self._several,
            )

    @property
    def has_listeners(self) -> bool:
        """Whether each gap check is to be reported."""
        return self._lines is not None or self._watched

    def begin(self) -> None:
        """Announce the fit."""
        if self._context:
            self._context.call_on_fit_task_begin(estimator=self._estimator, **self._data)

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Leave a line on the terminal whole, however the fit ends."""
        try:
            yield
        finally:
            if self._lines:
                self._lines.close()

    def end(self) -> None:
        """Announce that the estimator is fitted."""
        if self._context:
            self._context.call_on_fit_task_end(
                estimator=self._estimator, **self._data, reconstruction_attributes={}
            )

    @contextmanager
    def reporting(self, task: int) -> Iterator[Report | None]:
        """Yield the function that reports each gap check of one class; None without a listener.

        A callback that stops the fit after a class stops the others too.
        """
        lines, context = self._lines, self._context
        if not self.has_listeners:
            yield None
            return
        if self._watched and self._several:
            with self._lock:
                context = self._context.subcontext("class", task, max_subtasks=None)
                context.call_on_fit_task_begin(estimator=self._estimator)

        def report(record: Record, w: Array | None, b: Any, loss: Loss) -> bool:
            if lines:
                lines.show(task, record, proven=w is not None)
            if not self._watched:
                return False
            with self._lock:
                if w is not None:
                    self._solutions[task] = under_way(record, w, b, loss)
                check = context.subcontext(task_name="gap check")
                check.call_on_fit_task_begin(estimator=self._estimator)
                return self._end(check, changed=w is not None)

        yield report
        if lines:
            lines.solved()
        if context is not self._context:
            with self._lock:
                if self._end(context):
                    self._interrupt.requested = True

    def _end(self, context: Any, *, changed: bool = True) -> bool:
        """End a task; a callback may have a model that predicts, unless nothing has changed."""
        return bool(
            context.call_on_fit_task_end(
                estimator=self._estimator,
                **self._data,
                reconstruction_attributes=self._attributes if changed else None,
            )
        )

    def _attributes(self) -> dict[str, Any]:
        """Return what the model has so far."""
        return self._rebuild(self._solutions)


def unbegun(n_samples: int) -> Solution:
    """Return f = 0, where a problem is before its first gap check."""
    return under_way(Record(0.0, 0, math.inf, 0.0, math.inf), np.zeros(n_samples), 0.0, HINGE)


def under_way(record: Record, w: Array, b: Any, loss: Loss) -> Solution:
    """Return a solution that is not final: what a model needs of it to predict."""
    certificate = Certificate(
        primal=record.primal,
        dual=record.dual,
        gap=record.gap,
        relative_gap=relative(record.gap, record.dual),
        kkt_violation=math.nan,
        n_support_free=0,
        n_support_bounded=0,
        margin=math.nan,
        slack_sum=math.nan,
    )
    return Solution(
        w=w,
        b=b,
        beta=w,
        loss=loss,
        certificate=certificate,
        solver="",
        n_iter=record.epoch,
        mean_cost=math.nan,
        history=[record],
    )
