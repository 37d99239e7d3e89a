"""Odd forms of X, y and weights give the answer of the plain form."""

import numpy as np
import pytest
from scipy import sparse

from choices import EXACT
from maxmargin import Status
from synthetic import csr, free_svc, free_svr, overlapping, regression

X, Y = overlapping(30, 3)
XR, YR = regression(30, 3)


def awkward_forms():
    wide = np.zeros((60, 6))
    wide[::2, ::2] = X
    read_only = X.copy()
    read_only.flags.writeable = False
    backwards = sparse.csr_matrix(X[:, ::-1])
    backwards.indices = 2 - backwards.indices  # columns fall within a row
    backwards.has_sorted_indices = False
    halves = sparse.csr_matrix(X)
    twice = sparse.csr_matrix((60 * [0.0], (60 * [0], 60 * [0])), shape=X.shape)
    twice.data = np.repeat(halves.data / 2, 2)
    twice.indices = np.repeat(halves.indices, 2)
    twice.indptr = 2 * halves.indptr
    zeros = csr(np.ones_like(X))
    zeros.data[:] = X.ravel()
    mixed = csr(X)
    mixed.indptr = mixed.indptr.astype(np.int64)
    other_mixed = csr(X)
    other_mixed.indices = other_mixed.indices.astype(np.int64)
    frozen = csr(X)
    for part in (frozen.data, frozen.indices, frozen.indptr):
        part.flags.writeable = False
    gaps = csr(X)
    gaps.data, gaps.indices, gaps.indptr = (
        np.repeat(part, 2)[::2] for part in (gaps.data, gaps.indices, gaps.indptr)
    )
    shifted = np.frombuffer(b"." + X.tobytes(), offset=1).reshape(X.shape)
    return {
        "strided": wide[::2, ::2],
        "not aligned": shifted,
        "reversed": X[::-1][::-1],
        "F-order": np.asfortranarray(X),
        "read-only": read_only,
        "object": X.astype(object),
        "big-endian": X.astype(">f8"),
        "longdouble": X.astype(np.longdouble),
        "list": X.tolist(),
        "CSR unsorted": backwards,
        "CSR duplicates": twice,
        "CSR 64-bit": csr(X, np.int64),
        "CSR explicit zeros": zeros,
        "CSR mixed indices": mixed,
        "CSR mixed offsets": other_mixed,
        "CSR read-only": frozen,
        "CSR with gaps": gaps,
        "CSR array": sparse.csr_array(X),
        "CSC": sparse.csc_matrix(X),
        "COO": sparse.coo_matrix(X),
        "LIL": sparse.lil_matrix(X),
    }


@EXACT
@pytest.mark.parametrize("form", awkward_forms())
def test_awkward_forms_give_the_plain_answer(solver, form):
    setting = {"solver": solver, "tol": 1e-8, "max_iter": 20_000, "random_state": 0}
    plain = free_svc(**setting).fit(X, Y)
    given = awkward_forms()[form]
    model = free_svc(**setting).fit(given, Y)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(
        model.decision_function(given), plain.decision_function(X), rtol=1e-3, atol=5e-3
    )


@pytest.mark.parametrize("form", ["CSR unsorted", "CSR duplicates", "CSR explicit zeros"])
def test_the_users_csr_is_left_as_it_was(form):
    given = awkward_forms()[form]
    data, indices = given.data.copy(), given.indices.copy()
    free_svc().fit(given, Y)
    np.testing.assert_array_equal(given.data, data)
    np.testing.assert_array_equal(given.indices, indices)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8, bool])
def test_whole_numbers_are_accepted(dtype):
    whole = (X > 0.5).astype(dtype)
    model = free_svc(tol=1e-8).fit(whole, Y)
    expected = free_svc(tol=1e-8).fit(whole.astype(float), Y)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-3, atol=1e-3)


@EXACT
@pytest.mark.parametrize("make", [np.asarray, csr], ids=["dense", "CSR"])
def test_empty_rows_count_for_the_intercept(solver, make):
    rows = X.copy()
    rows[:10] = 0.0
    model = free_svc(solver=solver, tol=1e-6, max_iter=20_000).fit(make(rows), Y)
    assert model.certificate_.status is Status.OPTIMAL
    np.testing.assert_allclose(model.decision_function(make(rows))[:10], model.intercept_[0])


def test_read_only_labels_and_weights_are_accepted():
    y, weights = YR.copy(), np.ones(30)
    y.flags.writeable = weights.flags.writeable = False
    assert free_svr().fit(XR, y, weights).certificate_.status is Status.OPTIMAL


@pytest.mark.parametrize("make", [lambda y: y[::-1], lambda y: np.repeat(y, 2)[::2]])
def test_strided_targets_are_accepted(make):
    assert free_svr().fit(XR, make(YR)).certificate_.status is Status.OPTIMAL


def test_targets_and_weights_that_are_not_aligned_are_copied():
    shifted = np.frombuffer(b"." + YR.tobytes(), offset=1)
    weights = np.frombuffer(b"." + np.ones(30).tobytes(), offset=1)
    model = free_svr(random_state=0).fit(XR, shifted, weights)
    assert model.certificate_ == free_svr(random_state=0).fit(XR, YR).certificate_
    assert model.solution_.beta.flags.aligned
