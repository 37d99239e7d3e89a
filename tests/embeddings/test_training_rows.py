"""transform gives the training rows of a manifold the coordinates of the fit."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin.embeddings import LaplacianEigenmaps, LocallyLinearEmbedding
from maxmargin.kernels import Gaussian

X = np.random.default_rng(0).normal(size=(200, 3))
W = Gaussian(0.5)(X, X)

MANIFOLDS = [
    LaplacianEigenmaps(n_neighbors=10),
    LaplacianEigenmaps(affinity="rbf"),
    LaplacianEigenmaps(affinity="precomputed"),
    LocallyLinearEmbedding(n_neighbors=10),
]


def rows_for(model, rows=X):
    """Return affinities of the rows, where the model takes these."""
    given = getattr(model, "affinity", None) == "precomputed"
    return Gaussian(0.5)(rows, rows) if given else rows


@pytest.mark.parametrize("model", MANIFOLDS)
def test_rows_are_the_same_dense_and_sparse(model):
    rows = rows_for(model)
    for one, other in [(rows, sparse.csr_matrix(rows)), (sparse.csr_matrix(rows), rows)]:
        fitted = clone(model).fit(one)
        np.testing.assert_array_equal(fitted.transform(other), fitted.embedding_)


@pytest.mark.parametrize("model", MANIFOLDS)
def test_new_rows_may_be_stored_otherwise_than_the_training_rows(model):
    rows = rows_for(model)
    new = rows[:20] + 0.01
    fitted = clone(model).fit(rows)
    np.testing.assert_allclose(
        fitted.transform(sparse.csr_matrix(new)), fitted.transform(new), atol=1e-12
    )


@pytest.mark.parametrize("model", MANIFOLDS)
def test_rows_are_the_same_up_to_the_rounding_of_their_type(model):
    rows = rows_for(model)
    fitted = clone(model).fit(rows)
    for other in (rows.astype(np.float32), rows * (1.0 + 2e-16)):
        np.testing.assert_array_equal(fitted.transform(other), fitted.embedding_)
    narrow = clone(model).fit(rows.astype(np.float32))
    np.testing.assert_array_equal(narrow.transform(rows), narrow.embedding_)


def test_rows_far_from_zero_are_told_apart():
    far = X + 1e8
    model = LocallyLinearEmbedding(n_neighbors=10).fit(far)
    np.testing.assert_array_equal(model.transform(far), model.embedding_)
    near = model.transform(far + 1e-3)
    assert (near != model.embedding_).all()


@pytest.mark.parametrize("model", MANIFOLDS)
@pytest.mark.parametrize("rows", [np.repeat(X[:60], 3, axis=0), np.ones((30, 3))])
@pytest.mark.filterwarnings("ignore:The graph of the samples has")
def test_equal_rows_have_equal_coordinates(model, rows):
    given = rows_for(model, rows)
    fitted = clone(model)
    Z = fitted.fit_transform(given)
    np.testing.assert_array_equal(fitted.transform(given), Z)
    _, first, same = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    np.testing.assert_array_equal(Z, Z[first[same.ravel()]])


@pytest.mark.parametrize("n_columns", [3, 30])  # the second is searched by products of rows
def test_equal_rows_of_a_neighbour_graph_have_equal_coordinates(n_columns):
    rows = np.repeat(np.random.default_rng(0).normal(size=(60, n_columns)), 3, axis=0)
    graph = KNeighborsTransformer(n_neighbors=10, mode="distance")
    model = LaplacianEigenmaps(affinity="precomputed_nearest_neighbors", n_neighbors=10)
    both = make_pipeline(graph, model)
    Z = both.fit_transform(rows)
    np.testing.assert_array_equal(both.transform(rows), Z)
    np.testing.assert_array_equal(Z[::3], Z[1::3])


def in_two_and_isolated(count):
    """Return affinities of rows, the last ones of which have none."""
    affinities = W.copy()
    affinities[-count:] = affinities[:, -count:] = 0.0
    return affinities


@pytest.mark.parametrize("count", [1, 2])
def test_a_new_row_without_affinities_is_not_the_training_row_without(count):
    affinities = in_two_and_isolated(count)
    model = LaplacianEigenmaps(affinity="precomputed")
    with pytest.warns(UserWarning, match=f"{count} rows have no neighbour"):
        Z = model.fit_transform(affinities)
    with pytest.warns(UserWarning, match=f"{count} rows have no neighbour"):
        np.testing.assert_array_equal(model.transform(affinities), Z)
    with pytest.warns(UserWarning, match="1 rows have no neighbour"):
        assert not model.transform(np.zeros((1, 200))).any()


def test_rows_without_any_affinity_are_refused():
    with pytest.raises(ValueError, match="No row has an affinity to another"):
        LaplacianEigenmaps(affinity="precomputed").fit(np.eye(5))


@pytest.mark.parametrize("model", MANIFOLDS)
def test_a_step_that_works_in_place_leaves_the_embedding_as_it_is(model):
    rows = rows_for(model)
    both = make_pipeline(clone(model), StandardScaler(copy=False))
    Z = both.fit_transform(rows)
    np.testing.assert_allclose(both.transform(rows), Z)


@pytest.mark.parametrize("size", [1e-160, 1e-155, 1e154, 1e160])
@pytest.mark.parametrize("model", [MANIFOLDS[0], MANIFOLDS[3]])
def test_rows_whose_squares_are_no_numbers_are_refused(model, size):
    with pytest.raises(ValueError, match="Scale X"):
        clone(model).fit(X * size)


@pytest.mark.parametrize("model", [MANIFOLDS[0], MANIFOLDS[3]])
def test_a_new_row_whose_squares_are_no_numbers_is_refused(model):
    with pytest.raises(ValueError, match="Scale X"):
        clone(model).fit(X).transform(np.full((1, 3), 1e160))


def test_a_reg_that_is_lost_in_rounding_is_named():
    with pytest.raises(ValueError, match="Raise reg"):
        LocallyLinearEmbedding(n_neighbors=10, reg=1e-30).fit(np.repeat(X[:40], 5, axis=0))


@pytest.mark.parametrize("far", [1e5, 1e7])
def test_rows_in_float32_far_from_0_are_different_rows(far):
    rows = np.column_stack([np.full(len(X), far), X[:, :2]]).astype(np.float32)
    model = LaplacianEigenmaps(n_neighbors=15)
    Z = model.fit_transform(rows.astype(np.float64))
    assert np.array_equal(model.fit_transform(rows), Z)
    assert np.array_equal(model.transform(rows), Z)


def test_rows_that_each_lie_near_the_next_keep_their_own_coordinates():
    line = (1000.0 + np.arange(60) / 4096)[:, np.newaxis].astype(np.float32)
    model = LocallyLinearEmbedding(n_components=1, n_neighbors=5)
    Z = model.fit_transform(line).ravel()
    assert (np.diff(Z) * np.sign(Z[-1] - Z[0]) > 0.0).all()
    assert np.array_equal(model.transform(line).ravel(), Z)
