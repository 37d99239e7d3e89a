"""Kernel values that no arithmetic can work with are refused, with what would do."""

import numpy as np
import pytest

from maxmargin.solvers.kernel.value_checks import (
    refuse_huge,
    refuse_huge_values,
    refuse_improper,
    refuse_negative,
)


@pytest.mark.parametrize("refuse", [refuse_negative, refuse_improper])
@pytest.mark.parametrize("value", [-1e-300, np.nan])
def test_a_negative_diagonal_is_that_of_no_kernel(refuse, value):
    with pytest.raises(ValueError, match="negative on its diagonal"):
        refuse(np.array([1.0, value]))


@pytest.mark.parametrize("refuse", [refuse_huge, refuse_improper, refuse_huge_values])
@pytest.mark.parametrize("value", [1e30, np.inf])
def test_values_beyond_float32_are_told_to_scale(refuse, value):
    with pytest.raises(ValueError, match="StandardScaler"):
        refuse(np.array([1.0, value]))


def test_large_negative_values_of_a_function_are_refused_too():
    with pytest.raises(ValueError, match=r"up to 1.0e\+31 in size"):
        refuse_huge_values(np.array([1.0, -1e31]))


@pytest.mark.parametrize("refuse", [refuse_huge, refuse_improper, refuse_huge_values])
def test_the_limit_is_a_number_of_30_digits(refuse):
    refuse(np.array([0.0, 1.0, 0.99e30]))
    with pytest.raises(ValueError, match=r"e\+30"):
        refuse(np.array([0.0, 1.0, 1.01e30]))


def test_0_is_not_negative():
    refuse_negative(np.zeros(3))
    with pytest.raises(ValueError, match="not a valid kernel"):
        refuse_negative(np.array([0.0, -1.0]))
