"""Nystroem, FourierFeatures and KernelPCA."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import ArpackNoConvergence, eigsh
from sklearn.base import clone
from sklearn.decomposition import KernelPCA as PeerKernelPCA

from maxmargin.embeddings import FourierFeatures, KernelPCA, Nystroem, _spectra
from maxmargin.embeddings._samples import is_triangular
from maxmargin.embeddings.landmarks import draw_landmarks
from maxmargin.estimators._landmarks import TriangularNystroem
from maxmargin.kernels import Gaussian, Polynomial, Sigmoid, User

RULES = pytest.mark.parametrize("rule", ["uniform", "kmeans++", "rpcholesky"])


def rows(n=80, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@RULES
def test_landmarks_that_are_all_rows_give_the_kernel_itself(rule):
    X = rows()
    model = Nystroem(n_components=len(X), gamma=0.2, landmarks=rule).fit(X)
    Z, new = model.transform(X), rows(seed=1)
    np.testing.assert_allclose(Z @ Z.T, model.kernel_(X, X), atol=1e-9)
    np.testing.assert_allclose(Z @ model.transform(new).T, model.kernel_(X, new), atol=1e-4)


@RULES
def test_inner_products_are_the_nystroem_formula(rule):
    X = rows(300)
    model = Nystroem(n_components=20, gamma=0.1, landmarks=rule, random_state=0).fit(X)
    K = model.kernel_
    Z, B = model.transform(X), model.basis_
    np.testing.assert_array_equal(B, X[model.landmark_indices_])
    assert len(np.unique(model.landmark_indices_)) == 20
    np.testing.assert_allclose(Z @ Z.T, K(X, B) @ np.linalg.solve(K(B, B), K(B, X)), atol=1e-8)


@pytest.mark.parametrize("rule", ["kmeans++", "rpcholesky"])
def test_chosen_landmarks_leave_less_than_uniform_ones_on_clusters_of_unequal_size(rule):
    random = np.random.default_rng(0)
    sizes = [2000, *([5] * 30)]
    centres = 20.0 * random.normal(size=(len(sizes), 5))
    X = np.repeat(centres, sizes, axis=0) + 0.3 * random.normal(size=(sum(sizes), 5))

    def left(rule):
        Z = Nystroem(n_components=60, gamma=0.05, landmarks=rule, random_state=0).fit_transform(X)
        return len(X) - float((Z**2).sum())

    assert left(rule) < 0.8 * left("uniform")


def test_rejection_draws_what_plain_pivoted_cholesky_draws():
    X = np.array([[0.0], [0.1], [3.0]])
    random = np.random.RandomState(0)
    pairs = [
        tuple(draw_landmarks("rpcholesky", Gaussian(1.0), X, np.ones(3), 2, random).tolist())
        for _ in range(600)
    ]
    K = Gaussian(1.0)(X, X)
    left = 1.0 - K**2  # of a second pivot, after each first one
    chance = left / left.sum(axis=1, keepdims=True) / 3.0
    expected = {(i, j): chance[i, j] + chance[j, i] for i in range(3) for j in range(i + 1, 3)}
    for pair, share in expected.items():
        assert pairs.count(pair) / 600 == pytest.approx(share, abs=0.06)


@pytest.mark.parametrize("n", [40, 130, 300])
def test_independent_landmarks_give_a_triangular_root_and_dependent_ones_another(n):
    X = rows(n)
    model = TriangularNystroem(n_components=n, gamma=0.5).fit(X)
    N, K = model.normalization_, model.kernel_(X, X)
    assert is_triangular(N)
    np.testing.assert_allclose(N.T @ K @ N, np.eye(n), atol=1e-6)
    np.testing.assert_allclose(model.transform(X), K @ N, atol=1e-9)
    twice = TriangularNystroem("linear", n_components=n, random_state=0).fit(X)
    assert twice.normalization_.shape == (n, 4)
    Z = twice.transform(X)
    np.testing.assert_allclose(Z @ Z.T, X @ X.T, atol=1e-9)


def test_float32_is_float32_and_near():
    X = rows(500)
    model = Nystroem(n_components=50, random_state=0).fit(X)
    narrow = clone(model).set_params(dtype=np.float32).fit(X).transform(X)
    assert narrow.dtype == np.float32
    wide = model.transform(X)
    np.testing.assert_allclose(narrow @ narrow.T, wide @ wide.T, atol=1e-4)


@pytest.mark.parametrize("model", [Nystroem(dtype=np.float32), FourierFeatures(), KernelPCA()])
def test_threads_and_blocks_change_nothing(model, monkeypatch):
    X = rows(300)
    model.set_params(random_state=0)
    whole = clone(model).fit(X).transform(X)
    monkeypatch.setattr("maxmargin.embeddings._base._VALUES_PER_BLOCK", 2000)
    monkeypatch.setattr("maxmargin.embeddings._base._LEAST_ROWS", 16)
    parts = clone(model).set_params(n_jobs=2).fit(X).transform(X)
    np.testing.assert_allclose(whole, parts, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("model", [Nystroem(), FourierFeatures(), KernelPCA()])
def test_sparse_rows_are_the_same_rows(model):
    X = rows()
    X[X < 0] = 0.0
    model.set_params(random_state=0, gamma=0.1)
    dense, compressed = clone(model).fit(X), clone(model).fit(sparse.csr_matrix(X))
    new = sparse.csr_array(X[:7])
    np.testing.assert_allclose(dense.transform(X[:7]), compressed.transform(new), atol=1e-6)


def test_more_landmarks_than_rows_are_all_distinct_rows():
    X = np.repeat(rows(10), 3, axis=0)
    model = Nystroem(n_components=1000).fit(X)
    assert model.landmark_indices_.tolist() == list(range(0, 30, 3))


@RULES
def test_equal_rows_have_one_coordinate(rule):
    model = Nystroem(n_components=5, landmarks=rule, random_state=0).fit(np.ones((40, 3)))
    assert model.transform(np.ones((2, 3))).shape == (2, 1)


@pytest.mark.parametrize(
    "model", [Nystroem(Sigmoid(1.0, -3.0)), KernelPCA(kernel=Sigmoid(1.0, -3.0))]
)
def test_a_kernel_that_is_none_is_refused(model):
    with pytest.raises(ValueError, match="not positive semidefinite"):
        model.fit(rows())


@pytest.mark.parametrize("model", [Nystroem("precomputed"), KernelPCA(kernel="precomputed")])
def test_a_matrix_of_values_has_no_samples_to_keep(model):
    with pytest.raises(ValueError, match="precomputed"):
        model.fit(np.eye(5))


def test_strings_are_samples():
    def shared(A, B):
        return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])

    words = ["margin", "kernel", "vector", "machine", "dual", "primal"]
    Z = Nystroem(User(shared)).fit(words).transform(words)
    np.testing.assert_allclose(Z @ Z.T, shared(words, words), atol=1e-8)
    scores = KernelPCA(2, kernel=User(shared)).fit(words).transform(["margins"])
    assert scores.shape == (1, 2)


@pytest.mark.parametrize("name", ["landmarks", "n_components", "dtype"])
def test_nystroem_names_a_wrong_parameter(name):
    wrong: dict[str, Any] = {"landmarks": "best", "n_components": 0, "dtype": np.int32}
    with pytest.raises(ValueError, match=name):
        Nystroem(**{name: wrong[name]}).fit(rows())


def test_fourier_features_come_near_the_kernel():
    X = rows()
    model = FourierFeatures(20_001, gamma=0.2, random_state=0).fit(X)
    Z = model.transform(X)
    assert Z.shape == (80, 20_001)
    np.testing.assert_allclose(Z @ Z.T, Gaussian(0.2)(X, X), atol=0.05)


def test_fourier_features_far_from_the_origin_lose_no_digits():
    X = (rows(60) * 64.0).round() / 64.0  # exact in float32 after the shift too
    there = (X + 8192.0).astype(np.float32)
    model = FourierFeatures(200, gamma=0.2, random_state=0)
    Z, Z_there = clone(model).fit_transform(X), clone(model).fit_transform(there)
    assert Z_there.dtype == np.float32
    np.testing.assert_allclose(Z_there @ Z_there.T, Z @ Z.T, atol=1e-5)


def test_a_stream_keeps_the_frequencies_of_its_first_batch():
    model = FourierFeatures(random_state=0).partial_fit(rows())
    first = model.transform(rows(5))
    model.partial_fit(100.0 * rows(seed=1))
    np.testing.assert_array_equal(model.transform(rows(5)), first)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
def test_kernel_pca_is_that_of_scikit_learn(kernel):
    X, new = rows(), rows(30, seed=1)
    peer = PeerKernelPCA(3, kernel=kernel, gamma=0.1, coef0=1.0, eigen_solver="dense").fit(X)
    model = KernelPCA(3, kernel=kernel, gamma=0.1, coef0=1.0).fit(X)
    np.testing.assert_allclose(model.eigenvalues_, peer.eigenvalues_, rtol=1e-8)
    for some in (X, new):
        ours, theirs = model.transform(some), peer.transform(some)
        signs = np.sign((ours * theirs).sum(axis=0))
        np.testing.assert_allclose(ours, signs * theirs, atol=1e-8)


def test_kernel_pca_of_landmarks_that_are_all_rows_is_kernel_pca():
    X, new = rows(700), rows(30, seed=1)
    whole = KernelPCA(3, gamma=0.1).fit(X)
    some = KernelPCA(3, gamma=0.1, n_landmarks=699, random_state=0).fit(X)
    np.testing.assert_allclose(whole.transform(new), some.transform(new), atol=1e-2)
    np.testing.assert_allclose(whole.eigenvalues_, some.eigenvalues_, rtol=1e-3)


@pytest.mark.parametrize(
    "model",
    [
        Nystroem(n_components=30, random_state=0),
        KernelPCA(4),
        KernelPCA(4, n_landmarks=30, random_state=0),
    ],
)
def test_the_expansion_is_the_function(model):
    X, new = rows(), rows(9, seed=1)
    model = clone(model).fit(X)
    w = np.random.default_rng(2).normal(size=model.transform(X).shape[1])
    coef, b = model.expansion(w, 0.3)
    expected = model.transform(new) @ w + 0.3
    np.testing.assert_allclose(model.kernel_(new, model.basis_) @ coef + b, expected, atol=1e-8)


def test_constant_rows_have_no_principal_direction():
    assert not KernelPCA(2).fit_transform(np.ones((10, 3))).any()


def test_a_polynomial_kernel_object_serves_too():
    assert KernelPCA(2, kernel=Polynomial(0.1, 2, 1.0)).fit(rows()).transform(rows(1)).shape == (
        1,
        2,
    )


@pytest.mark.parametrize("n_landmarks", [None, 20])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_equal_rows_have_no_direction(kernel, n_landmarks):
    X = np.full((60, 3), 1.0 / 3.0)
    model = KernelPCA(2, kernel=kernel, gamma=1.0, coef0=1.0, n_landmarks=n_landmarks).fit(X)
    assert not model.transform(X + np.arange(60.0)[:, np.newaxis]).any()


def test_directions_are_those_of_the_matrix_if_the_iteration_gives_up(monkeypatch):
    X = np.random.default_rng(0).normal(size=(700, 3))
    expected = KernelPCA(2, gamma=0.1).fit(X)
    calls = []

    def gives_up(*matrix, **options):
        calls.append(matrix)
        if len(calls) == 1:
            raise ArpackNoConvergence("", np.empty(0), np.empty((0, 0)))
        return eigsh(*matrix, **options)

    monkeypatch.setattr(_spectra, "eigsh", gives_up)
    model = KernelPCA(2, gamma=0.1).fit(X)
    assert calls
    np.testing.assert_allclose(model.eigenvalues_, expected.eigenvalues_)
    np.testing.assert_allclose(model.transform(X), expected.transform(X), atol=1e-9)


@RULES
def test_images_that_are_all_0_have_a_coordinate_of_0(rule):
    model = Nystroem("linear", n_components=5, landmarks=rule, random_state=0)
    np.testing.assert_array_equal(model.fit(np.zeros((20, 2))).transform(np.ones((3, 2))), 0.0)
