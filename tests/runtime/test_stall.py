"""A proof that the arithmetic cannot carry ends the fit, without any limit."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from maxmargin import Status
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
