"""The QP solver proves the same optimum as the solvers that it shares no step with."""

import sys

import numpy as np
import pytest
from scipy import sparse

from choices import ALL_INTERCEPTS, REGULARIZED_LOSSES
from maxmargin import (
    QP,
    SMO,
    SVC,
    SVR,
    Intercept,
    KernelObjective,
    LinearObjective,
    LinearSVR,
    Problem,
    Status,
)
from maxmargin.kernels import Gaussian, Laplacian, Linear, Polynomial, Precomputed, Sigmoid
from maxmargin.losses import HINGE, PERCEPTRON, SQUARED_HINGE
from maxmargin.solvers import Monitor, Start, Stopping
from reference import objective as textbook
from synthetic import (
    STORAGES,
    TUBE,
    data_for,
    free_svc,
    objective_of,
    overlapping,
    solve,
    store,
    weights_for,
)

PLAIN = pytest.mark.parametrize(
    "intercept", [Intercept.FREE, Intercept.NONE], ids=lambda i: i.value
)
COSTS = pytest.mark.parametrize("C", [1e-6, 1.0, 1e4])
TOL = 1e-8


def machine(kernel, loss=HINGE, intercept=Intercept.FREE, *, C=1.0, storage="dense"):
    X, y = data_for(loss)
    cost = C * weights_for(60)
    return KernelObjective(Problem(store(X, storage), y, cost), loss, intercept, kernel=kernel)


def run(objective, solver=None, tol=TOL, max_iter=None):
    monitor = Monitor(objective, Stopping(tol, max_iter))
    return (solver or QP()).solve(objective, monitor, Start())


# ---- linear machines


@REGULARIZED_LOSSES
@ALL_INTERCEPTS
@COSTS
def test_linear_machines_agree_with_newton(loss, intercept, C):
    objective = objective_of(loss, intercept, C=C, weights=weights_for(60), scaling=2.0)
    ours, newton = (solve(objective, name, TOL).certificate for name in ("qp", "newton"))
    assert ours.status is Status.OPTIMAL
    assert 0.0 <= ours.relative_gap <= TOL
    assert abs(ours.primal - newton.primal) <= ours.gap + newton.gap + 1e-12 * ours.primal


@REGULARIZED_LOSSES
@pytest.mark.parametrize("storage", STORAGES)
def test_storage_does_not_matter_to_agreement_with_dual_cd(loss, storage):
    X, y = data_for(loss)
    objective = objective_of(loss, X=store(X, storage, np.float32), y=y)
    ours, theirs = (solve(objective, name, TOL).certificate for name in ("qp", "dual_cd"))
    assert abs(ours.primal - theirs.primal) <= ours.gap + theirs.gap + 1e-12 * ours.primal


@REGULARIZED_LOSSES
@ALL_INTERCEPTS
@pytest.mark.parametrize("shape", [(10, 40), (40, 1), (2, 1)], ids=["wide", "one column", "two"])
def test_odd_shapes_are_solved(loss, intercept, shape):
    X, y = data_for(loss, *shape)
    objective = objective_of(loss, intercept, X=X, y=y)
    certificate = solve(objective, "qp", 1e-6).certificate
    w, b, _ = textbook.optimum(objective)
    assert certificate.status is Status.OPTIMAL
    assert certificate.primal == pytest.approx(textbook.primal(objective, w, b), rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("size", [0.0, 1e-6, 1e3])
@REGULARIZED_LOSSES
def test_the_size_of_the_features_does_not_matter(loss, size):
    X, y = data_for(loss)
    assert solve(objective_of(loss, X=size * X, y=y), "qp", 1e-6).status is Status.OPTIMAL


# ---- kernel machines


@pytest.mark.parametrize(
    "kernel", [Linear(), Gaussian(0.3), Polynomial(0.2, 3, 1.0), Laplacian(0.3)],
    ids=lambda k: type(k).__name__,
)  # fmt: skip
@pytest.mark.parametrize("loss", [HINGE, TUBE], ids=["hinge", "tube"])
@PLAIN
def test_kernel_machines_agree_with_smo(kernel, loss, intercept):
    objective = machine(kernel, loss, intercept)
    ours, smo = (run(objective, solver).certificate for solver in (QP(), SMO()))
    assert ours.status is smo.status is Status.OPTIMAL
    assert 0.0 <= ours.relative_gap <= TOL
    assert abs(ours.primal - smo.primal) <= ours.gap + smo.gap + 1e-12 * ours.primal
    assert ours.kkt_violation < 1e-3


@pytest.mark.parametrize("loss", [HINGE, TUBE], ids=["hinge", "tube"])
@PLAIN
@COSTS
def test_costs_of_any_size_are_solved(loss, intercept, C):
    certificate = run(machine(Gaussian(0.3), loss, intercept, C=C)).certificate
    assert certificate.status is Status.OPTIMAL
    assert certificate.relative_gap <= TOL


@REGULARIZED_LOSSES
@PLAIN
def test_a_linear_kernel_is_the_linear_machine(loss, intercept):
    """Also for the squared losses, which SMO does not have."""
    kernel = run(machine(Linear(), loss, intercept)).certificate
    linear = run(objective_of(loss, intercept, weights=weights_for(60))).certificate
    assert kernel.status is Status.OPTIMAL
    assert abs(kernel.primal - linear.primal) <= kernel.gap + linear.gap + 1e-12 * linear.primal


def test_samples_without_a_say_have_no_coefficient():
    solution = run(machine(Gaussian(0.3)))
    assert (solution.w[weights_for(60) == 0.0] == 0.0).all()
    assert 0 < np.count_nonzero(solution.w) < 55


def test_support_vectors_are_those_of_smo():
    objective = machine(Gaussian(0.3))
    ours, smo = (run(objective, solver).beta for solver in (QP(), SMO()))
    np.testing.assert_array_equal(ours != 0.0, smo != 0.0)
    np.testing.assert_allclose(ours, smo, atol=1e-4)


def test_estimators_take_it_by_name():
    X, y = overlapping()
    for model in (SVC(solver="qp"), SVR(solver="qp"), free_svc(solver="qp")):
        model.fit(X, y)
        assert model.solution_.solver == "qp"
        assert model.certificate_.relative_gap <= 1e-3
    sparse_model = SVC(solver="qp", kernel="linear", gamma=0.1).fit(sparse.csr_array(X), y)
    assert sparse_model.certificate_.status is Status.OPTIMAL
    three = SVC(solver="qp").fit(X, np.arange(len(y)) % 3)
    assert three.certificate_.status is Status.OPTIMAL


# ---- what it stops at, and what it refuses


@pytest.mark.parametrize("model", [LinearSVR, SVR])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_tube_as_wide_as_the_targets_needs_no_weights(model, fit_intercept):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2, 40, 2))
    wide = model(solver="qp", epsilon=10.0, fit_intercept=fit_intercept).fit(X, y[:, 0])
    assert wide.certificate_.status is Status.OPTIMAL
    assert wide.certificate_.primal == 0.0


def test_limits_stop_it_with_a_point_that_is_worth_something():
    stopped = run(machine(Gaussian(0.3)), max_iter=3)
    assert stopped.status is Status.STOPPED_BY_ITERATIONS
    assert stopped.n_iter == 3
    assert TOL < stopped.certificate.relative_gap < 1.0
    objective = machine(Gaussian(0.3))
    monitor = Monitor(objective, Stopping(TOL, None, 1e-9))
    assert QP().solve(objective, monitor, Start()).status is Status.STOPPED_BY_TIME


def test_a_tolerance_beyond_double_precision_is_not_claimed():
    solution = run(machine(Gaussian(0.3)), tol=1e-18)
    assert solution.status is Status.STALLED or solution.certificate.relative_gap <= 1e-18
    assert solution.certificate.relative_gap < 1e-8


def test_an_indefinite_kernel_is_refused():
    X, y = overlapping()
    K = 3.0 * Gaussian(0.3)(X, X) - 2.5 * np.eye(len(y))
    positions = np.arange(60.0)[:, None]
    indefinite = KernelObjective(Problem(positions, y, np.ones(60)), HINGE, kernel=Precomputed(K))
    for objective in (indefinite, machine(Sigmoid(1.0, -2.0))):
        with pytest.raises(ValueError, match=r"positive semidefinite.*solver='smo'"):
            run(objective)
    assert run(KernelObjective(indefinite.problem, HINGE, kernel=Precomputed(K + 2.5 * np.eye(60))))


@pytest.mark.parametrize(("kernel", "remedy"), [(None, "'newton'"), (Gaussian(0.3), "'smo'")])
def test_too_many_samples_are_refused(kernel, remedy):
    X, y = np.zeros((5001, 1)), np.where(np.arange(5001) % 2, 1.0, -1.0)
    problem = Problem(X, y, np.ones(5001))
    objective = (
        KernelObjective(problem, HINGE, kernel=kernel)
        if kernel
        else LinearObjective(problem, HINGE)
    )
    with pytest.raises(ValueError, match=f"at most 5000 samples, and X has 5001.*{remedy}"):
        run(objective)


def test_what_has_no_such_dual_is_refused():
    with pytest.raises(ValueError, match="needs a regularised objective"):
        run(objective_of(PERCEPTRON))
    with pytest.raises(ValueError, match="not penalised"):
        run(machine(Gaussian(0.3), SQUARED_HINGE, Intercept.PENALIZED))


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(ImportError, match=r"pip install maxmargin\[qp\]"):
        run(machine(Gaussian(0.3)))
