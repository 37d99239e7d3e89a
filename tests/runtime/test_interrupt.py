"""Ctrl-C ends a fit with a usable model; the handler of before is there again."""

import signal
import subprocess
import sys
import threading
import time

import pytest

from maxmargin import Status
from maxmargin.runtime.interrupt import interruptible
from synthetic import free_svc, overlapping


def fit_classifier(seed, solver="dual_cd"):
    model = free_svc(solver=solver, tol=1e-5, max_iter=20_000, random_state=seed)
    return model.fit(*overlapping(200, 5, seed % 4))


def test_a_fit_off_the_main_thread_leaves_signals_alone():
    before = signal.getsignal(signal.SIGINT)
    models = []
    thread = threading.Thread(target=lambda: models.append(fit_classifier(0)))
    thread.start()
    thread.join()
    assert models[0].certificate_.status is Status.OPTIMAL
    assert signal.getsignal(signal.SIGINT) is before


def test_a_fit_on_the_main_thread_restores_the_handler():
    before = signal.getsignal(signal.SIGINT)
    fit_classifier(0)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_failed_fit_restores_the_handler():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ValueError, match="sgd"):
        free_svc(loss="perceptron", solver="newton").fit(*overlapping())
    assert signal.getsignal(signal.SIGINT) is before


def test_a_foreign_handler_is_kept():
    def mine(*_):
        pass

    before = signal.signal(signal.SIGINT, mine)
    try:
        fit_classifier(0)
        assert signal.getsignal(signal.SIGINT) is mine
    finally:
        signal.signal(signal.SIGINT, before)


LONG_FIT = """
import time, warnings
import numpy as np
from maxmargin import LinearSVC

rng = np.random.default_rng(0)
X = rng.normal(size=({n}, 40)) * np.logspace(0, 3, 40)
y = X @ rng.normal(size=40) + 1000 * rng.normal(size={n})
y = np.digitize(y, np.quantile(y, np.arange(1, {classes}) / {classes}))
warnings.simplefilter("ignore")
print("begin", flush=True)
loss = "squared_hinge" if "{solver}" == "newton" else "hinge"  # Newton goes on longest with it
free = dict(C=100.0, penalized_intercept=False, loss=loss, n_jobs=2)
model = LinearSVC(solver="{solver}", tol=1e-300, max_iter=None, **free)
try:
    model.fit(X, y)
    raised = "nothing"
except KeyboardInterrupt as error:
    raised = "interrupted" if "interrupted" in str(error) and "optimum" in str(error) else "bare"
end = time.time()
usable = np.isfinite(model.coef_).all() and len(model.predict(X)) == {n}
print(end, raised, model.certificate_.status.name, usable)
"""
SLEEP = """
import time
from maxmargin import LinearSVC
LinearSVC().fit([[0.0], [1.0]], [0, 1])
print("begin", flush=True)
time.sleep(60)
"""
# A test runner in the background may have SIGINT ignored, and children inherit that.
LISTEN = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"


def interrupt(program):
    """Start a program, send it SIGINT once it has begun; (output, time of the signal, code)."""
    child = subprocess.Popen(
        [sys.executable, "-c", LISTEN + program],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert child.stdout is not None
        first = child.stdout.readline()
        assert first == "begin\n", first + child.stdout.read()
        time.sleep(0.5)
        assert child.poll() is None, child.stdout.read()
        sent = time.time()
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=30)
    finally:
        child.kill()
    return out, sent, child.returncode


@pytest.mark.slow
@pytest.mark.parametrize(
    ("solver", "n", "classes"),
    [
        ("dual_cd", 2000, 2),
        ("dual_cd", 2000, 3),
        ("newton", 300_000, 2),
        ("newton", 300_000, 3),
        ("pegasos", 2000, 2),
        ("sgd", 2000, 2),
    ],
)
def test_ctrl_c_ends_the_fit_with_a_usable_model(solver, n, classes):
    out, sent, code = interrupt(LONG_FIT.format(solver=solver, n=n, classes=classes))
    end, raised, status, usable = out.split()
    assert (raised, status, usable, code) == ("interrupted", "INTERRUPTED", "True", 0)
    assert float(end) - sent < 5.0


SHORT_FITS = """
import numpy as np
from maxmargin import LinearSVC

X = np.random.default_rng(0).normal(size=(2000, 50))
y = X[:, 0] > 0.0
LinearSVC().fit(X, y)
print("begin", flush=True)
while True:
    LinearSVC().fit(X, y)
"""


@pytest.mark.slow
def test_ctrl_c_ends_a_loop_of_short_fits():
    """One that comes too late for a fit to stop is raised after it."""
    out, _, code = interrupt("import warnings; warnings.simplefilter('error')\n" + SHORT_FITS)
    assert "KeyboardInterrupt" in out
    assert code != 0


def test_the_second_ctrl_c_is_raised_at_once():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with interruptible() as interrupt, interruptible() as within:
            assert within is interrupt
            signal.raise_signal(signal.SIGINT)
            assert interrupt.requested
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.slow
def test_ctrl_c_after_a_fit_is_python_s_own():
    out, _, code = interrupt(SLEEP)
    assert "KeyboardInterrupt" in out
    assert code != 0
