"""Callbacks, verbose=, limits and Ctrl-C of SVC with several classes."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.callback import ProgressBar
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from maxmargin import SVC
from synthetic import clusters

IRIS = load_iris(return_X_y=True)


def test_callbacks_see_one_problem():
    joint = SVC(multi_class="crammer_singer")
    model = clone(joint).set_callbacks(ProgressBar()).fit(*IRIS)
    np.testing.assert_array_equal(model.dual_coef_, joint.fit(*IRIS).dual_coef_)
    assert len(model.solutions_) == 1


def test_verbose_reports_one_problem(capsys):
    model = SVC(multi_class="crammer_singer", verbose=1).fit(*IRIS)
    assert capsys.readouterr().err.count("gap") == len(model.history_)


@pytest.mark.parametrize(
    ("limit", "message"),
    [({"max_iter": 1}, "max_iter.*Raise max_iter"), ({"max_time": 1e-3}, "max_time.*Raise max_ti")],
    ids=["iterations", "time"],
)
def test_limits_leave_a_usable_model_and_warn(limit, message):
    data = clusters(10, 1500, d=30, noise=1.0)
    model = SVC(multi_class="crammer_singer", C=1e3, tol=1e-12, **limit)
    with pytest.warns(ConvergenceWarning, match=message):
        model.fit(*data)
    assert model.fit_status_ == 1
    assert model.decision_function(data[0]).shape == (1500, 10)


@pytest.mark.parametrize("slow", [False, True], ids=["named", "function"])
def test_ctrl_c_keeps_the_best_model(slow):
    def gaussian(A, B):
        time.sleep(2e-6 * A.shape[0] * B.shape[0])
        return rbf_kernel(A, B, 0.2)

    data = clusters(10, 1500, d=30, noise=1.0)
    kernel = gaussian if slow else "rbf"
    model = SVC(C=1e4, kernel=kernel, multi_class="crammer_singer", tol=1e-12, max_time=60)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    begin = time.perf_counter()
    with pytest.raises(KeyboardInterrupt, match=r"interrupted.*of the optimum"):
        model.fit(*data)
    timer.join()
    assert time.perf_counter() - begin < 30.0
    assert np.isfinite(model.dual_coef_).all()
    assert model.certificate_.gap >= 0.0
