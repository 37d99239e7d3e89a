"""Newton on samples of the rows first, whose curvature serves on all rows too."""

import numpy as np
import pytest
from scipy import sparse

from choices import ALL_INTERCEPTS, REGULARIZED_LOSSES
from compiled.linear.newton import ANCHOR, FEATURE, go_on, make, some_weights
from maxmargin import _core, certify
from maxmargin.losses import HINGE, SQUARED_HINGE
from maxmargin.solvers import Monitor, Newton, Start, Stopping
from maxmargin.solvers.linear import newton
from reference.linear.newton import Proximal
from synthetic import LOSSES, free_svc, objective_of
from synthetic import solve as solve_by


@REGULARIZED_LOSSES
def test_samples_of_the_rows_lead_to_the_same_optimum(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(18_000, 3))
    y = X[:, 0] + 0.5 + rng.normal(size=18_000)
    y = np.sign(y) if loss.one_sided else y
    objective = objective_of(loss, X=X, y=y)
    assert Newton()._sample_sizes(objective) == [2250]
    sampled = solve_by(objective, tol=1e-6)
    whole = Newton(growth=10_000).solve(objective, Monitor(objective, Stopping(1e-6)), Start())
    worst = max(sampled.certificate.gap, whole.certificate.gap)
    difference = abs(sampled.certificate.primal - whole.certificate.primal)
    assert difference <= worst + 1e-14 * whole.certificate.primal


def test_a_sample_has_the_outlying_rows_and_stands_for_all():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 3))
    X[:5] *= 1000.0
    objective = objective_of(HINGE, X=X, y=np.sign(rng.normal(size=20_000)))
    (small, _), (subset, cost) = newton._samples(objective, [300, 2500], seed=0)
    assert set(range(5)) <= set(small.tolist()) <= set(subset.tolist())
    assert 2000 > len(subset) > 1000  # the outlying rows take up most of their half
    assert cost.sum() == pytest.approx(objective.problem.cost.sum(), rel=0.1)


@pytest.mark.parametrize(("d", "sizes"), [(3, [1000]), (9, [1000, 8000])])
def test_samples_are_small_copies_unless_only_a_large_one_gives_a_hessian(d, sizes, monkeypatch):
    X = np.ones((64_000, d))
    objective = objective_of(HINGE, X=X, y=np.ones(64_000))
    assert Newton()._sample_sizes(objective) == [1000, 8000]
    monkeypatch.setattr(newton, "_SAMPLE_VALUES", 1)
    assert Newton()._sample_sizes(objective) == sizes


@pytest.mark.parametrize(("loss", "sizes"), [(HINGE, [1000, 8000]), (SQUARED_HINGE, [])])
def test_squared_losses_have_no_sample_that_gives_no_hessian(loss, sizes):
    objective = objective_of(loss, X=np.ones((64_000, 50)), y=np.ones(64_000))
    assert Newton()._sample_sizes(objective) == sizes


def test_where_a_few_rows_hold_most_values_no_sample_copies_them():
    rng = np.random.default_rng(0)
    n, d = 20_000, 60
    X = np.zeros((n, d))
    X[:, 0] = rng.normal(size=n)
    X[:600] = 3.0 * rng.normal(size=(600, d))
    y = np.sign(X[:, 0] + rng.normal(size=n))
    objective = objective_of(SQUARED_HINGE, X=sparse.csr_array(X), y=y)
    assert newton._samples(objective, [2500], seed=0) == []
    assert solve_by(objective).certificate.relative_gap <= 1e-8


def test_samples_of_csr_rows_with_long_indices():
    """SciPy gives the copy of some rows the shorter indices that suffice for it."""
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(18_000, 3))
    y = np.sign(dense[:, 0] + rng.normal(size=18_000))
    X = sparse.csr_array(dense)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    model = free_svc(loss="squared_hinge", solver="newton", tol=1e-12, random_state=0)
    same = model.fit(dense, y).coef_
    np.testing.assert_allclose(model.fit(X, y).coef_, same, rtol=1e-5)


def sampled_level(objective, size):
    """Of all rows, with the curvature of about `size` of them; and what the sample is."""
    problem = objective.problem
    (sample,) = newton._samples(objective, [size], seed=0)
    places, cost = sample
    bias = _core.Bias(FEATURE, ANCHOR)
    part = problem.part(places, cost)
    terms = objective.terms_of(part.y, cost)
    some = _core.NewtonLevel(part.rows, terms, bias, newton._BLAS)
    whole = _core.NewtonLevel(problem.rows, objective.terms, bias, newton._BLAS)
    some.start(np.zeros(problem.n_features + 1), 1.0, None, go_on)
    whole.use_hessian_of(some, places)
    return whole, sample, (some, part, terms)


@pytest.mark.parametrize("size", [3000, 400], ids=["enough rows", "too few"])
def test_a_sample_lends_its_curvature_if_it_has_rows_enough(size):
    """The Hessian is of the sample's rows where they are now, the gradient of all."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 4))
    y = np.sign(X[:, 0] + rng.normal(size=6000))
    objective = objective_of(SQUARED_HINGE, X=X, y=y)
    twin = Proximal(objective, FEATURE, ANCHOR, np.zeros(6000), 0.0)
    whole, (subset, cost), _alive = sampled_level(objective, size)
    w = 0.2 * some_weights()
    whole.start(w, 1.0, np.zeros(6000), go_on)
    whole.step(go_on)
    rows = subset[twin.beta(twin.z(w))[1][subset]]
    weight = 2.0 * cost[np.isin(subset, rows)]
    lent = np.eye(5) + twin.X[rows].T @ (twin.X[rows] * weight[:, None])
    hessian = lent if size == 3000 else twin.hessian(w)
    direction = -np.linalg.solve(hessian, twin.gradient(w))
    moved = whole.w - w
    length = (moved @ direction) / (direction @ direction)
    np.testing.assert_allclose(moved, length * direction, rtol=1e-7, atol=1e-9)


def test_levels_of_different_columns_lend_nothing():
    one, other = (make(SQUARED_HINGE, X)[1].level for X in (None, np.zeros((60, 5))))
    with pytest.raises(ValueError, match="different columns"):
        one.use_hessian_of(other, np.arange(60, dtype=np.int32))


def awkward(kind, n=12_000):
    """Rows for which the curvature of a sample says little of all."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 5))
    weights = np.ones(n)
    if kind == "duplicates":
        X = X[rng.integers(20, size=n)]
    elif kind == "constant column":
        X[:, 1] = 7.0
    elif kind == "unscaled":
        X *= 10.0 ** np.arange(-4.0, 6.0, 2.0)
    elif kind == "rare column":
        X[:, 2] = 0.0
        X[:3, 2] = [5.0, -80.0, 300.0]
    elif kind == "weights":
        weights = np.where(rng.random(n) < 0.9, 0.0, rng.exponential(size=n))
    elif kind == "outlier":
        X[17] *= 1e5
    return X, np.where(X[:, 0] + rng.normal(size=n) > 0.0, 1.0, -1.0), weights


@pytest.mark.parametrize("loss", ["squared_hinge", "squared_epsilon_insensitive"])
@ALL_INTERCEPTS
@pytest.mark.parametrize(
    "kind", ["duplicates", "constant column", "unscaled", "rare column", "weights", "outlier"]
)
def test_borrowed_curvature_leads_to_the_same_optimum(kind, intercept, loss):
    X, y, weights = awkward(kind)
    objective = objective_of(LOSSES[loss], intercept, X=X, y=y, weights=weights)
    for tol in (1e-3, 1e-8):
        sampled = solve_by(objective, "newton", tol=tol)
        assert sampled.certificate.relative_gap <= tol
        judged = certify(objective, sampled.w, sampled.b, sampled.beta)
        assert judged.primal == pytest.approx(sampled.certificate.primal, rel=1e-9)
        assert judged.gap <= 1.01 * sampled.certificate.gap + 1e-9 * judged.primal
    whole = Newton(growth=10**6).solve(objective, Monitor(objective, Stopping(1e-8)), Start())
    assert sampled.certificate.primal == pytest.approx(whole.certificate.primal, rel=2e-8)


@pytest.mark.parametrize(
    ("places", "message"),
    [(np.arange(1, 61), "does not exist"), (np.arange(59), "places")],
    ids=["beyond the rows", "too few"],
)
def test_places_that_are_not_those_of_the_sample_are_refused(places, message):
    _, core, _ = make(SQUARED_HINGE)
    with pytest.raises(ValueError, match=message):
        core.level.use_hessian_of(core.level, places.astype(np.int32))
