"""The estimators: parameters in, a proven model out, scikit-learn's habits kept."""

import pickle
import re
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from choices import BOTH, EXACT
from maxmargin import LinearSVC, LinearSVR, Problem, Status
from maxmargin.estimators import _linear
from maxmargin.solvers import SGD, DualCD, Newton
from synthetic import csr, free_svc, free_svr, overlapping, regression, separable, weights_for

X, Y = overlapping(80, 5)
XR, YR = regression(80, 5)
IRIS = load_iris(return_X_y=True)


def same_weights(first, second, **tolerance):
    np.testing.assert_allclose(first.coef_, second.coef_, **tolerance)
    np.testing.assert_allclose(first.intercept_, second.intercept_, **tolerance)


def same_bits(first, second):
    np.testing.assert_array_equal(first.coef_, second.coef_)
    np.testing.assert_array_equal(first.intercept_, second.intercept_)


# ---- C, lam, weights


@BOTH
def test_lam_is_one_over_n_c(Model, data):
    same_bits(
        Model(C=0.25, random_state=0).fit(*data), Model(lam=1 / 20, random_state=0).fit(*data)
    )


def test_lam_counts_weights_as_repetitions():
    weights = np.random.default_rng(0).integers(0, 3, size=80)
    weighted = free_svc(lam=0.01, tol=1e-10).fit(X, Y, weights)
    repeated = free_svc(lam=0.01, tol=1e-10).fit(np.repeat(X, weights, 0), np.repeat(Y, weights))
    same_weights(weighted, repeated, rtol=1e-3, atol=3e-4)


@BOTH
def test_sample_weights_multiply_c(Model, data):
    twice = Model(tol=1e-10).fit(*data, np.full(80, 2.0))
    same_weights(twice, Model(C=2.0, tol=1e-10).fit(*data), rtol=1e-3, atol=3e-4)


@BOTH
def test_weight_zero_leaves_a_sample_out(Model, data):
    weights = weights_for(80)
    live = weights > 0
    everyone = Model(tol=1e-10).fit(*data, weights)
    some = Model(tol=1e-10).fit(data[0][live], data[1][live], weights[live])
    same_weights(everyone, some, rtol=1e-3, atol=3e-4)


def test_class_weights_are_sample_weights():
    by_class = free_svc(class_weight={-1.0: 0.5, 1.0: 3.0}, tol=1e-10).fit(X, Y)
    by_sample = free_svc(tol=1e-10).fit(X, Y, np.where(Y > 0, 3.0, 0.5))
    same_weights(by_class, by_sample, rtol=1e-3, atol=3e-4)


def test_class_weights_multiply_sample_weights():
    weights = weights_for(80)
    both = free_svc(class_weight={1.0: 3.0}, tol=1e-10).fit(X, Y, weights)
    product = free_svc(tol=1e-10).fit(X, Y, weights * np.where(Y > 0, 3.0, 1.0))
    same_weights(both, product, rtol=1e-3, atol=3e-4)


def test_balanced_gives_classes_equal_weight():
    counts = {label: (label == Y).sum() for label in (-1.0, 1.0)}
    weights = np.array([80 / (2 * counts[label]) for label in Y])
    balanced = free_svc(class_weight="balanced", tol=1e-10).fit(X, Y)
    same_weights(balanced, free_svc(tol=1e-10).fit(X, Y, weights), rtol=1e-3, atol=3e-4)


# ---- labels and classes


@pytest.mark.parametrize(
    ("negative", "positive"), [("no", "yes"), (0, 1), (7, 9), (False, True)], ids=str
)
def test_labels_can_be_anything(negative, positive):
    labels = np.where(Y > 0, positive, negative)
    model = free_svc(random_state=0).fit(X, labels)
    assert model.classes_.tolist() == [negative, positive]
    same_bits(model, free_svc(random_state=0).fit(X, Y))
    np.testing.assert_array_equal(model.predict(X) == positive, model.decision_function(X) > 0)
    assert set(model.predict(X)) <= {negative, positive}


def test_classes_are_sorted_whatever_comes_first():
    labels = np.array(["b", "c", "a"])[IRIS[1]]
    model = free_svc().fit(IRIS[0], labels)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert (model.predict(IRIS[0]) == labels).mean() > 0.9


@EXACT
def test_one_against_the_rest_is_independent_fits(solver):
    setting = {"solver": solver, "tol": 1e-8, "max_iter": 100_000, "C": 0.1}
    model = free_svc(**setting).fit(*IRIS)
    assert model.coef_.shape == (3, 4)
    for label in range(3):
        binary = free_svc(**setting).fit(IRIS[0], IRIS[1] == label)
        np.testing.assert_allclose(model.coef_[label], binary.coef_[0], rtol=1e-3, atol=1e-3)
        gap = max(binary.certificate_.gap, model.solutions_[label].certificate.gap)
        difference = model.solutions_[label].certificate.primal - binary.certificate_.primal
        assert abs(difference) <= gap


def test_several_classes_add_their_certificates():
    model = free_svc().fit(*IRIS)
    assert len(model.solutions_) == 3
    parts = [solution.certificate for solution in model.solutions_]
    assert model.certificate_.primal == pytest.approx(sum(part.primal for part in parts))
    assert model.certificate_.status is Status.OPTIMAL


@EXACT
def test_threads_do_not_change_a_bit(solver):
    serial, threaded = (
        free_svc(solver=solver, n_jobs=n_jobs, random_state=0, max_iter=10_000).fit(*IRIS)
        for n_jobs in (1, 2)
    )
    same_bits(serial, threaded)


@pytest.mark.parametrize(("n_classes", "columns"), [(2, None), (3, 3)])
def test_decision_function_has_a_column_per_class(n_classes, columns):
    live = IRIS[1] < n_classes
    model = free_svc().fit(IRIS[0][live], IRIS[1][live])
    shape = (live.sum(),) if columns is None else (live.sum(), columns)
    assert model.decision_function(IRIS[0][live]).shape == shape


# ---- what a fit leaves behind


@BOTH
def test_the_fit_leaves_its_proof(Model, data):
    model = Model(tol=1e-4).fit(*data)
    certificate = model.certificate_
    assert certificate.status is Status.OPTIMAL
    assert certificate.relative_gap <= 1e-4
    assert model.solution_.certificate == certificate
    assert str(certificate).endswith("% of the optimum")


@BOTH
def test_history_ends_at_the_certificate(Model, data):
    model = Model(solver="dual_cd").fit(*data)
    last = model.history_[-1]
    assert last._fields == ("time", "epoch", "primal", "dual", "gap")
    assert last.primal == model.certificate_.primal
    assert last.epoch == model.n_iter_


def test_several_classes_have_several_histories():
    assert len(free_svc().fit(*IRIS).history_) == 3


def test_several_classes_have_no_single_solution():
    with pytest.raises(AttributeError, match="solutions_"):
        free_svc().fit(*IRIS).solution_  # noqa: B018


def test_support_vectors_carry_the_model():
    model = free_svc(tol=1e-8).fit(X, Y)
    support = model.support_
    counted = model.certificate_.n_support_free + model.certificate_.n_support_bounded
    assert len(support) == counted
    again = free_svc(tol=1e-8).fit(X[support], Y[support])
    same_weights(model, again, rtol=1e-2, atol=1e-3)


@BOTH
def test_shapes_are_scikit_learns(Model, data):
    model = Model().fit(*data)
    assert model.coef_.shape == ((1, 5) if Model is LinearSVC else (5,))
    assert model.intercept_.shape == (1,)
    assert model.n_features_in_ == 5
    assert isinstance(model.n_iter_, int)


@BOTH
@pytest.mark.parametrize("attribute", ["certificate_", "history_", "support_", "solution_"])
def test_nothing_is_known_before_the_fit(Model, data, attribute):
    with pytest.raises((NotFittedError, AttributeError)):
        getattr(Model(), attribute)
    with pytest.raises(NotFittedError):
        Model().predict(data[0])


@BOTH
@pytest.mark.parametrize(
    "convert",
    [np.float32, np.asfortranarray, csr, lambda X: csr(X, np.int64), lambda X: X.tolist()],
    ids=["float32", "F-order", "CSR", "CSR64", "list"],
)
def test_the_form_of_x_does_not_matter(Model, data, convert):
    plain = Model(tol=1e-9).fit(*data)
    formed = Model(tol=1e-9).fit(convert(data[0]), data[1])
    same_weights(plain, formed, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(
        formed.predict(convert(data[0])), plain.predict(data[0]), rtol=1e-3, atol=3e-3
    )


@BOTH
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("storage", ["dense", "csr"])
def test_the_fit_neither_copies_nor_changes_x(Model, data, dtype, storage, monkeypatch):
    seen = []
    monkeypatch.setattr(_linear, "Problem", lambda X, *rest: seen.append(X) or Problem(X, *rest))
    given = data[0].astype(dtype) if storage == "dense" else csr(data[0], dtype=dtype)
    values = given if storage == "dense" else given.data
    before = values.copy()
    Model().fit(given, data[1])
    used = seen[0] if storage == "dense" else seen[0].data
    assert np.shares_memory(used, values)
    np.testing.assert_array_equal(values, before)


# ---- intercept


@BOTH
def test_no_intercept_is_zero(Model, data):
    assert Model(fit_intercept=False).fit(*data).intercept_ == 0.0


@BOTH
def test_a_penalised_intercept_is_a_column_of_constants(Model, data):
    given = Model(penalized_intercept=True, intercept_scaling=3.0, tol=1e-10).fit(*data)
    column = np.c_[data[0], np.full(80, 3.0)]
    by_hand = Model(fit_intercept=False, tol=1e-10).fit(column, data[1])
    weights = np.ravel(by_hand.coef_)
    np.testing.assert_allclose(np.ravel(given.coef_), weights[:5], rtol=1e-3, atol=3e-4)
    assert given.intercept_[0] == pytest.approx(3.0 * weights[5], rel=1e-3, abs=3e-4)


def test_ridge_is_the_squared_loss():
    ours = free_svr(loss="squared", C=2.0, tol=1e-12).fit(XR, YR)
    theirs = Ridge(alpha=0.25).fit(XR, YR)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-5)
    np.testing.assert_allclose(ours.predict(XR), theirs.predict(XR), rtol=1e-3, atol=3e-4)


# ---- solvers


@pytest.mark.parametrize("solver", [Newton(shrink=0.25), DualCD()], ids=["newton", "dual_cd"])
def test_a_solver_can_be_given_with_its_settings(solver):
    model = free_svc(solver=solver).fit(X, Y)
    assert model.solution_.solver == solver.name
    assert model.certificate_.status is Status.OPTIMAL


@pytest.mark.parametrize("solver", ["newton", "dual_cd"])
def test_a_solver_can_be_named(solver):
    assert free_svc(solver=solver).fit(X, Y).solution_.solver == solver


def test_auto_goes_by_features_and_stored_values():
    rng = np.random.default_rng(0)
    wide, dense = rng.normal(size=(20, 3000)), rng.normal(size=(1500, 200))
    few_values = sparse.random_array((1500, 200), density=0.01, rng=rng, format="csr") * 20.0
    for rows, solver in ((X, "newton"), (wide, "dual_cd"), (dense, "newton")):
        y = Y if rows is X else np.arange(len(rows)) % 2
        assert free_svc(tol=0.1).fit(rows, y).solution_.solver == solver
    some_values = np.where(rng.random(dense.shape) < 0.1, dense, 0.0)
    for rows, solver in ((few_values, "dual_cd"), (some_values, "newton")):
        for stored in (sparse.csr_array(rows), sparse.csr_array(rows).toarray()):
            model = free_svc(tol=0.1, max_iter=None).fit(stored, np.arange(1500) % 2)
            assert model.solution_.solver == solver


@pytest.mark.parametrize(("loss", "solver"), [("hinge", "newton"), ("squared_hinge", "dual_cd")])
def test_auto_takes_newton_where_coordinate_descent_would_not_end(loss, solver):
    """Rows as long as unscaled pixels."""
    rng = np.random.default_rng(0)
    rows = sparse.random_array((1500, 200), density=0.01, rng=rng, format="csr") * 100.0
    model = free_svc(loss=loss, tol=0.1, max_iter=None).fit(rows, np.arange(1500) % 2)
    assert model.solution_.solver == solver


@pytest.mark.parametrize(
    ("Model", "n", "solver"),
    [
        (LinearSVC, 240, "newton"),
        (LinearSVC, 220, "dual_cd"),
        (LinearSVR, 140, "newton"),
        (LinearSVR, 110, "dual_cd"),
    ],
)
def test_auto_takes_newton_where_rows_are_seldom_separable_or_met(Model, n, solver):
    """Two rows a feature, or one in regression."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n, 120))
    model = Model(tol=0.1).fit(rows, np.sign(rows[:, 0] + rng.normal(size=n)))
    assert model.solution_.solver == solver


@BOTH
@EXACT
def test_random_state_of_numpy_is_like_pythons(Model, data, solver):
    first, second = (Model(solver=solver, random_state=s).fit(*data) for s in (3, np.int64(3)))
    same_bits(first, second)


@BOTH
@EXACT
def test_random_state_fixes_every_bit(Model, data, solver):
    first, second = (Model(solver=solver, random_state=3).fit(*data) for _ in range(2))
    same_bits(first, second)
    np.testing.assert_array_equal(first.solution_.beta, second.solution_.beta)


def test_other_seeds_take_other_ways():
    first, second = (
        free_svc(solver="dual_cd", tol=1e-2, random_state=seed).fit(X, Y) for seed in (0, 1)
    )
    assert not np.array_equal(first.coef_, second.coef_)


def test_fits_leave_the_global_generator_alone():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    free_svc(solver="dual_cd", random_state=0).fit(X, Y)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


# ---- warm start


@BOTH
@EXACT
def test_a_warm_start_at_the_optimum_is_immediate(Model, data, solver):
    model = Model(solver=solver, warm_start=True, random_state=0, tol=1e-6, max_iter=20_000)
    cold = model.fit(*data).n_iter_
    warm = model.fit(*data).n_iter_
    assert warm <= max(3, cold // 4)
    assert model.certificate_.status is Status.OPTIMAL


@BOTH
@EXACT
@pytest.mark.parametrize("C", [0.01, 10.0])
def test_a_warm_start_follows_a_change_of_c(Model, data, solver, C):
    limit = {"max_iter": 200_000, "tol": 1e-4}
    model = Model(solver=solver, warm_start=True, **limit).fit(*data)
    model.set_params(C=C).fit(*data)
    cold = Model(solver=solver, C=C, **limit).fit(*data)
    assert model.certificate_.status is Status.OPTIMAL
    assert model.certificate_.primal == pytest.approx(cold.certificate_.primal, rel=2e-4)


@pytest.mark.parametrize("loss", ["perceptron", "hinge"])
def test_a_warm_start_of_sgd_goes_on_from_its_weights(loss):
    model = free_svc(solver="sgd", loss=loss, warm_start=True, max_iter=4, tol=1e-9)
    with pytest.warns(ConvergenceWarning):
        first = model.fit(X, Y).coef_
    starts = []
    solver = SGD()

    def spied(objective, monitor, start):
        starts.append(start)
        return solver.solve(objective, monitor, start)

    model.set_params(solver=SimpleNamespace(name="sgd", solve=spied))
    with pytest.warns(ConvergenceWarning):
        model.fit(X, Y)
    np.testing.assert_array_equal(starts[0].w, first[0])


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_classes_not_begun_at_an_interruption_take_no_time(multi_class, monkeypatch):
    """The first class is stopped by a callback; the others are answered without a look at X."""
    calls = []
    solve = Newton.solve

    def counted(self, objective, monitor, start):
        calls.append(objective)
        return solve(self, objective, monitor, start)

    monkeypatch.setattr(Newton, "solve", counted)
    model = free_svc(solver="newton", tol=1e-12, multi_class=multi_class)
    model.set_callbacks(Watcher(stop_after=1))
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model.fit(*IRIS)
    assert len(calls) == 1
    assert model.coef_.shape == (3, 4)
    assert not model.coef_[1:].any()
    assert all(part.certificate.status is Status.INTERRUPTED for part in model.solutions_[1:])


def test_a_warm_start_goes_on_where_it_was_stopped():
    model = free_svc(solver="dual_cd", warm_start=True, max_iter=5, tol=1e-6, random_state=0)
    gaps = []
    for _ in range(4):
        with pytest.warns(ConvergenceWarning):
            gaps.append(model.fit(X, Y).certificate_.dual)
    assert gaps == sorted(gaps)
    assert gaps[-1] > gaps[0]


@pytest.mark.parametrize("solver", ["newton", "dual_cd"])
@pytest.mark.parametrize("C", [0.1, 0.3, 1.7])
def test_a_warm_start_keeps_at_the_bound_who_is_there(solver, C):
    model = free_svc(C, solver=solver, warm_start=True, random_state=0)
    data = overlapping(1000, 5)
    first, again = (model.fit(*data).certificate_.n_support_bounded for _ in range(2))
    assert again > 0.95 * first > 100


def unproven(model, data):
    with pytest.warns(ConvergenceWarning):
        return model.fit(*data)


@pytest.mark.parametrize("random_state", [None, 0])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("solver", ["pegasos", "sgd"])
def test_warm_starts_of_stochastic_solvers_go_on(solver, loss, random_state):
    """Ten fits of ten epochs are about as good as one of a hundred."""
    data, optimum = overlapping(300, 5), free_svc(loss=loss, tol=1e-9)
    settings = {"solver": solver, "loss": loss, "tol": 1e-6, "random_state": random_state}
    again, once = free_svc(warm_start=True, max_iter=10, **settings), free_svc(max_iter=100)
    first, *_ = [unproven(again, data).certificate_ for _ in range(10)]
    unproven(once.set_params(**settings), data)
    least = optimum.fit(*data).certificate_.primal
    assert again.certificate_.relative_gap < 0.3 * first.relative_gap
    assert again.certificate_.primal - least < 5.0 * (once.certificate_.primal - least)


@pytest.mark.parametrize("max_iter", [1, 3])
def test_a_warm_start_of_newton_never_gets_worse(max_iter):
    model = free_svc(
        solver="newton", warm_start=True, max_iter=max_iter, tol=1e-9, fit_intercept=False
    )
    data = overlapping(300, 5)
    values = [unproven(model, data).certificate_.primal for _ in range(8)]
    assert (np.diff(values) <= 1e-12 * values[0]).all()


def test_a_warm_start_on_other_data_starts_anew():
    model = free_svc(warm_start=True).fit(X, Y)
    assert model.fit(X[:50], Y[:50]).certificate_.status is Status.OPTIMAL
    assert model.fit(*IRIS).coef_.shape == (3, 4)


# ---- early stops


@BOTH
@EXACT
def test_stopped_by_iterations_is_usable_and_warns(Model, data, solver):
    model = Model(solver=solver, max_iter=1, tol=1e-9)
    with pytest.warns(ConvergenceWarning, match=r"max_iter after 1 iteration:.*objective.*optimum"):
        model.fit(*data)
    assert model.certificate_.status is Status.STOPPED_BY_ITERATIONS
    assert model.predict(data[0]).shape == (80,)
    assert np.isfinite(model.coef_).all()


@BOTH
@EXACT
def test_stopped_by_time_is_usable_and_warns(Model, data, solver):
    model = Model(solver=solver, max_time=1e-9, tol=1e-9)
    with pytest.warns(ConvergenceWarning, match=r"max_time .* Raise max_time"):
        model.fit(*data)
    assert model.certificate_.status is Status.STOPPED_BY_TIME
    assert np.isfinite(model.predict(data[0])).all()


def test_the_warning_states_the_gap_reached():
    model = free_svc(solver="dual_cd", max_iter=20, tol=1e-9)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, Y)
    message = str(caught[0].message)
    assert model.certificate_.sentence() in message
    assert re.search(r"within [0-9.e+-]+ % of the optimum", message)
    assert "tol=1e-09" in message


def test_the_warning_points_at_the_users_line():
    with pytest.warns(ConvergenceWarning) as caught:
        free_svc(max_iter=1, tol=1e-9).fit(X, Y)
    assert caught[0].filename == __file__


def test_a_fit_that_proves_its_tol_does_not_warn(recwarn):
    free_svc().fit(X, Y)
    assert len(recwarn) == 0


# ---- verbose, callbacks


def test_verbose_writes_a_line_per_look_to_stderr(capfd):
    model = free_svc(solver="dual_cd", verbose=1).fit(X, Y)
    out, err = capfd.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert len(lines) == len(model.history_)
    assert all("gap" in line and "primal" in line for line in lines)


def test_verbose_names_the_class(capfd):
    free_svc(verbose=1).fit(*IRIS)
    assert "[3/3]" in capfd.readouterr().err


def test_silent_by_default(capfd):
    free_svc().fit(X, Y)
    assert capfd.readouterr() == ("", "")


class Watcher:
    """Keeps what it is shown, and stops the fit after some looks."""

    def __init__(self, stop_after=None):
        self.events, self.models, self.stop_after = [], [], stop_after

    def setup(self, estimator, context):  # noqa: ARG002
        self.events.append("setup")

    def teardown(self, estimator, context):  # noqa: ARG002
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context):  # noqa: ARG002
        self.events.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):  # noqa: ARG002
        self.events.append(f"end {context.task_name}")
        if context.task_name == "look":
            self.models.append(fitted_estimator)
        return self.stop_after is not None and len(self.models) >= self.stop_after


@BOTH
def test_a_callback_sees_every_look(Model, data):
    watcher = Watcher()
    model = Model(solver="dual_cd").set_callbacks(watcher).fit(*data)
    assert watcher.events[:2] == ["setup", "begin fit"]
    assert watcher.events[-2:] == ["end fit", "teardown"]
    assert watcher.events.count("end look") == len(model.history_)


@BOTH
def test_a_callback_gets_models_that_predict(Model, data):
    watcher = Watcher()
    Model(solver="dual_cd").set_callbacks(watcher).fit(*data)
    for model in watcher.models:
        assert model.predict(data[0]).shape == (80,)


@BOTH
def test_scikit_learns_scores_are_those_of_each_look(Model, data):
    name = "accuracy" if Model is LinearSVC else "r2"
    monitor = ScoringMonitor(scoring=name)
    model = Model(solver="dual_cd").set_callbacks(monitor).fit(*data)
    (fit, *looks) = [row[name] for row in monitor.get_logs().data]
    assert len(looks) == len(model.history_)
    assert looks[-1] == fit == model.score(*data)


def test_a_callback_can_stop_the_fit():
    model = free_svc(solver="dual_cd", tol=1e-12).set_callbacks(Watcher(stop_after=2))
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model.fit(X, Y)
    assert model.certificate_.status is Status.INTERRUPTED
    assert np.isfinite(model.coef_).all()


class Guest(Watcher):
    """Notes which estimators' tasks lie below those that end."""

    def on_fit_task_end(self, estimator, context):  # noqa: ARG002
        self.events += [below.estimator_name for below in context]


def test_a_callback_of_a_pipeline_finds_the_task_of_its_last_step():
    guest, model = Guest(), make_pipeline(StandardScaler(), free_svc())
    model.set_callbacks(guest).fit(X, Y)
    assert "LinearSVC" in guest.events


@BOTH
def test_a_callback_does_not_change_the_model(Model, data):
    watched = Model(random_state=0).set_callbacks(Watcher()).fit(*data)
    same_bits(watched, Model(random_state=0).fit(*data))


def test_a_callback_lives_through_several_classes():
    watcher = Watcher()
    free_svc(n_jobs=2).set_callbacks(watcher).fit(*IRIS)
    assert watcher.events[0] == "setup"
    assert watcher.events[-1] == "teardown"


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_callback_sees_every_look_at_every_class(n_jobs):
    watcher = Watcher()
    model = free_svc(n_jobs=n_jobs).set_callbacks(watcher).fit(*IRIS)
    assert watcher.events.count("begin class") == watcher.events.count("end class") == 3
    assert watcher.events.count("end look") == sum(map(len, model.history_))
    for seen in watcher.models:
        assert seen.predict(IRIS[0]).shape == (150,)
    np.testing.assert_array_equal(watcher.models[-1].coef_, model.coef_)


def test_a_callback_can_stop_one_class_or_all():
    class Content(Watcher):
        def on_fit_task_end(self, estimator, context):  # noqa: ARG002
            return context.task_name == self.stop_after

    for level, expected in [
        ("look", [Status.INTERRUPTED] * 3),
        ("class", [Status.STOPPED_BY_ITERATIONS, Status.INTERRUPTED, Status.INTERRUPTED]),
    ]:
        model = free_svc(solver="dual_cd", tol=1e-15, max_iter=30)
        with pytest.warns(ConvergenceWarning):
            model.set_callbacks(Content(level)).fit(*IRIS)
        assert [solution.status for solution in model.solutions_] == expected


@pytest.mark.parametrize("data", [(X, Y), IRIS], ids=["two classes", "three"])
def test_the_progress_bar_runs(data):
    pytest.importorskip("rich")
    model = free_svc(solver="dual_cd").set_callbacks(ProgressBar()).fit(*data)
    assert model.certificate_.status is Status.OPTIMAL


# ---- scikit-learn's habits


@BOTH
def test_parameters_go_through_clone(Model, data):
    model = Model(C=3.0, solver=DualCD(), tol=1e-2, penalized_intercept=True)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert copy is not model


@BOTH
def test_a_fitted_model_can_be_pickled(Model, data):
    model = Model().fit(*data)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(data[0]), model.predict(data[0]))
    assert copy.certificate_ == model.certificate_
    assert copy.history_ == model.history_


@BOTH
def test_get_params_lists_the_constructor(Model, data):
    names = set(Model().get_params())
    assert {"C", "lam", "loss", "solver", "tol", "max_iter", "max_time", "warm_start"} <= names


def test_a_search_and_a_pipeline_accept_the_model():
    search = GridSearchCV(free_svc(), {"C": [0.1, 1.0], "solver": ["newton", "dual_cd"]}, cv=2)
    model = make_pipeline(StandardScaler(), search).fit(X, Y)
    assert model.score(X, Y) > 0.7


def test_fit_returns_itself():
    model = free_svc()
    assert model.fit(X, Y) is model


def test_separable_data_have_the_widest_corridor():
    data, labels = separable()
    model = free_svc(C=1e4, tol=1e-8).fit(data, labels)
    margins = labels * model.decision_function(data)
    assert margins.min() == pytest.approx(1.0, abs=1e-3)
    assert model.certificate_.slack_sum < 1e-2
    assert model.certificate_.margin == pytest.approx(1 / np.linalg.norm(model.coef_))


def test_the_warning_is_of_the_worst_problem():
    model = free_svc(solver="dual_cd", max_iter=20, tol=1e-9)
    with pytest.warns(ConvergenceWarning, match=r"in problem [123] of 3") as caught:
        model.fit(*IRIS)
    gaps = [solution.certificate.relative_gap for solution in model.solutions_]
    worst = model.solutions_[int(np.argmax(gaps))].certificate
    assert worst.sentence() in str(caught[0].message)


def test_plain_arrays_are_checked_like_any_other():
    X, y = overlapping()
    with pytest.raises(ValueError, match="y"):
        free_svc().fit(X, "no")
    model = free_svc().fit(X, y)
    with pytest.raises(ValueError, match="expecting 4 features"):
        model.predict(X[:, :3].copy())
    del model.n_features_in_  # as of a model put together by hand
    assert len(model.predict(X)) == len(y)
    assert not hasattr(model, "n_features_in_")
