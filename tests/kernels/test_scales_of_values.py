"""Kernels of samples whose values are huge, tiny, or far from 0 beside their spread."""

import numpy as np
import pytest
from scipy import sparse

from formulas import scale_gamma
from maxmargin import SVC
from maxmargin.kernels import Cosine
from maxmargin.solvers.kernel.row_source import KernelSamples

ROWS = np.random.default_rng(0).normal(size=(60, 4))
STORAGE = pytest.mark.parametrize("rows", [np.asarray, sparse.csr_array], ids=["dense", "csr"])


@STORAGE
@pytest.mark.parametrize("offset", [0.0, 2e7, -1e10])
def test_scale_is_the_variance_however_far_the_rows_are_from_zero(rows, offset):
    X = ROWS + offset
    expected = 1.0 / (4 * np.var(X.astype(np.longdouble)))
    assert scale_gamma(rows(X)) == pytest.approx(float(expected), rel=1e-9)


@STORAGE
def test_scale_counts_zeros_that_are_not_stored(rows):
    X = np.where(ROWS > 0.5, ROWS, 0.0)
    weight = np.arange(60) % 3
    repeated = np.repeat(X, weight, axis=0)
    gamma = scale_gamma(rows(X), weight.astype(float))
    assert gamma == pytest.approx(1.0 / (4 * repeated.var()), rel=1e-12)


@STORAGE
@pytest.mark.parametrize("value", [0.1, 1e7 + 0.1, 1.0 / 3.0])
def test_scale_of_constant_rows_is_one(rows, value):
    assert scale_gamma(rows(np.full((999, 7), value))) == 1.0


@STORAGE
@pytest.mark.parametrize("factor", [1e-300, 1e-160, 1e-80, 1e80, 1e150, 1e300])
def test_the_cosine_does_not_depend_on_the_norm(rows, factor):
    by = np.where(np.arange(60) % 2 == 0, factor, 1.0)[:, np.newaxis]
    expected = Cosine()(ROWS, ROWS)
    np.testing.assert_allclose(Cosine()(rows(by * ROWS), rows(ROWS)), expected, atol=1e-14)
    np.testing.assert_array_equal(Cosine().diagonal(rows(by * ROWS)), np.ones(60))


@STORAGE
def test_the_cosine_with_zero_rows_is_zero(rows):
    X = ROWS.copy()
    X[::7] = 0.0
    K = Cosine()(rows(X), rows(X))
    assert not K[::7].any()
    np.testing.assert_array_equal(Cosine().diagonal(rows(X)), (np.arange(60) % 7 > 0).astype(float))
    empty = rows(X[:0])
    assert Cosine()(empty, rows(X)).shape == (0, 60)


@STORAGE
@pytest.mark.parametrize("factor", [1e-200, 1e-30, 1e25, 1e200])
def test_float32_tiles_of_the_cosine_do_not_depend_on_the_norm(rows, factor):
    samples = KernelSamples(Cosine(), rows(factor * ROWS))
    coef = np.random.default_rng(1).normal(size=60)
    sums = samples.sums(np.arange(60), coef, lambda: False)
    assert sums is not None
    np.testing.assert_allclose(sums, Cosine()(ROWS, ROWS) @ coef, atol=1e-5)


def test_large_batches_of_tiny_rows_are_predicted():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(3000, 3))
    y = X[:, 0] * X[:, 1] > 0.0
    model = SVC(kernel="cosine").fit(1e-25 * X[:1200], y[:1200])
    f = model.decision_function(1e-25 * X)
    np.testing.assert_allclose(f[:100], model.decision_function(1e-25 * X[:100]), atol=1e-3)
