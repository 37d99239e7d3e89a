"""SVC and SVR: scikit-learn's names, LIBSVM's answers, and a proof."""

import pickle
import warnings

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.preprocessing import scale

from maxmargin import SMO, SVC, SVR, KernelPegasos, Newton, NuSVC, NuSVR, OneClassSVM, Status
from maxmargin.estimators import _kernel
from maxmargin.kernels import ChiSquared, Gaussian, Linear
from real_data import CANCER, DIABETES, DIGITS, IRIS
from sklearn import svm
from synthetic import STORAGES, store

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


@DATA
def test_precomputed_kernels_and_functions_give_the_same_model(data):
    X, y = data
    K = rbf_kernel(X, gamma=0.05)
    named = SVC(gamma=0.05, tol=1e-6).fit(X, y)
    given = SVC(kernel="precomputed", tol=1e-6).fit(K, y)
    called = SVC(kernel=lambda A, B: rbf_kernel(A, B, gamma=0.05), tol=1e-6).fit(X, y)
    typed = SVC(kernel=Gaussian(0.05), tol=1e-6).fit(X, y)
    expected = named.decision_function(X)
    np.testing.assert_allclose(given.decision_function(K), expected, atol=1e-3)
    np.testing.assert_allclose(called.decision_function(X), expected, atol=1e-3)
    np.testing.assert_allclose(typed.decision_function(X), expected, atol=1e-3)
    np.testing.assert_array_equal(given.predict(K), named.predict(X))


def test_sums_of_kernels_can_be_used():
    X, y = CANCER
    model = SVC(kernel=0.5 * Linear() + Gaussian("scale")).fit(X, y)
    assert model.score(X, y) > 0.97
    assert model.certificate_.status is Status.OPTIMAL


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


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"C": 0.0}, "C must"),
        ({"C": -1.0}, "C must"),
        ({"kernel": "round"}, "kernel"),
        ({"gamma": -1.0}, "gamma"),
        ({"degree": 0, "kernel": "poly"}, "degree"),
        ({"tol": 0.0}, "tol"),
        ({"cache_size": -1.0}, "cache_size"),
        ({"decision_function_shape": "all"}, "decision_function_shape"),
        ({"kernel": lambda A, B: A @ B.T[:, :3]}, "shape"),
        ({"kernel": lambda A, B: np.full((len(A), len(B)), np.nan)}, "NaN"),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value),
)
def test_wrong_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        SVC(**settings).fit(*IRIS)


def test_a_kernel_matrix_must_be_square():
    X, y = IRIS
    for K in (X, sparse.csr_array(X)):
        with pytest.raises(ValueError, match="square"):
            SVC(kernel="precomputed").fit(K, y)


@pytest.mark.parametrize("epsilon", [-0.1, np.nan, "wide"])
def test_a_wrong_tube_is_named(epsilon):
    with pytest.raises(ValueError, match="epsilon"):
        SVR(epsilon=epsilon).fit(*DIABETES)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="got 1 class"):
        SVC().fit(IRIS[0][:10], np.zeros(10))


def test_one_row_of_each_class_suffices():
    model = SVC().fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"])
    np.testing.assert_array_equal(model.predict([[0.0, 1.0], [1.0, 0.0]]), ["a", "b"])


# ---- what a fresh pair of eyes found


def test_an_indefinite_kernel_proves_nothing():
    X, y = IRIS
    with pytest.warns(ConvergenceWarning, match="nothing is proven"):
        model = SVC(kernel="sigmoid", gamma=0.05, coef0=-1.0).fit(X, y)
    assert model.certificate_.status is Status.STATIONARY
    assert not model.certificate_.convex
    with pytest.warns(ConvergenceWarning, match="nothing is proven"):
        SVC(kernel="precomputed").fit(3.0 * rbf_kernel(X) - 2.0 * np.eye(150), y)


def test_a_kernel_that_is_none_is_refused():
    X, y = IRIS
    with pytest.raises(ValueError, match="symmetric"):
        SVC(kernel=lambda A, B: A @ B.T + np.abs(A[:, :1])).fit(X, y)
    with pytest.raises(ValueError, match="diagonal"):
        SVC(kernel="precomputed").fit(-X @ X.T, y)
    with pytest.raises(ValueError, match="Scale X"):
        SVC(kernel="linear").fit(1e25 * X, y)
    with pytest.raises(ValueError, match="coef0"):
        SVC(kernel="sigmoid", coef0=np.nan).fit(X, y)


@pytest.mark.parametrize("scale", [1e-12, 1e10])
def test_the_cosine_does_not_mind_the_scale(scale):
    X, y = load_iris(return_X_y=True)
    model = SVC(kernel="cosine", C=100.0).fit(scale * X, y)
    assert model.certificate_.status is Status.OPTIMAL


@pytest.mark.parametrize("C", [1e4, 1e6])
def test_a_large_cost_is_solved_in_spite_of_float32(C):
    X, y = load_iris(return_X_y=True)
    ours, theirs = (Model(kernel="linear", C=C).fit(X, y) for Model in (SVC, svm.SVC))
    assert ours.certificate_.status is Status.OPTIMAL
    assert (ours.predict(X) == theirs.predict(X)).mean() > 0.98


def test_gamma_scale_survives_an_offset():
    X, y = IRIS
    there, here = SVC(tol=1e-6).fit(X + 1e5, y), SVC(tol=1e-6).fit(X, y)
    np.testing.assert_allclose(
        there.decision_function(X + 1e5), here.decision_function(X), atol=1e-3
    )


def test_a_model_without_support_vectors_predicts():
    model = SVR(epsilon=1e6).fit(*DIABETES)
    assert len(model.support_) == 0
    assert np.isfinite(model.predict(DIABETES[0])).all()


def test_weights_of_a_linear_kernel_object_and_of_nothing():
    assert SVC(kernel=Linear()).fit(*CANCER).coef_.shape == (1, 30)
    with pytest.raises(NotFittedError):
        _ = SVC(kernel="linear").coef_


def test_a_precomputed_model_does_not_carry_its_matrix():
    X, y = IRIS
    model = SVC(kernel="precomputed").fit(rbf_kernel(X), y)
    assert len(pickle.dumps(model)) < 100_000


# ---- inputs that trip others up


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("Model", [SVC, SVR])
def test_what_is_not_finite_is_refused(Model, value):
    X, y = IRIS[0].copy(), IRIS[1]
    X[3, 2] = value
    with pytest.raises(ValueError, match="X contains"):
        Model().fit(X, y)


@pytest.mark.parametrize("C", [1e-8, 1e8])
def test_costs_of_any_size_are_solved(C):
    assert SVC(C=C).fit(*IRIS).certificate_.status is Status.OPTIMAL


def test_constant_columns_leave_a_constant():
    model = SVC().fit(np.ones((6, 2)), [0, 1, 0, 1, 1, 1])
    np.testing.assert_array_equal(model.predict(np.ones((2, 2))), 1)


def test_read_only_rows_empty_rows_and_long_indices():
    X, y = IRIS
    rows = sparse.csr_matrix(np.where(X > 0.5, X, 0.0))
    assert (np.diff(rows.indptr) == 0).any()
    plain = SVC().fit(rows, y).decision_function(rows)
    for part in ("indices", "indptr"):
        setattr(rows, part, getattr(rows, part).astype(np.int64))
    np.testing.assert_array_equal(SVC().fit(rows, y).decision_function(rows), plain)
    frozen = X.copy()
    frozen.setflags(write=False)
    assert SVC().fit(frozen, y).score(frozen, y) > 0.95


def test_columns_of_wildly_different_size_end_with_a_warning():
    """Float32 kernel values lose the small columns: better said than hidden."""
    X = IRIS[0] * [1.0, 1e4, 1e-4, 1.0]
    model = SVC(kernel="linear", max_iter=2000)
    with pytest.warns(ConvergenceWarning, match="StandardScaler"):
        model.fit(X, IRIS[1])
    assert model.certificate_.status is not Status.OPTIMAL
    assert model.certificate_.relative_gap > model.tol
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize(
    "model",
    [SVC(), SVC(kernel="poly"), SVR(), NuSVC(nu=0.3), NuSVR(), OneClassSVM(kernel="linear")],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore:No direction separates")  # true of OneClassSVM here
def test_columns_of_wildly_different_size_end_by_themselves(model):
    """Proven, or with a warning that says the gap and what scaling would do."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1100, 8)) * 10.0 ** np.linspace(-4.0, 4.0, 8)
    y = np.where(X[:, 4] + rng.normal(size=1100) > 0.0, 1.0, -1.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model.fit(X, y)
    proven = model.certificate_.status is Status.OPTIMAL
    assert proven == (not caught)
    assert proven or "StandardScaler" in str(caught[0].message)
    assert np.isfinite(model.predict(X)).all()


def test_one_row_is_enough_for_regression():
    np.testing.assert_allclose(SVR().fit([[1.0, 2.0]], [3.0]).predict([[1.0, 2.0]]), 3.0, atol=0.1)


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


@pytest.mark.parametrize("shift", [2.0**20, 2.0**30])
def test_a_gaussian_does_not_see_a_shift(shift):
    rng = np.random.default_rng(0)
    X = rng.integers(-8, 9, size=(200, 2)).astype(float)
    y = X[:, 0] * X[:, 1] + 8 * rng.normal(size=200) > 0
    here, there = (SVC(gamma=0.05, tol=1e-6).fit(X + by, y) for by in (0.0, shift))
    assert there.certificate_.primal == pytest.approx(here.certificate_.primal, rel=1e-5)
    np.testing.assert_array_equal(here.predict(X), there.predict(X + shift))


def test_a_kernel_matrix_is_tried_whole_where_that_is_cheap():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), np.arange(300) % 2
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    K[0, 18] = K[18, 0] = 10.0  # no inner product of two unit vectors is
    with pytest.warns(ConvergenceWarning, match="nothing is proven"):
        model = SVC(kernel="precomputed").fit(K, y)
    assert model.certificate_.status is Status.STATIONARY
    assert not model.certificate_.convex


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("scale", [1e-42, 1e-20, 1e20, 1e39])
def test_scales_beyond_float32_change_nothing(storage, scale):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    model, plain = SVC().fit(storage(scale * X), y), SVC().fit(storage(X), y)
    assert model.certificate_.status is Status.OPTIMAL
    assert model.certificate_.dual == pytest.approx(plain.certificate_.dual, rel=2e-3)
    assert model.score(storage(scale * X), y) > 0.9


# ---- kernels of all kinds


HISTOGRAMS = (load_digits().data[:300], load_digits().target[:300])


@pytest.mark.parametrize("gamma", ["scale", "auto", "median", 0.01])
@pytest.mark.parametrize("kernel", ["chi2", "histogram_intersection", "laplacian"])
@pytest.mark.parametrize("storage", STORAGES)
def test_kernels_of_histograms_by_name(kernel, gamma, storage):
    X, y = store(HISTOGRAMS[0], storage), HISTOGRAMS[1]
    model = SVC(kernel=kernel, gamma=gamma).fit(X, y)
    assert model.certificate_.status is Status.OPTIMAL
    assert np.isfinite(model.decision_function(X)).all()
    values = SVR(kernel=kernel, gamma=gamma).fit(X, y).predict(X)
    assert np.isfinite(values).all()


def test_the_gamma_of_chi_squared():
    X, y = HISTOGRAMS[0] / 16.0, HISTOGRAMS[1]
    for gamma in ("scale", "auto", "median", 1.0):
        model = SVC(kernel="chi2", gamma=gamma).fit(X, y)
        assert model._fitted_kernel == ChiSquared(1.0)
    assert SVC(kernel="chi2", gamma=0.3).fit(X, y)._fitted_kernel == ChiSquared(0.3)
    with pytest.raises(ValueError, match="gamma"):
        SVC(kernel="chi2", gamma="wide").fit(X, y)


@pytest.mark.parametrize("Model", [SVC, SVR])
def test_the_class_of_a_kernel_is_none(Model):
    with pytest.raises(ValueError, match=r"write kernel=Gaussian\(\)"):
        Model(kernel=Gaussian).fit(*IRIS)


@pytest.mark.parametrize("n", [40, 200])
@pytest.mark.parametrize("multi_class", ["ovo", "crammer_singer"])
def test_kernel_values_in_float32_are_proven(n, multi_class):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)).astype(np.float32)
    y = np.sign(X[:, 0] + 0.5 * rng.normal(size=n))
    functions = (lambda A, B: A @ B.T, lambda A, B: np.tanh(A) @ np.tanh(B).T)
    for function in functions:
        K = function(X, X)
        assert K.dtype == np.float32
        for kernel, rows in (("precomputed", K), (function, X)):
            model = SVC(kernel=kernel, multi_class=multi_class).fit(rows, y)
            assert model.certificate_.convex
            assert model.certificate_.status is Status.OPTIMAL


@pytest.mark.parametrize("multi_class", ["ovo", "ovr", "crammer_singer"])
def test_a_function_that_is_no_kernel_is_refused_at_once(multi_class):
    X, y = IRIS
    calls = []

    def kernel(A, B):
        calls.append(A.shape)
        return A @ B.T + np.abs(A[:, :1])

    with pytest.raises(ValueError, match="symmetric"):
        SVC(kernel=kernel, multi_class=multi_class).fit(X, y)
    assert len(calls) <= 2


@pytest.mark.parametrize(("jobs", "expected"), [(1, 20.0), (2, 10.0), (8, 20.0 / 3.0)])
def test_the_cache_that_is_given_is_that_of_all_pairs(jobs, expected):
    """Half of it for what they share, half for those that are solved at a time."""
    assert SVC(cache_size=40.0)._kernel_solver(3, jobs).cache_size == pytest.approx(expected)
    assert SVC(cache_size=40.0)._kernel_solver(1, jobs).cache_size == 40.0


def test_a_given_matrix_is_predicted_from_in_blocks(monkeypatch):
    X, y = IRIS
    K = rbf_kernel(X)
    model = SVC(kernel="precomputed").fit(K, y)
    whole = model.decision_function(K)
    monkeypatch.setattr(_kernel, "_VALUES_PER_BLOCK", 300)
    np.testing.assert_allclose(model.decision_function(K), whole, rtol=1e-12)


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
