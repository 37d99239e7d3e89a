"""Common passes over the rows for all classes against the rest."""

import time
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from maxmargin import Intercept, LinearObjective, Problem, _core
from maxmargin.certificate import Status
from maxmargin.losses import HINGE, SQUARED_HINGE
from maxmargin.objectives import PrimalDual, certify
from maxmargin.solvers import DualCD, Monitor, Stopping
from maxmargin.solvers.linear import one_vs_rest
from maxmargin.solvers.linear.intercept import short_bias_of
from reference.linear import one_vs_rest as twin
from synthetic import DTYPES, STORAGES, as_float32, free_svc, free_svr, store

LOSSES = pytest.mark.parametrize("loss", [HINGE, SQUARED_HINGE], ids=["hinge", "squared_hinge"])


def classes(n=90, d=6, K=5, seed=0):
    """K clouds that overlap, with a third of the values 0; the first rows have a class each."""
    rng = np.random.default_rng(seed)
    number = rng.integers(0, K, n)
    number[:K] = np.arange(K)
    X = rng.normal(size=(n, d)) + 1.5 * rng.normal(size=(K, d))[number]
    X[rng.random((n, d)) < 1 / 3] = 0.0
    return as_float32(X), number.astype(np.int32)


def objective_of(X, numbers, loss, intercept=Intercept.NONE):
    cost = np.random.default_rng(1).uniform(0.2, 1.0, len(numbers))
    cost[-1] = 0.0
    return LinearObjective(
        Problem(X, np.where(numbers == 0, 1.0, -1.0), cost), loss, intercept, 1.0
    )


def for_epochs(objective, epochs, tol=1e-12):
    return Monitor(objective, Stopping(tol, max_iter=epochs))


@LOSSES
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("dtype", DTYPES, ids=["float32", "float64"])
@pytest.mark.parametrize("intercept", list(Intercept))
@pytest.mark.parametrize("d", [6, 70])  # laid out by feature, and by class if dense
def test_epochs_equal_the_twin(loss, storage, dtype, intercept, d):
    X, numbers = classes(d=d)
    plain = objective_of(X, numbers, loss, intercept)
    stored = objective_of(store(X, storage, dtype), numbers, loss, intercept)
    begun = one_vs_rest.begin_together(stored, numbers, 5, 7, for_epochs(stored, 3))
    bias, free = short_bias_of(plain), intercept is Intercept.FREE
    state = SimpleNamespace(
        beta=np.zeros((len(X), 5)), W=np.zeros((5, d + 1)), anchor=np.zeros(5),
        threshold=np.full(5, np.inf), dual=np.zeros(5),
    )  # fmt: skip
    order, random = np.arange(len(X), dtype=np.int32), _core.Random(7)
    for _ in range(begun[0].epochs):
        random.shuffle_rows(order, len(X))
        twin.epoch(plain, numbers, bias.feature, state, order)
        if free:
            shift = bias.feature * state.W[:, -1]
            state.anchor += shift
            state.threshold += 2 * np.abs(shift)
            state.dual -= state.W[:, -1] ** 2
    for j, one in enumerate(begun):
        np.testing.assert_allclose(one.beta, state.beta[:, j], rtol=1e-8, atol=1e-10)
        weights = np.append(one.w, one.bias_weight)
        np.testing.assert_allclose(weights, state.W[j], rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(one.anchor, state.anchor[j], rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(one.threshold, state.threshold[j], rtol=1e-6)
        np.testing.assert_allclose(one.dual, state.dual[j], rtol=1e-8)
        assert set(one.order[: one.n_active]) == set(np.flatnonzero(state.active[:, j]))
        assert sorted(one.order) == list(range(len(X)))


@LOSSES
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("intercept", list(Intercept))
@pytest.mark.parametrize("d", [6, 70])
def test_points_of_common_passes_have_the_certificates_of_their_own(loss, storage, intercept, d):
    X, numbers = classes(d=d)
    X = store(X, storage, np.float64)
    objectives = [objective_of(X, (numbers != j).astype(np.int32), loss, intercept) for j in (1, 4)]
    first = objectives[0]
    begun = one_vs_rest.begin_together(first, numbers, 5, 7, for_epochs(first, 2))
    points = one_vs_rest.points_so_far(objectives, [begun[1], begun[4]])
    for objective, point in zip(objectives, points, strict=True):
        together, alone = for_epochs(objective, 2), for_epochs(objective, 2)
        together.judge(point, 1)
        alone.judge(PrimalDual(point.w, point.b, point.beta), 1)
        ours, theirs = (by.finish("", Status.INTERRUPTED) for by in (together, alone))
        assert ours.b == pytest.approx(theirs.b, abs=1e-12)
        for name in ("primal", "dual", "gap", "kkt_violation", "slack_sum", "margin"):
            value = getattr(theirs.certificate, name)
            assert getattr(ours.certificate, name) == pytest.approx(value, rel=1e-9)
        assert ours.certificate.n_support_free == theirs.certificate.n_support_free


@pytest.mark.parametrize("storage", STORAGES)
def test_classes_begun_together_keep_what_they_have_at_an_interruption(storage, monkeypatch):
    X, numbers = classes(n=300, K=26)  # more than one group
    X, calls = store(X, storage, np.float64), []
    solve = DualCD.solve

    def interrupted(self, objective, monitor, start):
        calls.append(start.begun)
        monitor._interrupt.requested = len(calls) == 2
        return solve(self, objective, monitor, start)

    monkeypatch.setattr(DualCD, "solve", interrupted)
    model = free_svc(0.1, solver="dual_cd", tol=1e-8, max_iter=None)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model.fit(X, numbers)
    assert len(calls) == 2
    assert model.coef_[: one_vs_rest.GROUP].any(axis=1).all()
    assert not model.coef_[one_vs_rest.GROUP :].any()
    for j, solution in enumerate(model.solutions_[2:], 2):
        alone = LinearObjective(
            Problem(X, np.where(numbers == j, 1.0, -1.0), np.full(300, 0.1)), solution.loss
        )
        proven = solution.certificate.relative_gap <= 1e-8
        assert solution.status is (Status.OPTIMAL if proven else Status.INTERRUPTED)
        expected = certify(alone, solution.w, solution.b, solution.beta)
        assert solution.certificate.gap == pytest.approx(expected.gap, rel=1e-9, abs=1e-12)
        assert solution.certificate.primal == pytest.approx(expected.primal, rel=1e-9)


def test_classes_begun_together_are_judged_together_when_time_is_over(monkeypatch):
    X, numbers = classes(n=300, K=26)
    begin = one_vs_rest.begin_together

    def late(*args):
        begun = begin(*args)
        time.sleep(0.25)
        return begun

    monkeypatch.setattr(one_vs_rest, "begin_together", late)
    monkeypatch.setattr(DualCD, "solve", lambda *_: pytest.fail("a class was gone on with"))
    model = free_svc(0.1, solver="dual_cd", tol=1e-9, max_time=0.2)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model.fit(X, numbers)
    assert model.coef_[: one_vs_rest.GROUP].any(axis=1).all()
    assert not model.coef_[one_vs_rest.GROUP :].any()
    assert {part.status for part in model.solutions_} <= {Status.STOPPED_BY_TIME, Status.OPTIMAL}


@pytest.mark.parametrize(
    ("factor", "settings", "message"),
    [(1.0, {"loss": "perceptron"}, "regularised"), (1e160, {}, "overflow")],
)
def test_what_is_refused_is_refused_however_short_the_time(factor, settings, message):
    X, numbers = classes()
    with pytest.raises(ValueError, match=message):
        free_svc(solver="dual_cd", max_time=1e-9, **settings).fit(factor * X, numbers)


@LOSSES
@pytest.mark.parametrize("K", [3, 5, 20])
def test_weights_in_float32_differ_by_rounding(loss, K):
    X, numbers = classes(n=400, K=K)
    objective = objective_of(store(X, "csr32", np.float64), numbers, loss, Intercept.PENALIZED)
    wide, narrow = (
        one_vs_rest.begin_together(objective, numbers, K, 7, for_epochs(objective, 2, tol))
        for tol in (1e-12, 1e-3)
    )
    for one, other in zip(wide, narrow, strict=True):
        assert (one.w != other.w).any()
        np.testing.assert_allclose(one.w, other.w, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(one.bias_weight, other.bias_weight, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(one.beta, other.beta, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_weights_in_float32_do_not_bound_the_gap(loss):
    X, numbers = classes(n=300, d=70)
    X = store(X, "csr32", np.float64)
    model = free_svc(0.1, loss=loss, solver="dual_cd", tol=2e-9, max_iter=None).fit(X, numbers)
    assert max(found.certificate.relative_gap for found in model.solutions_) <= 2e-9


@LOSSES
def test_the_first_epoch_is_that_of_every_class_alone(loss):
    X, numbers = classes()
    objective = objective_of(X, numbers, loss)
    begun = one_vs_rest.begin_together(objective, numbers, 5, 3, for_epochs(objective, 1))
    for j, one in enumerate(begun):
        alone = objective_of(X, (numbers != j).astype(np.int32), loss)
        beta, w, order = np.zeros(len(X)), np.zeros(6), np.arange(len(X), dtype=np.int32)
        sweep = _core.Sweep(len(X))
        sweep.share = 1.0  # no warm-up pass, and no scaling
        _core.dual_cd(
            _core.DualProblem(alone.problem.rows, alone.terms, alone.problem.squared_norms),
            _core.DualState(beta, order, _core.Bias(0.0, 0.0), sweep, _core.Random(3)),
            w,
            _core.SweepBudget(1, 0.0, 1e9),
        )
        np.testing.assert_allclose(one.beta, beta, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(one.dual, sweep.dual, rtol=1e-10)
        np.testing.assert_allclose(one.threshold, 0.25 * sweep.violation, rtol=1e-10)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("options", [{}, {"penalized_intercept": True}, {"fit_intercept": False}])
@pytest.mark.parametrize(("K", "d"), [(3, 6), (26, 70)])  # 26 are more than one group
def test_same_optimum_as_fits_of_their_own(loss, options, K, d):
    X, numbers = classes(n=260, d=d, K=K)
    shared = dict(C=0.1, loss=loss, solver="dual_cd", random_state=0, **options)
    model = free_svc(tol=1e-4, **shared).fit(X, numbers)
    assert len(model.solutions_) == K
    for j, solution in enumerate(model.solutions_):
        assert solution.status is Status.OPTIMAL
        assert 0.0 <= solution.certificate.relative_gap <= 1e-4
        alone = free_svc(tol=1e-6, **shared).fit(X, numbers == j).certificate_
        assert solution.certificate.dual <= alone.primal * (1 + 1e-12)
        assert solution.certificate.primal >= alone.dual * (1 - 1e-12)
        np.testing.assert_allclose(solution.certificate.primal, alone.primal, rtol=1e-4)


def test_a_class_without_weight_and_threads():
    X, numbers = classes(n=120, d=80, K=4)
    weight = np.where(numbers == 2, 0.0, 1.0)
    models = [
        free_svc(solver="dual_cd", random_state=0, n_jobs=n_jobs).fit(X, numbers, weight)
        for n_jobs in (1, 2)
    ]
    assert models[0].certificate_.relative_gap <= 1e-3
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)
    np.testing.assert_array_equal(models[0].coef_[2], 0.0)


@pytest.mark.parametrize("limit", [{"max_iter": 1}, {"max_iter": 2}, {"max_time": 1e-9}])
def test_limits_count_the_common_epochs(limit):
    X, numbers = classes(n=200, d=80)
    with pytest.warns(ConvergenceWarning):
        model = free_svc(C=100.0, solver="dual_cd", tol=1e-9, **limit).fit(X, numbers)
    assert model.n_iter_ <= limit.get("max_iter", 1)
    assert all(solution.certificate.gap >= 0.0 for solution in model.solutions_)


def test_warm_start_goes_on_from_the_last_fit():
    X, numbers = classes(n=200, d=80)
    model = free_svc(solver="dual_cd", tol=1e-4, warm_start=True, random_state=0)
    first = model.fit(X, numbers).n_iter_
    assert model.fit(X, numbers).n_iter_ < first


def test_the_same_seed_gives_the_same_model():
    X, numbers = classes(n=200, d=80)
    one, other = (free_svc(solver="dual_cd", random_state=3).fit(X, numbers) for _ in range(2))
    np.testing.assert_array_equal(one.coef_, other.coef_)


# --- mostly zeros ---


def zeros(n=300, d=100, seed=0, dtype=np.float64):
    X, numbers = classes(n, d, 4, seed)
    X[np.random.default_rng(seed).random(X.shape) < 0.8] = 0.0
    X[5] = 0.0
    return X.astype(dtype), numbers


@pytest.mark.parametrize("dtype", DTYPES, ids=["float32", "float64"])
def test_mostly_zero_rows_are_compressed(dtype):
    X, numbers = zeros(dtype=dtype)
    X.setflags(write=False)
    cost = np.ones(len(X))
    problem = Problem(X, numbers.astype(np.float64), cost)
    small = problem.compressed()
    assert small.X.dtype == dtype
    assert small.X.nnz == np.count_nonzero(X)
    np.testing.assert_array_equal(small.X.toarray(), X)
    np.testing.assert_allclose(small.squared_norms, problem.squared_norms, rtol=1e-14)


def test_what_is_dense_or_narrow_or_sparse_stays():
    X, numbers = zeros()
    y = numbers.astype(np.float64)
    for kept in (X + 1.0, np.ascontiguousarray(X[:, :20]), sparse.csr_array(X)):
        problem = Problem(kept, y, np.ones(len(y)))
        assert problem.compressed() is problem


@pytest.mark.parametrize("d", [4, 8, 20])
@pytest.mark.parametrize("dtype", DTYPES, ids=["float32", "float64"])
def test_compression_stays_within_its_arrays(d, dtype):
    """A row may be written whole before its zeros are dropped: d entries are needed, no more."""
    X, n = np.eye(d, dtype=dtype), d
    X[-1, -1] = np.nan
    rows, room, zero = _core.Rows(X), 2 * d - 1, np.zeros(d)
    offsets = np.zeros(n + 1, dtype=np.int32)
    values, columns = np.full(room + 3, -5.0), np.full(room + 3, -5, dtype=np.int32)
    short = room - 1
    assert not rows.compress(0, n, zero, 1.0, offsets, values[:short], columns[:short])
    assert (values[short:] == -5.0).all()
    assert (columns[short:] == -5).all()
    assert rows.compress(0, n, zero, 1.0, offsets, values[:room], columns[:room])
    assert (values[room:] == -5.0).all()
    assert (columns[room:] == -5).all()
    np.testing.assert_array_equal(offsets, np.arange(n + 1))
    np.testing.assert_array_equal(columns[:n], np.arange(n))
    np.testing.assert_array_equal(values[:n], np.append(np.ones(n - 1), np.nan))
    offsets[0] = -1
    with pytest.raises(ValueError, match="negative"):
        rows.compress(0, n, zero, 1.0, offsets, values, columns)


def test_rows_of_which_few_seemed_not_zero_stay_dense():
    X, numbers = zeros(n=600)
    X[1::2] = 1.0  # none of the rows looked at
    problem = Problem(X, numbers.astype(np.float64), np.ones(len(X)))
    assert problem.compressed() is problem


@pytest.mark.parametrize(
    ("multi_class", "solver"),
    [("ovr", "dual_cd"), ("ovr", "newton"), ("ovr", "auto"), ("crammer_singer", "dual_cd")],
)
def test_compressed_fits_are_those_of_csr(multi_class, solver):
    X, numbers = zeros()
    shared = {"solver": solver, "random_state": 0, "multi_class": multi_class, "C": 0.1}
    dense = free_svc(**shared).fit(X, numbers)
    csr = free_svc(**shared).fit(sparse.csr_array(X), numbers)
    np.testing.assert_allclose(dense.coef_, csr.coef_, rtol=1e-9, atol=1e-12)
    assert dense.certificate_.relative_gap <= 1e-3


def test_compressed_regression_is_that_of_csr():
    X, _ = zeros()
    dense, csr = (free_svr(random_state=0).fit(rows, X[:, 0]) for rows in (X, sparse.csr_array(X)))
    np.testing.assert_allclose(dense.coef_, csr.coef_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_rows_to_be_compressed_are_checked(value):
    X, numbers = zeros()
    X[7, 3] = value
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        free_svc().fit(X, numbers)


@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
def test_a_callback_gets_the_samples_as_they_were_given(multi_class):
    class Watcher:
        def setup(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context, *, X=None):
            seen.append(X)

        def on_fit_task_end(self, estimator, context):
            return False

        def teardown(self, estimator, context):
            pass

    seen: list[np.ndarray | None] = []
    X, numbers = zeros()
    free_svc(multi_class=multi_class).set_callbacks(Watcher()).fit(X, numbers)
    given = [rows for rows in seen if rows is not None]
    assert given
    assert all(isinstance(rows, np.ndarray) for rows in given)
