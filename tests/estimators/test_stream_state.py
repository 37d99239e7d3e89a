"""Streams of PegasosClassifier: outliers, weights, failures and parameters that change."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

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
        {"projection": True}, {"gamma": 3.0}, {"class_weight": {0: 2.0}}, {"max_support": 5},
    ],
    ids=lambda change: next(iter(change)),
)  # fmt: skip
@pytest.mark.parametrize("begun", ["stream", "fit"])
def test_a_parameter_must_not_change_within_a_stream(change, begun):
    model = PegasosClassifier(1.0 if begun == "fit" else 1e-2, tol=9.0, random_state=0)
    if begun == "fit":
        model.fit(X[:400], TWO[:400])
        change = {"lam": 2.0} if "lam" in change else change
    else:
        model.partial_fit(X[:400], TWO[:400], classes=[0, 1])
    model.set_params(**change)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match=rf"{next(iter(change))}=.* differs from .* began.*clone"):
        model.partial_fit(X[:200], TWO[:200])
    np.testing.assert_array_equal(model.decision_function(X), before)


def test_class_weights_changed_in_place_are_refused():
    weights = {0: 1.0, 1: 2.0}
    model = streamed(X[:400], TWO[:400], class_weight=weights)
    weights[1] = 3.0
    with pytest.raises(ValueError, match=r"class_weight=.* differs"):
        model.partial_fit(X[:200], TWO[:200])


@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
@pytest.mark.parametrize("begun", ["stream", "fit"])
def test_the_ball_does_not_shrink_after_heavy_weights(multi_class, begun):
    heavy, light = np.full(200, 100.0), np.full(200, 1e-6)
    model = PegasosClassifier(
        1e-2, projection=True, multi_class=multi_class, random_state=0, tol=9.0
    )
    if begun == "fit":
        model.fit(10.0 * X[:200], TWO[:200], sample_weight=heavy)
        model.partial_fit(X[:200], TWO[:200], sample_weight=heavy)
    else:
        model.partial_fit(X[:200], TWO[:200], classes=[0, 1], sample_weight=heavy)
    radius = model._streams[0].radius
    for _ in range(20):
        model.partial_fit(X[:200], TWO[:200], sample_weight=light)
    assert model._streams[0].radius >= radius


def test_a_stream_goes_on_in_the_ball_that_fit_left():
    model = PegasosClassifier(
        1.0, projection=True, random_state=0, tol=0.2, class_weight={0: 1e4, 1: 1e4}
    )
    model.fit(0.1 * X[:200], TWO[:200])
    before = np.linalg.norm(model.coef_)
    assert before > 2.0  # longer than 1/√λ
    model.partial_fit(0.1 * X[:20], TWO[:20], sample_weight=np.full(20, 1e-6))
    assert model._streams[0].radius >= before


@pytest.mark.parametrize("scale", [0.1, 10.0])
def test_rules_for_gamma_wait_for_rows_that_differ(scale):
    settings: dict[str, Any] = {
        "kernel": "poly",
        "max_support": 500,
        "random_state": 0,
        "lam": 1e-3,
    }
    model, clean = PegasosClassifier(**settings), PegasosClassifier(**settings)
    model.partial_fit(np.zeros((200, 4)), TWO[:200], classes=[0, 1])
    for begin in range(0, 4000, 200):
        batch = slice(begin, begin + 200)
        for each in (model, clean):
            each.partial_fit(scale * X[batch], TWO[batch], classes=[0, 1])
    assert model._fitted_kernel == clean._fitted_kernel
    assert model.score(scale * X, TWO) > clean.score(scale * X, TWO) - 0.05


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("row", [0.0, 0.3])
@pytest.mark.parametrize("place", [1, 5, 10])
def test_equal_rows_take_one_place_among_the_support_vectors(row, place, storage):
    y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)
    model = PegasosClassifier(
        1e-3, kernel="poly", degree=2, coef0=1.0, max_support=500, random_state=0
    )
    for begin in range(0, 3000, 200):
        batch = slice(begin, begin + 200)
        if begin == 200 * place:
            model.partial_fit(storage(np.full((200, 4), row)), y[batch])
        model.partial_fit(storage(X[batch]), y[batch], classes=[0, 1])
    assert model.score(storage(X), y) > 0.95
