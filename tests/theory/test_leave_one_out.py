"""Leave-one-out: exact, and its bounds from one fit."""

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import ttest_rel
from sklearn.base import clone

from maxmargin import (
    SVC,
    SVR,
    EmbeddedSVC,
    LinearSVC,
    NuSVC,
    OneClassSVM,
    PegasosClassifier,
)
from maxmargin.theory import (
    leave_one_out,
    removal_bound,
    span,
    support_vector_bound,
    support_vector_risk,
    xi_alpha,
)
from synthetic import free_svc, overlapping, regression, separable

MACHINES = [
    SVC(),
    SVC(C=10.0, gamma=0.3),
    SVC(C=0.05),
    SVC(C=3.0, fit_intercept=False),
    SVC(kernel="linear", C=3.0),
    SVC(class_weight={-1.0: 3.0}),
    free_svc(C=0.3),
    free_svc(fit_intercept=False),
    free_svc(C=0.3, penalized_intercept=True, intercept_scaling=2.0),
    free_svc(loss="squared_hinge", C=0.5),
    free_svc(loss="squared_hinge", penalized_intercept=True),
]


def margins_without_each(model, X, y):
    """y_i f(x_i) of a machine that was fitted to all samples but i."""
    margins = np.empty(len(y))
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        fitted = clone(model).set_params(tol=1e-8).fit(X[rest], y[rest])
        margins[i] = y[i] * fitted.decision_function(X[[i]])[0]
    return margins


@pytest.mark.parametrize("model", MACHINES, ids=repr)
def test_it_is_the_error_of_all_refits(model):
    X, y = overlapping(n=80)
    found = leave_one_out(model.fit(X, y), X, y)
    margins = margins_without_each(model, X, y)
    clear = np.abs(margins) > 1e-6
    np.testing.assert_array_equal(found.errors[clear], margins[clear] <= 0.0)
    assert found.n_unproven <= (~clear).sum()
    assert found.value == found.errors.mean()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_it_is_the_error_of_all_refits_whatever_the_samples(seed):
    rng = np.random.default_rng(seed)
    X, y = overlapping(n=60 + 20 * (seed % 3), d=2 + seed % 5, seed=seed)
    model = SVC(C=10.0 ** rng.uniform(-1, 1.5), gamma=10.0 ** rng.uniform(-1.5, 0.5))
    found = leave_one_out(model.fit(X, y), X, y)
    margins = margins_without_each(model, X, y)
    clear = np.abs(margins) > 1e-5
    np.testing.assert_array_equal(found.errors[clear], margins[clear] <= 0.0)
    assert found.n_refits <= found.n_support


def test_a_fit_by_landmarks_keeps_its_landmarks():
    X, y = overlapping(n=80)
    model = SVC(landmarks=15).fit(X, y)
    Z = model._space.transform(X)
    linear = free_svc().fit(Z, y)
    found = leave_one_out(model, X, y)
    np.testing.assert_array_equal(found.errors, leave_one_out(linear, Z, y).errors)
    assert found.n_unproven == 0


def test_an_embedding_stays_what_it_is():
    X, y = overlapping(n=80)
    model = EmbeddedSVC().fit(X, y)
    linear = free_svc().fit(model.embedding_.transform(X), y)
    found = leave_one_out(model, X, y)
    other = leave_one_out(linear, model.embedding_.transform(X), y)
    np.testing.assert_array_equal(found.errors, other.errors)


def test_samples_of_a_function_kernel_may_be_texts():
    texts = [("ab" * k)[:k] + "b" * (k % 3) for k in range(1, 21)]
    y = np.arange(20) % 3 == 0

    def common(one, two):
        return np.array(
            [[min(len(a), len(b)) + a.count("b") * b.count("b") for b in two] for a in one]
        )

    K = common(texts, texts).astype(float)
    model = SVC(kernel=common).fit(texts, y)
    table = SVC(kernel="precomputed").fit(K, y)
    one, two = leave_one_out(model, texts, y), leave_one_out(table, K, y)
    np.testing.assert_array_equal(one.errors, two.errors)


@pytest.mark.parametrize("C", [10.0, 1000.0])
def test_many_free_support_vectors_are_proven(C):
    X, y = overlapping(n=150)
    found = leave_one_out(SVC(C=C, gamma=0.3).fit(X, y), X, y)
    margins = margins_without_each(SVC(C=C, gamma=0.3), X, y)
    clear = np.abs(margins) > 1e-4
    np.testing.assert_array_equal(found.errors[clear], margins[clear] <= 0.0)
    assert found.n_unproven == 0


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_it_is_exact_for_hard_margins(kernel):
    X, y = separable()
    model = SVC(C=np.inf, kernel=kernel, gamma=0.5).fit(X, y)
    margins = margins_without_each(model, X, y)
    np.testing.assert_array_equal(leave_one_out(model, X, y).errors, margins <= 0.0)


@pytest.mark.parametrize("model", MACHINES, ids=repr)
def test_bounds_are_no_less_than_the_error(model):
    X, y = overlapping(n=80)
    error = leave_one_out(model.fit(X, y), X, y).value
    support = support_vector_bound(model, X, y).value
    tight = clone(model).set_params(tol=1e-10).fit(X, y)
    assert support == len(tight.support_) / 80
    assert error <= removal_bound(model, X, y).value <= support
    if model.get_params().get("loss") != "squared_hinge":
        assert error <= xi_alpha(model, X, y).value


def test_samples_of_weight_0_are_left_out():
    X, y = overlapping(n=80)
    weight = np.where(np.arange(80) < 20, 0.0, 1.0)
    whole = leave_one_out(SVC().fit(X, y, weight), X, y, weight)
    part = leave_one_out(SVC(gamma=SVC().fit(X, y, weight)._fitted_kernel.gamma).fit(
        X[20:], y[20:]
    ), X[20:], y[20:])  # fmt: skip
    assert whole.value == part.value
    assert not whole.errors[:20].any()


def test_storage_does_not_matter():
    X, y = overlapping(n=80)
    rows = sparse.csr_matrix(X)
    dense = leave_one_out(SVC().fit(X, y), X, y)
    np.testing.assert_array_equal(leave_one_out(SVC().fit(rows, y), rows, y).errors, dense.errors)
    K = X @ X.T
    one = leave_one_out(SVC(kernel="precomputed").fit(K, y), K, y)
    two = leave_one_out(SVC(kernel="linear").fit(X, y), X, y)
    np.testing.assert_array_equal(one.errors, two.errors)


def test_a_nu_machine_is_that_of_its_c():
    X, y = overlapping(n=80)
    model = NuSVC(nu=0.5, tol=1e-8).fit(X, y)
    other = SVC(C=model.equivalent_C_).fit(X, y)
    np.testing.assert_array_equal(
        leave_one_out(model, X, y).errors, leave_one_out(other, X, y).errors
    )


def test_a_loose_fit_has_the_leave_one_out_error_of_the_optimum():
    X, y = overlapping(n=80)
    loose, tight = SVC(C=3.0, tol=0.5).fit(X, y), SVC(C=3.0, tol=1e-9).fit(X, y)
    np.testing.assert_array_equal(
        leave_one_out(loose, X, y).errors, leave_one_out(tight, X, y).errors
    )


def test_the_only_sample_of_its_class_is_an_error():
    X, y = overlapping(n=30)
    y = np.where(np.arange(30) == 4, 1.0, -1.0)
    found = leave_one_out(SVC().fit(X, y), X, y)
    assert found.errors[4]
    assert found.values[4] == -np.inf


def test_a_sample_that_is_left_out_has_no_say_in_the_intercept():
    X, y = np.array([[-1.0, 0.0, 0.0], [-2, -1, 0], [0, 1, -1], [1, 1, 1]]), [-1, -1, 1, 1]
    model = free_svc(C=0.02).fit(X, y)  # all four are at their bound, and so are two of each three
    found = leave_one_out(model, X, y)
    np.testing.assert_allclose(found.values, margins_without_each(model, X, np.array(y)), atol=1e-4)
    assert found.value == 1.0


def test_a_coefficient_off_its_bound_by_rounding_proves_nothing():
    """Without one of two samples all are at their bounds: other b are as good, some are wrong."""
    X = np.random.default_rng(1).normal(size=(8, 2))
    y = np.array([1, -1, -1, -1, -1, -1, 1, 1])
    weight = np.array([2.0, 1.0, 2.0, 2.0, 1.0, 1.0, 1.0, 2.0])
    assert all(weight @ y == -weight[i] for i in (2, 3))  # without i, C Σ y_i = 0
    found = leave_one_out(SVC(C=0.08, gamma=1.0).fit(X, y, sample_weight=weight), X, y, weight)
    assert found.n_unproven == 2
    assert "not unique" in found.remark
    assert found.range[1] - found.range[0] == 2 / 8
    assert found.range[0] <= found.value <= found.range[1]
    assert f"from {found.range[0]:.6g} to {found.range[1]:.6g}" in found.remark


@pytest.mark.parametrize("seed", range(20))
def test_xi_alpha_says_where_it_is_no_bound(seed):
    """With few samples and a small C the samples left often have no free support vector."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(9, 2)), np.array([1.0, -1, 1, -1, 1, -1, 1, -1, 1])
    model = SVC(C=0.02).fit(X, y)
    bound, exact = xi_alpha(model, X, y), leave_one_out(model, X, y)
    assert bound.value >= exact.value or bound.n_unproven > 0
    assert ("no bound" in bound.remark) == (bound.n_unproven > 0)


def test_xi_alpha_is_a_bound_where_it_is_proven():
    X, y = overlapping(n=80)
    assert xi_alpha(SVC().fit(X, y), X, y).n_unproven == 0


def test_a_value_that_was_bounded_by_a_coarse_point_is_not_kept():
    """Without sample 0 the last bound is one-sided: wider than an earlier one, and it decides."""
    rng = np.random.default_rng(200284)
    rng.integers(4, 16), rng.integers(1, 4), rng.integers(6)
    X = np.tile(rng.normal(size=(13, 1))[:4], (4, 1))[:13]
    y = np.array([-1, 1, -1, 1, 1, -1, -1, -1, 1, -1, 1, -1, -1])
    model = free_svc(C=1.4670746109611403, tol=1e-9).fit(X, y)
    assert not leave_one_out(model, X, y).errors[0]
    assert margins_without_each(model, X, y)[0] > 0.1


def test_two_samples_are_both_errors():
    found = leave_one_out(SVC().fit([[0.0], [1.0]], [0, 1]), [[0.0], [1.0]], [0, 1])
    assert (found.value, found.n_unproven) == (1.0, 0)


def test_a_lack_of_memory_is_told_before_it_is_taken(monkeypatch):
    X, y = overlapping(n=80)
    model = SVC().fit(X, y)
    monkeypatch.setattr("maxmargin.theory.optimum.free_memory", lambda: 1000.0)
    with pytest.raises(MemoryError, match=r"Use theory\.xi_alpha"):
        leave_one_out(model, X, y)


def test_ctrl_c_ends_the_refits(monkeypatch):
    X, y = overlapping(n=80)
    model = SVC().fit(X, y)

    def interrupt():
        raise KeyboardInterrupt

    monkeypatch.setattr("maxmargin.theory.optimum.never", interrupt)
    with pytest.raises(KeyboardInterrupt):
        leave_one_out(model, X, y)


def test_duplicated_rows_are_no_error_where_they_agree():
    X, y = overlapping(n=30)
    X, y = np.vstack([X, X]), np.append(y, y)
    model = SVC(C=1.0, gamma=1.0).fit(X, y)
    margins = margins_without_each(model, X, y)
    clear = np.abs(margins) > 1e-6
    found = leave_one_out(model, X, y)
    np.testing.assert_array_equal(found.errors[clear], margins[clear] <= 0.0)


def test_the_span_is_exact_where_no_status_changes():
    X, y = overlapping(n=80)
    model = free_svc(loss="squared_hinge", C=1e-4).fit(X, y)  # all samples are support vectors
    assert len(model.support_) == 80
    assert span(model, X, y).value == leave_one_out(model, X, y).value


def test_xi_alpha_is_the_count_of_its_definition():
    X, y = overlapping(n=80)
    model = SVC(kernel="linear", C=0.1).fit(X, y)
    table = model.samples(X, y)
    found = xi_alpha(model, X, y)
    doubtful = 2.0 * table.alpha * found.radius_squared + table.slack >= 1.0
    assert found.value == doubtful.mean()
    Z = X[model.support_]
    assert found.radius_squared >= 0.5 * np.square(Z[:, None] - Z).sum(axis=2).max() * (1 - 1e-9)


def test_the_bound_of_support_vectors_holds_on_average_over_samples():
    risks, shares = [], []
    for seed in range(40):
        X, y = separable(n=1030, seed=seed)
        model = SVC(kernel="linear", C=np.inf).fit(X[:30], y[:30])
        shares.append(support_vector_risk(model, X[:30], y[:30]).value)
        risks.append(np.mean(model.predict(X[30:]) != y[30:]))
    assert np.mean(risks) <= np.mean(shares)


def test_the_exact_error_is_unbiased_for_one_sample_less():
    """E leave-one-out of n = E risk of n − 1: a paired test, which the training error fails."""
    exact, trained, risks = [], [], []
    for seed in range(60):
        X, y = overlapping(n=1025, seed=seed)
        model = SVC(gamma=0.3, C=3.0).fit(X[:25], y[:25])
        exact.append(leave_one_out(model, X[:25], y[:25]).value)
        trained.append(np.mean(model.predict(X[:25]) != y[:25]))
        less = SVC(gamma=0.3, C=3.0).fit(X[:24], y[:24])
        risks.append(np.mean(less.predict(X[25:]) != y[25:]))
    assert ttest_rel(exact, risks).pvalue > 1e-3
    assert ttest_rel(trained, risks).pvalue < 1e-6


def test_support_vector_risk_says_whether_the_samples_are_separated():
    X, y = overlapping()
    assert not support_vector_risk(SVC(kernel="linear").fit(X, y), X, y).separable
    X, y = separable()
    assert support_vector_risk(SVC(kernel="linear", C=100.0).fit(X, y), X, y).separable


def test_results_are_numbers_with_words():
    X, y = overlapping()
    found = support_vector_bound(SVC().fit(X, y), X, y)
    assert float(found) == found.value
    assert str(found).startswith(f"{found.value:.6g}  Vapnik")
    assert "assumes" in str(found)


@pytest.mark.parametrize(
    ("model", "y", "message"),
    [
        (free_svc(multi_class="crammer_singer"), np.arange(60) % 3, "crammer_singer"),
        (free_svc(multi_class="crammer_singer"), None, "crammer_singer"),
        (OneClassSVM(nu=0.2), None, "no labels"),
        (LinearSVC(penalty="l1", loss="squared_hinge"), None, "penalty='l1'"),
        (free_svc(loss="perceptron", solver="sgd", max_iter=5), None, "perceptron"),
        (SVC(kernel="sigmoid", gamma=5.0), None, "not positive semidefinite"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_what_has_no_theory_is_refused(model, y, message):
    X, labels = overlapping()
    y = labels if y is None else y
    with pytest.raises(ValueError, match=message):
        leave_one_out(model.fit(X, y), X, y)


@pytest.mark.parametrize("bound", [support_vector_bound, xi_alpha, removal_bound])
def test_bounds_of_errors_are_for_classifiers(bound):
    X, y = regression()
    with pytest.raises(ValueError, match="no classifier"):
        bound(SVR().fit(X, y), X, y)


def test_xi_alpha_is_for_the_hinge():
    X, y = overlapping()
    with pytest.raises(ValueError, match="squared_hinge"):
        xi_alpha(free_svc(loss="squared_hinge").fit(X, y), X, y)


def test_other_data_are_refused():
    X, y = overlapping()
    with pytest.raises(ValueError, match="in their order"):
        leave_one_out(SVC().fit(X, y), X[::-1], y)


def test_bounds_of_a_loose_fit_are_those_of_the_optimum():
    """A loose fit may have fewer support vectors than the optimum, and a bound that is none."""
    X, y = overlapping(n=80)
    loose = PegasosClassifier(0.1, tol=0.5, fit_intercept=False, random_state=0).fit(X, y)
    tight = free_svc(lam=0.1, fit_intercept=False, tol=1e-10).fit(X, y)
    assert len(loose.support_) < len(tight.support_)
    assert support_vector_bound(loose, X, y).value == len(tight.support_) / 80
    for bound in (support_vector_risk, xi_alpha, removal_bound, leave_one_out):
        assert bound(loose, X, y).value == bound(tight, X, y).value


def test_without_memory_the_bound_says_whose_support_vectors_it_counts(monkeypatch):
    X, y = overlapping(n=80)
    loose = PegasosClassifier(0.1, tol=0.5, fit_intercept=False, random_state=0).fit(X, y)
    monkeypatch.setattr("maxmargin.theory.optimum.free_memory", lambda: 1000.0)
    found = support_vector_bound(loose, X, y)
    assert found.value == len(loose.support_) / 80
    assert "the optimum may have others" in found.remark


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_rows_that_are_all_the_same(kernel):
    X, y = np.ones((12, 3)), np.arange(12) % 4 == 0
    assert leave_one_out(SVC(kernel=kernel).fit(X, y), X, y).value == 0.25
    found = leave_one_out(SVR(kernel=kernel).fit(X, y), X, y)
    assert found.value < 1.0
