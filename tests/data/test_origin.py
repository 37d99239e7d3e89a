"""Dense rows far from the origin: a free intercept takes the distance up."""

import numpy as np
import pytest
from sklearn.base import clone

from maxmargin import Status
from maxmargin.data.origin import centred, far_centre
from synthetic import free_svc, free_svr

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 5))
X[0] = 0.0
SIGNAL = X @ rng.normal(size=5) + rng.normal(size=300)
TWO, FOUR = (SIGNAL > 0) * 1, np.digitize(SIGNAL, [-2, 0, 2])
MODELS = {
    "newton": (free_svc(solver="newton"), TWO),
    "dual_cd": (free_svc(solver="dual_cd"), TWO),
    "squared": (free_svc(solver="dual_cd", loss="squared_hinge"), TWO),
    "qp": (free_svc(solver="qp"), TWO),
    "ovr": (free_svc(solver="dual_cd"), FOUR),
    "ovo": (free_svc(solver="dual_cd", multi_class="ovo"), FOUR),
    "crammer_singer": (free_svc(multi_class="crammer_singer"), FOUR),
    "svr": (free_svr(solver="dual_cd", loss="squared_epsilon_insensitive"), SIGNAL + 1e5),
}


@pytest.mark.parametrize("offset", [30.0, 1e4, -1e7])
@pytest.mark.parametrize("name", MODELS)
def test_an_offset_changes_neither_the_objective_nor_the_work(name, offset):
    model, y = MODELS[name]
    near = model.set_params(random_state=0).fit(X, y)
    primal, n_iter, f = near.certificate_.primal, near.n_iter_, _values(near, X)
    far = model.fit(X + offset, y)
    assert far.certificate_.status is Status.OPTIMAL
    assert far.certificate_.primal == pytest.approx(primal, rel=2e-3)
    assert far.n_iter_ <= 3 * n_iter + 30
    assert np.abs(_values(far, X + offset) - f).max() <= 0.2 * np.abs(f - f.mean()).max()


def _values(model, X):
    return X @ np.atleast_2d(model.coef_).T + model.intercept_


@pytest.mark.parametrize("name", ["dual_cd", "newton", "crammer_singer", "ovr", "svr"])
def test_a_warm_fit_starts_at_the_intercept_of_the_last(name):
    model, y = clone(MODELS[name][0]), MODELS[name][1]
    model.set_params(warm_start=True, random_state=0).fit(X + 1e4, y)
    assert model.fit(X + 1e4, y).n_iter_ <= 5


@pytest.mark.parametrize("name", ["dual_cd", "newton", "crammer_singer", "ovr", "svr"])
def test_a_warm_fit_of_rows_elsewhere_arrives(name):
    model, y = clone(MODELS[name][0]), MODELS[name][1]
    model.set_params(warm_start=True, random_state=0).fit(X - 1e7, y)
    assert model.fit(X + 1e4, y).certificate_.status is Status.OPTIMAL


def test_the_primal_value_is_that_of_the_stored_weights_and_intercept():
    rows = (X + 1e6).astype(np.longdouble)
    model = free_svc(solver="newton", C=100.0, tol=1e-6).fit(X + 1e6, TWO)
    w, b = model.coef_[0].astype(np.longdouble), np.longdouble(model.intercept_[0])
    slack = np.maximum(0, 1 - (2 * TWO - 1) * (rows @ w + b))
    assert float(w @ w / 2 + 100 * slack.sum()) == pytest.approx(
        model.certificate_.primal, rel=1e-7
    )


def test_rows_are_centred_about_their_medians_and_the_rounding_is_known():
    rows = X + 1e9
    rows[1] = 0.1  # for which the difference is not exact
    centre = far_centre(rows, 2.0)
    assert centre is not None
    apart, origin = centred(rows, centre)
    lost = (rows.astype(np.longdouble) - centre) - apart
    assert origin.error == pytest.approx(float(np.sqrt((lost**2).sum(axis=1).max())), rel=0.01)
    assert origin.error > 0.0
    assert centred(X + 1e9, centre)[1].error == 0.0


def test_rows_about_the_origin_are_left_alone():
    assert far_centre(X, 2.0) is None
    assert far_centre(np.zeros((5, 2)), 2.0) is None
    assert far_centre(np.full((5, 2), np.nan), 2.0) is None
