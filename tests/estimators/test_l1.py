"""free_svc(penalty="l1"): scikit-learn's problem, sparse weights, and what is refused."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import svm
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectFromModel
from sklearn.preprocessing import scale

from maxmargin import LinearSVC, verify
from synthetic import DTYPES, STORAGES, classes, free_svc, overlapping, store, weights_for

INTERCEPTS = pytest.mark.parametrize(
    "intercept",
    [{"penalized_intercept": True}, {"penalized_intercept": False}, {"fit_intercept": False}],
    ids=["penalized", "free", "none"],
)


def ours(**settings):
    settings = {"penalized_intercept": True, "tol": 1e-9} | settings
    return free_svc(penalty="l1", loss="squared_hinge", **settings)


def theirs(X, y, weights=None, C=1.0, **settings):
    """LIBLINEAR as far as it gets: it asks for more iterations where nothing moves any more."""
    settings |= {"penalty": "l1", "dual": False, "C": C, "random_state": 0}
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        return svm.LinearSVC(tol=1e-12, max_iter=100_000, **settings).fit(X, y, weights)


def objective(model, X, y, cost=1.0, scaling=1.0):
    """Of all classes together, with the intercept penalised if there is one."""
    total, labels = 0.0, np.unique(y)
    positives = labels[1:] if len(labels) == 2 else labels
    for w, b, label in zip(model.coef_, np.atleast_1d(model.intercept_), positives, strict=False):
        sign = np.where(y == label, 1.0, -1.0)
        slack = np.maximum(0.0, 1.0 - sign * (X @ w + b))
        total += np.abs(w).sum() + abs(b) / scaling + np.sum(cost * slack**2)
    return total


@pytest.mark.parametrize("C", [0.01, 0.1, 1.0, 100.0])
@pytest.mark.parametrize("scaling", [1.0, 3.0])
def test_the_optimum_is_scikit_learns(C, scaling):
    X, y = overlapping()
    model = ours(C=C, intercept_scaling=scaling).fit(X, y)
    other = theirs(X, y, C=C, intercept_scaling=scaling)
    assert objective(model, X, y, C, scaling) == pytest.approx(
        objective(other, X, y, C, scaling), rel=1e-8
    )
    np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-4)
    np.testing.assert_allclose(model.intercept_, other.intercept_, atol=1e-4)


def test_without_an_intercept_it_is_scikit_learns_too():
    X, y = overlapping()
    model = ours(fit_intercept=False).fit(X, y)
    other = theirs(X, y, fit_intercept=False)
    np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-4)
    assert model.intercept_ == pytest.approx(0.0)


def test_several_classes_are_one_against_the_rest():
    X, y = classes()
    model, other = ours().fit(X, y), theirs(X, y)
    np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-4)
    np.testing.assert_array_equal(model.predict(X), other.predict(X))
    assert len(model.solutions_) == 5
    assert model.certificate_.primal == pytest.approx(objective(model, X, y), rel=1e-9)


def test_weights_of_samples_and_classes_are_scikit_learns():
    X, y = overlapping()
    weights = 0.5 + weights_for(len(y))  # with a weight of 0 LIBLINEAR ends 1e-4 above the optimum
    model = ours(class_weight={1.0: 3.0}).fit(X, y, weights)
    other = theirs(X, y, weights, class_weight={1.0: 3.0})
    np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-4)


@INTERCEPTS
def test_a_sample_of_weight_0_is_left_out(intercept):
    X, y = overlapping()
    weights = np.where(np.arange(len(y)) % 5 == 0, 0.0, 1.0)
    whole = ours(**intercept).fit(X, y, weights)
    part = ours(**intercept).fit(X[weights > 0], y[weights > 0])
    assert whole.certificate_.primal == pytest.approx(part.certificate_.primal, rel=1e-8)


@INTERCEPTS
def test_a_row_twice_is_a_row_of_weight_2(intercept):
    X, y = overlapping()
    twice = ours(**intercept).fit(np.vstack([X, X]), np.r_[y, y])
    heavy = ours(**intercept).fit(X, y, np.full(len(y), 2.0))
    assert twice.certificate_.primal == pytest.approx(heavy.certificate_.primal, rel=1e-8)


@INTERCEPTS
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_empty_rows_and_columns_and_duplicates_are_no_trouble(storage, dtype, intercept):
    X, y = overlapping()
    X[3] = 0.0
    X = np.hstack([X, np.zeros((60, 1)), X[:, :2], np.ones((60, 1))])
    stored = store(X, storage, dtype)
    for array in (stored,) if isinstance(stored, np.ndarray) else (stored.data, stored.indices):
        array.flags.writeable = False
    model = ours(**intercept).fit(stored, y)
    assert model.certificate_.relative_gap <= 1e-9
    assert model.coef_[0, 4] == 0.0


@INTERCEPTS
def test_one_feature_is_enough(intercept):
    X, y = overlapping(d=1)
    assert ours(**intercept).fit(X, y).certificate_.relative_gap <= 1e-9


@INTERCEPTS
def test_two_rows_are_enough(intercept):
    model = ours(**intercept, C=10.0).fit([[1.0, 0.0], [-1.0, 0.0]], [0, 1])
    assert model.certificate_.relative_gap <= 1e-9
    np.testing.assert_array_equal(model.predict([[2.0, 0.0], [-2.0, 0.0]]), [0, 1])


@INTERCEPTS
def test_a_matrix_of_zeros_has_weights_of_zero(intercept):
    y = np.array([1.0, 1.0, -1.0])
    model = ours(**intercept).fit(np.zeros((3, 2)), y)
    assert not model.coef_.any()
    assert model.certificate_.relative_gap <= 1e-9


@INTERCEPTS
@pytest.mark.parametrize("C", [1e-200, 1e-8, 1e8])
def test_extreme_costs_give_finite_models(C, intercept):
    X, y = overlapping()
    model = ours(**intercept, C=C, tol=1e-3).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-3
    assert np.isfinite(model.coef_).all()


def test_below_l1_min_c_all_weights_are_exactly_0():
    X, y = overlapping()
    least = svm.l1_min_c(X, y, loss="squared_hinge")
    below, above = ours(C=0.999 * least).fit(X, y), ours(C=1.01 * least).fit(X, y)
    assert not below.coef_.any()
    assert below.intercept_[0] == 0.0
    assert below.certificate_.gap == 0.0
    assert above.coef_.any() or above.intercept_[0] != 0.0


def test_most_weights_are_exactly_0():
    X, y = overlapping(d=200)
    assert np.count_nonzero(ours(C=0.1).fit(X, y).coef_) < 50


def test_sparsify_and_densify_leave_the_predictions_as_they_are():
    X, y = classes(d=20)
    model = ours(C=0.05).fit(X, y)
    dense, values = model.coef_.copy(), model.decision_function(X)
    assert sparse.issparse(model.sparsify().coef_)
    np.testing.assert_array_equal(model.decision_function(X), values)
    np.testing.assert_array_equal(model.densify().coef_, dense)


def test_a_sparse_model_survives_pickling():
    X, y = overlapping(d=20)
    model = ours().fit(X, y).sparsify()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_features_are_selected_by_the_weights_that_are_not_0():
    X, y = overlapping(d=40)
    model = ours(C=0.1).fit(X, y)
    chosen = SelectFromModel(model, prefit=True)
    assert chosen.transform(X).shape[1] == np.count_nonzero(np.abs(model.coef_) >= 1e-5)


def test_a_warm_start_goes_on_along_a_path():
    X, y = overlapping(d=20)
    model = ours(warm_start=True)
    for C in (0.1, 0.3, 1.0):
        model.set_params(C=C).fit(X, y)
    cold = ours().fit(X, y)
    assert model.certificate_.primal == pytest.approx(cold.certificate_.primal, rel=1e-8)


@INTERCEPTS
def test_a_warm_start_far_from_the_optimum_proves_as_much_as_a_cold_one(intercept):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 40))
    y = np.where(X[:, 0] + rng.normal(size=60) > 0.0, 1.0, -1.0)
    model = ours(tol=1e-4, warm_start=True, **intercept).fit(X, y)
    model.set_params(C=1e5).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-4


def test_a_fit_that_is_stopped_says_what_it_has_proven():
    X, y = overlapping(d=40)
    with pytest.warns(ConvergenceWarning, match="stopped by max_iter"):
        model = ours(C=1e4, max_iter=10).fit(X, y)
    assert np.isfinite(model.certificate_.primal)


def test_threads_change_nothing():
    X, y = classes()
    one, two = (ours(n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)


def test_verbose_reports_each_gap_check(capsys):
    model = ours(verbose=1).fit(*overlapping())
    assert len(capsys.readouterr().err.splitlines()) == len(model.history_)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"penalty": "l3"}, "penalty must be one of 'l2', 'l1', got 'l3'"),
        ({"loss": "hinge"}, "loss='hinge', dual='auto'. Give loss='squared_hinge'"),
        ({"multi_class": "ovo"}, "goes with multi_class='ovr', got 'ovo'"),
        ({"solver": "newton"}, "has a solver of its own, got solver='newton'"),
        ({"C": np.inf}, "has no hard margin, got C=inf"),
        ({"C": -1.0}, "C must be a positive finite number"),
    ],
)
def test_what_does_not_go_with_it_is_refused(settings, message):
    X, y = classes()
    with pytest.raises(ValueError, match=message):
        ours().set_params(**settings).fit(X, y)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused(bad):
    X, y = overlapping()
    X[1, 1] = bad
    with pytest.raises(ValueError, match="contains"):
        ours().fit(X, y)


def test_it_can_be_cloned():
    assert clone(ours(C=3.0)).get_params() == ours(C=3.0).get_params()


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_problem_of_all_classes_has_no_l1_penalty(loss):
    """As in scikit-learn, where "crammer_singer" ignores penalty and loss; it was refused."""
    X, y = load_iris(return_X_y=True)
    X = scale(X)
    joint = {
        "multi_class": "crammer_singer",
        "loss": loss,
        "C": 0.1,
        "tol": 1e-6,
        "random_state": 0,
    }
    ours = LinearSVC(penalty="l1", **joint).fit(X, y)
    assert np.array_equal(ours.coef_, LinearSVC(**joint).fit(X, y).coef_)
    theirs = svm.LinearSVC(penalty="l1", max_iter=100_000, **joint).fit(X, y)
    assert np.allclose(ours.coef_, theirs.coef_, atol=1e-3)
    assert verify(ours, X, y)
    assert ours.predict_proba(X).shape == (150, 3)
