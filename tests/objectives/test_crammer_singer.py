"""The rounding that the certificate of K linear classes allows for."""

import numpy as np

from maxmargin import CrammerSingerObjective, Intercept, PrimalDual, Problem
from maxmargin.objectives import crammer_singer


def test_rows_that_were_centred_are_doubted_at_the_largest_intercept(monkeypatch):
    rng = np.random.default_rng(0)
    problem = Problem(rng.normal(size=(12, 2)), np.arange(12) % 3 * 1.0, np.ones(12))
    objective = CrammerSingerObjective(problem, 3, Intercept.FREE)
    asked = []
    monkeypatch.setattr(
        crammer_singer, "row_error", lambda _problem, _length, b: asked.append(b) or 0.0
    )
    point = PrimalDual(np.zeros((3, 2)), np.array([0.5, -3.0, 1.0]), np.zeros((12, 3)))
    objective.certify(point)
    assert asked
    assert set(asked) == {3.0}
