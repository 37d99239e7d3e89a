"""verbose=1: one live line on a terminal, plain lines in a file."""

import os
import re
import sys
from contextlib import contextmanager, suppress

import pytest
from sklearn.datasets import load_iris

from maxmargin import SVC, LinearSVC, LinearSVR, PegasosClassifier
from maxmargin.runtime.report_lines import ReportLines
from maxmargin.solution import Record
from synthetic import overlapping, regression

pty = pytest.importorskip("pty", reason="there are no terminals to open")

IRIS = load_iris(return_X_y=True)


@pytest.fixture
def terminal(monkeypatch):
    """Return a function that opens a terminal 60 columns wide as standard error, and reads it.

    In the test itself: pytest replaces standard error between fixtures and test.
    """
    monkeypatch.setenv("COLUMNS", "60")

    @contextmanager
    def opened(seen):
        ours, theirs = pty.openpty()
        os.set_blocking(ours, False)
        with os.fdopen(theirs, "w") as stream, monkeypatch.context() as patch:
            patch.setattr(sys, "stderr", stream)
            yield
            read = b""
            with suppress(BlockingIOError):
                while True:
                    read += os.read(ours, 2**16)
            seen.append(read.decode())
        os.close(ours)

    return opened


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (LinearSVC(solver="dual_cd", tol=1e-8), overlapping(600)),
        (LinearSVC(), IRIS),
        (LinearSVC(multi_class="crammer_singer"), IRIS),
        (LinearSVC(penalty="l1"), overlapping(600)),
        (LinearSVR(), regression(600)),
        (PegasosClassifier(max_iter=50, tol=0.05), overlapping(600)),
        (SVC(), overlapping(2000)),
        (SVC(), IRIS),
        (SVC(landmarks=50), overlapping(600)),
    ],
    ids=lambda case: str(case)[:40],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_terminal_shows_one_line(model, data, terminal):
    found: list[str] = []
    with terminal(found):
        model.set_params(verbose=1).fit(*data)
    (seen,) = found
    assert seen.count("\n") == 1
    assert seen.endswith("\n")
    states = [state.split("\x1b")[0] for state in seen.strip().split("\r")[1:]]
    assert states
    assert all(len(state) < 60 for state in states if state)
    assert states[-1].startswith(type(model).__name__)
    assert re.search(r"iteration +\d+  gap \S+ of", states[-1])
    if len(getattr(model, "solutions_", ())) > 1:
        assert "[3/3]" in states[-1]


class Failing:
    """A callback that fails at the second gap check."""

    def __init__(self):
        self.checks = 0

    def setup(self, estimator, context):
        """Nothing to prepare."""

    teardown = on_fit_task_begin = setup

    def on_fit_task_end(self, estimator, context, **_):
        self.checks += context.task_name == "gap check"
        if self.checks == 2:
            raise RuntimeError("enough")


def test_a_fit_that_fails_leaves_the_line_whole(terminal):
    model = LinearSVC(solver="dual_cd", tol=1e-9, verbose=1).set_callbacks(Failing())
    found: list[str] = []
    with terminal(found), pytest.raises(RuntimeError, match="enough"):
        model.fit(*overlapping(600))
    (seen,) = found
    assert seen.count("\n") == 1
    assert seen.endswith("\n")


def test_the_time_left_is_that_of_a_steady_factor(capfd):
    lines = ReportLines("LinearSVC", 1, 1e-3, None)
    for seconds, gap in [(1.0, 1.0), (2.0, 0.1), (3.0, 0.01), (4.0, 0.001)]:
        lines.show(0, Record(seconds, 1, 1.0 + gap, 1.0, gap), proven=True)
    left = [line.partition("of 0.001")[2] for line in capfd.readouterr().err.splitlines()]
    assert left == ["", "  2.0 s left", "  1.0 s left", "  0.0 s left"]


def test_the_time_left_is_never_more_than_max_time(capfd):
    lines = ReportLines("LinearSVC", 1, 1e-3, 2.5)
    for seconds, gap in [(1.0, 1.0), (2.0, 0.1)]:
        lines.show(0, Record(seconds, 1, 1.0 + gap, 1.0, gap), proven=True)
    assert "0.5 s left" in capfd.readouterr().err


def test_classes_to_come_take_as_long_as_those_before(capfd):
    lines = ReportLines("LinearSVC", 3, 1e-3, None)
    lines.show(0, Record(1.0, 1, 1.0, 1.0, 0.0), proven=True)
    lines.solved()
    lines.show(1, Record(2.0, 1, 1.0, 1.0, 0.0), proven=True)
    lines.solved()
    lines.show(2, Record(3.0, 1, 1.0, 1.0, 0.0), proven=True)
    first, second, third = capfd.readouterr().err.splitlines()
    assert "left" not in first
    assert "[2/3]" in second
    assert "1.0 s left" in second
    assert "0.0 s left" in third
