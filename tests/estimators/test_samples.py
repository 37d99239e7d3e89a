"""samples(X, y): what each training sample is to a model."""

import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import maxmargin
from maxmargin import (
    SVC,
    SVR,
    EmbeddedSVC,
    EmbeddedSVR,
    LinearSVC,
    NuSVC,
    NuSVR,
    OneClassSVM,
    PegasosClassifier,
)
from synthetic import free_svc, free_svr, overlapping, regression

CLASSIFIERS = [
    SVC(C=2.0),
    SVC(C=2.0, kernel="linear", fit_intercept=False),
    SVC(solver="qp"),
    NuSVC(nu=0.4),
    free_svc(),
    free_svc(fit_intercept=False, class_weight="balanced"),
    free_svc(loss="squared_hinge", penalized_intercept=True),
    free_svc(lam=0.05),
    PegasosClassifier(lam=0.1),
    PegasosClassifier(lam=0.1, kernel="rbf", tol=0.5),
]
REGRESSORS = [SVR(epsilon=0.3), NuSVR(), free_svr(epsilon=0.3), free_svr(loss="squared")]


@pytest.mark.parametrize("model", CLASSIFIERS, ids=repr)
def test_the_table_is_what_its_columns_say(model):
    X, y = overlapping()
    table = model.fit(X, y).samples(X, y)
    margin = y * model.decision_function(X)
    np.testing.assert_allclose(table.margin, margin)
    np.testing.assert_allclose(table.slack, np.maximum(0.0, 1.0 - margin), atol=1e-12)
    assert (table.alpha >= 0.0).all()
    assert (table.alpha <= table.bound * (1 + 1e-12)).all()
    np.testing.assert_array_equal(table.case == 3, table.alpha == 0.0)
    if getattr(model, "kernel", None) != "rbf" or not hasattr(model, "lam"):
        np.testing.assert_array_equal(np.flatnonzero(table.alpha), np.sort(model.support_))


@pytest.mark.parametrize(
    "model",
    [
        SVC(tol=1e-10),
        free_svc(tol=1e-10),
        NuSVC(nu=0.4, tol=1e-10),
        free_svc(loss="squared_hinge", tol=1e-10),
    ],
    ids=repr,
)
def test_kkt_conditions_hold_at_the_optimum(model):
    X, y = overlapping()
    table = model.fit(X, y).samples(X, y)
    assert table.violation.max() < 1e-4
    free = table.case == 1
    edge = 1.0 if model.get_params().get("loss") != "squared_hinge" else 1.0 - table.alpha / 2.0
    np.testing.assert_allclose(table.margin[free], np.broadcast_to(edge, len(y))[free], atol=1e-4)


def test_violations_are_what_the_cases_miss():
    X, y = overlapping()
    model = free_svc(max_iter=2, solver="dual_cd", tol=1e-12)
    with pytest.warns(match="stopped by max_iter"):
        model.fit(X, y)
    table = model.samples(X, y)
    free, bounded, away = (table.case == case for case in (1, 2, 3))
    assert table.violation.max() > 1e-3
    np.testing.assert_allclose(table.violation[free], np.abs(table.margin[free] - 1.0))
    np.testing.assert_allclose(table.violation[bounded], np.maximum(0, table.margin[bounded] - 1))
    np.testing.assert_allclose(table.violation[away], np.maximum(0.0, 1.0 - table.margin[away]))


@pytest.mark.parametrize("model", [free_svc(), SVC(kernel="linear")], ids=repr)
def test_the_distance_is_that_to_the_hyperplane(model):
    X, y = overlapping()
    table = model.fit(X, y).samples(X, y)
    w = model.coef_[0]
    np.testing.assert_allclose(
        table.distance, y * (X @ w + model.intercept_) / np.linalg.norm(w), rtol=1e-6
    )


@pytest.mark.parametrize("model", REGRESSORS, ids=repr)
def test_the_table_of_a_regression_has_residuals(model):
    X, y = regression()
    table = model.fit(X, y).samples(X, y)
    epsilon = model.solution_.loss.epsilon
    np.testing.assert_allclose(table.margin, y - model.predict(X))
    np.testing.assert_allclose(table.slack, np.maximum(0.0, np.abs(table.margin) - epsilon))
    np.testing.assert_allclose(table.distance, epsilon - np.abs(table.margin))
    np.testing.assert_array_equal(table.alpha, model.alpha_)


def test_the_weights_of_a_linear_machine_are_sums_of_the_alphas():
    X, y = overlapping()
    model = free_svc(tol=1e-8).fit(X, y)
    table = model.samples(X, y)
    np.testing.assert_allclose((table.alpha * y) @ X, model.coef_[0], atol=1e-3)


def test_pairs_of_classes_have_a_row_for_each_problem():
    X, _ = overlapping()
    y = np.arange(len(X)) % 3
    X = X + 2.0 * np.eye(3, X.shape[1])[y]
    for model, rows in [(SVC(), 120), (SVC(multi_class="ovr"), 180), (free_svc(), 180)]:
        table = model.fit(X, y).samples(X, y)
        assert len(table) == rows
        assert np.unique(table.problem).tolist() == [0, 1, 2]
        assert table.violation.max() < 0.5
        assert [len(slack) for slack in model.slack_] == [rows // 3] * 3
    pairs = free_svc(multi_class="ovo").fit(X, y)
    table = pairs.samples(X, y)
    assert np.unique(y[table.sample[table.problem == 1]]).tolist() == [0, 2]


def test_a_one_class_machine_needs_no_labels():
    X, _ = overlapping()
    model = OneClassSVM(nu=0.3).fit(X)
    table = model.samples(X)
    np.testing.assert_allclose(table.margin, model.score_samples(X))
    assert (table.slack > 0).mean() <= 0.3


def test_the_kernel_matrix_serves_as_x():
    X, y = overlapping()
    K = X @ X.T
    table = SVC(kernel="precomputed").fit(K, y).samples(K, y)
    other = SVC(kernel="linear").fit(X, y).samples(X, y)
    np.testing.assert_allclose(table.slack, other.slack, atol=0.05)


def test_sparse_rows_have_the_same_table():
    X, y = overlapping()
    model = free_svc(tol=1e-8).fit(X, y)
    rows = sparse.csr_matrix(X)
    slack = model.samples(X, y).slack
    np.testing.assert_allclose(model.samples(rows, y).slack, slack, atol=1e-12)


def test_samples_of_weight_0_are_in_no_case():
    X, y = overlapping()
    weight = np.where(np.arange(len(y)) < 5, 0.0, 1.0)
    table = SVC().fit(X, y, weight).samples(X, y, weight)
    assert (table.case[:5] == 0).all()
    assert (table.case[5:] > 0).all()
    assert not table.alpha[:5].any()


def test_the_table_becomes_a_data_frame():
    X, y = overlapping()
    frame = SVC().fit(X, y).samples(X, y).to_pandas()
    assert list(frame) == [
        "sample", "problem", "alpha", "bound", "slack", "margin", "distance", "case", "violation",
    ]  # fmt: skip
    assert len(frame) == len(y)


def test_a_data_frame_without_pandas_says_what_is_missing(monkeypatch):
    X, y = overlapping()
    table = SVC().fit(X, y).samples(X, y)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        table.to_pandas()


def test_slacks_are_known_after_samples():
    X, y = overlapping()
    model = SVC().fit(X, y)
    with pytest.raises(AttributeError, match=r"samples\(X, y\)"):
        model.slack_  # noqa: B018
    table = model.samples(X, y)
    np.testing.assert_array_equal(model.slack_, table.slack)
    model.set_params(C=5.0).fit(X, y)
    with pytest.raises(AttributeError, match=r"samples\(X, y\)"):
        model.slack_  # noqa: B018


def test_other_data_are_refused():
    X, y = overlapping()
    model = SVC().fit(X, y)
    for other, labels, message in [
        (X[::-1], y[::-1], "in their order"),
        (X, -y, "slacks of these data"),
        (X + 0.5 * np.eye(*X.shape), y, "of the fit"),
        (X[1:], y[1:], "X has 59 samples"),
        (X, y + 1, "labels other than"),
        (X, None, "got None"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.samples(other, labels)


def test_another_c_or_weight_is_refused():
    X, y = overlapping()
    with pytest.raises(ValueError, match="sample_weight of the fit"):
        SVC().fit(X, y).samples(X, y, np.arange(1.0, len(y) + 1.0))
    with pytest.raises(ValueError, match="leave C, lam"):
        SVC().fit(X, y).set_params(C=3.0).samples(X, y)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_samples_of_a_fit_by_landmarks_are_those_of_the_problem_it_solved(fit_intercept):
    X, y = overlapping()
    model = SVC(landmarks=15, tol=1e-8, fit_intercept=fit_intercept).fit(X, y)
    table = model.samples(X, y)
    np.testing.assert_allclose(table.margin, y * model.decision_function(X))
    np.testing.assert_array_equal(table.alpha, model.alpha_)
    assert table.violation.max() < 1e-3
    Z = model._space.transform(X)
    w = (model.alpha_ * y) @ Z
    np.testing.assert_allclose(table.distance, table.margin / np.linalg.norm(w), rtol=1e-3)


def test_samples_of_a_penalty_of_absolute_weights_meet_the_same_conditions():
    X, y = overlapping()
    model = LinearSVC(penalty="l1", loss="squared_hinge", tol=1e-10).fit(X, y)
    table = model.samples(X, y)
    assert table.violation.max() < 1e-4
    np.testing.assert_allclose(table.alpha, 2.0 * table.slack, atol=1e-4)
    w = model.coef_[0]
    np.testing.assert_allclose(table.distance, table.margin / np.linalg.norm(w))


def test_samples_of_a_regression_with_infinite_c_and_its_report():
    X, y = regression()
    model = SVR(C=np.inf, epsilon=4.0 * float(np.abs(y).max())).fit(X, y)
    table = model.samples(X, y)
    assert not table.alpha.any()
    assert (table.bound == 1e10).all()
    assert model.report().facts["objective"].startswith("½‖w‖² + Σ C_i max(0, |y_i")


@pytest.mark.parametrize("model", [EmbeddedSVC(), EmbeddedSVR()], ids=repr)
def test_samples_of_an_embedding_are_those_of_its_machine(model):
    X, y = overlapping() if isinstance(model, EmbeddedSVC) else regression()
    table = model.fit(X, y).samples(X, y)
    np.testing.assert_array_equal(table.alpha, model.alpha_)
    np.testing.assert_array_equal(table.slack, model.slack_)
    assert model.report().name.endswith("on Nystroem")
    assert model.report().facts["primal"] == model.certificate_.primal


def test_equal_rows_share_their_alpha():
    X, y = overlapping()
    X, y = np.tile(X, (40, 1)), np.tile(y, 40)
    model = SVC(C=0.1, tol=1e-6).fit(X, y)
    table = model.samples(X, y)
    assert table.violation.max() < 0.1
    np.testing.assert_allclose(table.alpha[:60], table.alpha[60:120], rtol=1e-6)


def three_classes():
    X, _ = overlapping()
    y = np.arange(len(X)) % 3
    return X + 2.0 * np.eye(3, X.shape[1])[y], y


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "model",
    [
        free_svc(multi_class="crammer_singer", tol=1e-9),
        free_svc(multi_class="crammer_singer", tol=1e-9, penalized_intercept=True),
        SVC(multi_class="crammer_singer", kernel="linear", tol=1e-9),
        SVC(multi_class="crammer_singer", kernel="linear", tol=1e-9, fit_intercept=False),
    ],
    ids=repr,
)
def test_the_joint_problem_of_all_classes_has_a_row_for_each_sample(model, n_classes):
    X, y = three_classes()
    y = y % n_classes
    table = model.fit(X, y).samples(X, y)
    assert len(table) == len(y)
    W, values = model.coef_, model.decision_function(X)
    if n_classes == 2:
        W, values = np.vstack([0 * W, W]), np.column_stack([0 * values, values])
    rows = np.arange(len(y))
    others = np.where(np.eye(n_classes)[y] > 0, -np.inf, values)
    rival = others.argmax(axis=1)
    margin = values[rows, y] - others[rows, rival]
    np.testing.assert_allclose(table.margin, margin, atol=1e-9)
    np.testing.assert_allclose(table.slack, np.maximum(0.0, 1.0 - margin), atol=1e-9)
    apart = np.linalg.norm(W[y] - W[rival], axis=1)
    np.testing.assert_allclose(table.distance, margin / apart, rtol=1e-4)
    np.testing.assert_allclose(table.alpha, 0.5 * model.alpha_.sum(axis=1), atol=1e-9)
    assert (table.margin[table.case == 3] >= 1.0 - 1e-3).all()
    assert (table.margin[table.case == 2] <= 1.0 + 1e-3).all()
    assert table.violation.max() < 1e-3
    np.testing.assert_array_equal(model.slack_, table.slack)


def test_the_joint_problem_refuses_other_data():
    X, y = three_classes()
    model = SVC(multi_class="crammer_singer").fit(X, y)
    with pytest.raises(ValueError, match="in their order"):
        model.samples(X[::-1], y[::-1])
    with pytest.raises(ValueError, match="leave C, lam"):
        model.set_params(C=3.0).samples(X, y)


def test_a_loose_joint_fit_misses_its_conditions():
    X, y = three_classes()
    with pytest.warns(match="stopped by max_iter"):
        model = free_svc(multi_class="crammer_singer", max_iter=1, tol=1e-12).fit(X, y)
    assert model.samples(X, y).violation.max() > 1e-2


def test_a_nu_machine_of_small_rho_knows_its_data():
    rng = np.random.default_rng(0)
    y = np.where(np.arange(60) % 2 == 0, 1, -1)
    X = rng.normal(size=(60, 2)) + y[:, np.newaxis] * np.array([0.8, 0.6])
    model = NuSVC(nu=0.15, gamma=0.5).fit(X, y)
    assert len(model.samples(X, y)) == 60
    with pytest.raises(ValueError, match="in their order"):
        model.samples(X[::-1], y[::-1])


@pytest.mark.parametrize("kind", [maxmargin.SVC, maxmargin.SVR, maxmargin.OneClassSVM])
def test_samples_of_a_kernel_that_is_a_function_may_be_texts(kind):
    texts, y = ["aab", "abb", "bba", "bbb", "aaa", "abab"] * 5, np.arange(30) % 2

    def common(one, two):
        return np.array([[sum(a.count(c) * b.count(c) for c in "ab") for b in two] for a in one])

    model = kind(kernel=common).fit(texts, y)
    table = model.samples(texts, y)
    np.testing.assert_array_equal(table.alpha, model.alpha_)


@pytest.mark.parametrize("model", [SVC(), free_svc(), NuSVC(nu=0.4)], ids=repr)
def test_data_frames_are_read_without_a_warning_of_names(model):
    X, y = overlapping()
    frame = pd.DataFrame(X).add_prefix("column")
    table = model.fit(frame, y).samples(frame, y)
    np.testing.assert_array_equal(table.margin, model.fit(X, y).samples(X, y).margin)


def test_columns_of_other_names_are_refused():
    X, y = overlapping()
    frame = pd.DataFrame(X).add_prefix("column")
    with pytest.raises(ValueError, match="feature names"):
        SVC().fit(frame, y).samples(frame.add_prefix("other "), y)


def test_a_pair_of_a_nu_machine_without_a_margin_has_a_table():
    """Equal rows of two classes: w = 0 and ρ = 0 is their optimum, without slacks."""
    X = np.array([[0.0, 0.0], [0.0, 0.0], [2.0, -1.0], [5.0, 2.0], [7.0, 7.0]])
    y = np.array([0, 1, 2, 0, 0])
    with pytest.warns(UserWarning, match="leaves no margin"):
        model = NuSVC(nu=0.4).fit(X, y)
    rows = model.samples(X, y)
    flat = rows[rows.problem == 0]
    assert flat.slack.max() == 0.0
    assert flat.violation.max() == 0.0
    assert np.abs(flat.distance).max() == 0.0
    assert model.solutions_[0].certificate.slack_sum == 0.0
