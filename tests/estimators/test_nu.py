"""NuSVC, NuSVR and OneClassSVM: the optimum, its proof, and what nu promises."""

from typing import Any

import clarabel
import numpy as np
import pytest
from scipy import sparse
from sklearn import svm
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from maxmargin import (
    SMO,
    SVC,
    SVR,
    Intercept,
    NuObjective,
    NuSVC,
    NuSVR,
    OneClassSVM,
    Problem,
    Status,
    certify,
)
from maxmargin.kernels import Gaussian
from maxmargin.losses import EPSILON_INSENSITIVE, HINGE
from maxmargin.solvers import Monitor, Start, Stopping
from synthetic import overlapping, regression

CLASSES = overlapping(160, 4)
TARGETS = regression(160, 4)
TIGHT: dict[str, Any] = {"tol": 1e-8, "gamma": 0.2}
NUS = pytest.mark.parametrize("nu", [0.05, 0.2, 0.5, 0.7])


def quadratic_program(P, q, A_eq, b_eq, upper):
    """Minimise x'Px/2 + q'x with A_eq x = b_eq and 0 <= x <= upper by an interior-point method."""
    n = len(q)
    A = sparse.vstack([A_eq, -np.eye(n), np.eye(n)]).tocsc()
    b = np.concatenate([b_eq, np.zeros(n), upper])
    cones = [clarabel.ZeroConeT(len(b_eq)), clarabel.NonnegativeConeT(2 * n)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    P = sparse.csc_matrix(np.triu(P + 1e-13 * np.eye(n)))
    return clarabel.DefaultSolver(P, q, A, b, cones, settings).solve().obj_val


def weights(n):
    return 0.5 + np.arange(n) % 4 / 2.0


@NUS
@pytest.mark.parametrize("weighted", [False, True])
def test_nu_svc_reaches_the_optimum_of_a_qp_solver(nu, weighted):
    X, y = CLASSES
    cost = weights(len(y)) if weighted else np.ones(len(y))
    model = NuSVC(nu=nu, **TIGHT).fit(X, y, sample_weight=cost)
    s, mass = np.where(y == model.classes_[1], 1.0, -1.0), nu * cost.sum()
    K = rbf_kernel(X, gamma=0.2) * np.outer(s, s)
    sums = np.array([s, np.ones_like(s)])
    best = -quadratic_program(K, np.zeros(len(s)), sums, np.array([0.0, mass]), cost)
    assert model.certificate_.status is Status.OPTIMAL
    assert model.certificate_.dual == pytest.approx(best, rel=1e-5)
    assert model.certificate_.primal == pytest.approx(best, rel=1e-5)


@NUS
def test_nu_svr_reaches_the_optimum_of_a_qp_solver(nu):
    X, y = TARGETS
    n, cost = len(y), 3.0 * weights(len(y))
    model = NuSVR(nu=nu, C=3.0, **TIGHT).fit(X, y, sample_weight=weights(n))
    K = rbf_kernel(X, gamma=0.2)
    sums = np.array([np.repeat([1.0, -1.0], n), np.ones(2 * n)])
    best = -quadratic_program(
        np.block([[K, -K], [-K, K]]),
        np.append(-y, y),
        sums,
        np.array([0.0, nu * cost.sum()]),
        np.tile(cost, 2),
    )
    assert model.certificate_.status is Status.OPTIMAL
    assert model.certificate_.dual == pytest.approx(best, rel=1e-5)


@NUS
def test_one_class_reaches_the_optimum_of_a_qp_solver(nu):
    X, cost = CLASSES[0], weights(160)
    model = OneClassSVM(nu=nu, **TIGHT).fit(X, sample_weight=cost)
    K, ones = rbf_kernel(X, gamma=0.2), np.ones((1, len(X)))
    best = -quadratic_program(K, np.zeros(len(X)), ones, np.array([nu * cost.sum()]), cost)
    assert model.certificate_.status is Status.OPTIMAL
    assert model.certificate_.dual == pytest.approx(best, rel=1e-5)


@NUS
def test_decision_values_are_scikit_learns(nu):
    X, y = CLASSES
    pairs = [
        (NuSVC(nu=nu, **TIGHT).fit(X, y), svm.NuSVC(nu=nu, **TIGHT).fit(X, y)),
        (OneClassSVM(nu=nu, **TIGHT).fit(X), svm.OneClassSVM(nu=nu, **TIGHT).fit(X)),
    ]
    for ours, theirs in pairs:
        expected = theirs.decision_function(X)
        scale = np.abs(expected).max()
        np.testing.assert_allclose(ours.decision_function(X), expected, atol=2e-3 * scale)
    nu += 0.003  # not a whole number of samples: then the intercept is unique
    ours, theirs = NuSVR(nu=nu, **TIGHT).fit(*TARGETS), svm.NuSVR(nu=nu, **TIGHT).fit(*TARGETS)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-5)


@NUS
def test_nu_lies_between_the_margin_errors_and_the_support_vectors(nu):
    X, y = CLASSES
    weight = weights(len(y))
    classifier = NuSVC(nu=nu).fit(X, y, sample_weight=weight)
    region = OneClassSVM(nu=nu).fit(X, sample_weight=weight)
    tube = NuSVR(nu=nu).fit(*TARGETS, sample_weight=weight)
    assert tube.epsilon_ > 0.0
    for model in (classifier, region, tube):
        assert model.margin_errors_ <= nu * (1 + 1e-12)
        assert model.support_fraction_ >= nu * (1 - 1e-12)
    share = weight / weight.sum()
    outside = np.abs(tube.predict(TARGETS[0]) - TARGETS[1]) > 1.001 * tube.epsilon_
    assert share[outside].sum() <= nu
    margins = np.where(y == classifier.classes_[1], 1, -1) * classifier.decision_function(X)
    assert share[margins < 0.999].sum() <= nu
    assert share[region.predict(X) < 0].sum() <= nu


def test_the_equivalent_c_has_the_same_optimum():
    X, y = CLASSES
    model = NuSVC(nu=0.4, **TIGHT).fit(X, y)
    same = SVC(C=model.equivalent_C_, **TIGHT).fit(X, y)
    np.testing.assert_allclose(same.decision_function(X), model.decision_function(X), atol=1e-5)
    np.testing.assert_array_equal(same.support_, model.support_)


def test_the_tube_found_has_the_same_optimum():
    X, y = TARGETS
    model = NuSVR(nu=0.4, C=2.0, **TIGHT).fit(X, y)
    same = SVR(C=2.0, epsilon=model.epsilon_, **TIGHT).fit(X, y)
    np.testing.assert_allclose(same.predict(X), model.predict(X), atol=1e-5)


def test_a_tube_of_zero_is_found():
    X, y = TARGETS
    model = NuSVR(nu=1.0, C=0.1, **TIGHT).fit(X, y)
    same = SVR(C=0.1, epsilon=0.0, **TIGHT).fit(X, y)
    assert model.epsilon_ == 0.0
    assert model.certificate_.primal == pytest.approx(same.certificate_.primal, rel=1e-7)


def test_several_classes_have_a_value_for_each_pair():
    X, y = overlapping(200, 4)
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = NuSVC(nu=0.3).fit(X, y)
    assert model.equivalent_C_.shape == model.margin_errors_.shape == (3,)
    assert (model.margin_errors_ <= 0.3 + 1e-12).all()
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("rows", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_working_sets_prove_the_same(rows, dtype):
    X, y = overlapping(1500, 5)
    X = rows(X.astype(dtype))
    for objective in (
        objective_of(X, np.where(y > 0, 1.0, -1.0), HINGE, Intercept.FREE),
        objective_of(X, np.ones(len(y)), HINGE, Intercept.NONE),
        objective_of(X, np.asarray(X[:, :1].sum(axis=1)).ravel() * 1.0, EPSILON_INSENSITIVE),
    ):
        found = [
            smo.solve(objective, Monitor(objective, Stopping(1e-5)), Start())
            for smo in (SMO(small=0), SMO(small=10_000))
        ]
        assert {solution.status for solution in found} == {Status.OPTIMAL}
        assert found[0].certificate.dual == pytest.approx(found[1].certificate.dual, rel=2e-5)


def objective_of(X, y, loss, intercept=Intercept.FREE):
    cost = np.ones(X.shape[0])
    problem = Problem(X, y.astype(np.float64), cost)
    return NuObjective(problem, loss, intercept, kernel=Gaussian(0.2), nu_sum=0.3 * len(cost))


def test_the_certificate_can_be_had_from_the_solution_alone():
    for model, data in ((NuSVC(nu=0.3), CLASSES), (NuSVR(nu=0.3), TARGETS)):
        solution = model.set_params(**TIGHT).fit(*data).solution_
        y = data[1] if isinstance(model, NuSVR) else np.where(data[1] == model.classes_[0], 1.0, -1)
        problem = Problem(data[0], y.astype(float), np.ones(len(y)))
        objective = NuObjective(problem, solution.loss, kernel=Gaussian(0.2), nu_sum=0.3 * len(y))
        again = certify(objective, solution.w, solution.b, solution.beta)
        assert again.primal == pytest.approx(solution.certificate.primal, rel=1e-9)
        assert again.gap == pytest.approx(solution.certificate.gap, abs=1e-9 * abs(again.primal))


@pytest.mark.parametrize("seed", range(20))
def test_no_feasible_point_beats_the_bound(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(30, 3)), np.where(np.arange(30) % 3 > 0, 1.0, -1.0)
    for targets, loss in ((y, HINGE), (rng.normal(size=30), EPSILON_INSENSITIVE)):
        problem = Problem(X, targets, rng.uniform(0.0, 2.0, 30))
        mass = 0.3 * problem.cost.sum()
        objective = NuObjective(problem, loss, kernel=Gaussian(0.5), nu_sum=mass)
        w, beta = rng.normal(size=(2, 30))
        feasible = objective.feasible(beta)
        assert (feasible <= objective.box.upper).all()
        assert (feasible >= objective.box.lower).all()
        assert feasible.sum() == pytest.approx(0.0, abs=1e-12 * mass)
        assert np.abs(feasible).sum() <= mass * (1 + 1e-12)
        certificate = certify(objective.at(abs(rng.normal())), w, rng.normal(), beta)
        assert certificate.gap >= 0.0
        best = SMO().solve(objective, Monitor(objective, Stopping(1e-9)), Start()).certificate
        assert certificate.dual <= best.primal + 1e-9 * abs(best.primal)
        assert certificate.primal >= best.dual - 1e-9 * abs(best.dual)


@pytest.mark.parametrize("nu", [0.0, -0.1, 1.1, np.nan, "half", True])
@pytest.mark.parametrize("Model", [NuSVC, NuSVR, OneClassSVM])
def test_nu_is_checked(Model, nu):
    with pytest.raises(ValueError, match="nu must be a number above 0 and at most 1"):
        Model(nu=nu).fit(*CLASSES)


def test_an_infeasible_nu_is_explained():
    X, y = CLASSES
    few = np.arange(len(y)) % 10 == 0
    with pytest.raises(
        ValueError, match=r"nu is infeasible for classes False and True.* at most 0\.2\."
    ):
        NuSVC(nu=0.5).fit(X, few)
    assert NuSVC(nu=0.5, class_weight="balanced").fit(X, few).margin_errors_ <= 0.5
    assert NuSVC(nu=0.2).fit(X, few).certificate_.status is Status.OPTIMAL


def test_the_pair_of_classes_with_the_least_room_for_nu_is_named():
    X, y = CLASSES[0], np.repeat(["a", "b", "c"], [60, 20, 80])
    with pytest.raises(ValueError, match=r"for classes 'b' and 'c'.* at most 0\.4\."):
        NuSVC(nu=0.6).fit(X, y)
    assert NuSVC(nu=0.4).fit(X, y).fit_status_ == 0


@pytest.mark.parametrize("heavy", [0, 1])
@pytest.mark.parametrize("nu", [0.101, 0.3, 0.9])
def test_a_nu_that_class_weights_make_infeasible_goes_on_as_a_smaller_C(nu, heavy):  # noqa: N802
    """At the largest nu P is constant along a ray; the models on it are those of SVC."""
    y = np.arange(80) % 2
    X = np.random.default_rng(0).normal(size=(80, 3)) + y[:, np.newaxis]
    weights = {label: 19.0 if label == heavy else 1.0 for label in (0, 1)}
    with pytest.warns(UserWarning, match=r"at most 0\.1 with these class weights"):
        model = NuSVC(nu=nu, gamma=0.5, class_weight=weights, tol=1e-9).fit(X, y)
    largest = NuSVC(nu=0.1, gamma=0.5, class_weight=weights, tol=1e-9).fit(X, y)
    C = largest.equivalent_C_ * 0.1 / nu
    assert model.equivalent_C_ == pytest.approx(C, rel=1e-6)
    twin = SVC(C=C, gamma=0.5, class_weight=weights, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(X), twin.decision_function(X), rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize(("nu", "n_few", "weights"), [(0.28, 14, None), (1.0, 1, "balanced")])
def test_the_largest_nu_is_feasible_whatever_rounding_says(nu, n_few, weights):
    n = 100 if weights is None else 8
    X = np.random.default_rng(0).normal(size=(n, 2))
    model = NuSVC(nu=nu, class_weight=weights).fit(X, np.arange(n) < n_few)
    assert model.certificate_.status is Status.OPTIMAL


def test_pairs_of_classes_go_on_each_from_their_own_nu():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 20)
    X = rng.normal(size=(60, 2)) + y[:, np.newaxis]
    weights = {0: 9.0, 1: 1.0, 2: 1.0}
    with pytest.warns(UserWarning, match=r"at most 0\.2 with these class weights"):
        model = NuSVC(nu=0.5, class_weight=weights).fit(X, y)
    largest = NuSVC(nu=0.2, class_weight=weights).fit(X, y)
    expected = largest.equivalent_C_[:2] * 0.2 / 0.5
    np.testing.assert_allclose(model.equivalent_C_[:2], expected, rtol=1e-2)
    excesses = [solution.excess for solution in model.solutions_]
    assert excesses == pytest.approx([1.5, 1.5, 0.0])


def test_a_stopped_fit_beyond_the_largest_nu_stays_finite():
    X, y = overlapping(1500, 5)
    model = NuSVC(nu=0.5, class_weight={1.0: 1e9}, max_iter=1)
    with pytest.warns(ConvergenceWarning), pytest.warns(UserWarning, match="is infeasible"):
        model.fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()


def test_classes_that_coincide_leave_no_margin():
    X = np.repeat(np.arange(6.0)[:, np.newaxis], 2, axis=0)
    with pytest.raises(ValueError, match="leaves no margin"):
        NuSVC(nu=0.5).fit(X, np.tile([0, 1], 6))


@pytest.mark.parametrize("Model", [NuSVC, NuSVR, OneClassSVM])
def test_a_limit_leaves_a_model_and_a_warning(Model):
    X, y = overlapping(1500, 5)
    model = Model(nu=0.3, max_iter=2, tol=1e-9)
    with pytest.warns(Warning, match="stopped by max_iter"):
        model.fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert model.certificate_.gap > 0.0


def test_a_warm_start_follows_nu():
    X, y = CLASSES
    for model, data in ((NuSVC(nu=0.3), (X, y)), (NuSVR(nu=0.3), TARGETS), (OneClassSVM(), (X,))):
        model.set_params(warm_start=True).fit(*data)
        assert np.max(model.fit(*data).n_iter_) <= 1
        model.set_params(nu=0.35).fit(*data)
        assert model.certificate_.status is Status.OPTIMAL
        assert model.support_fraction_ >= 0.35


def test_one_class_edges():
    assert OneClassSVM(nu=0.5).fit([[1.0, 2.0]]).predict([[1.0, 2.0]]) == [1]
    same = OneClassSVM(nu=0.1, gamma=1.0).fit(np.ones((20, 3)))
    assert (same.predict(np.ones((2, 3))) == 1).all()
    assert OneClassSVM(nu=1.0).fit(CLASSES[0]).certificate_.relative_gap <= 1e-15


@pytest.mark.parametrize("model", [NuSVC(nu=0.3), SVC(C=np.inf)], ids=["nu", "hard"])
def test_a_class_without_weight_is_refused(model):
    X, y = CLASSES[0], np.arange(160) % 3
    with pytest.raises(ValueError, match="positive weight in every class"):
        model.fit(X, y, sample_weight=(y > 0).astype(float))


def test_the_offset_has_the_shape_of_scikit_learns():
    X = np.random.default_rng(0).normal(size=(60, 2))
    ours, theirs = (machine(nu=0.2).fit(X) for machine in (OneClassSVM, svm.OneClassSVM))
    assert ours.offset_.shape == theirs.offset_.shape
    np.testing.assert_allclose(ours.offset_, theirs.offset_, rtol=1e-2)


@pytest.mark.parametrize("size", [1e-290, 1e-200, 1e-120, 1e120, 1e290])
@pytest.mark.parametrize("model", [NuSVC(nu=0.1), OneClassSVM(nu=0.1)], ids=str)
def test_only_the_ratios_of_weights_count(model, size):
    """Squares of tiny ones were 0: "leaves no margin", "no direction separates"; huge, refused."""
    X, y = overlapping(200)
    weight = np.random.default_rng(0).uniform(0.5, 1.0, len(y))
    plain = clone(model).fit(X, y, sample_weight=weight)
    model.fit(X, y, sample_weight=size * weight)
    assert model.certificate_.status is Status.OPTIMAL
    assert np.array_equal(model.predict(X), plain.predict(X))
    assert np.array_equal(model.support_, plain.support_)
    table = model.samples(X, y, size * weight)
    assert (table.alpha <= table.bound * (1.0 + 1e-9)).all()
