"""The rounding that the certificate of K linear classes allows for."""

import numpy as np

from maxmargin import CrammerSingerObjective, Intercept, PrimalDual, Problem
from maxmargin.objectives import crammer_singer
from recording import recording


def test_rows_that_were_centred_are_doubted_at_the_largest_intercept(monkeypatch):
    rng = np.random.default_rng(0)
    problem = Problem(rng.normal(size=(12, 2)), np.resize([0.0, 1.0, 2.0], 12), np.ones(12))
    objective = CrammerSingerObjective(problem, 3, Intercept.FREE)
    row_error, calls = recording(lambda _problem, _length, _b: 0.0)
    monkeypatch.setattr(crammer_singer, "row_error", row_error)
    point = PrimalDual(np.zeros((3, 2)), np.array([0.5, -3.0, 1.0]), np.zeros((12, 3)))
    objective.certify(point)
    assert calls
    assert {b for _, _, b in calls} == {3.0}
