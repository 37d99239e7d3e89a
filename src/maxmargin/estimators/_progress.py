"""Tell the user how a fit goes: lines if verbose, scikit-learn's callbacks."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from maxmargin.solution import Record
from maxmargin.solvers.base import Report
from maxmargin.solvers.interrupt import Interrupt
from maxmargin.validation import Array


class Progress:
    """The fit of one estimator: a task for each look, below a task for each class if several.

    Classes may be fitted in threads; the callbacks see one look at a time.
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        n_classes: int,
        interrupt: Interrupt,
        *,
        linear: bool = True,
    ) -> None:
        self._estimator, self._interrupt = estimator, interrupt
        self._data = {"X": X, "y": y}
        self._linear = linear
        self._watched = bool(getattr(estimator, "_skl_callbacks", ()))
        self._lock = threading.Lock()
        self._several = n_classes > 1
        width = X.shape[1] if linear else 0
        self._coef, self._intercept = np.zeros((n_classes, width)), np.zeros(n_classes)
        self._context: Any = None  # nobody listens
        if self._watched or hasattr(estimator, "_parent_callback_ctx"):
            self._context = estimator._init_callback_context(
                max_subtasks=n_classes if self._several else None,
                sequential_subtasks=not self._several,
            )

    @property
    def heard(self) -> bool:
        """Whether anybody wants to know of each look."""
        return bool(self._estimator.verbose) or self._watched

    def begin(self) -> None:
        """Announce the fit."""
        if self._context:
            self._context.call_on_fit_task_begin(estimator=self._estimator, **self._data)

    def end(self) -> None:
        """Announce that the estimator is fitted."""
        if self._context:
            self._context.call_on_fit_task_end(
                estimator=self._estimator, **self._data, reconstruction_attributes={}
            )

    @contextmanager
    def reporting(self, task: int) -> Iterator[Report | None]:
        """Yield what is to be told of each look at one class; None if nobody listens.

        A callback that wants no more after a class stops the others too.
        """
        verbose, context = self._estimator.verbose, self._context
        if not self.heard:
            yield None
            return
        label = f"[{task + 1}/{len(self._coef)}] " if self._several else ""
        if self._watched and self._several:
            with self._lock:
                context = self._context.subcontext("class", task, max_subtasks=None)
                context.call_on_fit_task_begin(estimator=self._estimator)

        def report(record: Record, w: Array | None, b: Any) -> bool:
            if verbose:
                found = f"dual {record.dual:.8g}"
                if w is not None:
                    found = f"primal {record.primal:.8g}  {found}  gap {record.gap:.3g}"
                sys.stderr.write(
                    f"{label}{record.time:8.2f} s  iteration {record.epoch:5d}  {found}\n"
                )
            if not self._watched:
                return False
            with self._lock:
                if self._linear and w is not None:
                    if w.ndim == 2:  # all classes from one problem
                        self._coef, self._intercept = w, b
                    else:
                        self._coef[task], self._intercept[task] = w, b
                look = context.subcontext(task_name="look")
                look.call_on_fit_task_begin(estimator=self._estimator)
                return self._end(look)

        yield report
        if context is not self._context:
            with self._lock:
                if self._end(context):
                    self._interrupt.requested = True

    def _end(self, context: Any) -> bool:
        """End a task with the weights so far: whoever asks gets a linear model that predicts."""
        now = {"coef_": self._coef.copy(), "intercept_": self._intercept.copy()}
        return bool(
            context.call_on_fit_task_end(
                estimator=self._estimator,
                **self._data,
                reconstruction_attributes=now if self._linear else None,
            )
        )
