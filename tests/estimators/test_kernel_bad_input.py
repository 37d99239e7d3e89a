"""Bad or odd input of SVC and SVR: an error with a name, or the right answer."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import svm
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM, PegasosClassifier, Status
from real_data import DIABETES, IRIS


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


@pytest.mark.parametrize(
    ("Model", "settings", "message"),
    [
        (SVC, {"degree": -1}, r"degree must be a whole number, 0 or larger, got -1\. 3 is usual"),
        (SVR, {"degree": 2.5}, "degree must be .* got 2.5"),
        (SVC, {"coef0": "a"}, "coef0 must be a finite number, got 'a'"),
        (NuSVC, {"coef0": np.nan}, "coef0 must be a finite number, got nan"),
        (SVC, {"gamma": -1, "kernel": "linear"}, 'gamma must be .* got -1. Or "scale"'),
        (NuSVR, {"gamma": "wide", "kernel": "linear"}, "gamma must be .* got 'wide'"),
        (PegasosClassifier, {"gamma": -1}, "gamma must be"),
        (PegasosClassifier, {"max_support": 0}, "max_support must be .* None keeps all"),
        (SVC, {"cache_size": -1, "landmarks": 5}, "cache_size must be .* in megabytes"),
        (SVC, {"solver": "none", "C": np.inf, "fit_intercept": False}, "solver must be one of"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_a_wrong_setting_is_named_even_where_it_is_not_needed(Model, settings, message):
    with pytest.raises(ValueError, match=message):
        Model(**settings).fit(IRIS[0], IRIS[1] > 0)


def test_settings_that_are_not_needed_may_be_what_scikit_learn_takes():
    X, y = IRIS
    for settings in ({"gamma": 0.0}, {"gamma": np.float32(1)}, {"degree": 0}, {"coef0": -1}):
        assert SVC(kernel="linear", **settings).fit(X, y).score(X, y) > 0.9


SWITCHES = {"fit_intercept", "warm_start", "shrinking", "break_ties", "probability"}


@pytest.mark.parametrize(
    ("Model", "name"),
    [
        (Model, name)
        for Model in (SVC, SVR, NuSVC, NuSVR, OneClassSVM)
        for name in sorted(SWITCHES & Model().get_params().keys())
    ],
)
def test_a_switch_is_on_or_off(Model, name):
    model = Model()
    data = IRIS if Model in {SVC, NuSVC} else DIABETES
    with pytest.raises(ValueError, match=f"{name} must be True or False, got 'no'"):
        model.set_params(**{name: "no"}).fit(*data)


def test_switches_of_a_stream_are_on_or_off():
    model = PegasosClassifier().set_params(fit_intercept="no")
    with pytest.raises(ValueError, match="fit_intercept must be True or False, got 'no'"):
        model.partial_fit(*IRIS, [0, 1, 2])


@pytest.mark.parametrize("verbose", [-1, 0.5, "loud"])
def test_a_wrong_verbose_is_named(verbose):
    with pytest.raises(ValueError, match=f"verbose must be a whole number.*got {verbose!r}"):
        SVC(verbose=verbose).fit(*IRIS)


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
    """The small columns take long: better said than hidden."""
    X = IRIS[0] * [1.0, 1e4, 1e-4, 1.0]
    model = SVC(kernel="linear", max_iter=2)
    with pytest.warns(ConvergenceWarning, match="StandardScaler"):
        model.fit(X, IRIS[1])
    assert model.certificate_.status is not Status.OPTIMAL
    assert model.certificate_.relative_gap > model.tol
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.filterwarnings("ignore::maxmargin.DataWarning")  # that a column hides another
def test_columns_of_wildly_different_size_are_proven_with_a_linear_kernel():
    X = IRIS[0] * [1.0, 1e4, 1e-4, 1.0]
    assert SVC(kernel="linear").fit(X, IRIS[1]).certificate_.status is Status.OPTIMAL


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
