"""The rounding that the certificate of K linear classes allows for."""

import numpy as np

import maxmargin.joint_certificate as joint_certificate
from maxmargin.joint import JointObjective
from maxmargin.objective import Intercept
from maxmargin.problem import Problem


def test_rows_that_were_centred_are_doubted_at_the_largest_intercept(monkeypatch):
    rng = np.random.default_rng(0)
    problem = Problem(rng.normal(size=(12, 2)), np.arange(12) % 3 * 1.0, np.ones(12))
    objective = JointObjective(problem, 3, Intercept.FREE)
    asked = []
    monkeypatch.setattr(
        joint_certificate, "row_error", lambda _problem, _length, b: asked.append(b) or 0.0
    )
    W, b = objective.lay_out(np.zeros((3, 2))), np.array([0.5, -3.0, 1.0])
    joint_certificate.certify_joint(objective, W, b, np.zeros((12, 3)))
    assert asked
    assert set(asked) == {3.0}
