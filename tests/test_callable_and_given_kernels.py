import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.metrics.pairwise import chi2_kernel, rbf_kernel

from maxmargin import SVC, SVR

IRIS = load_iris(return_X_y=True)


@pytest.mark.parametrize("make", [SVC, SVR])
def test_a_function_that_needs_writable_rows(make):
    X, y = IRIS
    model, named = make(kernel=chi2_kernel).fit(X, y), make(kernel="chi2").fit(X, y)
    np.testing.assert_allclose(model.predict(X), named.predict(X), atol=1e-2)
    X = X.copy()
    X.flags.writeable = False  # as joblib hands large arrays to its workers
    np.testing.assert_array_equal(make(kernel=chi2_kernel).fit(X, y).predict(X), model.predict(X))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", ["ovo", "ovr", "crammer_singer"])
def test_kernel_values_in_csr_rows_are_predicted_from(kind, n_classes):
    X, y = IRIS
    X, y = X[y < n_classes], y[y < n_classes]
    K = rbf_kernel(X)
    K[K < 0.5] = 0.0
    model = SVC(kernel="precomputed", multi_class=kind).fit(rbf_kernel(X), y)
    for rows in (sparse.csr_matrix(K), sparse.csr_array(K)):
        np.testing.assert_array_equal(model.predict(rows), model.predict(K))
        np.testing.assert_allclose(model.decision_function(rows), model.decision_function(K))
