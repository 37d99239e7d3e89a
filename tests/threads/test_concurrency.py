"""Fits side by side equal fits one by one, also after a fork."""

import multiprocessing
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from choices import EXACT
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


def test_a_daemon_process_may_use_threads():
    code = (
        "import multiprocessing as mp; from maxmargin.runtime.threads import n_threads;"
        "mp.current_process()._config['daemon'] = True;"
        "assert (n_threads(2), n_threads(None)) == (2, 1); assert n_threads(-1) >= 1"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
