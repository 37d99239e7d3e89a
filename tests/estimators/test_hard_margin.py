"""C=inf: the maximum margin with its proof, or a witness that there is none."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn import svm
from sklearn.metrics.pairwise import rbf_kernel

from maxmargin import (
    SMO,
    SVC,
    HardMarginObjective,
    KernelObjective,
    NotSeparableError,
    PrimalDual,
    Problem,
    Status,
    certify,
)
from maxmargin.kernels import Linear
from maxmargin.losses import HINGE
from maxmargin.solvers import Monitor, Start, Stopping
from synthetic import free_svc, with_margin


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("rows", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
def test_the_margin_is_the_largest(kernel, rows):
    X, y = with_margin()
    model = SVC(C=np.inf, kernel=kernel, gamma=0.3, tol=1e-8).fit(rows(X), y)
    peer = svm.SVC(C=1e9, kernel=kernel, gamma=0.3, tol=1e-9).fit(X, y)
    certificate = model.certificate_
    assert certificate.status is Status.OPTIMAL
    assert certificate.relative_gap <= 1e-8
    alpha = np.abs(peer.dual_coef_).sum()
    assert certificate.margin == pytest.approx(1.0 / np.sqrt(alpha), rel=1e-5)
    assert certificate.margin == pytest.approx(1 / np.sqrt(np.abs(model.solution_.beta).sum()))
    assert (y * model.decision_function(X)).min() == pytest.approx(1.0, rel=1e-9)
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-4)


def test_two_points():
    model = SVC(C=np.inf, kernel="linear").fit([[0.0], [4.0]], [0, 1])
    np.testing.assert_allclose([model.coef_[0, 0], model.intercept_[0]], [0.5, -1.0])
    assert model.certificate_.margin == pytest.approx(2.0)
    assert str(model.certificate_).endswith(("optimum", "optimal"))


def test_working_sets_find_the_same():
    X, y = with_margin(1500)
    problem = Problem(X, y.astype(float), np.ones(len(y)))
    objective = HardMarginObjective(problem, HINGE, kernel=Linear())
    found = [
        smo.solve(objective, Monitor(objective, Stopping(1e-4)), Start())
        for smo in (SMO(small=0), SMO(small=10_000))
    ]
    assert {solution.status for solution in found} == {Status.OPTIMAL}
    assert found[0].certificate.dual == pytest.approx(found[1].certificate.dual, rel=2e-4)
    again = certify(objective, found[0].w, found[0].b, found[0].beta)
    assert again.primal == pytest.approx(found[0].certificate.primal, rel=1e-4)
    assert 0.0 <= again.gap <= 1.1e-4 * again.dual


@pytest.mark.parametrize("kernel", ["linear", "precomputed"])
@pytest.mark.parametrize("n", [60, 1500])
def test_classes_that_overlap_have_a_witness(kernel, n):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(n, 3)), rng.integers(2, size=n)
    given = X if kernel == "linear" else X @ X.T
    with pytest.raises(NotSeparableError, match="cannot be separated") as caught:
        SVC(C=np.inf, kernel=kernel).fit(given, y)
    error = caught.value
    first, second = error.witness
    assert error.classes == (0, 1)
    for weights, label in ((first, 0), (second, 1)):
        assert (weights >= 0.0).all()
        assert weights.sum() == pytest.approx(1.0)
        assert not weights[y != label].any()
    apart = np.linalg.norm(first @ X - second @ X)
    assert apart <= 1e-3
    assert apart == pytest.approx(error.distance, rel=1e-3, abs=1e-6)


def test_a_kernel_cannot_separate_a_sample_from_itself():
    X = np.random.default_rng(0).normal(size=(40, 2))
    X[20:] = X[:20]
    with pytest.raises(NotSeparableError):
        SVC(C=np.inf).fit(X, np.repeat([0, 1], 20))
    K = rbf_kernel(X)
    with pytest.raises(NotSeparableError):
        SVC(C=np.inf, kernel="precomputed").fit(K, np.repeat([0, 1], 20))


def test_the_error_names_the_pair_of_several_classes():
    X = np.array([[0.0], [1.0], [2.0], [9.0], [10.0], [0.5]])
    y = np.array(["a", "b", "a", "c", "c", "b"])
    with pytest.raises(NotSeparableError, match="'a' and 'b'") as caught:
        SVC(C=np.inf, kernel="linear").fit(X, y)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)


def test_samples_of_weight_zero_need_not_be_separated():
    X, y = with_margin()
    wrong = y.copy()
    wrong[:5] *= -1
    weight = np.where(np.arange(len(y)) < 5, 0.0, 2.0)
    model = SVC(C=np.inf, kernel="linear", tol=1e-8).fit(X, wrong, sample_weight=weight)
    rest = SVC(C=np.inf, kernel="linear", tol=1e-8).fit(X[5:], y[5:])
    np.testing.assert_allclose(model.coef_, rest.coef_, rtol=1e-5)
    assert not (model.support_ < 5).any()


def test_a_limit_is_not_a_verdict():
    X = np.random.default_rng(1).normal(size=(1500, 3))
    y = np.arange(1500) % 2
    with pytest.warns(Warning, match="no separator found yet"):
        model = SVC(C=np.inf, kernel="linear", max_iter=1).fit(X, y)
    assert model.certificate_.primal == np.inf
    assert set(model.predict(X)) <= {0, 1}


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_hard_linear_machine_is_that_of_svc(fit_intercept):
    X, y = with_margin()
    linear = free_svc(C=np.inf, fit_intercept=fit_intercept, tol=1e-8).fit(X, y)
    kernel = SVC(C=np.inf, kernel="linear", fit_intercept=fit_intercept, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(linear.coef_, kernel.coef_, rtol=1e-9)
    np.testing.assert_allclose(linear.decision_function(X), kernel.decision_function(X), rtol=1e-6)
    np.testing.assert_allclose(linear.solution_.beta @ X, linear.coef_[0], rtol=1e-6)
    assert linear.certificate_.relative_gap <= 1e-8


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_a_hard_linear_machine_of_three_classes_is_right_on_all(multi_class):
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 3)) + 20.0 * np.eye(3)[y]
    model = free_svc(C=np.inf, multi_class=multi_class).fit(X, y)
    assert model.score(X, y) == 1.0
    assert len(model.solutions_) == len(model.coef_) == 3


def test_a_hard_linear_machine_of_overlapping_classes_has_a_witness():
    rng = np.random.default_rng(1)
    with pytest.raises(NotSeparableError, match="cannot be separated"):
        free_svc(C=np.inf).fit(rng.normal(size=(60, 3)), rng.integers(2, size=60))


@pytest.mark.parametrize("wrong", [{"penalized_intercept": True}, {"loss": "perceptron"}])
def test_a_hard_linear_machine_has_a_hinge_and_no_penalised_intercept(wrong):
    X, y = with_margin()
    with pytest.raises(ValueError, match=r"got inf\. With the hinge losses"):
        free_svc(C=np.inf, **wrong).fit(X, y)


@pytest.mark.parametrize("C", [0.0, -1.0, -np.inf, np.nan, "inf"])
def test_other_c_are_refused(C):
    with pytest.raises(ValueError, match="C must be a positive"):
        SVC(C=C).fit(*with_margin())


@pytest.mark.parametrize("shift", [0.0, 1e4, 1e5])
def test_a_shift_changes_neither_the_margin_nor_the_verdict(shift):
    rng = np.random.default_rng(0)
    X = rng.integers(-8, 9, size=(100, 2)).astype(float)
    X[50:, 0] += 40.0
    y = np.repeat([0, 1], 50)
    least = X[50:, 0].min() - X[:50, 0].max()
    model = SVC(C=np.inf, kernel="linear", tol=1e-4).fit(X + shift, y)
    assert model.certificate_.status is Status.OPTIMAL
    assert model.certificate_.margin == pytest.approx(0.5 * least, rel=0.02)
    beta = model.solution_.beta
    assert abs(beta.sum()) <= 1e-9 * np.abs(beta).sum()


def test_a_dual_point_that_is_not_balanced_proves_nothing():
    X, y = with_margin()
    problem = Problem(X, y.astype(float), np.ones(len(y)))
    objective = KernelObjective(problem, HINGE, kernel=Linear())
    beta = np.where(y > 0, 0.1, 0.0)
    assert objective.certify(PrimalDual(beta, 0.0, beta)).gap == np.inf


def test_no_time_at_all_leaves_a_model_that_prints():
    with pytest.warns(Warning, match="stopped by max_time"):
        model = SVC(C=np.inf, max_time=1e-9).fit(*with_margin(1500))
    assert "no separator found yet" in str(model.certificate_)


def test_an_indefinite_kernel_has_no_margin():
    with pytest.raises(ValueError, match="Mercer"):
        SVC(C=np.inf, kernel="sigmoid").fit(*with_margin())


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_an_indefinite_matrix_or_function_has_no_margin(multi_class):
    X, y = with_margin()

    def kernel(A, B):
        return A @ B.T - 2.0 * A[:, :1] @ B[:, :1].T

    for given, rows in ((kernel, X), ("precomputed", kernel(X, X))):
        with pytest.raises(ValueError, match="C=inf needs a Mercer kernel") as caught:
            SVC(C=np.inf, kernel=given, multi_class=multi_class).fit(rows, y)
        assert not isinstance(caught.value, NotSeparableError)


def test_the_error_bounds_the_margin_and_advises_to_scale():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2)) * [0.01, 100.0]
    with pytest.raises(NotSeparableError, match="not by a margin above") as caught:
        SVC(C=np.inf, kernel="linear").fit(X, np.arange(40) % 2)
    text = str(caught.value)
    assert f"{0.5 * caught.value.distance:.2g}" in text
    assert "StandardScaler" in text
    assert str(pickle.loads(pickle.dumps(caught.value))) == text


def test_columns_that_agree_in_size_get_no_advice():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    with pytest.raises(NotSeparableError) as caught:
        SVC(C=np.inf, kernel="linear").fit(X, [0, 1, 0, 1])
    assert caught.value.advice == ""


def test_many_samples_keep_their_margin():
    X, y = with_margin(1500)
    model = SVC(C=np.inf, kernel="linear", tol=1e-4).fit(X, y)
    assert model.certificate_.status is Status.OPTIMAL
    assert (y * model.decision_function(X)).min() == pytest.approx(1.0, abs=1e-3)


def plain_products(A, B):
    return A @ B.T


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", [2, 9, 13])
def test_kernel_values_without_digits_are_a_stall_and_no_endless_fit(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3))
    y = np.where(X[:, 0] > 0.0, 1, -1)
    model = SVC(C=np.inf, kernel=plain_products, tol=1e-6, max_time=5.0).fit(X + 1e6, y)
    assert model.certificate_.status is Status.STALLED


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", [7, 12, 20, 27])
@pytest.mark.parametrize("offset", [1e6, 1e7])
def test_kernel_values_without_digits_prove_no_margin_to_be_impossible(seed, offset):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3))
    y = np.where(X[:, 0] > 0.0, 1, -1)
    X[:, 0] += 0.1 * y
    near = SVC(C=np.inf, kernel="linear", tol=1e-6).fit(X, y).certificate_
    far = SVC(C=np.inf, kernel=plain_products, max_time=5.0).fit(X + offset, y).certificate_
    assert far.dual <= 1.001 * near.primal


@pytest.mark.parametrize("kernel", ["linear", lambda A, B: A @ B.T], ids=["linear", "function"])
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("seed", [3, 6, 8])
def test_a_far_row_without_weight_does_not_make_the_rest_inseparable(kernel, first, seed):
    """A millionth of its distance is more than the margin of the others."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 2))
    y = np.where(X[:, 0] > 0.0, 1, -1)
    X[:, 0] += 0.1 * y
    at = 0 if first else len(X)
    Z, labels = np.insert(X, at, 1e7, axis=0), np.insert(y, at, 1)
    weight = np.insert(np.ones(len(X)), at, 0.0)
    far = SVC(C=np.inf, kernel=kernel).fit(Z, labels, sample_weight=weight)
    near = SVC(C=np.inf, kernel=kernel).fit(X, y)
    assert far.certificate_.primal == pytest.approx(near.certificate_.primal, rel=2.1e-3)
