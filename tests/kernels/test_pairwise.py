"""Inner products of all pairs of rows, as NumPy has them."""

import numpy as np
import pytest
from scipy import sparse

from maxmargin import _core
from maxmargin.kernels.pairwise import dots, squares


@pytest.mark.parametrize("kinds", [(np.float64, np.float32), (np.float32, np.int64)])
@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_products_of_wide_sparse_rows_are_those_of_dense_ones(kinds, form):
    """So wide that none of the two is laid out densely."""
    A, B = (
        sparse.random(count, 200_000, 2e-4, format="csr", random_state=count) for count in (30, 40)
    )
    A.data, B.data = 9.0 * A.data, 9.0 * B.data
    A, B = A.astype(kinds[0]).asformat(form), B.astype(kinds[1]).asformat(form)
    expected = (A.astype(np.float64) @ B.astype(np.float64).T).toarray()
    assert expected.any()
    np.testing.assert_allclose(dots(A, B), expected, rtol=1e-12)
    np.testing.assert_allclose(
        squares(A), np.asarray(A.astype(np.float64).multiply(A).sum(axis=1)).ravel(), rtol=1e-6
    )


def test_products_of_sparse_rows_are_checked():
    def eye(n):
        X = sparse.eye_array(n).tocsr()
        return _core.Rows(X.data, X.indices, X.indptr, n)

    with pytest.raises(ValueError, match="must be sparse"):
        _core.sparse_products(eye(3), _core.Rows(np.ones((2, 3))), np.zeros((3, 2)))
    with pytest.raises(ValueError, match="differ in their features"):
        _core.sparse_products(eye(3), eye(4), np.zeros((3, 4)))
    with pytest.raises(ValueError, match="out"):
        _core.sparse_products(eye(3), eye(3), np.zeros((2, 3)))
