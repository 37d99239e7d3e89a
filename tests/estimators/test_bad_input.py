"""Bad input gets an error that names the parameter, the value and the remedy; odd input gets the
right answer.
"""

import re
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from choices import EXACT, SVC_LOSSES, SVR_LOSSES
from maxmargin import SVC, DataWarning, LinearSVC, LinearSVR, Status
from maxmargin.data.checks import wild_scales
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


def proven_or_warned(model, X, y):
    """Fit; a gap that is not proven must have been announced."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    messages = [str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)]
    others = [w for w in caught if not issubclass(w.category, (ConvergenceWarning, DataWarning))]
    assert not others, [str(w.message) for w in others]
    assert (model.certificate_.status is Status.OPTIMAL) == (not messages)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()
    return messages


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


# ---- odd arrays, right answers


def awkward_forms():
    wide = np.zeros((60, 6))
    wide[::2, ::2] = X
    read_only = X.copy()
    read_only.flags.writeable = False
    backwards = sparse.csr_matrix(X[:, ::-1])
    backwards.indices = 2 - backwards.indices  # columns fall within a row
    backwards.has_sorted_indices = False
    halves = sparse.csr_matrix(X)
    twice = sparse.csr_matrix((60 * [0.0], (60 * [0], 60 * [0])), shape=X.shape)
    twice.data = np.repeat(halves.data / 2, 2)
    twice.indices = np.repeat(halves.indices, 2)
    twice.indptr = 2 * halves.indptr
    zeros = csr(np.ones_like(X))
    zeros.data[:] = X.ravel()
    mixed = csr(X)
    mixed.indptr = mixed.indptr.astype(np.int64)
    other_mixed = csr(X)
    other_mixed.indices = other_mixed.indices.astype(np.int64)
    frozen = csr(X)
    for part in (frozen.data, frozen.indices, frozen.indptr):
        part.flags.writeable = False
    gaps = csr(X)
    gaps.data, gaps.indices, gaps.indptr = (
        np.repeat(part, 2)[::2] for part in (gaps.data, gaps.indices, gaps.indptr)
    )
    shifted = np.frombuffer(b"." + X.tobytes(), offset=1).reshape(X.shape)
    return {
        "strided": wide[::2, ::2],
        "not aligned": shifted,
        "reversed": X[::-1][::-1],
        "F-order": np.asfortranarray(X),
        "read-only": read_only,
        "object": X.astype(object),
        "big-endian": X.astype(">f8"),
        "longdouble": X.astype(np.longdouble),
        "list": X.tolist(),
        "CSR unsorted": backwards,
        "CSR duplicates": twice,
        "CSR 64-bit": csr(X, np.int64),
        "CSR explicit zeros": zeros,
        "CSR mixed indices": mixed,
        "CSR mixed offsets": other_mixed,
        "CSR read-only": frozen,
        "CSR with gaps": gaps,
        "CSR array": sparse.csr_array(X),
        "CSC": sparse.csc_matrix(X),
        "COO": sparse.coo_matrix(X),
        "LIL": sparse.lil_matrix(X),
    }


@EXACT
@pytest.mark.parametrize("form", awkward_forms())
def test_awkward_forms_give_the_plain_answer(solver, form):
    setting = {"solver": solver, "tol": 1e-8, "max_iter": 20_000, "random_state": 0}
    plain = free_svc(**setting).fit(X, Y)
    given = awkward_forms()[form]
    model = free_svc(**setting).fit(given, Y)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(
        model.decision_function(given), plain.decision_function(X), rtol=1e-3, atol=5e-3
    )


@pytest.mark.parametrize("form", ["CSR unsorted", "CSR duplicates", "CSR explicit zeros"])
def test_the_users_csr_is_left_as_it_was(form):
    given = awkward_forms()[form]
    data, indices = given.data.copy(), given.indices.copy()
    free_svc().fit(given, Y)
    np.testing.assert_array_equal(given.data, data)
    np.testing.assert_array_equal(given.indices, indices)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8, bool])
def test_whole_numbers_are_accepted(dtype):
    whole = (X > 0.5).astype(dtype)
    model = free_svc(tol=1e-8).fit(whole, Y)
    expected = free_svc(tol=1e-8).fit(whole.astype(float), Y)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-3, atol=1e-3)


@EXACT
@pytest.mark.parametrize("make", [np.asarray, csr], ids=["dense", "CSR"])
def test_empty_rows_count_for_the_intercept(solver, make):
    rows = X.copy()
    rows[:10] = 0.0
    model = free_svc(solver=solver, tol=1e-6, max_iter=20_000).fit(make(rows), Y)
    assert model.certificate_.status is Status.OPTIMAL
    np.testing.assert_allclose(model.decision_function(make(rows))[:10], model.intercept_[0])


def test_read_only_labels_and_weights_are_accepted():
    y, weights = YR.copy(), np.ones(30)
    y.flags.writeable = weights.flags.writeable = False
    assert free_svr().fit(XR, y, weights).certificate_.status is Status.OPTIMAL


@pytest.mark.parametrize("make", [lambda y: y[::-1], lambda y: np.repeat(y, 2)[::2]])
def test_strided_targets_are_accepted(make):
    assert free_svr().fit(XR, make(YR)).certificate_.status is Status.OPTIMAL


def test_targets_and_weights_that_are_not_aligned_are_copied():
    shifted = np.frombuffer(b"." + YR.tobytes(), offset=1)
    weights = np.frombuffer(b"." + np.ones(30).tobytes(), offset=1)
    model = free_svr(random_state=0).fit(XR, shifted, weights)
    assert model.certificate_ == free_svr(random_state=0).fit(XR, YR).certificate_
    assert model.solution_.beta.flags.aligned


# ---- degenerate problems


@EXACT
@SVC_LOSSES
def test_constant_features_are_no_obstacle(solver, loss):
    constant = np.c_[X, np.ones(30), np.zeros(30)]
    model = free_svc(solver=solver, loss=loss, max_iter=20_000).fit(constant, Y)
    assert model.certificate_.status is Status.OPTIMAL
    assert model.coef_[0, -1] == 0.0


@EXACT
@SVC_LOSSES
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_all_zero_x_is_solved_by_the_intercept(solver, loss, fit_intercept):
    model = free_svc(solver=solver, loss=loss, fit_intercept=fit_intercept)
    model.fit(np.zeros((5, 2)), [1, 1, 1, 0, 0])
    assert model.certificate_.status is Status.OPTIMAL
    np.testing.assert_array_equal(model.coef_, 0.0)
    if fit_intercept:  # 2 of 5 err under the hinge; the squared hinge balances 3 (1-b) = 2 (1+b)
        expected = 1.0 if loss == "hinge" else 0.2
        assert model.intercept_[0] == pytest.approx(expected, abs=0.05)


@EXACT
@SVR_LOSSES
def test_all_zero_x_regresses_to_a_constant(solver, loss):
    model = free_svr(solver=solver, loss=loss).fit(np.zeros((5, 2)), [1.0, 2.0, 3.0, 4.0, 10.0])
    assert model.certificate_.status is Status.OPTIMAL
    expected = 3.0 if loss == "epsilon_insensitive" else 4.0
    assert model.intercept_[0] == pytest.approx(expected, abs=0.1)


@EXACT
@SVC_LOSSES
def test_two_samples_suffice(solver, loss):
    model = free_svc(solver=solver, loss=loss, C=100.0, tol=1e-6).fit([[0.0], [2.0]], [0, 1])
    assert model.certificate_.status is Status.OPTIMAL
    np.testing.assert_array_equal(model.predict([[0.0], [2.0]]), [0, 1])
    assert model.coef_[0, 0] == pytest.approx(1.0, rel=0.02)
    assert model.intercept_[0] == pytest.approx(-1.0, rel=0.02)


@EXACT
@SVR_LOSSES
@pytest.mark.parametrize("n", [1, 2])
def test_a_regression_on_one_or_two_samples_ends(solver, loss, n):
    model = free_svr(solver=solver, loss=loss).fit(np.arange(1.0, n + 1)[:, None], np.ones(n))
    assert model.certificate_.status is Status.OPTIMAL
    np.testing.assert_allclose(model.predict(np.arange(1.0, n + 1)[:, None]), 1.0, atol=0.05)


@EXACT
@SVC_LOSSES
def test_a_single_feature_suffices(solver, loss):
    model = free_svc(solver=solver, loss=loss, max_iter=20_000).fit(X[:, :1], Y)
    assert model.certificate_.status is Status.OPTIMAL


@EXACT
@SVC_LOSSES
def test_opposite_labels_on_equal_rows_cancel(solver, loss):
    rows = np.repeat(X, 2, axis=0)
    model = free_svc(solver=solver, loss=loss, tol=1e-6, max_iter=20_000)
    model.fit(rows, np.tile([0, 1], 30))
    assert model.certificate_.status is Status.OPTIMAL
    np.testing.assert_allclose(model.coef_, 0.0, atol=1e-2)


@EXACT
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_targets_inside_the_tube_cost_nothing(solver, loss):
    targets = 3.0 + 0.1 * np.sign(YR)
    model = free_svr(solver=solver, loss=loss, epsilon=0.5).fit(XR, targets)
    assert model.certificate_.status is Status.OPTIMAL
    assert model.certificate_.gap <= 1e-12
    np.testing.assert_allclose(model.predict(XR), targets, atol=0.5)


@EXACT
@SVR_LOSSES
def test_constant_targets_are_met(solver, loss):
    model = free_svr(solver=solver, loss=loss).fit(XR, np.full(30, 7.0))
    assert model.certificate_.status is Status.OPTIMAL
    np.testing.assert_allclose(model.predict(XR), 7.0, atol=0.1)


@EXACT
@SVR_LOSSES
def test_targets_that_are_all_zero_give_the_zero_model(solver, loss):
    model = free_svr(solver=solver, loss=loss).fit(XR, np.zeros(30))
    assert model.certificate_.gap == 0.0
    np.testing.assert_array_equal(model.coef_, 0.0)


# ---- wild scales: the fit ends, and says what scaling would do


def wild(shape, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=shape) * np.logspace(-6, 6, shape[1])


def advice_for(model, X, y):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    (warning,) = caught
    proven = model.certificate_.status is Status.OPTIMAL
    assert issubclass(warning.category, ConvergenceWarning) != proven
    assert warning.filename == __file__
    return str(warning.message)


@EXACT
@SVC_LOSSES
@pytest.mark.parametrize("make", [np.asarray, csr], ids=["dense", "CSR"])
def test_wild_scales_get_advice_whether_proven_or_not(solver, loss, make):
    rows = wild((60, 7))
    y = np.sign((rows / np.logspace(-6, 6, 7)).sum(axis=1))
    message = advice_for(free_svc(solver=solver, loss=loss), make(rows), y)
    assert "StandardScaler" in message
    assert "column 6" in message


@EXACT
@SVR_LOSSES
def test_wild_scales_get_advice_in_regression(solver, loss):
    rows = wild((60, 7))
    y = (rows / np.logspace(-6, 6, 7)).sum(axis=1)
    assert "StandardScaler" in advice_for(free_svr(solver=solver, loss=loss), rows, y)


def test_a_column_of_tiny_noise_among_large_ones_is_told():
    rows = np.c_[X, 1e-7 * X[:, 0]]
    assert "column 3" in advice_for(free_svc(), rows, Y)


def test_values_near_zero_are_not_taken_for_wild_columns():
    rows = X.copy()
    rows[::2, 0] = 1e-12
    assert wild_scales(rows) == ""
    assert proven_or_warned(free_svc(), rows, Y) == []


@pytest.mark.parametrize("make", [np.asarray, csr], ids=["dense", "CSR"])
def test_wild_columns_are_seen_in_long_and_wide_data(make):
    rng = np.random.default_rng(0)
    for shape in ((20_000, 3), (3, 20_000)):
        rows = rng.normal(size=shape)
        assert wild_scales(make(rows)) == ""
        rows[:, 1] *= 1e9
        assert "column 1 " in wild_scales(make(rows))


def test_scales_that_agree_get_no_advice():
    with pytest.warns(ConvergenceWarning) as caught:
        free_svc(max_iter=1, tol=1e-9).fit(X, Y)
    assert "StandardScaler" not in str(caught[0].message)


@pytest.mark.parametrize("size", [1e-300, 1e-150, 1e-100, 1e-30, 1e30, 1e100, 1e150, 1e200, 1e300])
@EXACT
@SVC_LOSSES
def test_extreme_features_are_solved_or_refused(solver, loss, size):
    model = free_svc(solver=solver, loss=loss)
    try:
        proven_or_warned(model, size * X, Y)
    except (ValueError, FloatingPointError) as error:
        assert "X" in str(error)  # noqa: PT017


@pytest.mark.parametrize("size", [1e-300, 1e-150, 1e-30, 1e30, 1e150, 1e300])
@EXACT
@SVR_LOSSES
def test_extreme_targets_are_solved_or_refused(solver, loss, size):
    model = free_svr(solver=solver, loss=loss)
    try:
        proven_or_warned(model, XR, size * YR)
    except (ValueError, FloatingPointError) as error:
        assert "y" in str(error)  # noqa: PT017


@pytest.mark.parametrize("C", [1e-300, 1e-30, 1e30, 1e300])
@EXACT
@SVC_LOSSES
def test_extreme_costs_are_solved_or_refused(solver, loss, C):
    model = free_svc(solver=solver, loss=loss, C=C)
    try:
        proven_or_warned(model, X, Y)
    except (ValueError, FloatingPointError) as error:
        assert "C" in str(error)  # noqa: PT017


@EXACT
@SVC_LOSSES
@pytest.mark.parametrize("tiny", [1e-305, 1e-310, 5e-324])
def test_weights_beyond_double_precision_count_as_zero(solver, loss, tiny):
    weight = np.where(np.arange(len(Y)) % 3 == 0, tiny, 1.0)
    setting = {"solver": solver, "loss": loss, "tol": 1e-6, "random_state": 0, "max_iter": 20_000}
    model = free_svc(**setting).fit(X, Y, sample_weight=weight)
    same = free_svc(**setting).fit(X, Y, sample_weight=np.where(weight < 1.0, 0.0, 1.0))
    np.testing.assert_array_equal(model.coef_, same.coef_)


@MODELS
def test_costs_beyond_double_precision_are_refused(Model, X, y):
    with pytest.raises(ValueError, match=r"C_i is at most 1e-302, too small .* Raise C"):
        Model(C=1e-300).fit(X, y, sample_weight=np.full(len(y), 0.01))
    with pytest.raises(ValueError, match="too small"):
        Model(C=1e-310).fit(X, y)


def test_weights_that_cancel_are_refused():
    model = free_svc(class_weight={Y.min(): 0.0, Y.max(): 1.0})
    with pytest.raises(ValueError, match="sample_weight times class_weight"):
        model.fit(X, Y, sample_weight=(Y.min() == Y).astype(float))


@EXACT
def test_extreme_weights_are_refused(solver):
    with pytest.raises(ValueError, match=r"overflow\. Scale X and y .* or lower C"):
        free_svc(solver=solver).fit(X, Y, np.logspace(-150, 150, 30))
    with pytest.raises(ValueError, match="costs C_i sum to inf"):
        free_svc(solver=solver, C=1e308).fit(X, Y)


@EXACT
def test_very_unequal_weights_are_solved(solver):
    model = free_svc(solver=solver)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, Y, np.logspace(-20, 20, 30))
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("outlier", [1e6, 1e12])
@EXACT
@SVC_LOSSES
def test_an_outlier_does_not_stop_the_fit(solver, loss, outlier):
    rows = X.copy()
    rows[3] *= outlier
    proven_or_warned(free_svc(solver=solver, loss=loss), rows, Y)
