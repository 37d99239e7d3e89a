"""A proof that the arithmetic cannot carry ends the fit, without any limit."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from maxmargin import Status
from maxmargin.runtime.stall import StallDetector
from synthetic import free_svc, free_svr

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
SIGNAL = X @ rng.normal(size=3) + rng.normal(size=40)
MODELS = {
    "hinge": (free_svc(solver="dual_cd", C=0.1), SIGNAL > 0),
    "squared": (free_svc(solver="dual_cd", loss="squared_hinge"), SIGNAL > 0),
    "regression": (free_svr(solver="dual_cd", C=0.1), SIGNAL),
    "crammer_singer": (free_svc(multi_class="crammer_singer"), np.digitize(SIGNAL, [-1, 1])),
    "newton": (free_svc(solver="newton"), SIGNAL > 0),
}


@pytest.mark.parametrize("name", MODELS)
def test_coordinate_descent_sees_that_it_stalls(name):
    model, y = MODELS[name]
    model.set_params(tol=1e-17, max_iter=None, max_time=20.0)
    with pytest.warns(ConvergenceWarning, match="stalled at the precision"):
        model.fit(X, y)
    assert model.certificate_.status is Status.STALLED
    assert model.certificate_.relative_gap < 1e-12


def test_progress_ends_the_count_of_gap_checks_without_it():
    stall = StallDetector(patience=2)
    found = [stall.count(progress) for progress in (True, False, True, False, False)]
    assert found == [False, False, False, False, True]
    assert stall.stalled


def test_a_solver_may_be_less_patient_for_once():
    stall = StallDetector(patience=30)
    assert [stall.count(False, patience=2) for _ in range(2)] == [False, True]
    assert not stall.stalled


def test_progress_is_a_gap_lower_by_a_tenth_or_a_dual_above_its_rounding():
    stall = StallDetector(patience=2)
    assert [stall.lowers_gap(gap) for gap in (1.0, 0.95, 0.86, 0.8, 0.7)] == [
        True, False, False, False, True,
    ]  # fmt: skip
    assert [stall.raises_dual(dual, 1e-13) for dual in (-1.0, -1.0, 0.5, 0.5 + 1e-15)] == [
        True, False, True, False,
    ]  # fmt: skip
    assert stall.raises_dual(0.5 + 1e-12)
