"""Linear machines: parameters in, a proven model out, scikit-learn's habits kept."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from choices import BOTH, EXACT
from comparisons import assert_same_bits, assert_same_weights
from maxmargin import LinearSVC, Problem, Status
from maxmargin.estimators import _linear
from maxmargin.solvers import DualCD
from recording import recording
from synthetic import csr, free_svc, free_svr, overlapping, regression, separable, weights_for

X, Y = overlapping(80, 5)
XR, YR = regression(80, 5)
IRIS = load_iris(return_X_y=True)


# ---- C, lam, weights


@BOTH
def test_lam_is_one_over_n_c(Model, data):
    assert_same_bits(
        Model(C=0.25, random_state=0).fit(*data), Model(lam=1 / 20, random_state=0).fit(*data)
    )


def test_lam_counts_weights_as_repetitions():
    weights = np.random.default_rng(0).integers(0, 3, size=80)
    weighted = free_svc(lam=0.01, tol=1e-10).fit(X, Y, weights)
    repeated = free_svc(lam=0.01, tol=1e-10).fit(np.repeat(X, weights, 0), np.repeat(Y, weights))
    assert_same_weights(weighted, repeated, rtol=1e-3, atol=3e-4)


@BOTH
def test_sample_weights_multiply_c(Model, data):
    twice = Model(tol=1e-10).fit(*data, np.full(80, 2.0))
    assert_same_weights(twice, Model(C=2.0, tol=1e-10).fit(*data), rtol=1e-3, atol=3e-4)


@BOTH
def test_weight_zero_leaves_a_sample_out(Model, data):
    weights = weights_for(80)
    live = weights > 0
    everyone = Model(tol=1e-10).fit(*data, weights)
    some = Model(tol=1e-10).fit(data[0][live], data[1][live], weights[live])
    assert_same_weights(everyone, some, rtol=1e-3, atol=3e-4)


def test_class_weights_are_sample_weights():
    by_class = free_svc(class_weight={-1.0: 0.5, 1.0: 3.0}, tol=1e-10).fit(X, Y)
    by_sample = free_svc(tol=1e-10).fit(X, Y, np.where(Y > 0, 3.0, 0.5))
    assert_same_weights(by_class, by_sample, rtol=1e-3, atol=3e-4)


def test_class_weights_multiply_sample_weights():
    weights = weights_for(80)
    both = free_svc(class_weight={1.0: 3.0}, tol=1e-10).fit(X, Y, weights)
    product = free_svc(tol=1e-10).fit(X, Y, weights * np.where(Y > 0, 3.0, 1.0))
    assert_same_weights(both, product, rtol=1e-3, atol=3e-4)


def test_balanced_gives_classes_equal_weight():
    counts = {label: (label == Y).sum() for label in (-1.0, 1.0)}
    weights = np.array([80 / (2 * counts[label]) for label in Y])
    balanced = free_svc(class_weight="balanced", tol=1e-10).fit(X, Y)
    assert_same_weights(balanced, free_svc(tol=1e-10).fit(X, Y, weights), rtol=1e-3, atol=3e-4)


# ---- labels and classes


@pytest.mark.parametrize(
    ("negative", "positive"), [("no", "yes"), (0, 1), (7, 9), (False, True)], ids=str
)
def test_labels_can_be_anything(negative, positive):
    labels = np.where(Y > 0, positive, negative)
    model = free_svc(random_state=0).fit(X, labels)
    assert model.classes_.tolist() == [negative, positive]
    assert_same_bits(model, free_svc(random_state=0).fit(X, Y))
    np.testing.assert_array_equal(model.predict(X) == positive, model.decision_function(X) > 0)
    assert set(model.predict(X)) <= {negative, positive}


def test_classes_are_sorted_whatever_comes_first():
    labels = np.array(["b", "c", "a"])[IRIS[1]]
    model = free_svc().fit(IRIS[0], labels)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert (model.predict(IRIS[0]) == labels).mean() > 0.9


@EXACT
def test_one_against_the_rest_is_independent_fits(solver):
    setting = {"solver": solver, "tol": 1e-8, "max_iter": 100_000, "C": 0.1}
    model = free_svc(**setting).fit(*IRIS)
    assert model.coef_.shape == (3, 4)
    for label in range(3):
        binary = free_svc(**setting).fit(IRIS[0], IRIS[1] == label)
        np.testing.assert_allclose(model.coef_[label], binary.coef_[0], rtol=1e-3, atol=1e-3)
        gap = max(binary.certificate_.gap, model.solutions_[label].certificate.gap)
        difference = model.solutions_[label].certificate.primal - binary.certificate_.primal
        assert abs(difference) <= gap


def test_several_classes_add_their_certificates():
    model = free_svc().fit(*IRIS)
    assert len(model.solutions_) == 3
    parts = [solution.certificate for solution in model.solutions_]
    assert model.certificate_.primal == pytest.approx(sum(part.primal for part in parts))
    assert model.certificate_.status is Status.OPTIMAL


@EXACT
def test_threads_do_not_change_a_bit(solver):
    serial, threaded = (
        free_svc(solver=solver, n_jobs=n_jobs, random_state=0, max_iter=10_000).fit(*IRIS)
        for n_jobs in (1, 2)
    )
    assert_same_bits(serial, threaded)


@pytest.mark.parametrize(("n_classes", "columns"), [(2, None), (3, 3)])
def test_decision_function_has_a_column_per_class(n_classes, columns):
    live = IRIS[1] < n_classes
    model = free_svc().fit(IRIS[0][live], IRIS[1][live])
    shape = (live.sum(),) if columns is None else (live.sum(), columns)
    assert model.decision_function(IRIS[0][live]).shape == shape


# ---- what a fit leaves behind


@BOTH
def test_the_fit_leaves_its_proof(Model, data):
    model = Model(tol=1e-4).fit(*data)
    certificate = model.certificate_
    assert certificate.status is Status.OPTIMAL
    assert certificate.relative_gap <= 1e-4
    assert model.solution_.certificate == certificate
    assert str(certificate).endswith("% of the optimum")


@BOTH
def test_history_ends_at_the_certificate(Model, data):
    model = Model(solver="dual_cd").fit(*data)
    last = model.history_[-1]
    assert last._fields == ("time", "epoch", "primal", "dual", "gap")
    assert last.primal == model.certificate_.primal
    assert last.epoch == model.n_iter_


def test_several_classes_have_several_histories():
    assert len(free_svc().fit(*IRIS).history_) == 3


def test_several_classes_have_no_single_solution():
    with pytest.raises(AttributeError, match="solutions_"):
        free_svc().fit(*IRIS).solution_  # noqa: B018


def test_support_vectors_carry_the_model():
    model = free_svc(tol=1e-8).fit(X, Y)
    support = model.support_
    counted = model.certificate_.n_support_free + model.certificate_.n_support_bounded
    assert len(support) == counted
    again = free_svc(tol=1e-8).fit(X[support], Y[support])
    assert_same_weights(model, again, rtol=1e-2, atol=1e-3)


@BOTH
def test_shapes_are_scikit_learns(Model, data):
    model = Model().fit(*data)
    assert model.coef_.shape == ((1, 5) if Model is LinearSVC else (5,))
    assert model.intercept_.shape == (1,)
    assert model.n_features_in_ == 5
    assert isinstance(model.n_iter_, int)


@BOTH
@pytest.mark.parametrize("attribute", ["certificate_", "history_", "support_", "solution_"])
def test_nothing_is_known_before_the_fit(Model, data, attribute):
    with pytest.raises((NotFittedError, AttributeError)):
        getattr(Model(), attribute)
    with pytest.raises(NotFittedError):
        Model().predict(data[0])


@BOTH
@pytest.mark.parametrize(
    "convert",
    [np.float32, np.asfortranarray, csr, lambda X: csr(X, np.int64), lambda X: X.tolist()],
    ids=["float32", "F-order", "CSR", "CSR64", "list"],
)
def test_the_form_of_x_does_not_matter(Model, data, convert):
    plain = Model(tol=1e-9).fit(*data)
    formed = Model(tol=1e-9).fit(convert(data[0]), data[1])
    assert_same_weights(plain, formed, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(
        formed.predict(convert(data[0])), plain.predict(data[0]), rtol=1e-3, atol=3e-3
    )


@BOTH
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("storage", ["dense", "csr"])
def test_the_fit_neither_copies_nor_changes_x(Model, data, dtype, storage, monkeypatch):
    problem, calls = recording(Problem)
    monkeypatch.setattr(_linear, "Problem", problem)
    given = data[0].astype(dtype) if storage == "dense" else csr(data[0], dtype=dtype)
    values = given if storage == "dense" else given.data
    before = values.copy()
    Model().fit(given, data[1])
    ((rows, *_),) = calls
    used = rows if storage == "dense" else rows.data
    assert np.shares_memory(used, values)
    np.testing.assert_array_equal(values, before)


# ---- intercept


@BOTH
def test_no_intercept_is_zero(Model, data):
    assert Model(fit_intercept=False).fit(*data).intercept_ == 0.0


@BOTH
def test_a_penalised_intercept_is_a_column_of_constants(Model, data):
    given = Model(penalized_intercept=True, intercept_scaling=3.0, tol=1e-10).fit(*data)
    column = np.c_[data[0], np.full(80, 3.0)]
    by_hand = Model(fit_intercept=False, tol=1e-10).fit(column, data[1])
    weights = np.ravel(by_hand.coef_)
    np.testing.assert_allclose(np.ravel(given.coef_), weights[:5], rtol=1e-3, atol=3e-4)
    assert given.intercept_[0] == pytest.approx(3.0 * weights[5], rel=1e-3, abs=3e-4)


def test_ridge_is_the_squared_loss():
    ours = free_svr(loss="squared", C=2.0, tol=1e-12).fit(XR, YR)
    theirs = Ridge(alpha=0.25).fit(XR, YR)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-5)
    np.testing.assert_allclose(ours.predict(XR), theirs.predict(XR), rtol=1e-3, atol=3e-4)


# ---- scikit-learn's habits


@BOTH
def test_parameters_go_through_clone(Model, data):
    model = Model(C=3.0, solver=DualCD(), tol=1e-2, penalized_intercept=True)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert copy is not model


@BOTH
def test_a_fitted_model_can_be_pickled(Model, data):
    model = Model().fit(*data)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(data[0]), model.predict(data[0]))
    assert copy.certificate_ == model.certificate_
    assert copy.history_ == model.history_


@BOTH
def test_get_params_lists_the_constructor(Model, data):
    names = set(Model().get_params())
    assert {"C", "lam", "loss", "solver", "tol", "max_iter", "max_time", "warm_start"} <= names


def test_a_search_and_a_pipeline_accept_the_model():
    search = GridSearchCV(free_svc(), {"C": [0.1, 1.0], "solver": ["newton", "dual_cd"]}, cv=2)
    model = make_pipeline(StandardScaler(), search).fit(X, Y)
    assert model.score(X, Y) > 0.7


def test_fit_returns_itself():
    model = free_svc()
    assert model.fit(X, Y) is model


def test_separable_data_have_the_widest_corridor():
    data, labels = separable()
    model = free_svc(C=1e4, tol=1e-8).fit(data, labels)
    margins = labels * model.decision_function(data)
    assert margins.min() == pytest.approx(1.0, abs=1e-3)
    assert model.certificate_.slack_sum < 1e-2
    assert model.certificate_.margin == pytest.approx(1 / np.linalg.norm(model.coef_))


def test_plain_arrays_are_checked_like_any_other():
    X, y = overlapping()
    with pytest.raises(ValueError, match="y"):
        free_svc().fit(X, "no")
    model = free_svc().fit(X, y)
    with pytest.raises(ValueError, match="expecting 4 features"):
        model.predict(X[:, :3].copy())
    del model.n_features_in_  # as of a model put together by hand
    assert len(model.predict(X)) == len(y)
    assert not hasattr(model, "n_features_in_")
