"""Fits side by side equal fits one by one; a fork and Ctrl-C find everything in order."""

import multiprocessing
import signal
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from choices import EXACT
from maxmargin import SVC, Status
from maxmargin.runtime.blas_threads import one_blas_thread
from maxmargin.runtime.interrupt import interruptible
from maxmargin.solvers import Newton
from synthetic import free_svc, free_svr, overlapping, regression


def fit_classifier(seed, solver="dual_cd"):
    model = free_svc(solver=solver, tol=1e-5, max_iter=20_000, random_state=seed)
    return model.fit(*overlapping(200, 5, seed % 4))


def fit_regressor(seed, solver="dual_cd"):
    model = free_svr(solver=solver, tol=1e-4, max_iter=20_000, random_state=seed)
    return model.fit(*regression(200, 5, seed % 4))


def point(model):
    return model.solution_.w.tobytes(), model.solution_.b, model.solution_.beta.tobytes()


@EXACT
@pytest.mark.parametrize("fit", [fit_classifier, fit_regressor], ids=["SVC", "SVR"])
def test_concurrent_fits_equal_serial_fits(fit, solver):
    serial = [point(fit(seed, solver)) for seed in range(12)]
    with ThreadPoolExecutor(4) as pool:
        threaded = [point(model) for model in pool.map(lambda seed: fit(seed, solver), range(12))]
    assert threaded == serial


@EXACT
def test_threads_may_share_the_data(solver):
    data = overlapping(300, 5)
    model = free_svc(solver=solver, random_state=0, max_iter=20_000)

    def fit(_):
        return point(free_svc(**model.get_params()).fit(*data))

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(fit, range(8)))) == 1


def test_predictions_may_run_side_by_side():
    X, y = overlapping(300, 5)
    model = free_svc().fit(X, y)
    expected = model.decision_function(X)
    with ThreadPoolExecutor(4) as pool:
        for values in pool.map(lambda _: model.decision_function(X), range(8)):
            np.testing.assert_array_equal(values, expected)


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


def send_point(connection, seed, solver):
    connection.send(point(fit_classifier(seed, solver)))
    connection.close()


@EXACT
def test_a_fork_after_a_fit_can_fit(solver):
    expected = point(fit_classifier(1, solver))
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    with warnings.catch_warnings():
        # Python 3.12 warns of any fork beside a thread: pytest-xdist has one.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = context.Process(target=send_point, args=(sender, 1, solver))
        child.start()
    assert receiver.poll(60), "the child gave no answer"
    assert receiver.recv() == expected
    child.join(60)
    assert child.exitcode == 0


# ---- Ctrl-C

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


def test_a_daemon_process_may_use_threads():
    code = (
        "import multiprocessing as mp; from maxmargin.runtime.threads import n_threads;"
        "mp.current_process()._config['daemon'] = True;"
        "assert (n_threads(2), n_threads(None)) == (2, 1); assert n_threads(-1) >= 1"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_fits_side_by_side_leave_the_threads_of_blas_as_they_were():
    """BLAS has one thread meanwhile, whichever fit ends first."""
    blas = ThreadpoolController().select(user_api="blas")

    def threads():
        return {library.num_threads for library in blas.lib_controllers}

    def kernel(A, B):
        during.append(threads())
        return A @ B.T

    during = []
    with blas.limit(limits=2):
        SVC(kernel=kernel).fit(*overlapping(1500, 5))
        assert {1} in during
        assert threads() == {2}
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert threads() == {1}
        second.__exit__(None, None, None)
        assert threads() == {2}


class Watching(Newton):
    """Newton, and how many threads BLAS has meanwhile."""

    seen: ClassVar[list[set[int]]] = []

    def solve(self, objective, monitor, start):
        blas = ThreadpoolController().select(user_api="blas")
        self.seen.append({library.num_threads for library in blas.lib_controllers})
        return super().solve(objective, monitor, start)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_newton_with_many_features_keeps_blas_to_one_thread(n_jobs):
    Watching.seen.clear()
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(600, 210)), np.arange(600) % 3
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        free_svc(solver=Watching(), n_jobs=n_jobs, tol=0.1).fit(rows, y)
    assert Watching.seen == [{1}] * 3
