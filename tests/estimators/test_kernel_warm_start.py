"""warm_start of the kernel machines: fewer steps, the same proof."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from maxmargin import SVC, SVR, NuSVR, Status
from synthetic import overlapping, regression

CLASSES = overlapping(1500, 6)
SEVERAL = (CLASSES[0], np.digitize(CLASSES[0][:, 0], [0.0, 1.0]) + 3 * (CLASSES[1] > 0))
TARGETS = regression(1500, 6)
EACH = pytest.mark.parametrize(
    ("Model", "data"), [(SVC, CLASSES), (SVC, SEVERAL), (SVR, TARGETS)], ids=["two", "six", "SVR"]
)


@EACH
def test_a_warm_start_at_the_optimum_is_immediate(Model, data):
    model = Model(warm_start=True).fit(*data)
    assert np.max(model.n_iter_) > 1
    np.testing.assert_array_equal(model.fit(*data).n_iter_, 0)
    assert model.certificate_.status is Status.OPTIMAL


@EACH
@pytest.mark.parametrize("C", [0.5, 1.5])
def test_a_warm_start_follows_a_change_of_c(Model, data, C):
    model = Model(warm_start=True).fit(*data).set_params(C=C).fit(*data)
    cold = Model(C=C).fit(*data)
    assert model.certificate_.status is Status.OPTIMAL
    assert model.certificate_.relative_gap <= model.tol
    assert np.sum(model.n_iter_) < np.sum(cold.n_iter_)
    assert model.certificate_.primal == pytest.approx(cold.certificate_.primal, rel=2e-3)


class StopAtOnce:
    """A callback that wants no second gap check."""

    def setup(self, estimator, context): ...

    def teardown(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context): ...

    def on_fit_task_end(self, estimator, context):
        return True


@EACH
def test_an_interrupted_fit_can_go_on(Model, data):
    model = Model(warm_start=True, max_iter=2, tol=1e-5, C=10.0)
    with pytest.warns(ConvergenceWarning, match="Raise max_iter"):
        model.fit(*data)
    duals = [solution.certificate.dual for solution in model.solutions_]
    model.set_params(max_iter=None).fit(*data)
    first_duals = [solution.history[0].dual for solution in model.solutions_]
    np.testing.assert_allclose(first_duals, duals, rtol=1e-5)
    assert model.certificate_.status is Status.OPTIMAL


def test_a_callback_that_stops_leaves_a_fit_that_can_go_on():
    X, y = CLASSES
    model = SVC(warm_start=True, tol=1e-12).set_callbacks(StopAtOnce())
    with pytest.warns(ConvergenceWarning, match="warm_start=True"):
        model.fit(X, y)
    stopped = model.certificate_
    assert stopped.status is Status.INTERRUPTED
    model.set_params(tol=1e-5).set_callbacks().fit(X, y)
    assert model.certificate_.status is Status.OPTIMAL
    assert model.history_[0].dual == pytest.approx(stopped.dual, rel=1e-6)


def test_a_warm_start_on_other_data_starts_anew():
    model = SVC(warm_start=True).fit(*CLASSES)
    assert model.fit(*overlapping(300, 4)).certificate_.status is Status.OPTIMAL
    assert model.fit(*SEVERAL).certificate_.status is Status.OPTIMAL
    assert len(model.solutions_) == 15


def test_a_warm_start_after_other_labels_and_weights_is_made_feasible():
    X, y = CLASSES
    model = SVC(warm_start=True, gamma=0.1).fit(X, y)
    weight = np.arange(len(y)) % 3
    model.fit(X, np.roll(y, 7), sample_weight=weight)
    assert model.certificate_.status is Status.OPTIMAL
    assert not np.isin(np.flatnonzero(weight == 0), model.support_).any()


def test_a_kernel_matrix_can_be_warm_started():
    X, y = CLASSES
    K = rbf_kernel(X, gamma=0.1)
    model = SVC(kernel="precomputed", warm_start=True).fit(K, y)
    assert model.fit(K, y).n_iter_[0] == 0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("level", [0.0, 3.0, -3e5])
@pytest.mark.parametrize("n", [50, 1100])
@pytest.mark.parametrize(
    "model",
    [NuSVR(nu=0.3), NuSVR(nu=0.9, C=1e6), SVR(epsilon=0.0), SVR(epsilon=0.0, kernel="linear")],
    ids=str,
)
def test_a_warm_start_to_constant_targets_finds_the_constant(model, n, level):
    X = np.random.default_rng(0).normal(size=(n, 2))
    model = clone(model).set_params(warm_start=True, max_iter=50, tol=0.3).fit(X, X[:, 0])
    model.fit(X, np.full(n, level))
    assert model.certificate_.status is Status.OPTIMAL
    assert model.certificate_.primal == 0.0
    np.testing.assert_array_equal(model.predict(X), level)
