"""Early stops, verbose= and callbacks of linear machines."""

import re

import numpy as np
import pytest
from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from choices import BOTH, EXACT
from comparisons import assert_same_bits
from maxmargin import LinearSVC, Status
from maxmargin.solvers import Newton
from synthetic import free_svc, overlapping

X, Y = overlapping(80, 5)
IRIS = load_iris(return_X_y=True)


# ---- warm start


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


def test_verbose_writes_a_line_per_gap_check_to_stderr(capfd):
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
    """Keeps what it is shown, and stops the fit after some gap checks."""

    def __init__(self, stop_after=None):
        self.events, self.models, self.stop_after = [], [], stop_after

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.events.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.events.append(f"end {context.task_name}")
        if context.task_name == "gap check":
            self.models.append(fitted_estimator)
        return self.stop_after is not None and len(self.models) >= self.stop_after


@BOTH
def test_a_callback_sees_every_gap_check(Model, data):
    watcher = Watcher()
    model = Model(solver="dual_cd").set_callbacks(watcher).fit(*data)
    assert watcher.events[:2] == ["setup", "begin fit"]
    assert watcher.events[-2:] == ["end fit", "teardown"]
    assert watcher.events.count("end gap check") == len(model.history_)


@BOTH
def test_a_callback_gets_models_that_predict(Model, data):
    watcher = Watcher()
    Model(solver="dual_cd").set_callbacks(watcher).fit(*data)
    for model in watcher.models:
        assert model.predict(data[0]).shape == (80,)


@BOTH
def test_scikit_learns_scores_are_those_of_each_gap_check(Model, data):
    name = "accuracy" if Model is LinearSVC else "r2"
    monitor = ScoringMonitor(scoring=name)
    model = Model(solver="dual_cd").set_callbacks(monitor).fit(*data)
    (fit, *scores) = [row[name] for row in monitor.get_logs().data]
    assert len(scores) == len(model.history_)
    assert scores[-1] == fit == model.score(*data)


def test_a_callback_can_stop_the_fit():
    model = free_svc(solver="dual_cd", tol=1e-12).set_callbacks(Watcher(stop_after=2))
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model.fit(X, Y)
    assert model.certificate_.status is Status.INTERRUPTED
    assert np.isfinite(model.coef_).all()


class Guest(Watcher):
    """Notes which estimators' tasks lie below those that end."""

    def on_fit_task_end(self, estimator, context):  # type: ignore[override] # asks for no model
        self.events += [below.estimator_name for below in context]


def test_a_callback_of_a_pipeline_finds_the_task_of_its_last_step():
    guest, model = Guest(), make_pipeline(StandardScaler(), free_svc())
    model.set_callbacks(guest).fit(X, Y)
    assert "LinearSVC" in guest.events


@BOTH
def test_a_callback_does_not_change_the_model(Model, data):
    watched = Model(random_state=0).set_callbacks(Watcher()).fit(*data)
    assert_same_bits(watched, Model(random_state=0).fit(*data))


def test_a_callback_lives_through_several_classes():
    watcher = Watcher()
    free_svc(n_jobs=2).set_callbacks(watcher).fit(*IRIS)
    assert watcher.events[0] == "setup"
    assert watcher.events[-1] == "teardown"


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_callback_sees_every_gap_check_at_every_class(n_jobs):
    watcher = Watcher()
    model = free_svc(n_jobs=n_jobs).set_callbacks(watcher).fit(*IRIS)
    assert watcher.events.count("begin class") == watcher.events.count("end class") == 3
    assert watcher.events.count("end gap check") == sum(map(len, model.history_))
    for seen in watcher.models:
        assert seen.predict(IRIS[0]).shape == (150,)
    np.testing.assert_array_equal(watcher.models[-1].coef_, model.coef_)


def test_a_callback_can_stop_one_class_or_all():
    class Content(Watcher):
        def on_fit_task_end(self, estimator, context):  # type: ignore[override] # asks for no model
            return context.task_name == self.stop_after

    for level, expected in [
        ("gap check", [Status.INTERRUPTED] * 3),
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


def test_the_warning_is_of_the_worst_problem():
    model = free_svc(solver="dual_cd", max_iter=20, tol=1e-9)
    with pytest.warns(ConvergenceWarning, match=r"in problem [123] of 3") as caught:
        model.fit(*IRIS)
    gaps = [solution.certificate.relative_gap for solution in model.solutions_]
    worst = model.solutions_[int(np.argmax(gaps))].certificate
    assert worst.sentence() in str(caught[0].message)
