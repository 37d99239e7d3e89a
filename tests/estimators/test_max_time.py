"""Fits of many problems that a time limit ends have every attribute, and zero where not begun."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from maxmargin import SVC, Intercept, NuSVC, OneClassSVM, Problem, Status, certify
from maxmargin.losses import HINGE, SQUARED_HINGE
from maxmargin.multiclass.unreached import Unreached
from maxmargin.objectives import LinearObjective
from synthetic import free_svc, many_classes


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(
    "model",
    [
        free_svc(multi_class="ovo"),
        free_svc(multi_class="ovo", loss="squared_hinge", fit_intercept=False),
        SVC(),
        SVC(kernel="linear", fit_intercept=False),
        SVC(solver="qp"),
        NuSVC(nu=0.4),
        free_svc(multi_class="ovo", solver="qp"),
    ],
    ids=repr,
)
def test_a_fit_that_is_over_at_once_has_every_attribute(model, n_jobs):
    X, y = many_classes()
    model.set_params(max_time=1e-9, n_jobs=n_jobs)
    with pytest.warns(ConvergenceWarning, match="Raise max_time"):
        model.fit(X, y)
    assert len(model.solutions_) == 190
    assert model.certificate_.status is Status.STOPPED_BY_TIME
    assert {len(solution.history) > 0 for solution in model.solutions_} == {True}
    assert set(model.predict(X)) <= set(y)
    assert model.decision_function(X).shape == (200, 20)
    assert len(model.support_) >= 0


@pytest.mark.parametrize("intercept", list(Intercept), ids=lambda i: i.value)
@pytest.mark.parametrize("loss", [HINGE, SQUARED_HINGE], ids=lambda loss: loss.name)
@pytest.mark.parametrize("weight", [1.0, 3.0, 0.0])
def test_a_problem_that_was_not_begun_has_the_certificate_of_zero(loss, intercept, weight):
    rng = np.random.default_rng(0)
    y, cost = np.repeat([1.0, -1.0], [4, 6]), rng.uniform(0.5, 2.0, size=10)
    cost[:3] *= weight
    objective = LinearObjective(Problem(rng.normal(size=(10, 2)), y, cost), loss, intercept)
    maker = Unreached(loss, intercept, Status.STOPPED_BY_TIME, "newton")
    (solution,) = maker.solutions([y], [cost], [2], 0.0)
    if intercept is Intercept.FREE:
        best = objective.best_intercept(np.zeros(10))
        assert objective.primal(np.zeros(2), solution.b) == pytest.approx(
            objective.primal(np.zeros(2), best)
        )
    expected = certify(objective, np.zeros(2), solution.b, np.zeros(10))
    for name in ("primal", "dual", "gap", "relative_gap", "kkt_violation", "margin", "slack_sum"):
        found = getattr(solution.certificate, name)
        assert found == pytest.approx(getattr(expected, name)), name


def test_a_nu_problem_that_was_not_begun_has_no_margin_and_no_bound():
    """Each pair was solved to its first gap check: 300 classes took 20 s for max_time=0.2."""
    X, y = many_classes()
    with pytest.warns(ConvergenceWarning, match="nothing proven yet"):
        model = NuSVC(nu=0.4, max_time=1e-9).fit(X, y)
    assert model.certificate_.dual == -np.inf
    for solution in model.solutions_[1:]:
        assert not solution.w.any()
        assert (solution.b, solution.loss.target_scale) == (0.0, 0.0)
        assert solution.certificate.primal == 0.0
    more = model.set_params(max_time=None, warm_start=True).fit(X, y)
    assert more.certificate_.status is Status.OPTIMAL


@pytest.mark.parametrize("kind", [OneClassSVM, NuSVC])
def test_a_nu_machine_stopped_before_its_first_sums_proves_nothing(kind):
    """Its beta was 0, which is no point of the dual: w = 0 was called the proven optimum."""
    X, y = many_classes(2, 1500)  # too many for the solver of small problems
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = kind(kernel="laplacian", max_time=1e-9).fit(X, y)
    assert model.certificate_.status is Status.STOPPED_BY_TIME
    assert model.certificate_.status.value in str(model.certificate_)
