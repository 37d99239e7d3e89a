"""Where scales are wild the fit ends, and says what scaling would do."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from choices import EXACT, SVC_LOSSES, SVR_LOSSES
from maxmargin import DataWarning, Status
from maxmargin.data.checks import wild_scales
from synthetic import csr, free_svc, free_svr, overlapping, regression

X, Y = overlapping(30, 3)
XR, YR = regression(30, 3)


def check_proven_or_warned(model, X, y):
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
    assert check_proven_or_warned(free_svc(), rows, Y) == []


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
        check_proven_or_warned(model, size * X, Y)
    except (ValueError, FloatingPointError) as error:
        assert "X" in str(error)  # noqa: PT017


@pytest.mark.parametrize("size", [1e-300, 1e-150, 1e-30, 1e30, 1e150, 1e300])
@EXACT
@SVR_LOSSES
def test_extreme_targets_are_solved_or_refused(solver, loss, size):
    model = free_svr(solver=solver, loss=loss)
    try:
        check_proven_or_warned(model, XR, size * YR)
    except (ValueError, FloatingPointError) as error:
        assert "y" in str(error)  # noqa: PT017


@pytest.mark.parametrize("C", [1e-300, 1e-30, 1e30, 1e300])
@EXACT
@SVC_LOSSES
def test_extreme_costs_are_solved_or_refused(solver, loss, C):
    model = free_svc(solver=solver, loss=loss, C=C)
    try:
        check_proven_or_warned(model, X, Y)
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
    check_proven_or_warned(free_svc(solver=solver, loss=loss), rows, Y)
