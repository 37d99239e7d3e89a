"""Hard margins without an intercept: the largest, or a witness that there is none."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from maxmargin import SVC, NotSeparableError, Status
from synthetic import with_margin


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("rows", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
def test_a_margin_through_the_origin_is_the_largest(kernel, rows):
    X, y = with_margin()
    hard = SVC(C=np.inf, kernel=kernel, gamma=0.3, fit_intercept=False, tol=1e-6).fit(rows(X), y)
    soft = SVC(C=1e5, kernel=kernel, gamma=0.3, fit_intercept=False, tol=1e-6).fit(X, y)
    certificate = hard.certificate_
    assert certificate.status is Status.OPTIMAL
    assert certificate.relative_gap <= 1e-6
    assert certificate.primal == pytest.approx(soft.certificate_.primal, rel=1e-5)
    assert (y * hard.decision_function(X)).min() == pytest.approx(1.0, rel=1e-9)
    assert hard.intercept_[0] == 0.0
    np.testing.assert_allclose(hard.decision_function(X), soft.decision_function(X), atol=1e-3)


@pytest.mark.parametrize("n", [60, 1500])
def test_no_separator_through_the_origin_has_a_witness(n):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(n, 3)), rng.choice([-1, 1], size=n)
    with pytest.raises(NotSeparableError, match="through the origin") as caught:
        SVC(C=np.inf, kernel="linear", fit_intercept=False).fit(X, y)
    first, second = caught.value.witness
    assert first.min() >= 0.0 <= second.min()
    assert not first[y != -1].any()
    assert not second[y != 1].any()
    assert first.sum() + second.sum() == pytest.approx(1.0)
    apart = np.linalg.norm((first - second) @ X)
    assert apart <= caught.value.distance + 1e-8
    assert pickle.loads(pickle.dumps(caught.value)).distance == caught.value.distance


def test_two_points_on_one_side_of_the_origin():
    model = SVC(C=np.inf, kernel="linear", fit_intercept=False).fit(
        [[1.0, 0.0], [0.0, 2.0]], [0, 1]
    )
    np.testing.assert_allclose(model.coef_, [[-1.0, 0.5]], rtol=1e-6)


@pytest.mark.parametrize("X", [np.zeros((4, 2)), np.ones((4, 2))])
def test_identical_rows_have_no_separator_through_the_origin(X):
    with pytest.raises(NotSeparableError, match="through the origin"):
        SVC(C=np.inf, kernel="linear", fit_intercept=False).fit(X, [0, 1, 0, 1])


def test_a_limit_is_not_a_verdict_on_a_margin_through_the_origin():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(1500, 3)), rng.choice([-1, 1], size=1500)
    with pytest.warns(Warning, match="stopped by max_iter"):
        SVC(C=np.inf, kernel="linear", fit_intercept=False, max_iter=1).fit(X, y)


def test_samples_of_weight_0_are_left_out_of_a_margin_through_the_origin():
    X, y = with_margin()
    flipped = np.append(y, -y[:3])
    weight = np.append(np.ones(len(y)), np.zeros(3))
    given = SVC(C=np.inf, kernel="linear", fit_intercept=False)
    weighted = given.fit(np.vstack([X, X[:3]]), flipped, weight).coef_
    np.testing.assert_allclose(weighted, given.fit(X, y).coef_, rtol=1e-6)
