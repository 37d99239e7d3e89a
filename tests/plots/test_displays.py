"""maxmargin.plots: what the displays draw."""

import itertools
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn.svm as peer
from scipy import sparse
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsOneClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC, SVR, LinearSVC, NuSVC, NuSVR, PegasosClassifier
from synthetic import classes, free_svc, overlapping, regression

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402 - after the backend is chosen

from maxmargin import plots  # noqa: E402
from maxmargin.plots import (  # noqa: E402
    ConvergenceDisplay,
    InfluenceDisplay,
    MarginDisplay,
    MarginHistogramDisplay,
    PathDisplay,
    TubeDisplay,
    TuningDisplay,
)

MOONS, SIDES = make_moons(60, noise=0.25, random_state=0)
X, Y = overlapping()
SEVERAL, CLASSES = classes(d=2, n_classes=3)
AT = np.random.default_rng(0).uniform(0.0, 6.0, (60, 1))
SINE = np.sin(AT[:, 0]) + 0.3 * np.random.default_rng(1).normal(size=60)


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def rendered(display):
    """Draw it: what cannot be drawn fails only then."""
    display.figure_.canvas.draw()
    assert display.ax_.figure is display.figure_
    assert display.describe().endswith(".")
    return display


def legend(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


# Margins


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


# Convergence


def test_the_gap_closes():
    model = free_svc(solver="dual_cd", tol=1e-6, random_state=0).fit(X, Y)
    display = rendered(ConvergenceDisplay.from_estimator(model))
    gaps = display.lines_[0].get_ydata()
    last = model.history_[-1]
    assert gaps[-1] == pytest.approx(last.gap / last.dual)
    assert display.ax_.get_yscale() == "log"
    assert display.ax_.get_xlabel() == "seconds"


def test_primal_comes_from_above_and_dual_from_below():
    model = free_svc(solver="dual_cd", tol=1e-6, random_state=0).fit(X, Y)
    display = rendered(ConvergenceDisplay.from_estimator(model, x="epoch", quantity="objective"))
    primal, dual = (line.get_ydata() for line in display.lines_)
    assert (primal >= dual).all()
    assert primal[-1] == model.history_[-1].primal


def test_several_solvers_in_one_picture_with_the_bound_of_pegasos():
    pegasos = PegasosClassifier(1e-2, fit_intercept=False, averaging="uniform", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        pegasos.set_params(sampling="uniform", max_iter=20).fit(X, Y)
    other = free_svc(lam=1e-2, fit_intercept=False).fit(X, Y)
    models = {"Newton": other, "Pegasos": pegasos}
    display = rendered(ConvergenceDisplay.from_estimator(models, x="epoch"))
    assert legend(display) == ["Newton", "Pegasos", "Pegasos: bound of the theorem"]
    bound = display.lines_[-1].get_ydata()
    dual = pegasos.history_[-1].dual
    assert bound[-1] == pytest.approx(pegasos.bound_ / dual)
    assert (np.diff(bound[1:]) < 0.0).all()


def test_without_a_theorem_there_is_no_bound():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = PegasosClassifier(1e-2, max_iter=5, random_state=0).fit(X, Y)
    assert len(rendered(ConvergenceDisplay.from_estimator(model)).lines_) == 1


def test_each_problem_of_several_classes_has_a_line():
    model = free_svc(solver="dual_cd", random_state=0).fit(SEVERAL, CLASSES)
    assert len(rendered(ConvergenceDisplay.from_estimator(model)).lines_) == 3


@pytest.mark.parametrize("option", [{"x": "steps"}, {"quantity": "loss"}])
def test_unknown_quantities_are_refused(option):
    with pytest.raises(ValueError, match=next(iter(option))):
        ConvergenceDisplay.from_estimator(free_svc().fit(X, Y), **option)


# Margins' distribution


def test_every_margin_is_counted():
    model = SVC(gamma=1.0).fit(MOONS, SIDES)
    display = rendered(MarginHistogramDisplay.from_estimator(model, MOONS, SIDES, bins=10))
    assert display.counts_[-1].sum() == 60
    wrong = float((model.predict(MOONS) != SIDES).mean())
    assert (display.margins <= 0.0).mean() == pytest.approx(wrong)
    assert [line.get_xdata()[0] for line in display.lines_] == [0.0, 1.0]


def test_margins_of_several_classes_are_against_the_best_rival():
    model = free_svc().fit(SEVERAL, CLASSES)
    display = rendered(MarginHistogramDisplay.from_estimator(model, SEVERAL, CLASSES))
    wrong = float((model.predict(SEVERAL) != CLASSES).mean())
    assert (display.margins <= 0.0).mean() == pytest.approx(wrong)


# Paths, tuning, tubes, influence


def test_a_path_of_weights():
    Cs = [1.0, 0.01, 0.1]
    display = rendered(PathDisplay.from_estimator(free_svc(), X, Y, Cs=Cs, quantity="weights"))
    np.testing.assert_array_equal(display.Cs, [0.01, 0.1, 1.0])
    last = free_svc(1.0).fit(X, Y).coef_[0]
    np.testing.assert_allclose(display.weights[-1], last)
    assert len(display.lines_) == X.shape[1]


def test_a_path_of_duals_lies_between_zero_and_one():
    display = rendered(PathDisplay.from_estimator(SVC(), MOONS, SIDES, Cs=[0.1, 1.0, 10.0]))
    assert display.shares.shape == (3, 60)
    assert display.shares.min() >= 0.0
    assert display.shares.max() <= 1.0 + 1e-12


def test_a_path_of_kernel_weights_is_refused():
    with pytest.raises(ValueError, match="quantity='duals'"):
        PathDisplay.from_estimator(SVC(), MOONS, SIDES, Cs=[1.0], quantity="weights")


def test_a_path_of_several_classes_is_refused():
    with pytest.raises(ValueError, match="one problem"):
        PathDisplay.from_estimator(free_svc(), SEVERAL, CLASSES, Cs=[1.0])


def test_the_map_has_every_score_in_its_cell():
    grid = {"gamma": [1.0, 0.1], "C": [10.0, 1.0, 0.1]}
    search = GridSearchCV(SVC(), grid, cv=3).fit(MOONS, SIDES)
    display = rendered(TuningDisplay.from_cv_results(search))
    np.testing.assert_array_equal(display.Cs, [0.1, 1.0, 10.0])
    for place, params in enumerate(search.cv_results_["params"]):
        row = list(display.gammas).index(params["gamma"])
        column = list(display.Cs).index(params["C"])
        assert display.scores[row, column] == search.cv_results_["mean_test_score"][place]
    assert display.best[2] == search.best_score_
    assert display.mesh_.get_array().size == 6


def test_a_map_of_one_cell():
    one = TuningDisplay.from_estimator(SVC(), MOONS, SIDES, Cs=[2.0], gammas=[0.5], cv=2)
    display = rendered(one)
    expected = cross_val_score(SVC(C=2.0, gamma=0.5), MOONS, SIDES, cv=2).mean()
    assert display.scores.tolist() == [[pytest.approx(expected)]]
    assert display.best == (2.0, 0.5, pytest.approx(expected))


def test_a_map_needs_both_axes():
    search = GridSearchCV(SVC(), {"C": [1.0, 2.0]}, cv=2).fit(MOONS, SIDES)
    with pytest.raises(ValueError, match="C and gamma"):
        TuningDisplay.from_cv_results(search)


def test_samples_outside_the_tube_are_the_bounded_ones():
    model = SVR(epsilon=0.2, tol=1e-6).fit(AT, SINE)
    display = rendered(TubeDisplay.from_estimator(model, AT, SINE))
    outside = np.abs(SINE - model.predict(AT)) > 0.2 + 1e-3
    np.testing.assert_array_equal(outside, outside & display.support.bounded)
    assert len(display.bounded_.get_offsets()) == model.certificate_.n_support_bounded


def test_the_tube_of_a_nu_machine_is_the_one_it_found():
    model = NuSVR(nu=0.3).fit(AT, SINE)
    display = rendered(TubeDisplay.from_estimator(model, AT, SINE))
    assert display.epsilon == model.epsilon_


def test_a_tube_along_one_feature_of_several():
    rows, targets = regression()
    model = SVR(epsilon=0.2).fit(rows, targets)
    assert (
        rendered(TubeDisplay.from_estimator(model, rows, targets, feature=2)).label == "feature 2"
    )


def test_the_most_influential_sample_moves_f_most():
    model = SVC(gamma=1.0, tol=1e-6).fit(MOONS, SIDES)
    display = rendered(InfluenceDisplay.from_estimator(model, MOONS, SIDES, candidates=60))
    first = display.ranking[0]
    f, kept = model.decision_function(MOONS), np.arange(60) != first
    without = SVC(gamma=1.0, tol=1e-6).fit(MOONS[kept], SIDES[kept]).decision_function(MOONS)
    assert display.influence[first] == pytest.approx(np.sqrt(np.mean((without - f) ** 2)))
    away = np.setdiff1d(np.arange(60), model.support_)
    assert (display.influence[away] == 0.0).all()
    assert display.names_[0].get_text() == str(first)


def test_no_more_than_the_candidates_are_tried():
    model = SVC(gamma=1.0).fit(MOONS, SIDES)
    display = InfluenceDisplay.from_estimator(model, MOONS, SIDES, candidates=3)
    assert np.count_nonzero(display.influence > 0.0) == 3
    with pytest.raises(ValueError, match="candidates"):
        InfluenceDisplay.from_estimator(model, MOONS, SIDES, candidates=0)


def test_influence_is_for_two_classes():
    with pytest.raises(ValueError, match="two classes"):
        InfluenceDisplay.from_estimator(SVC().fit(SEVERAL, CLASSES), SEVERAL, CLASSES)


# All of them


def test_matplotlib_is_not_imported_before_a_picture_is_drawn():
    code = "import sys, maxmargin.plots; assert 'matplotlib' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"maxmargin\[plot\]"):
        ConvergenceDisplay.from_estimator(free_svc().fit(X, Y))


def test_every_display_can_be_drawn_again():
    display = MarginHistogramDisplay.from_estimator(SVC().fit(MOONS, SIDES), MOONS, SIDES)
    first = display.ax_
    assert display.plot() is display
    assert display.ax_ is not first


def test_colours_differ_in_lightness_too():
    colours = [matplotlib.colors.to_rgb(c) for c in plots._style.COLOURS[:2]]
    lightness = [0.21 * r + 0.72 * g + 0.07 * b for r, g, b in colours]
    assert abs(lightness[0] - lightness[1]) > 0.05


def test_data_frames_give_no_warning_of_names():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 2)), columns=["a", "b"])
    y = np.where(frame["a"] + 0.5 * rng.normal(size=40) > 0.0, 1, 0)
    model, regressor = SVC().fit(frame, y), SVR().fit(frame, frame["b"])
    influence = rendered(InfluenceDisplay.from_estimator(model, frame, y, candidates=2))
    np.testing.assert_array_equal(influence.points, frame.to_numpy())
    assert influence.ax_.get_xlabel() == "a"
    tube = rendered(TubeDisplay.from_estimator(regressor, frame, frame["b"]))
    np.testing.assert_array_equal(tube.x, frame["a"])
    np.testing.assert_array_equal(tube.y, frame["b"])


def test_numbers_of_near_samples_do_not_cover_each_other():
    points = np.array([[0.0, 0.0], [0.01, 0.01], [1.0, 1.0], [0.02, 0.0]])
    grids = tuple(np.array([[0.0, 1.0], [0.0, 1.0]]) for _ in range(4))
    influence = np.array([4.0, 3.0, 2.0, 1.0])
    display = InfluenceDisplay(
        points=points,
        y=np.zeros(4, int),
        classes=np.array([0]),
        influence=influence,
        grids=grids,
        labels=("a", "b"),
    )
    display.plot()
    display.figure_.canvas.draw()
    boxes = [name.get_window_extent() for name in display.names_]
    assert len(boxes) == 4
    assert not any(p.overlaps(q) for p, q in itertools.combinations(boxes, 2))


def test_no_colour_fades_on_white():
    for name in plots._style.COLOURS:
        r, g, b = matplotlib.colors.to_rgb(name)
        assert 0.21 * r + 0.72 * g + 0.07 * b < 0.75


def test_the_legend_of_a_tube_covers_no_samples():
    model = SVR(epsilon=0.2).fit(AT, SINE)
    display = rendered(TubeDisplay.from_estimator(model, AT, SINE))
    box = display.ax_.get_legend().get_window_extent()
    assert box.y1 <= display.ax_.get_window_extent().y0


def test_a_regression_has_no_margin_to_draw():
    with pytest.raises(ValueError, match="TubeDisplay"):
        MarginDisplay.from_estimator(SVR().fit(AT, SINE), AT, SINE)


def test_a_margin_of_what_is_not_fitted_is_refused():
    with pytest.raises(NotFittedError):
        MarginDisplay.from_estimator(SVC(), MOONS, SIDES)
