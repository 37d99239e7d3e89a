"""What certificates of kernel machines allow for errors of f and for sums that are not quite 0."""

import numpy as np
import pytest

from maxmargin import HardMarginObjective, PrimalDual, Problem
from maxmargin.kernels import Linear
from maxmargin.losses import HINGE
from maxmargin.objectives import hard_margin
from maxmargin.objectives.base import SumError, sums_to_zero


def hard_pair():
    """Samples −1 and 1, w = 1, and its coefficients."""
    problem = Problem(np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0]), np.ones(2))
    return HardMarginObjective(problem, HINGE, kernel=Linear()), np.array([-0.5, 0.5])


def test_errors_of_f_narrow_a_hard_margin_and_put_samples_beyond_it():
    objective, beta = hard_pair()
    z, error = np.array([-1.0, 1.0]), SumError(0.001, 0.002)
    found = objective.certify(PrimalDual(beta, 0.0, beta, z, error=error))
    least, most = 1.0 - 0.009, 1.0 + 0.009
    assert found.primal == pytest.approx(0.5 / least**2)
    scale = 1.0 / 1.009  # of β, with the hulls no nearer than rounding allows
    assert found.gap == pytest.approx(
        0.5 * (1.0 / least - scale) ** 2 + scale * (most / least - 1.0)
    )
    assert found.dual == pytest.approx(0.5 * scale)


def test_a_hard_margin_weighs_the_rest_of_the_sum_by_its_scaled_intercept(monkeypatch):
    objective, beta = hard_pair()
    asked = []

    def slip(free, b, left, size):
        asked.append((free, b, left, size))
        return 0.0

    monkeypatch.setattr(hard_margin, "rounding_slip", slip)
    z, error = np.array([-1.0, 1.0]), SumError(0.0, 0.0)
    objective.certify(PrimalDual(beta, 0.5, beta, z, error=error))
    assert asked == [(True, 1.0, 0.0, 1.0)]


@pytest.mark.parametrize(
    ("left", "size", "zero"),
    [(0.9e-9, 1.0, True), (-1.1e-9, 1.0, False), (1e-300, 0.0, True), (1.1e-300, 0.0, False)],
)
def test_a_sum_is_zero_up_to_a_billionth_of_its_terms(left, size, zero):
    assert sums_to_zero(left, size) is zero
