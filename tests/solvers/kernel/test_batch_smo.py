"""Problems that share a kernel matrix, in one compiled call: the same optima and proofs."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning

from maxmargin import SVC, NuSVC, Status, _core, kernels
from maxmargin.data.problem import Problem
from maxmargin.data.targets import class_members
from maxmargin.multiclass.decomposition import pair_targets
from maxmargin.objectives import NuObjective, certify
from maxmargin.solvers.kernel import batch_smo
from synthetic import overlapping

IRIS = load_iris(return_X_y=True)
DIGITS = tuple(part[:150] for part in load_digits(return_X_y=True))
MODELS = [
    SVC(),
    SVC(C=100.0, kernel="linear"),
    SVC(fit_intercept=False),
    SVC(multi_class="ovr", kernel="poly"),
    SVC(class_weight={0: 3.0, 1: 0.5}),
    NuSVC(nu=0.3),
]


def apart(monkeypatch):
    """Let every problem be solved by itself."""
    monkeypatch.setattr(batch_smo, "can_solve", lambda _objective: False)


def told(solution):
    """Which numbers a solution has beside the point and its certificate."""
    numbers = [solution.info.steps or np.nan, solution.info.violation, *solution.shares]
    return np.isfinite(numbers).tolist()


def weights(n):
    return np.random.default_rng(0).integers(0, 4, n).astype(float)


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("data", [IRIS, DIGITS], ids=["iris", "digits"])
def test_together_and_apart_agree_within_their_gaps(model, data, monkeypatch):
    X, y = data
    together = model.fit(X, y, weights(len(y))).solutions_
    apart(monkeypatch)
    alone = model.fit(X, y, weights(len(y))).solutions_
    for one, two in zip(together, alone, strict=True):
        assert one.status is two.status is Status.OPTIMAL
        assert one.certificate.dual <= two.certificate.primal + 1e-9 * abs(two.certificate.primal)
        assert two.certificate.dual <= one.certificate.primal + 1e-9 * abs(one.certificate.primal)
        assert one.mean_cost == pytest.approx(two.mean_cost)
        assert told(one) == told(two)
        assert len(one.history) == 1


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_each_certificate_is_what_the_samples_themselves_say(model):
    X, y = IRIS
    model.fit(X, y)
    kernel, members = model._fitted_kernel, class_members(y, np.unique(y))
    rows, targets = pair_targets(members)
    if model.multi_class == "ovr":
        rows, targets = [np.arange(len(y))] * 3, [np.where(y == k, 1.0, -1.0) for k in range(3)]
    for own, target, solution in zip(rows, targets, model.solutions_, strict=True):
        cost = model._sample_costs(X[own], None) * model.class_weight_[y[own]]
        problem = Problem(np.ascontiguousarray(X[own]), target, cost)
        objective = model._formulation().objective(problem, kernel)
        if isinstance(objective, NuObjective):
            objective = objective.at(solution.loss.target_scale)
        expected = certify(objective, solution.w, solution.b, solution.beta)
        found, scale = solution.certificate, abs(expected.primal)
        assert 0.0 <= found.gap == pytest.approx(expected.gap, abs=1e-9 * scale)
        for number in ("primal", "dual", "margin", "slack_sum"):
            value = getattr(expected, number)
            assert getattr(found, number) == pytest.approx(value, rel=1e-9, abs=1e-9 * scale)
        assert found.kkt_violation == pytest.approx(expected.kkt_violation, abs=1e-9)
        assert found.n_support_free == expected.n_support_free
        assert found.n_support_bounded == expected.n_support_bounded
        assert objective.negligible > 0.0 or isinstance(objective, NuObjective)


def test_threads_share_the_problems_without_a_trace():
    one, two = SVC(n_jobs=1).fit(*DIGITS), SVC(n_jobs=3).fit(*DIGITS)
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    np.testing.assert_array_equal(one.intercept_, two.intercept_)


def test_a_problem_that_the_first_look_does_not_prove_is_gone_on_with():
    """A tight tolerance, and one limit of steps that is heeded."""
    model = SVC(C=1e4, tol=1e-9).fit(*IRIS)
    assert all(solution.status is Status.OPTIMAL for solution in model.solutions_)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        limited = SVC(C=1e4, tol=1e-11, max_iter=1).fit(*IRIS)
    assert limited.n_iter_.max() == 1


def test_no_time_at_all_leaves_a_model_and_a_warning():
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = SVC(max_time=1e-9).fit(*IRIS)
    assert model.certificate_.status is Status.STOPPED_BY_TIME
    assert model.predict(IRIS[0]).shape == (150,)


def test_what_was_under_way_when_time_was_over_is_kept(monkeypatch):
    """The second of three pairs: the first is proven, the third was not begun."""
    X, y = IRIS
    done = SVC().fit(X, y).solutions_
    points = [done[0], 0.5 * done[1].beta, 0.0 * done[2].beta]
    monkeypatch.setattr(batch_smo, "solve_parts", lambda *_: points)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = SVC(max_time=1e-9).fit(X, y)
    assert model.solutions_[0] is done[0]
    np.testing.assert_allclose(model.solutions_[1].beta, points[1])
    assert not model.solutions_[2].beta.any()


# ---- the compiled part


def never():
    return False


def parts(order, free=True, masses=(0.0, 0.0)):
    """Two problems over the same 40 samples, in that order, of a matrix of 60: y and -y."""
    X, y = overlapping(60, 3)
    K = kernels.Gaussian(0.5)(X, X)
    samples, signs = order.astype(np.int32), np.where(y[order] > 0, 1.0, -1.0)
    twice = (np.tile(samples, 2), np.append(signs, -signs), np.tile(1.0 + order % 3, 2))
    return _core.ProblemBatch(
        K, np.array([40, 80], np.int32), *twice, np.array(masses), free
    ), signs


@pytest.mark.parametrize(("free", "mass"), [(True, 0.0), (False, 0.0), (True, 8.0)])
def test_the_order_of_samples_and_the_names_of_labels_do_not_matter(free, mass):
    values = []
    for first in (np.arange(40), np.arange(40)[::-1], np.roll(np.arange(40), 20)[::-1]):
        two, signs = parts(first, free, (mass, mass))
        beta = np.zeros(80)
        assert all(outcome.satisfied for outcome in two.solve(np.zeros(2), 1e-9, 500, never, beta))
        one, other = two.certify(beta)
        np.testing.assert_allclose(beta[:40], -beta[40:], atol=1e-4)
        assert (beta[:40] * signs >= 0.0).all()
        if mass:
            assert np.abs(beta[:40]).sum() == pytest.approx(8.0)
        values += [one.sums.conjugates - 0.5 * one.square, other.sums.losses]
        assert one.b == pytest.approx(-other.b, abs=1e-4)
    np.testing.assert_allclose(values[::2], values[0], rtol=1e-6)
    np.testing.assert_allclose(values[1::2], values[1], rtol=1e-3)


def test_who_says_stop_is_heard():
    two, _ = parts(np.arange(40))
    beta = np.zeros(80)
    outcomes = two.solve(np.zeros(2), 1e-3, 100, lambda: True, beta)
    assert [outcome.satisfied for outcome in outcomes] == [False, False]
    assert not beta.any()


@pytest.mark.parametrize(
    ("ends", "samples", "message"),
    [
        ([2, 2], [0, 1], "increase"),
        ([1], [0, 1], "end with"),
        ([2], [0, 3], "does not exist"),
        ([2], [-1, 0], "does not exist"),
    ],
)
def test_parts_that_do_not_fit_are_refused(ends, samples, message):
    ones, n = np.ones(2), len(ends)
    with pytest.raises(ValueError, match=message):
        _core.ProblemBatch(
            np.eye(3), np.array(ends, np.int32), np.array(samples, np.int32), ones, ones,
            np.zeros(n), True,
        )  # fmt: skip
