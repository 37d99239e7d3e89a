"""The solver that `auto` takes goes by the problem."""

import numpy as np
import pytest
from scipy import sparse

from maxmargin import LinearSVC, LinearSVR
from synthetic import free_svc, overlapping

X, Y = overlapping(80, 5)


def test_auto_goes_by_features_and_stored_values():
    rng = np.random.default_rng(0)
    wide, dense = rng.normal(size=(20, 3000)), rng.normal(size=(1500, 200))
    few_values = sparse.random_array((1500, 200), density=0.01, rng=rng, format="csr") * 20.0
    for rows, solver in ((X, "newton"), (wide, "dual_cd"), (dense, "newton")):
        y = Y if rows is X else np.arange(len(rows)) % 2
        assert free_svc(tol=0.1).fit(rows, y).solution_.solver == solver
    some_values = np.where(rng.random(dense.shape) < 0.1, dense, 0.0)
    for rows, solver in ((few_values, "dual_cd"), (some_values, "newton")):
        for stored in (sparse.csr_array(rows), sparse.csr_array(rows).toarray()):
            model = free_svc(tol=0.1, max_iter=None).fit(stored, np.arange(1500) % 2)
            assert model.solution_.solver == solver


@pytest.mark.parametrize(("loss", "solver"), [("hinge", "newton"), ("squared_hinge", "dual_cd")])
def test_auto_takes_newton_where_coordinate_descent_would_not_end(loss, solver):
    """Rows as long as unscaled pixels."""
    rng = np.random.default_rng(0)
    rows = sparse.random_array((1500, 200), density=0.01, rng=rng, format="csr") * 100.0
    model = free_svc(loss=loss, tol=0.1, max_iter=None).fit(rows, np.arange(1500) % 2)
    assert model.solution_.solver == solver


@pytest.mark.parametrize(
    ("Model", "n", "solver"),
    [
        (LinearSVC, 240, "newton"),
        (LinearSVC, 220, "dual_cd"),
        (LinearSVR, 140, "newton"),
        (LinearSVR, 110, "dual_cd"),
    ],
)
def test_auto_takes_newton_where_rows_are_seldom_separable_or_met(Model, n, solver):
    """Two rows a feature, or one in regression."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n, 120))
    model = Model(tol=0.1).fit(rows, np.sign(rows[:, 0] + rng.normal(size=n)))
    assert model.solution_.solver == solver
