"""Equal rows with equal labels are fitted as one; the problem stays the same."""

import numpy as np
import pytest
from scipy import sparse

import maxmargin.estimators._duplicates as duplicates
from maxmargin import SVC, Intercept, KernelObjective, Problem, certify
from maxmargin.estimators._duplicates import equal_rows
from maxmargin.kernels import Gaussian
from maxmargin.losses import HINGE


def repeated(n_classes=2, seed=0):
    random = np.random.default_rng(seed)
    X = np.round(random.normal(size=(300, 2)), 1)
    y = (X[:, 0] + 0.5 * random.normal(size=300) > 0).astype(int)
    if n_classes == 3:
        y[X[:, 1] > 0.8] = 2
    pick = random.integers(300, size=2400)
    return X[pick], y[pick], random.uniform(0.1, 2.0, 2400)


def never(monkeypatch):
    monkeypatch.setattr(duplicates, "_WORTH", 10**9)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("gamma", ["scale", "median"])
def test_the_fit_is_that_of_all_rows(n_classes, multi_class, gamma, monkeypatch):
    X, y, weight = repeated(n_classes)
    options = {"multi_class": multi_class, "tol": 1e-7, "gamma": gamma}
    merged = SVC(**options).fit(X, y, weight)
    assert len(merged.support_) < 310
    never(monkeypatch)
    whole = SVC(**options).fit(X, y, weight)
    np.testing.assert_allclose(merged.decision_function(X), whole.decision_function(X), atol=1e-2)
    assert merged.certificate_.primal == pytest.approx(whole.certificate_.primal, rel=1e-6)
    np.testing.assert_array_equal(merged.support_vectors_, X[merged.support_])


def test_the_dual_point_of_all_rows_proves_the_original_problem():
    X, y, weight = repeated()
    model = SVC(2.0, gamma=0.5, tol=1e-5).fit(X, y, weight)
    signs = np.where(y == 0, 1.0, -1.0)  # the first class of the pair is positive
    kernel = Gaussian(0.5).fitted(X)
    objective = KernelObjective(
        Problem(X, signs, 2.0 * weight), HINGE, Intercept.FREE, kernel=kernel
    )
    solution = model.solution_
    proof = certify(objective, solution.w, solution.b, solution.beta)
    assert proof.relative_gap < 2e-5
    assert proof.primal == pytest.approx(model.certificate_.primal, rel=1e-6)
    assert (np.abs(solution.beta) <= 2.0 * weight * (1 + 1e-12)).all()


def test_sparse_rows_are_merged_too():
    X, y, weight = repeated()
    dense = SVC(gamma=0.5, tol=1e-7).fit(X, y, weight)
    stored = SVC(gamma=0.5, tol=1e-7).fit(sparse.csr_matrix(X), y, weight)
    assert len(stored.support_) < 310
    assert stored.certificate_.primal == pytest.approx(dense.certificate_.primal, rel=1e-6)


def test_equal_rows_of_two_classes_stay_apart():
    X, y = np.zeros((3000, 2)), np.arange(3000) % 2
    groups = equal_rows(X, y, np.ones(3000), 2700)
    assert groups is not None
    assert groups.first.tolist() == [0, 1]
    assert groups.costs.tolist() == [1500.0, 1500.0]


def test_distinct_rows_and_few_rows_are_left_alone():
    X = np.random.default_rng(0).normal(size=(3000, 2))
    assert equal_rows(X, np.zeros(3000, dtype=np.intp), np.ones(3000), 2700) is None
    X, y, _ = repeated()
    assert SVC().fit(X[:1900], y[:1900]).solution_.distinct_rows is None
    assert SVC().fit(X[:2000], y[:2000]).solution_.distinct_rows is not None


def test_rows_with_equal_keys_are_compared():
    X = np.zeros((3000, 2))
    X[:, 0] = np.arange(3000) % 2 * 1e-320  # lost in the key
    groups = equal_rows(X, np.zeros(3000, dtype=np.intp), np.ones(3000), 2700)
    assert groups is None or len(groups.first) > 1


def test_weights_of_zero_take_no_share():
    X, y, weight = repeated()
    weight[::3] = 0.0
    model = SVC(tol=1e-6).fit(X, y, weight)
    assert not model.solution_.beta[::3].any()


def test_a_warm_start_goes_on_from_a_merged_fit():
    X, y, _ = repeated()
    model = SVC(tol=1e-4).fit(X, y)
    again = model.set_params(warm_start=True).fit(X, y)
    assert again.certificate_.relative_gap < 1e-4
    assert len(again.solution_.beta) == len(y)


def test_rows_at_the_bound_stay_exactly_at_the_bound_when_they_are_shared():
    X, y, _ = repeated()
    model = SVC(0.05, gamma=0.5, tol=1e-6).fit(X, y)
    table = model.samples(X, y)
    assert np.count_nonzero(table.case == 2) > 500
    assert table.violation.max() < 1e-2


def test_counts_and_slacks_are_those_of_all_rows(monkeypatch):
    """They counted each distinct row once."""
    X, y, weight = repeated()
    model = SVC(0.05, gamma=0.5, tol=1e-6).fit(X, y)
    found, table = model.certificate_, model.samples(X, y)
    assert found.n_support_free == np.count_nonzero(table.case == 1)
    assert found.n_support_bounded == np.count_nonzero(table.case == 2)
    assert found.slack_sum == pytest.approx(table.slack.sum(), rel=1e-4)
    monkeypatch.setattr(duplicates, "_WORTH", 10**9)
    every = SVC(0.05, gamma=0.5, tol=1e-6).fit(X, y).certificate_
    assert found.slack_sum == pytest.approx(every.slack_sum, rel=1e-3)
    assert found.n_support_bounded == pytest.approx(every.n_support_bounded, rel=0.1)
    monkeypatch.undo()
    assert np.isnan(SVC(0.05, gamma=0.5).fit(X, y, weight).certificate_.slack_sum)
