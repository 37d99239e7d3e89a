"""OPTIMAL linear fits are optimal in extended precision, on data that make digits cancel."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from maxmargin import Intercept, LinearObjective, Problem, Status, certify
from maxmargin.losses import HINGE
from maxmargin.objectives.scalar import spread
from synthetic import LOSSES, free_svc, free_svr

EXTENDED = np.longdouble
HOSTILE = pytest.mark.filterwarnings("ignore")


def primal(model, X, y, cost):
    """P at the weights and the intercept as they are stored."""
    w, b = np.ravel(model.coef_).astype(EXTENDED), EXTENDED(model.intercept_[0])
    z = X.astype(EXTENDED) @ w + b
    errors = np.abs(y - z) - EXTENDED(getattr(model, "epsilon", 0.0))
    slack = np.maximum(1 - y * z if "hinge" in model.loss else errors, 0)
    square = w @ w + (
        (b / EXTENDED(model.intercept_scaling)) ** 2 if model.penalized_intercept else 0
    )
    return square / 2 + cost @ (slack**2 if "squared" in model.loss else slack)


def dual(model, X, y, cost):
    """D at the dual point, made feasible to the digits of the extended precision."""
    squared, beta = "squared" in model.loss, model.solution_.beta.astype(EXTENDED)
    if "hinge" in model.loss:
        beta = np.where(y > 0, np.maximum(beta, 0), np.minimum(beta, 0))
    if not squared:
        beta = np.clip(beta, -cost, cost)
    if model.fit_intercept and not model.penalized_intercept:
        left = beta.sum()
        heavy = np.sign(beta) == np.sign(left)
        beta[heavy] *= 1 - abs(left) / max(np.abs(beta[heavy]).sum(), EXTENDED(1e-300))
    w, scaling = X.astype(EXTENDED).T @ beta, EXTENDED(model.intercept_scaling)
    square = w @ w + ((scaling * beta.sum()) ** 2 if model.penalized_intercept else 0)
    width = 0.0 if "hinge" in model.loss else EXTENDED(model.epsilon)
    curved = (beta**2 / (4 * cost)).sum() if squared else 0
    return y @ beta - width * np.abs(beta).sum() - square / 2 - curved


def exact_hinge_primal(model, X, y, cost):
    """P of a hinge machine in exact rationals: C x 1e6 is too much for the extended precision."""
    w, b = [Fraction(weight) for weight in model.coef_[0]], Fraction(float(model.intercept_[0]))
    scores = [sum(Fraction(x) * weight for x, weight in zip(row, w, strict=True)) + b for row in X]
    slacks = [max(Fraction(0), 1 - int(sign) * z) for sign, z in zip(y, scores, strict=True)]
    return EXTENDED(float(sum(weight**2 for weight in w) / 2 + Fraction(cost) * sum(slacks)))


def hostile_rows(rng):
    """Offsets of up to 1e8, scales from 1e-8 on, duplicates, outliers; and a linear function."""
    n, d = int(rng.integers(6, 60)), int(rng.integers(1, 7))
    X = rng.normal(size=(n, d))
    if rng.random() < 0.2:
        X = np.repeat(X[: n // 3 + 1], 3, axis=0)[:n]
    if rng.random() < 0.2:
        X[:2] *= 1e6
    z = X @ rng.normal(size=d)
    X = X * 10.0 ** rng.uniform(-8, 8) if rng.random() < 0.3 else X
    X = X * 10.0 ** rng.uniform(-3, 3, size=d) if rng.random() < 0.3 else X
    return (X + 10.0 ** rng.uniform(3, 8) if rng.random() < 0.6 else X), z


def hostile_fit(rng):
    """Return a fitted model, and its rows, targets and costs."""
    X, z = hostile_rows(rng)
    n, C = len(X), 10.0 ** rng.uniform(-6, 12)
    weight = 10.0 ** rng.uniform(-12, 12, size=n) if rng.random() < 0.3 else np.ones(n)
    kind = int(rng.integers(4))
    settings = {
        "C": C, "tol": 10.0 ** float(rng.integers(-6, -1)), "max_iter": 200, "random_state": 0,
        "solver": ["auto", "newton", "dual_cd"][int(rng.integers(3))],
        "fit_intercept": kind > 0, "penalized_intercept": kind == 1,
        "intercept_scaling": 10.0 ** float(rng.integers(-1, 3)),
    }  # fmt: skip
    if rng.random() < 0.5:
        y = np.where(z > 0 if rng.random() < 0.5 else rng.random(n) < 0.5, 1.0, -1.0)
        y[:2] = 1.0, -1.0
        model = free_svc(loss=["hinge", "squared_hinge"][int(rng.integers(2))], **settings)
    else:
        y = 10.0 ** rng.uniform(-8, 8) * (z + 0.1 * rng.normal(size=n)) + 10.0 ** rng.uniform(0, 8)
        losses = ["epsilon_insensitive", "squared_epsilon_insensitive"]
        model = free_svr(loss=losses[int(rng.integers(2))], epsilon=0.1, **settings)
    model.fit(sparse.csr_matrix(X) if rng.random() < 0.2 else X, y, sample_weight=weight)
    return model, X, y, (C * weight).astype(EXTENDED)


@HOSTILE
@pytest.mark.parametrize("block", range(17, 31))  # before, three of them had a false proof
def test_optimal_means_optimal_in_extended_precision(block):
    for seed in range(40 * block, 40 * block + 40):
        model, X, y, cost = hostile_fit(np.random.default_rng(seed))
        if model.certificate_.status is not Status.OPTIMAL:
            continue
        reached, bound = primal(model, X, y, cost), dual(model, X, y, cost)
        negligible = (
            0.0
            if model.certificate_.relative_gap == 0.0
            else (model.certificate_.gap / model.certificate_.relative_gap)
        )
        assert reached - bound <= 1.05 * model.tol * max(bound, negligible), seed


@HOSTILE
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("seed", range(8))
def test_a_large_cost_far_from_the_origin_is_not_called_optimal_wrongly(seed, storage):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 4))
    y = np.where(X @ rng.normal(size=4) > 0, 1.0, -1.0)
    X, cost = X + 1e6, np.full(40, EXTENDED(1e10))
    model = free_svc(C=1e10, max_iter=1000).fit(storage(X), y)
    if model.certificate_.status is Status.OPTIMAL:
        bound = dual(model, X, y, cost)
        assert exact_hinge_primal(model, X, y, 1e10) - bound <= 1.001e-3 * bound


@pytest.mark.parametrize("intercept", [Intercept.NONE, Intercept.FREE], ids=lambda i: i.value)
def test_a_point_is_judged_as_it_is_and_not_as_it_is_rounded(intercept):
    # f(x) is 1 − 2⁻⁶⁰ of the exact numbers and 1 of the rounded ones.
    X = np.array([[1.0, 2.0**-60], [-1.0, 2.0**-60]])
    y, C = np.array([1.0, -1.0]), 2.0**60
    objective = LinearObjective(Problem(X, y, np.full(2, C)), HINGE, intercept)
    certificate = certify(objective, np.array([1.0, -1.0]), 0.0, np.array([0.5, -0.5]))
    assert certificate.primal == pytest.approx(1.0 + 1.0)  # ½‖w‖² = 1, and a slack of 2⁻⁶⁰


def test_no_intercept_means_none():
    X, y = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])
    objective = LinearObjective(Problem(X, y, np.ones(2)), HINGE, Intercept.NONE)
    with pytest.raises(ValueError, match="b must be 0"):
        certify(objective, np.array([1.0]), 0.5, np.zeros(2))


@pytest.mark.parametrize("solver", ["newton", "dual_cd"])
@pytest.mark.parametrize("intercept", [{"fit_intercept": False}, {"penalized_intercept": True}])
def test_a_constant_target_is_as_far_as_it_is_from_zero(solver, intercept):
    X = np.random.default_rng(0).normal(size=(100, 3))
    model = free_svr(solver=solver, **intercept).fit(X, np.full(100, 0.1))
    assert model.certificate_.status is Status.OPTIMAL


def test_the_scale_of_f_is_the_spread_of_the_targets():
    rng = np.random.default_rng(0)
    noise, cost = rng.normal(size=50), rng.uniform(0.5, 2.0, size=50)
    about = np.average(np.abs(noise - np.average(noise, weights=cost)), weights=cost)
    assert spread(noise, cost) == pytest.approx(about)
    assert spread(2.0**30 + noise, cost) == pytest.approx(about, rel=1e-6)
    assert spread(np.append(2.0**60, noise), np.append(0.0, cost)) == pytest.approx(about)
    problem = Problem(np.ones((50, 1)), 3.0 + noise, cost)
    for intercept in Intercept:
        unit = LinearObjective(problem, LOSSES["squared"], intercept).unit
        free = intercept is Intercept.FREE
        expected = about if free else np.average(np.abs(3.0 + noise), weights=cost)
        assert unit == pytest.approx(expected)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive", "squared"])
@pytest.mark.parametrize(("offset", "scale"), [(5.0, 1e-9), (-5e6, 1e-3), (1e8, 1.0)])
def test_targets_far_from_zero_are_those_near_it(loss, offset, scale):
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(100, 3)), rng.normal(size=100)
    y = offset + scale * noise
    far, near = free_svr(loss=loss, solver="newton"), free_svr(loss=loss, solver="newton")
    far.fit(X, y)
    near.fit(X, y - offset)
    assert far.certificate_.status is Status.OPTIMAL
    assert far.certificate_.primal == pytest.approx(near.certificate_.primal, rel=3e-3)
    np.testing.assert_allclose(far.predict(X), offset + near.predict(X), atol=0.3 * scale)
    assert far.solution_.b == far.intercept_[0]
    again = far.set_params(warm_start=True).fit(X, y)
    assert again.certificate_.status is Status.OPTIMAL


@HOSTILE
@pytest.mark.parametrize("seed", range(6))
def test_the_dual_value_is_a_lower_bound_even_where_digits_cancel(seed):
    rng = np.random.default_rng(seed)
    X = 1e6 + rng.normal(size=(30, 3))
    y = np.where(rng.random(30) < 0.5, 1.0, -1.0)
    model = free_svc(C=1e6, loss="squared_hinge", fit_intercept=False).fit(X, y)
    certificate, cost = model.certificate_, np.full(30, EXTENDED(1e6))
    assert certificate.dual <= dual(model, X, y, cost) + 1e-9 * certificate.primal


@HOSTILE
@pytest.mark.parametrize("seed", [4, 5, 6, 7, 13])
def test_two_classes_in_one_problem_are_judged_by_the_weights_that_are_given_back(seed):
    """An intercept of 4e7, whose last digit a cost of 1e7 makes visible."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 2)) + 4e7
    y = np.where(X[:, 0] - 4e7 > 0.1 * rng.normal(size=30), 1.0, -1.0)
    model = free_svc(C=1e7, loss="hinge", multi_class="crammer_singer", random_state=0)
    model.set_params(max_iter=200).fit(X, y)
    true = exact_hinge_primal(model, X, y, 2e7) / 2  # half the binary problem at twice the cost
    assert abs(model.certificate_.primal - true) <= 1e-9 * true
