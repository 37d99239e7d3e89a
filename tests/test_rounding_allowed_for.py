"""What certificates of kernel machines allow for errors of f and for sums that are not quite 0."""

import numpy as np
import pytest

import maxmargin.certificate as certificate
from maxmargin.certificate import Known, certify_expansion
from maxmargin.kernels import Linear
from maxmargin.losses import HINGE
from maxmargin.objective import Objective, SumError, sums_to_zero
from maxmargin.problem import Problem


def hard_pair():
    """Samples −1 and 1, w = 1, and its coefficients."""
    problem = Problem(np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0]), np.ones(2))
    return Objective(problem, HINGE, kernel=Linear(), hard=True), np.array([-0.5, 0.5])


def test_errors_of_f_narrow_a_hard_margin_and_put_samples_beyond_it():
    objective, beta = hard_pair()
    known = Known(np.array([-1.0, 1.0]), None, SumError(0.001, 0.002))
    found = certify_expansion(objective, beta, 0.0, beta, known)
    least, most = 1.0 - 0.009, 1.0 + 0.009
    assert found.primal == pytest.approx(0.5 / least**2)
    assert found.gap == pytest.approx(0.5 * (1.0 / least - 1.0) ** 2 + most / least - 1.0)
    assert found.dual == 0.5


def test_a_hard_margin_weighs_the_rest_of_the_sum_by_its_scaled_intercept(monkeypatch):
    objective, beta = hard_pair()
    asked = []

    def slip(free, b, left, size):
        asked.append((free, b, left, size))
        return 0.0

    monkeypatch.setattr(certificate, "_slip", slip)
    known = Known(np.array([-1.0, 1.0]), None, SumError(0.0, 0.0))
    certify_expansion(objective, beta, 0.5, beta, known)
    assert asked == [(True, 1.0, 0.0, 1.0)]


@pytest.mark.parametrize(
    ("left", "size", "zero"),
    [(0.9e-9, 1.0, True), (-1.1e-9, 1.0, False), (1e-300, 0.0, True), (1.1e-300, 0.0, False)],
)
def test_a_sum_is_zero_up_to_a_billionth_of_its_terms(left, size, zero):
    assert sums_to_zero(left, size) is zero
