"""PegasosClassifier(multi_class="crammer_singer"): fits and streams."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.preprocessing import scale

from real_data import CANCER
from synthetic import free_svc, loose_pegasos

X, Y = CANCER
IRIS = load_iris(return_X_y=True)


def one_problem(**settings):
    return loose_pegasos(multi_class="crammer_singer", **({"lam": 0.1} | settings))


ROWS, LABELS = scale(IRIS[0]), np.array(["ant", "bee", "cat"])[IRIS[1]]


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
def test_one_problem_of_all_classes_is_that_of_linear_svc(storage):
    model = one_problem().fit(storage(ROWS), LABELS)
    exact = free_svc(lam=0.1, multi_class="crammer_singer", tol=1e-6).fit(ROWS, LABELS)
    assert model.certificate_.relative_gap <= 0.05
    assert model.certificate_.dual <= exact.certificate_.primal
    assert exact.certificate_.dual <= model.certificate_.primal
    assert model.coef_.shape == (3, 4)
    assert model.t_ == 150 * model.n_iter_
    assert len(model.support_) > 0


def test_the_bound_of_one_problem_is_finite_without_a_free_intercept():
    assert one_problem(fit_intercept=False).fit(ROWS, LABELS).bound_ < np.inf
    assert one_problem().fit(ROWS, LABELS).bound_ == np.inf


@pytest.mark.parametrize("settings", [{}, {"penalized_intercept": True}, {"fit_intercept": False}])
def test_a_stream_of_one_problem_learns(settings):
    model = one_problem(**settings)
    for _ in range(20):
        for batch in np.array_split(np.random.default_rng(0).permutation(150), 5):
            model.partial_fit(ROWS[batch], LABELS[batch], classes=["ant", "bee", "cat"])
    assert model.coef_.shape == (3, 4)
    assert model.intercept_.shape == (3,)
    assert model.t_ == 20 * 150
    assert model.n_iter_ == 100
    assert model.score(ROWS, LABELS) > 0.8


def test_two_classes_of_one_problem_have_one_row_in_a_stream():
    model = one_problem().partial_fit(X, Y, classes=[0, 1])
    assert model.coef_.shape == (1, X.shape[1])
    assert model.intercept_.shape == (1,)
    assert model.score(X, Y) > 0.9


def test_a_stream_of_one_problem_goes_on_from_fit():
    model = one_problem().fit(ROWS, LABELS)
    before, steps = model.coef_.copy(), model.t_
    model.partial_fit(ROWS[:5], LABELS[:5])
    assert np.abs(model.coef_ - before).max() < 0.1 * np.abs(before).max()
    assert model.t_ == steps + 5
    with pytest.raises(AttributeError, match="stream is not kept"):
        _ = model.certificate_


def test_a_stream_of_one_problem_can_be_pickled():
    kept = one_problem().partial_fit(ROWS, LABELS, classes=np.unique(LABELS))
    stored = pickle.loads(pickle.dumps(kept))
    for model in (kept, stored):
        model.partial_fit(sparse.csr_matrix(ROWS), LABELS)
    np.testing.assert_array_equal(kept.coef_, stored.coef_)
    np.testing.assert_array_equal(kept.intercept_, stored.intercept_)


def test_weights_of_a_stream_of_one_problem_are_costs():
    unknown = one_problem().partial_fit(
        ROWS, LABELS, classes=np.unique(LABELS), sample_weight=(LABELS != "cat").astype(float)
    )
    assert "cat" not in unknown.predict(ROWS[LABELS == "ant"])
    with pytest.raises(ValueError, match="negative"):
        one_problem().partial_fit(
            ROWS, LABELS, classes=np.unique(LABELS), sample_weight=np.full(150, -1.0)
        )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"multi_class": "ovo"}, "multi_class must be one of 'ovr', 'crammer_singer', got 'ovo'"),
        ({"loss": "squared_hinge"}, "got loss='squared_hinge'. Use loss='hinge'"),
        ({"kernel": "rbf"}, "got kernel='rbf'. Use kernel=None, or multi_class='ovr'"),
    ],
    ids=str,
)
def test_what_one_problem_does_not_go_with_is_named(settings, message):
    with pytest.raises(ValueError, match=message):
        one_problem().set_params(**settings).fit(ROWS, LABELS)
    with pytest.raises(ValueError, match=message):
        one_problem().set_params(**settings).partial_fit(ROWS, LABELS, classes=np.unique(LABELS))


@pytest.mark.parametrize("kinds", [("ovr", "crammer_singer"), ("crammer_singer", "ovr")], ids=str)
def test_a_stream_of_another_kind_than_fit_is_refused(kinds):
    model = loose_pegasos(lam=0.1, tol=0.2, multi_class=kinds[0]).fit(ROWS, LABELS)
    model.set_params(multi_class=kinds[1])
    with pytest.raises(ValueError, match=f"multi_class='{kinds[1]}' differs from multi_class"):
        model.partial_fit(ROWS, LABELS)
    assert model.fit(ROWS, LABELS).coef_.shape == (3, 4)
