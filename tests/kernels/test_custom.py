import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.metrics.pairwise import chi2_kernel, rbf_kernel

from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM

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


@pytest.mark.parametrize("as_csr", [sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("make", [SVC, SVR, NuSVC, NuSVR, OneClassSVM])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_kernel_matrix_in_csr_rows_is_fitted(make, as_csr, n_classes):
    X, y = IRIS
    X, y = X[y < n_classes], y[y < n_classes]
    K = rbf_kernel(X)
    dense, model = (make(kernel="precomputed").fit(values, y) for values in (K, as_csr(K)))
    np.testing.assert_array_equal(model.dual_coef_, dense.dual_coef_)
    np.testing.assert_allclose(model.predict(as_csr(K)), dense.predict(K), rtol=1e-12, atol=1e-12)


def test_a_kernel_matrix_in_csr_rows_must_be_square():
    X, y = IRIS
    with pytest.raises(ValueError, match="square"):
        SVC(kernel="precomputed").fit(sparse.csr_array(rbf_kernel(X, X[:5])), y)
