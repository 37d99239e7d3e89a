"""LaplacianEigenmaps and LocallyLinearEmbedding."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_moons, make_swiss_roll
from sklearn.manifold import LocallyLinearEmbedding as PeerLLE
from sklearn.manifold import SpectralEmbedding
from sklearn.neighbors import KNeighborsTransformer, NearestNeighbors
from sklearn.pipeline import make_pipeline

from maxmargin.embeddings import KernelPCA, LaplacianEigenmaps, LocallyLinearEmbedding
from maxmargin.kernels import Gaussian


def roll(n=400, seed=0):
    return make_swiss_roll(n, random_state=seed)[0]


@pytest.mark.parametrize("n", [300, 900])
@pytest.mark.parametrize("affinity", ["nearest_neighbors", "rbf"])
def test_training_rows_have_the_coordinates_of_spectral_embedding(n, affinity):
    X = roll(n)
    X = X / 10.0 if affinity == "rbf" else X
    ours = LaplacianEigenmaps(3, affinity=affinity, n_neighbors=12).fit_transform(X)
    peer = SpectralEmbedding(3, affinity=affinity, n_neighbors=12, random_state=0)
    theirs = peer.fit_transform(X)
    theirs = theirs * np.sign((ours * theirs).sum(axis=0))
    np.testing.assert_allclose(ours, theirs, atol=1e-6 * np.abs(theirs).max())


def test_precomputed_affinities_are_those_of_the_kernel():
    X, new = roll() / 10.0, roll(20, seed=1) / 10.0
    kernel = Gaussian(0.5)
    W = kernel(X, X)
    model = LaplacianEigenmaps(3, affinity="precomputed").fit(W)
    same = LaplacianEigenmaps(3, affinity=kernel).fit(X)
    np.testing.assert_allclose(model.embedding_, same.embedding_, atol=1e-10)
    np.testing.assert_allclose(model.transform(kernel(new, X)), same.transform(new), atol=1e-10)
    np.testing.assert_allclose(model.transform(W), model.embedding_)


def test_sparse_affinities_are_affinities():
    W = np.maximum(Gaussian(0.5)(roll() / 10.0, roll() / 10.0) - 0.1, 0.0)
    dense = LaplacianEigenmaps(3, affinity="precomputed").fit(W)
    stored = LaplacianEigenmaps(3, affinity="precomputed").fit(sparse.csr_matrix(W))
    np.testing.assert_allclose(dense.embedding_, stored.embedding_, atol=1e-9)


def test_new_rows_have_the_coordinates_of_bengio_and_others():
    X, new = roll() / 10.0, roll(50, seed=1) / 10.0
    model = LaplacianEigenmaps(3, affinity="rbf", gamma=0.7).fit(X)
    W = np.exp(-0.7 * ((X[:, None] - X) ** 2).sum(axis=2))
    np.fill_diagonal(W, 0.0)
    d = W.sum(axis=1)
    values, vectors = np.linalg.eigh(W / np.sqrt(d * d[:, None]))
    values, vectors = values[-2:-5:-1], vectors[:, -2:-5:-1]
    to_new = np.exp(-0.7 * ((new[:, None] - X) ** 2).sum(axis=2))
    d_new = to_new.sum(axis=1)
    normalised = to_new / np.sqrt(d_new[:, None] * d)
    extended = normalised @ vectors / values / np.sqrt(d_new)[:, None]
    coordinates = vectors / np.sqrt(d)[:, None]
    signs = np.sign((coordinates * model.embedding_).sum(axis=0))
    np.testing.assert_allclose(model.transform(new), signs * extended, atol=1e-8)


@pytest.mark.parametrize(
    "model",
    [
        LaplacianEigenmaps(3, n_neighbors=12),
        LaplacianEigenmaps(3, affinity="rbf", gamma=0.01),
        LocallyLinearEmbedding(3, n_neighbors=12),
    ],
)
def test_training_rows_and_copies_of_them_keep_their_coordinates(model):
    X = roll()
    model = clone(model).fit(X)
    np.testing.assert_array_equal(model.transform(X), model.embedding_)
    np.testing.assert_array_equal(model.transform(X[7:8].copy()), model.embedding_[7:8])


@pytest.mark.parametrize(
    "model", [LaplacianEigenmaps(2, n_neighbors=12), LocallyLinearEmbedding(2, n_neighbors=12)]
)
def test_a_row_is_embedded_by_itself_and_near_its_neighbour(model):
    X, new = roll(), roll(50, seed=1)
    model = clone(model).fit(X)
    whole = model.transform(new)
    alone = np.vstack([model.transform(row[np.newaxis]) for row in new])
    np.testing.assert_allclose(whole, alone, rtol=1e-9, atol=1e-12)
    nearest = np.argmin(((new[:, None] - X) ** 2).sum(axis=2), axis=1)
    apart = np.abs(whole - model.embedding_[nearest])
    assert np.median(apart) < 0.1 * np.ptp(model.embedding_)


def test_any_neighbour_library_serves():
    X, new = roll(), roll(50, seed=1)
    searched = LaplacianEigenmaps(2, n_neighbors=12).fit(X)
    given = make_pipeline(
        KNeighborsTransformer(mode="distance", n_neighbors=12),
        LaplacianEigenmaps(2, affinity="precomputed_nearest_neighbors", n_neighbors=12),
    ).fit(X)
    np.testing.assert_allclose(given[-1].embedding_, searched.embedding_, atol=1e-9)
    np.testing.assert_allclose(given.transform(new), searched.transform(new), atol=1e-9)
    np.testing.assert_allclose(given.transform(X), searched.embedding_, atol=1e-9)


@pytest.mark.parametrize("n", [300, 900])
def test_locally_linear_embedding_is_that_of_scikit_learn(n):
    X, new = roll(n), roll(50, seed=1)
    model = LocallyLinearEmbedding(2, n_neighbors=12).fit(X)
    peer = PeerLLE(n_neighbors=12, n_components=2, eigen_solver="dense").fit(X)
    signs = np.sign((model.embedding_ * peer.embedding_).sum(axis=0))
    np.testing.assert_allclose(model.embedding_, signs * peer.embedding_, atol=1e-6)
    np.testing.assert_allclose(model.transform(new), signs * peer.transform(new), atol=1e-6)
    error = vars(model)["reconstruction_error_"]  # whose type mypy cannot determine
    assert error == pytest.approx(peer.reconstruction_error_, abs=1e-8)


def test_weights_are_those_of_saul_and_roweis():
    X, new = roll(), roll(20, seed=1)
    model = LocallyLinearEmbedding(2, n_neighbors=6).fit(X)
    found = model.transform(new)
    for x, z in zip(new, found, strict=True):
        nearest = np.argsort(((X - x) ** 2).sum(axis=1))[:6]
        apart = X[nearest] - x
        G = apart @ apart.T
        w = np.linalg.solve(G + 1e-3 * np.trace(G) * np.eye(6), np.ones(6))
        np.testing.assert_allclose(z, w / w.sum() @ model.embedding_[nearest], atol=1e-8)


def test_sparse_rows_are_the_same_rows():
    X, new = roll(), roll(20, seed=1)
    for model in (LaplacianEigenmaps(n_neighbors=12), LocallyLinearEmbedding(n_neighbors=12)):
        dense, stored = clone(model).fit(X), clone(model).fit(sparse.csr_matrix(X))
        np.testing.assert_allclose(dense.embedding_, stored.embedding_, atol=1e-7)
        np.testing.assert_allclose(
            dense.transform(new), stored.transform(sparse.csr_array(new)), atol=1e-7
        )


@pytest.mark.parametrize("model", [LaplacianEigenmaps(n_neighbors=5), LocallyLinearEmbedding()])
def test_a_graph_in_pieces_is_told(model):
    X = np.vstack([roll(60), roll(60) + 1e3])
    with pytest.warns(UserWarning, match="2 pieces"):
        clone(model).fit(X)


def test_a_new_row_without_neighbours_is_told_and_in_the_centre():
    X = roll() / 10.0
    model = LaplacianEigenmaps(affinity="rbf", gamma=5.0).fit(X)
    with pytest.warns(UserWarning, match="1 rows have no neighbour"):
        Z = model.transform(np.vstack([X[:1] + 1e-3, X[:1] + 1e4]))
    assert Z[0].any()
    assert not Z[1].any()


def test_a_new_row_without_stored_distances_is_told():
    X = roll(100)
    graph = KNeighborsTransformer(mode="distance", n_neighbors=12).fit_transform(X)
    model = LaplacianEigenmaps(affinity="precomputed_nearest_neighbors", n_neighbors=12).fit(graph)
    with pytest.warns(UserWarning, match="no neighbour"):
        assert not model.transform(sparse.csr_matrix((1, 100))).any()


def test_affinities_in_two_directions_are_averaged_and_told():
    W = Gaussian(0.5)(roll(100) / 10.0, roll(100) / 10.0)
    skew = np.triu(W)
    with pytest.warns(UserWarning, match="not symmetric"):
        averaged = LaplacianEigenmaps(affinity="precomputed").fit(skew)
    whole = LaplacianEigenmaps(affinity="precomputed").fit(W)
    np.testing.assert_allclose(averaged.embedding_ / np.sqrt(2.0), whole.embedding_, atol=1e-9)


def test_an_isolated_row_is_told_and_leaves_the_others_finite():
    X = np.vstack([roll(100) / 10.0, [[1e4] * 3]])
    with pytest.warns(UserWarning, match="1 rows have no neighbour"):
        Z = LaplacianEigenmaps(affinity="rbf", gamma=0.5).fit_transform(X)
    assert np.isfinite(Z).all()
    assert not Z[-1].any()
    alone = LaplacianEigenmaps(affinity="rbf", gamma=0.5).fit_transform(X[:-1])
    np.testing.assert_allclose(Z[:-1], alone, atol=1e-9)


@pytest.mark.parametrize(
    ("model", "X", "message"),
    [
        (LaplacianEigenmaps(affinity="precomputed"), -np.eye(5), "must not be negative"),
        (LaplacianEigenmaps(affinity="precomputed"), np.ones((5, 4)), "must be square"),
        (LaplacianEigenmaps(affinity="best"), np.eye(5), "affinity"),
        (LaplacianEigenmaps(affinity="rbf", gamma=-1.0), np.eye(5), "gamma"),
        (LaplacianEigenmaps(n_neighbors=6), np.eye(5), "n_neighbors"),
        (LaplacianEigenmaps(affinity="precomputed_nearest_neighbors"), np.eye(5), "sparse matrix"),
        (LaplacianEigenmaps(n_components=0), np.eye(5), "n_components"),
        (LaplacianEigenmaps(), np.eye(5) * np.nan, "NaN"),
        (LocallyLinearEmbedding(n_neighbors=5), np.eye(5), "n_neighbors=5"),
        (LocallyLinearEmbedding(n_neighbors=2, reg=0.0), np.eye(5), "reg"),
    ],
)
def test_bad_input_is_named(model, X, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X)


def test_a_graph_with_fewer_neighbours_than_asked_is_refused():
    graph = KNeighborsTransformer(mode="distance", n_neighbors=3).fit_transform(roll(50))
    with pytest.raises(ValueError, match="stored distances"):
        LaplacianEigenmaps(affinity="precomputed_nearest_neighbors", n_neighbors=10).fit(graph)


def test_affinities_given_for_distances_are_named():
    graph = sparse.csr_array(-np.ones((20, 20)))
    with pytest.raises(ValueError, match="Distances must not be negative"):
        LaplacianEigenmaps(affinity="precomputed_nearest_neighbors", n_neighbors=5).fit(graph)


def test_constant_rows_have_finite_coordinates():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model in (LaplacianEigenmaps(n_neighbors=5), LocallyLinearEmbedding()):
            assert np.isfinite(clone(model).fit_transform(np.ones((30, 2)))).all()


def test_no_test_row_has_a_part_in_the_embedding():
    X, _ = make_moons(200, noise=0.05, random_state=0)
    model = LaplacianEigenmaps(n_neighbors=30).fit(X)
    before = model.embedding_.copy()
    model.transform(make_moons(50, random_state=1)[0])
    np.testing.assert_array_equal(model.embedding_, before)


def test_long_rows_are_found_again():
    X = np.random.default_rng(0).normal(size=(60, 200))
    X[0, 0] = -0.0
    model = LaplacianEigenmaps(2, n_neighbors=20).fit(X)
    again = X.copy()
    again[0, 0] = 0.0
    np.testing.assert_array_equal(model.transform(again), model.embedding_)


def in_pieces(count=30):
    """Return rows whose graph of neighbours has at least `count` pieces, more than 600 in all."""
    random = np.random.default_rng(0)
    return np.vstack([random.normal(size=(30, 4)) + 100.0 * place for place in range(count)])


@pytest.mark.filterwarnings("ignore:The graph of the samples has")
@pytest.mark.parametrize("k", [3, 20, 40])
def test_no_copy_of_a_repeated_eigenvalue_is_missed(k):
    X = in_pieces()
    model = LaplacianEigenmaps(k, n_neighbors=15).fit(X)
    graph = NearestNeighbors(n_neighbors=15).fit(X).kneighbors_graph(X)
    W = 0.5 * (graph + graph.T).toarray()
    np.fill_diagonal(W, 0.0)
    root = np.sqrt(W.sum(axis=1))
    A = W / root / root[:, np.newaxis]
    np.testing.assert_allclose(model.eigenvalues_, np.linalg.eigvalsh(A)[-2 : -k - 2 : -1])
    vectors = model.embedding_ * root[:, np.newaxis]
    np.testing.assert_allclose(A @ vectors, vectors * model.eigenvalues_, atol=1e-9)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(k), atol=1e-9)
    np.testing.assert_allclose(root @ vectors, 0.0, atol=1e-9)  # none is the constant one


@pytest.mark.filterwarnings("ignore:The graph of the samples has")
def test_pieces_have_places_of_their_own():
    X = in_pieces(5)
    Z = LaplacianEigenmaps(4, n_neighbors=15).fit_transform(X)
    places = np.unique(Z.round(9), axis=0)
    assert len(places) == 5
    new = LaplacianEigenmaps(4, n_neighbors=15).fit(X).transform(X[::30] + 1e-3)
    np.testing.assert_allclose(new, Z[::30], atol=1e-9)


def test_pieces_of_a_locally_linear_embedding_have_places_of_their_own():
    X, label = make_blobs([60, 50, 40], n_features=3, cluster_std=0.1, random_state=0)
    order = np.random.default_rng(0).permutation(len(X))
    with pytest.warns(UserWarning, match="3 pieces"):
        model = LocallyLinearEmbedding(4, n_neighbors=6).fit(X)
    with pytest.warns(UserWarning, match="3 pieces"):
        shuffled = LocallyLinearEmbedding(4, n_neighbors=6).fit(X[order])
    Z = model.embedding_
    np.testing.assert_allclose(Z.T @ Z, np.eye(4), atol=1e-10)
    np.testing.assert_allclose(Z.sum(axis=0), 0.0, atol=1e-10)
    for piece in range(3):
        assert np.ptp(Z[label == piece, :2], axis=0).max() < 1e-12
    assert len(np.unique(Z[:, :2].round(6), axis=0)) == 3
    agree = np.abs((shuffled.embedding_ * Z[order]).sum(axis=0))
    np.testing.assert_allclose(agree, 1.0, atol=1e-8)


def test_affinities_that_are_small_connect_too():
    X = np.vstack([roll(40) / 10.0, roll(40, seed=1) / 10.0 + 8.0])
    kernel = Gaussian(0.2)
    assert 0.0 < kernel(X, X)[:40, 40:].max() < 1e-9
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LaplacianEigenmaps(2, affinity=kernel).fit(X)
    assert model.eigenvalues_[0] < 1.0


def test_nothing_is_divided_by_an_eigenvalue_that_is_rounding():
    W = np.kron(1.0 - np.eye(4), np.ones((10, 10)))  # of rank 4
    model = LaplacianEigenmaps(6, affinity="precomputed").fit(W)
    new = np.random.default_rng(0).uniform(size=(3, 40))
    assert np.abs(model.transform(new)).max() < 10.0


@pytest.mark.parametrize(
    "model",
    [
        LaplacianEigenmaps(2, n_neighbors=12),
        LaplacianEigenmaps(2, affinity="rbf"),
        LocallyLinearEmbedding(2),
        KernelPCA(2),
    ],
)
def test_rows_that_change_after_the_fit_change_nothing(model):
    X, new = np.ascontiguousarray(roll()), roll(20, seed=1)
    model = clone(model).fit(X)
    before = model.transform(new)
    X[:] = 0.0
    np.testing.assert_array_equal(model.transform(new), before)


def test_eigenvalues_that_nearly_agree_are_all_found():
    X, _ = make_blobs(700, 3, centers=12, cluster_std=0.5, center_box=(-4.0, 4.0), random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LaplacianEigenmaps(3, affinity="rbf", gamma=10.0).fit(X)
    W = Gaussian(10.0)(X, X)
    np.fill_diagonal(W, 0.0)
    root = np.sqrt(W.sum(axis=1))
    A = W / root / root[:, np.newaxis]
    np.testing.assert_allclose(model.eigenvalues_, np.linalg.eigvalsh(A)[-2:-5:-1], atol=1e-12)
