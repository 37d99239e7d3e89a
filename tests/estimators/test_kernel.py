"""SVC and SVR: scikit-learn's names, LIBSVM's answers, and a proof."""

import pickle

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn import svm
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.preprocessing import scale

from maxmargin import SMO, SVC, SVR, KernelPegasos, Newton, NuSVC, OneClassSVM, Status
from maxmargin.kernels import Gaussian, Linear
from real_data import CANCER, DIABETES, DIGITS, IRIS

DATA = pytest.mark.parametrize("data", [CANCER, IRIS, DIGITS], ids=["cancer", "iris", "digits"])


@DATA
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_answers_are_those_of_libsvm(data, kernel, shape):
    X, y = data
    settings = {"kernel": kernel, "decision_function_shape": shape, "gamma": 0.05}
    ours = SVC(tol=1e-7, **settings).fit(X, y)
    theirs = svm.SVC(tol=1e-7, **settings).fit(X, y)
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(X), atol=2e-3, rtol=1e-3
    )
    assert (ours.predict(X) == theirs.predict(X)).mean() > 0.998
    assert ours.certificate_.relative_gap <= 1e-7


@DATA
def test_fitted_attributes_are_scikit_learns(data):
    X, y = data
    ours, theirs = (Model(tol=1e-6).fit(X, y) for Model in (SVC, svm.SVC))
    for name in ("classes_", "n_support_", "support_"):
        mine, other = getattr(ours, name), getattr(theirs, name)
        assert mine.dtype == other.dtype
        assert abs(len(mine) - len(other)) <= 0.02 * len(other) + 1
    for name in ("dual_coef_", "intercept_", "support_vectors_"):
        assert getattr(ours, name).ndim == getattr(theirs, name).ndim
    assert ours.dual_coef_.shape[0] == theirs.dual_coef_.shape[0]
    assert ours.shape_fit_ == theirs.shape_fit_
    np.testing.assert_array_equal(ours.support_vectors_, X[ours.support_])
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-3)
    assert ours.n_support_.sum() == len(ours.support_)


@DATA
def test_the_weights_of_a_linear_kernel(data):
    X, y = data
    ours, theirs = (Model(kernel="linear", tol=1e-6).fit(X, y) for Model in (SVC, svm.SVC))
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=5e-3)
    with pytest.raises(AttributeError, match="linear"):
        _ = SVC().fit(X, y).coef_


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_regression_answers_are_those_of_libsvm(kernel):
    X, y = DIABETES[0], scale(DIABETES[1])
    settings = {"kernel": kernel, "gamma": 0.05, "C": 2.0, "epsilon": 0.2}
    ours = SVR(tol=1e-7, **settings).fit(X, y)
    theirs = svm.SVR(tol=1e-7, **settings).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=2e-3)
    assert ours.certificate_.status is Status.OPTIMAL


@pytest.mark.parametrize("Model", [SVC, SVR])
def test_storage_and_precision_give_the_same_model(Model):
    X, y = CANCER if Model is SVC else DIABETES
    dense = Model(tol=1e-6).fit(X, y)
    for other in (sparse.csr_array(X), np.asfortranarray(X), X.astype(np.float32)):
        model = Model(tol=1e-6, gamma=1 / (X.shape[1] * X.var())).fit(other, y)
        values = model.decision_function(other) if Model is SVC else model.predict(other)
        expected = dense.decision_function(X) if Model is SVC else dense.predict(X)
        np.testing.assert_allclose(values, expected, rtol=1e-3, atol=2e-3 * np.abs(expected).max())


def test_weights_are_repetitions():
    X, y = CANCER
    weight = np.arange(len(y)) % 3
    weighted = SVC(tol=1e-7, gamma=0.05).fit(X, y, sample_weight=weight)
    repeated = SVC(tol=1e-7, gamma=0.05).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-3
    )


def test_class_weights_move_the_boundary():
    X, y = CANCER
    plain, heavy = (SVC(class_weight=w).fit(X, y) for w in (None, {0: 100.0}))
    assert (heavy.predict(X) == 0).sum() > (plain.predict(X) == 0).sum()
    assert SVC(class_weight="balanced").fit(X, y).score(X, y) > 0.95


def test_without_an_intercept():
    X, y = CANCER
    model = SVC(fit_intercept=False).fit(X, y)
    assert model.certificate_.status is Status.OPTIMAL
    np.testing.assert_array_equal(model.intercept_, 0.0)


def test_ties_are_broken_by_values():
    X, y = IRIS
    model = SVC(break_ties=True).fit(X, y)
    np.testing.assert_array_equal(
        model.predict(X), model.classes_[model.decision_function(X).argmax(axis=1)]
    )


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_threads_give_the_same_bits(n_jobs):
    X, y = DIGITS
    first, again = (SVC(n_jobs=j).fit(X, y) for j in (1, n_jobs))
    np.testing.assert_array_equal(first.dual_coef_, again.dual_coef_)


@pytest.mark.parametrize("Model", [SVC, SVR])
def test_limits_leave_a_usable_model_and_warn(Model):
    X, y = CANCER
    model = Model(max_iter=1, tol=1e-10)
    with pytest.warns(ConvergenceWarning, match="Raise max_iter"):
        model.fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    slow = Model(max_time=1e-9, tol=1e-10)
    with pytest.warns(ConvergenceWarning, match="Raise max_time"):
        slow.fit(X, y)


def test_scikit_learns_tools_work():
    X, y = IRIS
    assert cross_val_score(SVC(), X, y).mean() > 0.94
    search = GridSearchCV(SVC(), {"C": [0.1, 1.0], "kernel": ["rbf", "linear"]}).fit(X, y)
    assert search.best_score_ > 0.94
    K = rbf_kernel(X)
    assert cross_val_score(SVC(kernel="precomputed"), K, y).mean() > 0.94


def test_what_predictions_prepare_is_kept_but_never_stale(tmp_path):
    """The support vectors are laid out once; not pickled, and not used for others than they are."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 20)) * (rng.random((3000, 20)) < 0.3)
    model = SVC(gamma=0.05).fit(X, np.sign(X[:, 0] + 0.5 * rng.normal(size=3000)))
    small = len(pickle.dumps(model))
    first = model.decision_function(X)
    kept = model._samples._all_rows
    assert len(pickle.dumps(model)) == small
    np.testing.assert_array_equal(model.decision_function(X), first)
    assert model._samples._all_rows is kept
    joblib.dump(model, tmp_path / "model")
    assert (tmp_path / "model").stat().st_size < 1.1 * small
    for again in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model")):
        np.testing.assert_array_equal(again.decision_function(X), first)
        assert again._samples.X is again.support_vectors_
    np.testing.assert_array_equal(model.set_params(n_jobs=2).decision_function(X), first)
    with pytest.raises(ValueError, match="read-only"):
        model.support_vectors_ *= 0.5
    model.support_vectors_ = 0.5 * model.support_vectors_
    np.testing.assert_allclose(
        model.decision_function(2.0 * X),
        model.dual_coef_[0] @ rbf_kernel(model.support_vectors_, 2.0 * X, gamma=0.05)
        + model.intercept_,
        atol=1e-4,
    )


def test_models_can_be_cloned_and_pickled():
    X, y = IRIS
    model = SVC(C=3.0, kernel=Gaussian(0.2)).fit(X, y)
    assert clone(model).get_params() == model.get_params()
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.decision_function(X), model.decision_function(X))


# ---- what a fresh pair of eyes found


def test_a_model_without_support_vectors_predicts():
    model = SVR(epsilon=1e6).fit(*DIABETES)
    assert len(model.support_) == 0
    assert np.isfinite(model.predict(DIABETES[0])).all()


def test_weights_of_a_linear_kernel_object_and_of_nothing():
    assert SVC(kernel=Linear()).fit(*CANCER).coef_.shape == (1, 30)
    with pytest.raises(NotFittedError):
        _ = SVC(kernel="linear").coef_


# ---- solver=


@pytest.mark.parametrize(("Model", "data"), [(SVC, CANCER), (SVR, DIABETES)])
def test_a_solver_with_settings_of_its_own(Model, data):
    model = Model(solver=SMO(working_set=16), tol=1e-5).fit(*data)
    assert model.solution_.solver == "smo"
    assert abs(model.certificate_.primal - Model(tol=1e-5).fit(*data).certificate_.primal) <= (
        2e-5 * model.certificate_.primal
    )


@pytest.mark.parametrize(
    ("solver", "message"),
    [("simplex", "solver must be one of 'smo'"), (SMO, r"write solver=SMO\(\)"),
     (Newton(), "takes a LinearObjective, got a KernelObjective. Use solver='smo'")],
    ids=["unknown", "class", "linear"],
)  # fmt: skip
@pytest.mark.parametrize("Model", [SVC, SVR])
def test_a_solver_that_cannot_is_named(Model, solver, message):
    with pytest.raises(ValueError, match=message):
        Model(solver=solver).fit(*IRIS)


@pytest.mark.parametrize("solver", ["pegasos", KernelPegasos(batch_size=8)], ids=["name", "object"])
@pytest.mark.parametrize("data", [CANCER, IRIS], ids=["cancer", "iris"])
def test_pegasos_proves_a_loose_gap(solver, data):
    X, y = data
    model = SVC(solver=solver, tol=0.1, random_state=0).fit(X, y)
    assert {solution.solver for solution in model.solutions_} == {"pegasos"}
    assert model.certificate_.relative_gap <= 0.1
    assert model.score(X, y) > 0.95
    exact = SVC(tol=1e-6).fit(X, y).certificate_
    assert model.certificate_.dual <= exact.primal * (1 + 1e-6)
    again = SVC(solver=solver, tol=0.1, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.dual_coef_, again.dual_coef_)


def test_pegasos_takes_a_kernel_matrix():
    X, y = CANCER
    model = SVC(solver="pegasos", kernel="precomputed", tol=0.1, random_state=0)
    assert model.fit(rbf_kernel(X, gamma=0.05), y).certificate_.relative_gap <= 0.1


def test_pegasos_is_not_a_name_for_regression():
    with pytest.raises(ValueError, match="solver must be one of 'smo', 'qp', got 'pegasos'"):
        SVR(solver="pegasos").fit(*DIABETES)


# ---- kernels of all kinds


@pytest.mark.parametrize("n", [150, 1500])
@pytest.mark.parametrize("make", [SVC, SVR, NuSVC, OneClassSVM])
def test_the_violation_is_libsvms(make, n):
    """m − M: the variables that may rise are pulled by up to m, those that may fall from M on."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    model = make(tol=1e-4).fit(X, y)
    solution, kernel = model.solution_, Gaussian(model._fitted_kernel.gamma)
    beta, z = solution.beta, kernel(X, X) @ solution.beta
    if make is SVR:
        rise = y - z - np.where(beta >= 0.0, 0.1, -0.1)
        fall = y - z + np.where(beta <= 0.0, 0.1, -0.1)
        sides, upper, lower = [np.full(n, True)], np.ones(n), -np.ones(n)
    else:
        label = np.ones(n) if make is OneClassSVM else -y  # the first class is the positive one
        rise = fall = (label if make is SVC else 0.0) - z
        sides = [label > 0.0, label < 0.0] if make is NuSVC else [np.full(n, True)]
        upper, lower = np.maximum(label, 0.0), np.minimum(label, 0.0)
    gaps = [rise[side & (beta < upper)].max() - fall[side & (beta > lower)].min() for side in sides]
    assert solution.info.violation == pytest.approx(max(gaps), abs=2e-4)
    again = make(tol=1e-4, warm_start=True).fit(X, y).fit(X, y)
    assert np.isfinite(again.solution_.info.violation)
