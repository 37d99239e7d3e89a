"""Two linear models are the same, to a tolerance or to the bit."""

import numpy as np


def assert_same_weights(first, second, **tolerance):
    np.testing.assert_allclose(first.coef_, second.coef_, **tolerance)
    np.testing.assert_allclose(first.intercept_, second.intercept_, **tolerance)


def assert_same_bits(first, second):
    np.testing.assert_array_equal(first.coef_, second.coef_)
    np.testing.assert_array_equal(first.intercept_, second.intercept_)
