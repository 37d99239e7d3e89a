"""The certificate is a true bound, whatever it is given."""

import math
from dataclasses import astuple
from functools import cache
from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from choices import ALL_INTERCEPTS, HINGES, REGULARIZED_LOSSES
from maxmargin import SVC, Certificate, Intercept, Problem, Status, _core, certify
from maxmargin.certificate import relative, total
from maxmargin.losses import HINGE
from maxmargin.objectives import PrimalDual
from reference import objective as textbook
from synthetic import LOSSES, data_for, objective_of, separable, solve, weights_for

ALL_LOSSES = pytest.mark.parametrize("loss", LOSSES.values(), ids=list(LOSSES))

N, D = 20, 3
NUMBERS = st.floats(-1e3, 1e3)
WEIGHTS = hnp.arrays(np.float64, D, elements=NUMBERS)
DUALS = hnp.arrays(np.float64, N, elements=NUMBERS)


@cache
def make(loss, intercept):
    X, y = data_for(loss, N, D)
    return objective_of(loss, intercept, X=X, y=y, scaling=2.0, weights=weights_for(N))


def two_points(C=10.0):
    """x = ±1, y = ±1: w = 1 and α = ½ each, by hand."""
    return objective_of(HINGE, Intercept.NONE, X=np.array([[1.0], [-1.0]]), y=np.array([1.0, -1.0]),
                        C=C)  # fmt: skip


def optimal_pair():
    return certify(two_points(), np.array([1.0]), 0.0, np.array([0.5, -0.5]))


@ALL_LOSSES
@ALL_INTERCEPTS
@settings(max_examples=30)
@given(w=WEIGHTS, b=NUMBERS, beta=DUALS)
def test_gap_is_never_negative(loss, intercept, w, b, beta):
    b = 0.0 if intercept is Intercept.NONE else b
    certificate = certify(make(loss, intercept), w, b, beta)
    assert certificate.gap >= 0.0
    assert certificate.kkt_violation >= 0.0


@ALL_LOSSES
@ALL_INTERCEPTS
@settings(max_examples=30)
@given(w=WEIGHTS, b=NUMBERS, beta=DUALS)
def test_gap_is_primal_minus_dual(loss, intercept, w, b, beta):
    if intercept is Intercept.NONE:
        b = 0.0
    certificate = certify(make(loss, intercept), w, b, beta)
    size = abs(certificate.primal) + abs(certificate.dual)
    assert certificate.gap == pytest.approx(
        certificate.primal - certificate.dual, rel=0, abs=1e-11 * (1 + size)
    )


@ALL_LOSSES
@ALL_INTERCEPTS
@settings(max_examples=30)
@given(w=WEIGHTS, b=NUMBERS, beta=DUALS)
def test_primal_and_dual_are_the_textbook_values(loss, intercept, w, b, beta):
    b = 0.0 if intercept is Intercept.NONE else b
    objective = make(loss, intercept)
    certificate = certify(objective, w, b, beta)
    feasible = objective.feasible(beta)
    size = 1e-12 * (1 + np.abs(beta).max() ** 2 * N)
    assert certificate.primal == pytest.approx(textbook.primal(objective, w, b), rel=1e-12)
    assert certificate.dual == pytest.approx(
        textbook.dual(objective, feasible), rel=1e-10, abs=size
    )


@ALL_LOSSES
@pytest.mark.parametrize("n", [1, 3, 259, 1030])
def test_rows_read_in_streams_are_all_judged(loss, n):
    rng = np.random.default_rng(n)
    X, y = rng.normal(size=(n, 20)), rng.choice([-1.0, 1.0], n)
    objective = objective_of(loss, Intercept.NONE, X=X, y=y, weights=weights_for(n))
    w, beta = rng.normal(size=20), rng.normal(size=n)
    certificate, feasible = certify(objective, w, 0.0, beta), objective.feasible(beta)
    assert certificate.primal == pytest.approx(textbook.primal(objective, w, 0.0), rel=1e-12)
    assert certificate.dual == pytest.approx(textbook.dual(objective, feasible), rel=1e-10)
    support = certificate.n_support_free + certificate.n_support_bounded
    assert support == np.count_nonzero(feasible)


@pytest.mark.parametrize("name", ["squared_hinge", "squared", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("intercept", [Intercept.NONE, Intercept.PENALIZED], ids=lambda i: i.value)
@settings(max_examples=30)
@given(w=WEIGHTS, b=NUMBERS)
def test_a_point_is_judged_by_the_dual_point_that_belongs_to_it(name, intercept, w, b):
    b = 0.0 if intercept is Intercept.NONE else b
    objective = make(LOSSES[name], intercept)
    y, cost = objective.problem.y, objective.problem.cost
    judged = objective.judge(PrimalDual(w, b, None))
    certificate, beta = judged.certificate, judged.point.beta
    z = objective.problem.predict(w, b)
    sign = y if objective.loss.one_sided else np.sign(y - z)
    slack = objective.loss.slack(y, z)
    np.testing.assert_allclose(beta, 2.0 * cost * slack * sign, rtol=1e-12)
    assert certificate == objective.certify(PrimalDual(w, b, beta))


@pytest.mark.parametrize("name", list(LOSSES))
def test_a_certificate_in_blocks_of_rows_is_that_of_all(name, monkeypatch):
    objective, rng = make(LOSSES[name], Intercept.PENALIZED), np.random.default_rng(0)
    w, beta = rng.normal(size=3), objective.feasible(rng.normal(size=20))
    whole = objective.certify(PrimalDual(w, 0.5, beta))
    monkeypatch.setattr(Problem, "blocks", lambda _: [(0, 7), (7, 8), (8, 20)])
    for value, part in zip(
        astuple(whole), astuple(objective.certify(PrimalDual(w, 0.5, beta))), strict=True
    ):
        assert part == (
            value if isinstance(value, (Status, str)) else pytest.approx(value, rel=1e-12)
        )


def test_an_absolute_loss_does_not_tell_the_dual_point():
    with pytest.raises(ValueError, match="squared loss"):
        two_points().judge(PrimalDual(np.array([1.0]), 0.0, None))


@REGULARIZED_LOSSES
@ALL_INTERCEPTS
def test_dual_of_any_point_is_below_the_optimum(loss, intercept):
    objective = make(loss, intercept)
    w, b, _ = textbook.optimum(objective)
    ceiling = textbook.primal(objective, w, b)  # of any model, hence no less than the optimum
    rng = np.random.default_rng(0)
    near = solve(objective, tol=1e-9).beta
    for size in (0.0, 1e-6, 1e-3, 0.1, 1.0, 10.0):
        for _ in range(20):
            beta = near + size * rng.normal(size=N)
            assert certify(objective, w, b, beta).dual <= ceiling * (1 + 1e-12)


@REGULARIZED_LOSSES
@ALL_INTERCEPTS
def test_primal_less_gap_is_below_the_optimum(loss, intercept):
    objective = make(loss, intercept)
    best_w, best_b, _ = textbook.optimum(objective)
    ceiling = textbook.primal(objective, best_w, best_b)
    rng = np.random.default_rng(1)
    for size in (1e-6, 1e-3, 0.1, 1.0, 10.0):
        for _ in range(20):
            w = best_w + size * rng.normal(size=D)
            b = 0.0 if intercept is Intercept.NONE else best_b + size * rng.normal()
            certificate = certify(objective, w, b, size * rng.normal(size=N))
            assert certificate.primal - certificate.gap <= ceiling * (1 + 1e-12)


@REGULARIZED_LOSSES
@ALL_INTERCEPTS
def test_relative_gap_bounds_the_excess_over_the_optimum(loss, intercept):
    objective = make(loss, intercept)
    _, _, floor = textbook.optimum(objective)
    solution = solve(objective, tol=1e-2)
    assert solution.certificate.primal <= floor * (1 + solution.certificate.relative_gap) + 1e-6


def test_an_optimum_found_by_hand_is_proven_exactly():
    certificate = optimal_pair()
    assert (certificate.primal, certificate.dual, certificate.gap) == (0.5, 0.5, 0.0)
    assert certificate.relative_gap == 0.0
    assert certificate.kkt_violation == 0.0
    assert certificate.sentence() == "objective proven optimal"


@REGULARIZED_LOSSES
@ALL_INTERCEPTS
def test_kkt_violation_vanishes_at_the_optimum(loss, intercept):
    objective = make(loss, intercept)
    solution = solve(objective, tol=1e-13, max_iter=300)
    w, b, beta = solution.w, solution.b, solution.beta
    assert certify(objective, w, b, beta).kkt_violation < 1e-5


@REGULARIZED_LOSSES
@ALL_INTERCEPTS
def test_kkt_violation_is_positive_elsewhere(loss, intercept):
    objective = make(loss, intercept)
    solution = solve(objective, tol=1e-10)
    away = certify(objective, solution.w + 0.5, solution.b, solution.beta)
    start = certify(objective, np.zeros(D), 0.0, np.zeros(N))
    assert away.kkt_violation > 1e-2
    assert start.kkt_violation > 1e-2


def test_kkt_violation_is_in_units_of_the_margin():
    objective = two_points()
    certificate = certify(objective, np.array([0.75]), 0.0, np.array([0.5, -0.5]))
    assert certificate.kkt_violation == pytest.approx(0.25)


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_kkt_violation_at_zero_does_not_depend_on_the_cost(C):
    X, y = data_for(HINGE, N, D)
    certificate = certify(objective_of(HINGE, X=X, y=y, C=C), np.zeros(D), 0.0, np.zeros(N))
    assert certificate.kkt_violation == pytest.approx(1.0)


def test_samples_of_cost_zero_violate_nothing():
    X, y = np.array([[1.0], [-1.0], [-5.0]]), np.array([1.0, -1.0, 1.0])
    objective = objective_of(HINGE, Intercept.NONE, X=X, y=y, C=10.0, weights=[1.0, 1.0, 0.0])
    certificate = certify(objective, np.array([1.0]), 0.0, np.array([0.5, -0.5, 7.0]))
    assert certificate.gap == 0.0
    assert certificate.kkt_violation == 0.0
    assert certificate.n_support_free == 2


def test_margin_is_the_distance_to_the_corridor():
    X, y = separable()
    w = np.array([3.0, 0.0, 4.0])
    assert certify(objective_of(HINGE, X=X, y=y), w, 0.0, np.zeros(40)).margin == 0.2
    assert certify(objective_of(HINGE, X=X, y=y), 0 * w, 0.0, np.zeros(40)).margin == math.inf


@HINGES
def test_slack_sum_is_that_of_the_samples_with_a_weight(loss):
    X, y = data_for(loss, N, D)
    weight = weights_for(N)
    objective = objective_of(loss, X=X, y=y, weights=weight)
    w = np.array([0.5, -0.25, 1.0])
    slack = np.maximum(0, 1 - y * (X @ w + 0.5)).sum(where=weight > 0.0)
    assert certify(objective, w, 0.5, np.zeros(N)).slack_sum == pytest.approx(slack)


def test_support_vectors_are_counted_by_where_they_lie():
    X, y = np.eye(4), np.array([1.0, 1.0, -1.0, -1.0])
    objective = objective_of(HINGE, Intercept.NONE, X=X, y=y)
    certificate = certify(objective, np.zeros(4), 0.0, np.array([1.0, 0.5, 0.0, -2.0]))
    assert (certificate.n_support_free, certificate.n_support_bounded) == (1, 2)


@pytest.mark.parametrize(
    ("gap", "dual", "expected"),
    [
        (0.5, 2.0, 0.25),
        (0.0, 2.0, 0.0),
        (0.0, 0.0, 0.0),
        (0.0, -1.0, 0.0),
        (0.5, 0.0, math.inf),
        (0.5, -1.0, 1.0),  # of an objective that is negative
        (1.0, -1.0, math.inf),
        (1.5, -1.0, math.inf),
    ],
)
def test_relative_gap_is_gap_over_dual(gap, dual, expected):
    assert relative(gap, dual) == expected


def test_a_dual_of_zero_proves_nothing_relative():
    certificate = certify(two_points(), np.array([0.0]), 0.0, np.zeros(2))
    assert certificate.relative_gap == math.inf
    assert certificate.sentence() == (
        "nothing proven yet but an objective within 20 of the optimum"
    )


def certificate_with(**values):
    numbers: dict[str, Any] = {"primal": 1.0, "dual": 0.5, "gap": 0.5, "relative_gap": 1.0}
    support = {"n_support_free": 1, "n_support_bounded": 2, "status": Status.OPTIMAL}
    others = {"kkt_violation": 0.1, "margin": 0.5, "slack_sum": 3.0}
    return Certificate(**(numbers | support | others | values))


@pytest.mark.parametrize(
    ("gap", "said"), [(8.44e-4, "0.085"), (0.1001, "11"), (9.99e-4, "0.1"), (1e-5, "0.001")]
)
def test_the_sentence_claims_no_more_than_is_proven(gap, said):
    certificate = certificate_with(primal=1.0 + gap, dual=1.0, gap=gap, relative_gap=gap)
    assert certificate.sentence() == f"objective proven within {said} % of the optimum"


def test_what_rounding_leaves_of_the_balance_weakens_a_linear_bound():
    objective = objective_of(LOSSES["hinge"], Intercept.FREE)
    solution = solve(objective)
    beta = solution.beta.copy()
    beta[np.argmax(np.abs(beta))] *= 1.0 - 1e-10
    certificate = objective.certify(PrimalDual(solution.w, 1e6, beta))
    slip = abs(1e6 * beta.sum())
    assert slip > 0.0
    assert certificate.gap >= slip


def test_rounding_puts_no_dual_above_the_primal():
    assert certificate_with(primal=0.5, dual=np.nextafter(0.5, 1.0), gap=0.0).dual == 0.5
    X = np.random.default_rng(0).normal(size=(6, 2))
    fitted = SVC(kernel="linear", C=0.01).fit(X, np.arange(6) % 2).certificate_
    assert fitted.dual <= fitted.primal


def test_print_ends_in_the_sentence():
    certificate = certificate_with(primal=1.0008, dual=1.0, gap=8e-4, relative_gap=8e-4)
    lines = str(certificate).splitlines()
    assert lines[-1] == "objective proven within 0.08 % of the optimum"
    assert len(lines) <= 10


@pytest.mark.parametrize(
    "word", ["optimal", "primal", "dual", "gap", "KKT", "1 free", "2 bounded", "margin", "slack"]
)
def test_print_names_every_number(word):
    assert word in str(certificate_with())


def test_a_certificate_cannot_be_changed():
    with pytest.raises(AttributeError):
        optimal_pair().gap = 0.0


def test_with_status_changes_only_the_status():
    certificate = certificate_with(status=Status.RUNNING)
    assert certificate.with_status(Status.OPTIMAL) == certificate_with()


def test_total_of_one_is_itself():
    certificate = certificate_with()
    assert total([certificate]) is certificate


def test_total_adds_objectives():
    first = certificate_with(primal=1.0, dual=0.5, gap=0.5, margin=0.5, kkt_violation=0.1)
    second = certificate_with(primal=3.0, dual=2.5, gap=0.5, margin=0.25, kkt_violation=0.3)
    both = total([first, second])
    assert (both.primal, both.dual, both.gap) == (4.0, 3.0, 1.0)
    assert both.relative_gap == pytest.approx(1 / 3)
    assert (both.n_support_free, both.n_support_bounded) == (2, 4)
    assert (both.margin, both.kkt_violation, both.slack_sum) == (0.25, 0.3, 6.0)


@pytest.mark.parametrize("early", [s for s in Status if s not in (Status.OPTIMAL, Status.RUNNING)])
def test_total_is_optimal_only_if_all_are(early):
    assert total([certificate_with()] * 2).status is Status.OPTIMAL
    assert total([certificate_with(), certificate_with(status=early)]).status is early


def test_the_total_of_infinite_bounds_of_both_signs_is_no_bound():
    parts = [certificate_with(dual=dual, gap=math.inf) for dual in (math.inf, -math.inf)]
    assert total(parts).dual == -math.inf


def test_the_certificate_owes_nothing_to_the_solver():
    """A dual point from elsewhere, infeasible and unbalanced, is judged all the same."""
    objective = make(HINGE, Intercept.FREE)
    certificate = certify(objective, np.ones(D), 0.3, np.full(N, 1e6))
    assert certificate.dual <= certificate.primal
    assert certificate.gap == pytest.approx(certificate.primal - certificate.dual)


@pytest.mark.parametrize("n", [0, 1, 5, 4096, 10_001])
@pytest.mark.parametrize("step", [1, 2, -1], ids=["plain", "a column", "backwards"])
def test_squares_are_those_of_numpy(n, step):
    rng = np.random.default_rng(n)
    w, v = rng.normal(size=n), rng.normal(size=2 * n)[::step][:n]
    squares = _core.Squares(w, v)
    expected = [w @ w, v @ v, (w - v) @ (w - v)]
    assert [squares.own, squares.dual, squares.apart] == pytest.approx(expected, rel=1e-13)


def test_a_point_may_come_in_any_layout():
    objective = objective_of(HINGE)
    w, beta = np.zeros(objective.problem.n_features), 0.1 * objective.problem.y
    plain = certify(objective, w, 0.5, beta)
    assert certify(objective, w.astype(">f8"), 0.5, np.repeat(beta, 2)[::2]) == plain
    assert certify(objective, w + 1.0, 0.5, beta.astype(">f8")) == certify(
        objective, (w + 1.0).astype(">f8"), 0.5, beta
    )


@pytest.mark.parametrize(("dual", "said"), [(8.0, "0.5"), (200.0, "0.1")])
def test_the_sentence_states_the_distance_of_the_hulls(dual, said):
    """D = 2/‖h‖² for points h apart in the hulls: scaled to Σ α = 4/‖h‖², ½Σ α is the bound."""
    certificate = certificate_with(primal=math.inf, dual=dual, gap=math.inf, relative_gap=math.inf)
    assert certificate.sentence() == (
        f"no separator found yet; the classes' convex hulls come within {said}"
    )
