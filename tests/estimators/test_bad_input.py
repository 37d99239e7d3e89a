"""Bad input gets an error that names the parameter, the value and the remedy."""

import re

import numpy as np
import pytest
from scipy import sparse

from choices import EXACT
from maxmargin import SVC, LinearSVC, LinearSVR
from maxmargin.solvers import SOLVERS
from synthetic import csr, free_svc, free_svr, overlapping, regression

X, Y = overlapping(30, 3)
XR, YR = regression(30, 3)
MODELS = pytest.mark.parametrize(
    ("Model", "X", "y"), [(LinearSVC, X, Y), (LinearSVR, XR, YR)], ids=["SVC", "SVR"]
)


def changed(array, value, at=(4,)):
    array = np.array(array, dtype=object if isinstance(value, str) else np.float64)
    array[at if array.ndim == 1 else (*at, 1)] = value
    return array


# ---- refused arrays


@MODELS
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_refused(Model, X, y, value):
    place = rf"first such value is {value} at row 4, column 1 \(1 in all\)\. Leave .* out"
    with pytest.raises(ValueError, match=rf"(?s)X contains (NaN|infinity).*{place}"):
        Model().fit(changed(X, value), y)


@MODELS
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused_in_csr(Model, X, y, value):
    place = rf"first such value is {value} at row 4, column 1 \(1 in all\)\."
    with pytest.raises(ValueError, match=rf"(?s)X contains (NaN|infinity).*{place}"):
        Model().fit(csr(changed(X, value)), y)
    with pytest.raises(ValueError, match=rf"(?s)X contains (NaN|infinity).*{place}"):
        Model().fit(X, y).predict(csr(changed(X, value)))


@MODELS
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_labels_that_are_not_finite_are_refused(Model, X, y, value):
    place = rf"first such value is {value} at position 4 \(1 in all\)\."
    with pytest.raises(ValueError, match=rf"(?s)y contains (NaN|infinity).*{place}"):
        Model().fit(X, changed(y, value))


@MODELS
def test_strings_in_x_are_refused(Model, X, y):
    message = "could not convert string to float: 'many'\nX must hold numbers: .*OneHotEncoder"
    with pytest.raises(ValueError, match=message):
        Model().fit(changed(X, "many"), y)


def test_strings_as_targets_are_refused_in_regression():
    with pytest.raises(
        ValueError, match=r"could not convert string to float: .*'a'.*\ny must hold"
    ):
        free_svr().fit(XR, ["a"] * 30)


@MODELS
@pytest.mark.parametrize("form", [sparse.dok_array, sparse.lil_array, sparse.coo_array])
def test_other_sparse_forms_are_told_the_place(Model, X, y, form):
    with pytest.raises(ValueError, match=r"(?s)X contains NaN.*at row 4, column 1 \(1 in all\)"):
        Model().fit(X, y).predict(form(changed(X, np.nan)))


def test_missing_numbers_are_told():
    with pytest.raises(
        TypeError, match=r"X must hold numbers: .* a number that is missing is np\.nan"
    ):
        free_svc().fit([[1.0], [complex], [2.0]], [0, 1, 0])
    with pytest.raises(ValueError, match=r"(?s)y contains NaN.*position 0 \(30 in all\)"):
        free_svr().fit(XR, [None] * 30)


@MODELS
@pytest.mark.parametrize("weights", [np.full(30, np.nan), np.ones(29), ["a"] * 30], ids=str)
def test_weights_are_refused_by_name_with_a_remedy(Model, X, y, weights):
    with pytest.raises(ValueError, match=r"sample_weight must be one finite number.* 30 samples"):
        Model().fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("value", ["bal", 3, {5: 1.0}, {0: "a"}], ids=str)
def test_class_weights_are_refused_with_the_value(value):
    with pytest.raises(ValueError, match=f"class_weight must be .* got {re.escape(repr(value))}"):
        free_svc(class_weight=value).fit(X, Y)


@pytest.mark.parametrize("Model", [LinearSVC, SVC])
@pytest.mark.parametrize("value", ["a", 0, 1.5, True])
def test_n_jobs_counts_threads(Model, value):
    with pytest.raises(ValueError, match=r"n_jobs must be None or a whole number .* -1 means"):
        Model(n_jobs=value).fit(X, Y)


@MODELS
def test_complex_numbers_are_refused(Model, X, y):
    with pytest.raises(ValueError, match=r"Complex data not supported.*\nX must hold real"):
        Model().fit(X + 1j, y)


@MODELS
@pytest.mark.parametrize("shape", [(30,), (30, 3, 1)], ids=["1-D", "3-D"])
def test_x_must_be_a_matrix(Model, X, y, shape):
    with pytest.raises(ValueError, match=r"[Ee]xpected 2D array|dim 3"):
        Model().fit(np.resize(X, shape), y)


@MODELS
def test_x_and_y_must_have_one_length(Model, X, y):
    with pytest.raises(ValueError, match=r"samples: \[30, 29\]\nX must have a row, and y"):
        Model().fit(X, y[:-1])


@MODELS
def test_y_must_be_a_vector(Model, X, y):
    with pytest.raises(ValueError, match="y should be a 1d array"):
        Model().fit(X, np.c_[y, y])


@MODELS
def test_y_is_needed(Model, X, y):
    with pytest.raises(ValueError, match="requires y"):
        Model().fit(X, None)


@MODELS
def test_no_rows_are_refused(Model, X, y):
    with pytest.raises(ValueError, match=r"(?s)0 sample.*X must have two dim"):
        Model().fit(X[:0], y[:0])


@MODELS
def test_no_features_are_refused(Model, X, y):
    with pytest.raises(ValueError, match=r"(?s)0 feature.*X must have two dim"):
        Model().fit(X[:, :0], y)


@MODELS
def test_other_features_are_refused_at_prediction(Model, X, y):
    with pytest.raises(ValueError, match="expecting 3 features"):
        Model().fit(X, y).predict(X[:, :2])


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="greater than one; got 1 class"):
        free_svc().fit(X, np.ones(30))


def test_one_class_of_positive_weight_is_refused():
    with pytest.raises(ValueError, match=r"belong to the same class.*another class"):
        free_svc().fit(X, Y, (Y > 0).astype(float))


@pytest.mark.parametrize("Model", [LinearSVC, SVC])
def test_continuous_labels_are_refused_in_classification(Model):
    with pytest.raises(ValueError, match="Unknown label type"):
        Model().fit(XR, YR)


def test_labels_that_look_like_targets_get_scikit_learns_warning():
    with pytest.warns(UserWarning, match="unique classes"):
        SVC().fit(np.arange(40.0)[:, None], np.arange(40) % 25)


@MODELS
@pytest.mark.parametrize(
    ("columns", "offsets"),
    [
        ([0, 7], [0, 1, 2]),
        ([0, -1], [0, 1, 2]),
        ([0, 1], [0, 1, 9]),
        ([0, 7, 2], [0, 0, 3]),
        ([1, -1, 2], [0, 3, 3]),
    ],
    ids=[
        "column too large",
        "column negative",
        "offset too large",
        "large within",
        "negative within",
    ],
)
def test_unsound_csr_is_refused(Model, X, y, columns, offsets):
    broken = sparse.csr_matrix((2, 3))
    broken.data = np.ones(len(columns))
    broken.indices = np.array(columns, dtype=np.int32)
    broken.indptr = np.array(offsets, dtype=np.int32)
    with pytest.raises(ValueError, match=r"CSR|[Ii]nd"):
        Model().fit(broken, [1.0, 2.0])


# ---- refused weights and parameters


@MODELS
def test_a_negative_weight_leaves_a_sample_out(Model, X, y):
    left_out, none = (
        Model(random_state=0).fit(X, y, changed(np.ones(30), weight)) for weight in (-2.0, 0.0)
    )
    np.testing.assert_array_equal(left_out.coef_, none.coef_)


@MODELS
def test_weights_that_are_all_zero_are_refused(Model, X, y):
    with pytest.raises(ValueError, match=r"[Ss]ample.weight.*(non-zero|positive)"):
        Model().fit(X, y, np.zeros(30))


@MODELS
@pytest.mark.parametrize("weights", [np.full(30, np.nan), np.full(30, np.inf), np.ones(29)])
def test_unusable_weights_are_refused(Model, X, y, weights):
    with pytest.raises(ValueError, match="sample_weight"):
        Model().fit(X, y, weights)


@MODELS
@pytest.mark.parametrize("name", ["C", "lam", "tol", "max_time", "intercept_scaling"])
@pytest.mark.parametrize("value", [0.0, -1.0, "a", np.nan, np.inf, True, [1.0]], ids=str)
def test_numbers_out_of_range_are_refused_by_name(Model, X, y, name, value):
    with pytest.raises(ValueError, match=rf"{name} must be a positive finite number, got .*\. \w"):
        Model(**{name: value}).fit(X, y)


@MODELS
def test_lam_and_c_are_not_given_together(Model, X, y):
    with pytest.raises(ValueError, match=r"lam=0\.1 is given instead of C, and C=5 too\. Give one"):
        Model(lam=0.1, C=5).fit(X, y)


@pytest.mark.parametrize("name", ["solver", "random_state", "intercept_scaling"])
def test_a_hard_margin_refuses_wrong_settings_that_it_does_not_need(name):
    model = LinearSVC(C=np.inf, penalized_intercept=False).set_params(**{name: "none"})
    with pytest.raises(ValueError, match=f"{name} must be"):
        model.fit(X, Y)


@MODELS
def test_c_must_not_be_none(Model, X, y):
    with pytest.raises(ValueError, match="C must be a positive finite number, got None"):
        Model(C=None).fit(X, y)


@MODELS
@pytest.mark.parametrize("value", [0, -5, "many", 2.5, np.nan])
def test_max_iter_must_be_a_count(Model, X, y, value):
    with pytest.raises(ValueError, match="max_iter"):
        Model(max_iter=value).fit(X, y)


@pytest.mark.parametrize("value", [-0.1, np.nan, np.inf, "wide", None])
def test_epsilon_must_not_be_negative(value):
    with pytest.raises(ValueError, match="epsilon must be a finite number, 0 or larger, got"):
        free_svr(epsilon=value).fit(XR, YR)


@MODELS
@pytest.mark.parametrize("value", ["logistic", None, 3])
def test_an_unknown_loss_gets_the_list(Model, X, y, value):
    known = "'squared_hinge'" if Model is LinearSVC else "'squared_epsilon_insensitive'"
    with pytest.raises(ValueError, match=rf"loss must be one of .*{known}.*, got {value!r}"):
        Model(loss=value).fit(X, y)


@MODELS
def test_an_unknown_solver_gets_the_list(Model, X, y):
    with pytest.raises(ValueError, match="solver must be one of 'auto'") as error:
        Model(solver="simplex").fit(X, y)
    assert all(repr(name) in str(error.value) for name in SOLVERS)
    assert "got 'simplex'" in str(error.value)


@MODELS
@pytest.mark.parametrize("value", [3, None, object()], ids=["int", "None", "object"])
def test_a_solver_that_is_none_gets_the_list(Model, X, y, value):
    with pytest.raises((ValueError, TypeError), match="solver must be"):
        Model(solver=value).fit(X, y)


@EXACT
def test_the_perceptron_is_sent_to_sgd(solver):
    with pytest.raises(ValueError, match=rf"{solver}.*'perceptron'.*solver='sgd'"):
        free_svc(loss="perceptron", solver=solver).fit(X, Y)


@pytest.mark.parametrize("value", ["heavy", {3.0: 1.0, 4.0: 2.0}, [1.0, 2.0]], ids=str)
def test_unusable_class_weights_are_refused(value):
    with pytest.raises((ValueError, TypeError), match=r"class_weight|[Cc]lass"):
        free_svc(class_weight=value).fit(X, Y)


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
def test_class_weights_out_of_range_are_refused(value):
    with pytest.raises(ValueError, match=r"class_weight|[Cc]lass"):
        free_svc(class_weight={1.0: value}).fit(X, Y)


def test_class_weights_that_are_all_zero_are_refused():
    with pytest.raises(ValueError, match=r"class_weight|[Cc]lass"):
        free_svc(class_weight={1.0: 0.0, -1.0: 0.0}).fit(X, Y)


@MODELS
@pytest.mark.parametrize("value", [-1, 2**32, "seven"])
def test_an_unusable_random_state_is_refused(Model, X, y, value):
    with pytest.raises(ValueError, match=r"[Ss]eed|random"):
        Model(random_state=value).fit(X, y)


@MODELS
def test_a_refused_fit_leaves_no_model(Model, X, y):
    model = Model(C=-1.0)
    with pytest.raises(ValueError, match="C must"):
        model.fit(X, y)
    assert not hasattr(model, "coef_")


@MODELS
def test_a_refused_refit_leaves_no_half_of_a_model(Model, X, y):
    model = Model().fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(changed(X, np.nan)[:, :2], y)
    np.testing.assert_array_equal(model.predict(X), before)
    assert model.n_features_in_ == X.shape[1]


@MODELS
@pytest.mark.parametrize("name", ["fit_intercept", "penalized_intercept", "warm_start"])
def test_flags_are_true_or_false(Model, X, y, name):
    with pytest.raises(ValueError, match=f"{name} must be True or False, got 'no'"):
        Model(**{name: "no"}).fit(X, y)


@MODELS
def test_weights_that_are_all_zero_are_refused_with_a_remedy(Model, X, y):
    with pytest.raises(ValueError, match=r"all samples have zero or negative weights.*positive"):
        Model().fit(X, y, np.zeros(len(y)))


# ---- wild scales: the fit ends, and says what scaling would do


@MODELS
def test_costs_beyond_double_precision_are_refused(Model, X, y):
    with pytest.raises(ValueError, match=r"C_i is at most 1e-302, too small .* Raise C"):
        Model(C=1e-300).fit(X, y, sample_weight=np.full(len(y), 0.01))
    with pytest.raises(ValueError, match="too small"):
        Model(C=1e-310).fit(X, y)
