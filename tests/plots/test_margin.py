"""Decision regions, margins, support vectors and slacks are drawn where they are."""

import numpy as np
import pandas as pd
import pytest
import sklearn.svm as peer
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.multiclass import OneVsOneClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from drawing import AT, CLASSES, MOONS, SEVERAL, SIDES, SINE, X, Y, legend, plt, rendered
from maxmargin import SVC, SVR, LinearSVC, NuSVC
from maxmargin.plots import MarginDisplay
from synthetic import free_svc


def test_the_boundary_and_the_margins_are_drawn():
    display = rendered(MarginDisplay.from_estimator(free_svc().fit(MOONS, SIDES), MOONS, SIDES))
    np.testing.assert_array_equal(display.lines_.levels, [-1.0, 0.0, 1.0])
    assert {"f = 0", "f = ±1", "class 0", "class 1"} <= set(legend(display))


def test_support_vectors_are_ringed_free_and_bounded_apart():
    model = SVC(gamma=1.0).fit(MOONS, SIDES)
    display = rendered(MarginDisplay.from_estimator(model, MOONS, SIDES))
    free, bounded = display.free_.get_offsets(), display.bounded_.get_offsets()
    certificate = model.certificate_
    assert len(free) == certificate.n_support_free
    assert len(bounded) == certificate.n_support_bounded
    ringed = {tuple(point) for point in np.vstack([free, bounded])}
    assert ringed == {tuple(point) for point in model.support_vectors_}


def test_a_hard_margin_has_no_bounded_support_vectors():
    rows, labels = X + Y[:, np.newaxis] * 5.0, Y
    model = LinearSVC(C=np.inf, loss="hinge", penalized_intercept=False).fit(0.1 * rows, labels)
    display = rendered(MarginDisplay.from_estimator(model, 0.1 * rows, labels))
    assert display.bounded_ is None
    assert len(display.free_.get_offsets()) == model.certificate_.n_support_free


def test_slacks_go_straight_to_the_margin_of_a_linear_machine():
    model = free_svc().fit(MOONS, SIDES)
    display = rendered(MarginDisplay.from_estimator(model, MOONS, SIDES))
    y = 2.0 * SIDES - 1.0
    slacks = np.maximum(0.0, 1.0 - y * model.decision_function(MOONS))
    lines = display.slacks_.get_segments()
    assert len(lines) == np.count_nonzero(slacks > 0.02)
    ends = np.array([line[-1] for line in lines])
    np.testing.assert_allclose(np.abs(model.decision_function(ends)), 1.0, atol=1e-6)
    lengths = np.sort([np.linalg.norm(line[-1] - line[0]) for line in lines])
    expected = np.sort(slacks[slacks > 0.02]) / np.linalg.norm(model.coef_)
    np.testing.assert_allclose(lengths, expected, rtol=1e-4)


def test_slacks_of_a_kernel_machine_end_on_the_margin():
    model = SVC(gamma=1.0).fit(MOONS, SIDES)
    display = MarginDisplay.from_estimator(model, MOONS, SIDES)
    assert len(display.slack_lines) > 5
    assert np.abs(np.abs(model.decision_function(display.slack_lines[:, 1])) - 1.0).max() < 0.02


@pytest.mark.parametrize("model", [SVC(), free_svc(), SVC(multi_class="crammer_singer")], ids=repr)
def test_several_classes_have_regions_and_borders(model):
    display = rendered(MarginDisplay.from_estimator(model.fit(SEVERAL, CLASSES), SEVERAL, CLASSES))
    assert len(display.samples_) == 3
    shown = np.unique(display.grid.values)
    assert set(shown) <= {0.0, 1.0, 2.0}
    assert display.slacks_ is None


def test_beyond_two_dimensions_the_plane_is_that_of_the_principal_components():
    display = rendered(MarginDisplay.from_estimator(SVC().fit(X, Y), X, Y))
    assert display.labels[0].startswith("principal component 1 (")
    centred = X - X.mean(axis=0)
    first = np.linalg.svd(centred, full_matrices=False)[2][0]
    np.testing.assert_allclose(np.abs(display.points[:, 0]), np.abs(centred @ first))


def test_a_plane_through_two_named_features():
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = SVC().fit(frame, Y)
    display = rendered(MarginDisplay.from_estimator(model, frame, Y, features=("d", "b")))
    assert display.labels == ("d", "b")
    np.testing.assert_array_equal(display.points, X[:, [3, 1]])
    assert display.ax_.get_xlabel() == "d"


@pytest.mark.parametrize(
    "model", [peer.SVC(), NuSVC(nu=0.2), peer.LinearSVC()], ids=lambda m: type(m).__module__
)
def test_models_of_others_are_drawn_too(model):
    model.fit(MOONS, SIDES)
    display = rendered(MarginDisplay.from_estimator(model, MOONS, SIDES))
    lifted = np.column_stack([display.grid.u.ravel(), display.grid.v.ravel()])
    np.testing.assert_allclose(display.grid.values.ravel(), model.decision_function(lifted))
    support = getattr(model, "support_", [])
    ringed = display.support.free | display.support.bounded
    np.testing.assert_array_equal(np.flatnonzero(ringed), np.sort(support))
    assert [len(dots.get_offsets()) for dots in display.samples_] == [30, 30]


def test_sparse_rows_are_drawn_as_dense_ones_are():
    stored = sparse.csr_matrix(MOONS)
    display = rendered(MarginDisplay.from_estimator(SVC().fit(stored, SIDES), stored, SIDES))
    dense = MarginDisplay.from_estimator(SVC().fit(MOONS, SIDES), MOONS, SIDES)
    np.testing.assert_array_equal(display.points, MOONS)
    np.testing.assert_allclose(display.grid.values, dense.grid.values, atol=1e-2)
    np.testing.assert_array_equal(display.support.bounded, dense.support.bounded)
    np.testing.assert_array_equal(display.support.free, dense.support.free)


def test_one_feature_is_refused():
    model = SVC().fit(MOONS[:, :1], SIDES)
    with pytest.raises(ValueError, match="MarginHistogramDisplay"):
        MarginDisplay.from_estimator(model, MOONS[:, :1], SIDES)


def test_axes_that_are_given_are_used():
    _, ax = plt.subplots()
    display = MarginDisplay.from_estimator(SVC().fit(MOONS, SIDES), MOONS, SIDES, ax=ax)
    assert display.ax_ is ax


def test_weights_leave_samples_without_a_ring():
    weight = np.where(np.arange(60) < 10, 0.0, 1.0)
    model = SVC(gamma=1.0).fit(MOONS, SIDES, sample_weight=weight)
    display = MarginDisplay.from_estimator(model, MOONS, SIDES, sample_weight=weight)
    assert not (display.support.free | display.support.bounded)[:10].any()


def test_a_regression_has_no_margin_to_draw():
    with pytest.raises(ValueError, match="TubeDisplay"):
        MarginDisplay.from_estimator(SVR().fit(AT, SINE), AT, SINE)


def test_a_margin_of_what_is_not_fitted_is_refused():
    with pytest.raises(NotFittedError):
        MarginDisplay.from_estimator(SVC(), MOONS, SIDES)


def test_pipelines_are_drawn_in_the_features_that_they_take():
    rows = MOONS * [100.0, 1.0]
    model = make_pipeline(StandardScaler(), SVC(gamma=1.0)).fit(rows, SIDES)
    display = rendered(MarginDisplay.from_estimator(model, rows, SIDES))
    ringed = display.support.free | display.support.bounded
    np.testing.assert_array_equal(np.flatnonzero(ringed), np.sort(model[-1].support_))
    np.testing.assert_array_equal(display.points, rows)


def test_machines_of_some_of_the_samples_are_not_drawn_together():
    model = OneVsOneClassifier(SVC()).fit(SEVERAL, CLASSES)
    with pytest.raises(ValueError, match="OneVsRestClassifier"):
        MarginDisplay.from_estimator(model, SEVERAL, CLASSES)


def test_sparse_rows_are_drawn_as_the_same_rows():
    stored = sparse.csr_matrix(MOONS)
    display = rendered(MarginDisplay.from_estimator(SVC().fit(stored, SIDES), stored, SIDES))
    dense = MarginDisplay.from_estimator(SVC().fit(MOONS, SIDES), MOONS, SIDES)
    np.testing.assert_array_equal(display.points, dense.points)
    np.testing.assert_allclose(display.grid.values, dense.grid.values, atol=1e-3)
    np.testing.assert_array_equal(display.support.bounded, dense.support.bounded)
