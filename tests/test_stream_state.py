"""Streams of PegasosClassifier: outliers, weights, failures and parameters that change."""

import numpy as np
import pytest

from maxmargin import PegasosClassifier

RNG = np.random.default_rng(1)
X = RNG.normal(size=(4000, 4))
TWO = (X[:, 0] + 0.5 > 0).astype(int)
THREE = TWO + (X[:, 1] > 1.0)
KINDS = {
    "hinge": {},
    "squared hinge": {"loss": "squared_hinge"},
    "projection": {"projection": True},
    "one problem": {"multi_class": "crammer_singer"},
    "kernel": {"kernel": "poly", "degree": 1, "gamma": 1.0, "max_support": None},
}
ALL_KINDS = pytest.mark.parametrize("settings", KINDS.values(), ids=KINDS)


def streamed(rows, y, **settings):
    model = PegasosClassifier(random_state=0, **settings)
    for begin in range(0, len(y), 200):
        batch = slice(begin, begin + 200)
        model.partial_fit(rows[batch], y[batch], classes=np.unique(y))
    return model


@ALL_KINDS
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("case", ["first", "second", "zeros"])
def test_a_stream_recovers_from_an_odd_batch(settings, y, case):
    rows = X.copy()
    if case == "zeros":
        rows[:200] = 0.0
    else:
        rows[17 if case == "first" else 217] *= 1e6
    clean = streamed(X, y, **settings).score(X, y)
    assert streamed(rows, y, **settings).score(X, y) > clean - 0.05


@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
def test_small_weights_do_not_shrink_the_ball(multi_class):
    model = streamed(X, TWO, lam=1e-6, projection=True, multi_class=multi_class)
    before = np.linalg.norm(model.coef_)
    model.partial_fit(X[:200], TWO[:200], sample_weight=np.full(200, 1e-6))
    assert np.linalg.norm(model.coef_) > 0.8 * before


def state_of(model):
    return {name: np.copy(value) for name, value in vars(model).items() if name.endswith("_")}


@ALL_KINDS
@pytest.mark.parametrize("begun", [False, True])
def test_a_batch_that_fails_leaves_the_model_as_it_was(settings, begun, monkeypatch):
    model, whole = (PegasosClassifier(random_state=0, **settings) for _ in range(2))
    if begun:
        for each in (model, whole):
            each.partial_fit(X[:200], THREE[:200], classes=[0, 1, 2])
    before, names = state_of(model), set(vars(model))
    with pytest.raises(ValueError, match="label 7"):
        model.partial_fit(X[:3], [0, 1, 7], classes=[0, 1, 2])
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.full((3, 4), np.nan), [0, 1, 2], classes=[0, 1, 2])
    with monkeypatch.context() as patch:
        patch.setattr(PegasosClassifier, "_store_streams", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            model.partial_fit(X[200:400], THREE[200:400], classes=[0, 1, 2])
    assert set(vars(model)) == names
    for name, value in state_of(model).items():
        np.testing.assert_array_equal(value, before[name])
    for each in (model, whole):
        each.partial_fit(X[400:600], THREE[400:600], classes=[0, 1, 2])
    np.testing.assert_array_equal(model.decision_function(X), whole.decision_function(X))


def test_a_batch_that_overflows_is_told_and_forgotten():
    model = streamed(X[:400], TWO[:400])
    before = model.coef_.copy()
    with pytest.raises(FloatingPointError, match="diverged on this stream"):
        model.partial_fit(np.full((2, 4), 1e150), [0, 1])
    np.testing.assert_array_equal(model.coef_, before)
    assert np.isfinite(model.partial_fit(X[:200], TWO[:200]).coef_).all()


@pytest.mark.parametrize(
    "change",
    [
        {"lam": 1.0}, {"loss": "squared_hinge"}, {"fit_intercept": False}, {"averaging": "none"},
        {"penalized_intercept": True}, {"multi_class": "crammer_singer"}, {"kernel": "rbf"},
        {"projection": True}, {"gamma": 3.0},
    ],
    ids=lambda change: next(iter(change)),
)  # fmt: skip
def test_a_parameter_must_not_change_within_a_stream(change):
    model = streamed(X[:400], TWO[:400]).set_params(**change)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match=rf"{next(iter(change))}=.* differs from .* began.*clone"):
        model.partial_fit(X[:200], TWO[:200])
    np.testing.assert_array_equal(model.decision_function(X), before)
