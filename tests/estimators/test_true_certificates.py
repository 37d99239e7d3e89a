"""Certificates at the ends of the range of double precision: true, or not given."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

from maxmargin import SVC, SVR, Intercept, LinearSVC, LinearSVR, NuSVC, OneClassSVM, Problem
from maxmargin.certificate import Status
from maxmargin.losses import EPSILON_INSENSITIVE, HINGE, SQUARED_HINGE
from maxmargin.objectives import (
    CrammerSingerObjective,
    KernelCrammerSingerObjective,
    L1Objective,
    LinearObjective,
    PrimalDual,
)

pytestmark = pytest.mark.filterwarnings("ignore")

LABELS, HEAVY = [0, 1, 2, 2, 2], [1.0, 1.0, 1.0, 1e15, 1.0]
ONE_HEAVY = np.r_[1e16, np.ones(29)]
SIGNS = np.r_[1.0, np.where(np.random.default_rng(0).random(29) > 0.3, -1.0, 1.0)]


@pytest.mark.parametrize("shift", [0.0, 1e6])
@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(multi_class="crammer_singer", penalized_intercept=False),
        LinearSVC(multi_class="crammer_singer", solver="pegasos", random_state=0),
        SVC(kernel="linear", multi_class="crammer_singer"),
    ],
)
def test_one_heavy_sample_does_not_make_the_others_negligible_of_several_classes(model, shift):
    found = model.fit(np.full((5, 1), shift), LABELS, HEAVY).certificate_
    assert found.status is not Status.OPTIMAL or found.primal <= 4.0 * (1.0 + model.tol)


@pytest.mark.parametrize("shift", [0.0, 1e6])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("solver", ["newton", "dual_cd", "sgd", "pegasos"])
@pytest.mark.parametrize("penalized", [True, False])
def test_one_heavy_sample_does_not_make_the_others_negligible(loss, solver, penalized, shift):
    model = LinearSVC(
        loss=loss, solver=solver, penalized_intercept=penalized, random_state=0, max_iter=2000
    )
    X = np.full((30, 1), shift)
    found = model.fit(X, SIGNS, ONE_HEAVY).certificate_
    light = float((SIGNS < 0.0).sum())
    best = (2.0 if loss == "hinge" else 4.0) * light + (0.5 if penalized else 0.0)
    assert found.status is not Status.OPTIMAL or found.primal <= best * (1.0 + model.tol)


@pytest.mark.parametrize("intercept", [Intercept.FREE, Intercept.PENALIZED])
def test_what_counts_as_zero_is_less_than_the_best_constant(intercept):
    X, y = np.zeros((30, 1)), np.random.default_rng(1).standard_normal(30)
    for kind, target, loss in [
        (LinearObjective, SIGNS, HINGE),
        (LinearObjective, SIGNS, SQUARED_HINGE),
        (LinearObjective, y, EPSILON_INSENSITIVE),
        (L1Objective, SIGNS, SQUARED_HINGE),
    ]:
        posed = kind(Problem(X, target, ONE_HEAVY), loss, intercept)
        constants = (posed.primal(np.zeros(1), b) for b in (-1.0, 1.0, y[0]))
        assert posed.negligible < 1e-9 * min(constants)
    joint = CrammerSingerObjective(
        Problem(X[:5], np.array(LABELS, float), np.array(HEAVY)), 3, intercept
    )
    assert joint.negligible < 1e-9


def exact_primal(model, X, y, C, epsilon):
    w, b = (
        [Fraction(float(v)) for v in model.coef_.ravel()],
        Fraction(float(np.ravel(model.intercept_)[0])),
    )
    f = [b + sum(Fraction(float(a)) * v for a, v in zip(x, w, strict=True)) for x in X]
    misses = [
        max(
            Fraction(0),
            1 - int(t) * v if epsilon is None else abs(Fraction(float(t)) - v) - Fraction(epsilon),
        )
        for t, v in zip(y, f, strict=True)
    ]
    return float(sum(v * v for v in w) / 2 + Fraction(C) * sum(misses))


def test_the_intercept_is_judged_as_it_is_handed_back_with_targets_far_from_0():
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((4, 5)), 1e9 + rng.standard_normal(4)
    model = SVR(kernel="linear", C=1e6, epsilon=0.1).fit(X, y)
    assert model.certificate_.primal >= (1.0 - 1e-6) * exact_primal(model, X, y, 1e6, 0.1)


@pytest.mark.parametrize("offset", [1e12, 1e15])
def test_the_intercept_is_judged_as_it_is_handed_back_with_rows_far_from_0(offset):
    rng, y = np.random.default_rng(0), np.repeat([-1, 1], 6)
    for _ in range(5):
        X = rng.integers(-9, 9, (12, 3)) + offset
        model = SVC(kernel="linear").fit(X, y)
        found = model.certificate_
        exact = exact_primal(model, X, y, 1, None)
        assert exact <= found.primal * (1.0 + 1e-9)
        assert found.primal - exact <= found.gap * (1.0 + 1e-9)


@pytest.mark.parametrize("C", [1e28, 1e30])
def test_the_lower_bound_is_one_however_large_the_primal_value_is(C):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 130)), rng.integers(0, 2, 20)
    y[0], y[-1] = 0, 1
    above = LinearSVC(C=1e6, loss="hinge", tol=1e-9).fit(X, y).certificate_.primal
    model = LinearSVC(C=C, loss="hinge", solver="dual_cd", max_iter=200, random_state=0)
    assert model.fit(X, y).certificate_.dual <= above
    assert max(record.dual for record in model.solution_.history) <= above


def test_the_lower_bound_of_several_classes_is_one_however_large_the_costs_are():
    own = np.arange(30) % 2
    X, rng, rows = np.where(own, 1.0, -1.0)[:, np.newaxis], np.random.default_rng(0), np.arange(30)
    problem = Problem(X, own.astype(float), np.full(30, 1e39))
    posed = CrammerSingerObjective(problem, 2, Intercept.NONE)  # its optimum is 1/4
    for _ in range(500):
        w, alpha = 1.0 - 10.0 ** rng.uniform(-16.0, -12.0), rng.uniform(0.0, 0.02, 30)
        beta = np.zeros((30, 2))
        beta[rows, own], beta[rows, 1 - own] = alpha, -alpha
        point = PrimalDual(0.5 * np.array([[-w], [w]]), np.zeros(2), beta)
        assert posed.certify(point).dual <= 0.25


def test_the_first_point_of_a_qp_solver_is_paired_with_its_dual_point():
    rng = np.random.default_rng(9)
    X, y = np.round(rng.standard_normal((5, 2))), rng.standard_normal(5)
    model = LinearSVR(
        loss="squared_epsilon_insensitive",
        epsilon=0.1,
        fit_intercept=False,
        solver="qp",
        max_iter=1,
    )
    assert math.isfinite(model.fit(X, y).certificate_.gap)


@pytest.mark.parametrize("kind", [LinearObjective, L1Objective])
def test_a_point_with_one_of_its_products_is_certified_as_without(kind):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((6, 2)), np.repeat([-1.0, 1.0], 3)
    posed = kind(Problem(X, y, np.ones(6)), SQUARED_HINGE, Intercept.NONE)
    w, beta = rng.standard_normal(2), 0.01 * y
    expected = posed.certify(PrimalDual(w, 0.0, beta))
    for products in ({"z": X @ w}, {"dual": X.T @ beta}):
        found = posed.certify(PrimalDual(w, 0.0, beta, **products))
        assert (found.primal, found.gap) == pytest.approx((expected.primal, expected.gap))


def test_a_model_of_several_classes_without_any_values_can_be_pickled():
    labels = [0, 1, 2, 3, 4]
    model = SVC(kernel="linear", multi_class="crammer_singer", fit_intercept=False)
    again = pickle.loads(pickle.dumps(model.fit(np.zeros((5, 1)), labels)))
    np.testing.assert_allclose(again.predict_proba(np.zeros((1, 1))).sum(), 1.0)


@pytest.mark.parametrize("power", [0, 3, 4])
def test_a_model_of_several_classes_with_huge_values_can_be_pickled(power):
    X = np.random.default_rng(power).standard_normal((5, 130))
    X[0] *= 10.0**power
    X[2] = 0.0
    weights = [1.0, 1.0, 1.0, 1e-52, 1.0]
    model = LinearSVC(multi_class="crammer_singer", fit_intercept=False, max_iter=1)
    again = pickle.loads(pickle.dumps(model.fit(X, [0, 1, 2, 1, 1], weights)))
    np.testing.assert_allclose(again.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("t", [0.0, 1e-9, 1e-8, 5e-8, 1e-7])
def test_a_direction_that_all_but_vanishes_is_bounded_from_below(t):
    found = OneClassSVM(kernel="linear", nu=1.0).fit([[1.0, t], [-1.0, t]]).certificate_
    assert found.dual <= -0.5 * (2.0 * t) ** 2
    assert found.gap >= found.primal + 0.5 * (2.0 * t) ** 2


@pytest.mark.parametrize("kind", ["ovr", "crammer_singer"])
def test_a_constant_feature_whose_square_overflows_is_refused(kind):
    model = LinearSVC(intercept_scaling=1e160, multi_class=kind)
    with pytest.raises(ValueError, match=r"intercept_scaling is 1.0e\+160.* overflow.*lower"):
        model.fit([[0.0], [1.0], [2.0]], [0, 1, 1])


def test_squared_losses_that_overflow_are_refused():
    X = 1e56 * np.random.default_rng(0).standard_normal((5, 130))
    model = LinearSVC(C=1e34, fit_intercept=False, solver="newton")
    with pytest.raises(ValueError, match=r"overflow\. Scale X and y .* or lower C"):
        model.fit(X, [0, 1, 0, 1, 1])


def test_coefficients_of_several_classes_are_judged_as_they_are_given():
    rng = np.random.default_rng(0)
    X, labels = rng.standard_normal((6, 2)), np.arange(6) % 3
    problem = Problem(X, labels.astype(float), np.full(6, 10.0))
    posed = KernelCrammerSingerObjective(problem, 3, Intercept.NONE)
    linear = CrammerSingerObjective(problem, 3, Intercept.NONE)
    beta, b = linear.within_simplices(-rng.random((6, 3))), np.zeros(3)
    for coef in (np.zeros((3, 6)), rng.standard_normal((3, 6)), beta.T):
        found = posed.certify(PrimalDual(coef, b, beta))
        expected = linear.certify(PrimalDual(coef @ X, b, beta))
        values = [(one.primal, one.dual, one.gap, one.margin) for one in (found, expected)]
        assert values[0] == pytest.approx(values[1], rel=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_margin_of_a_nu_machine_is_that_of_the_model_handed_back(n_classes):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 2)), np.arange(40) % n_classes
    model = NuSVC(kernel="linear", nu=0.7).fit(X + y[:, np.newaxis], y)
    longest = np.linalg.norm(model.coef_, axis=1).max()
    assert model.certificate_.margin == pytest.approx(1.0 / longest)
