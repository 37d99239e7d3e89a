"""PegasosClassifier: fit, streams, and one after the other."""

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import minmax_scale, robust_scale, scale

from maxmargin import SVC, PegasosClassifier, Status
from real_data import CANCER
from synthetic import free_svc, loose_pegasos

X, Y = CANCER
IRIS = load_iris(return_X_y=True)


def test_fit_proves_the_gap_of_the_same_problem():
    model = loose_pegasos().fit(X, Y)
    exact = free_svc(lam=1e-2, tol=1e-8).fit(X, Y)
    assert model.certificate_.relative_gap <= 0.05
    assert model.certificate_.dual <= exact.certificate_.primal <= model.certificate_.primal


def test_the_bound_holds_where_the_theorem_applies():
    model = loose_pegasos(sampling="uniform", averaging="uniform", fit_intercept=False).fit(X, Y)
    exact = free_svc(lam=1e-2, tol=1e-8, fit_intercept=False).fit(X, Y)
    excess = model.certificate_.primal - exact.certificate_.primal
    assert 0.0 <= excess <= model.bound_ < np.inf


@pytest.mark.parametrize("settings", [{}, {"kernel": "rbf"}], ids=["linear", "rbf"])
@pytest.mark.parametrize("n", [32, 33])
def test_few_samples_are_a_batch(n, settings):
    """Without draws the seed does not matter; an epoch is then one step."""
    few = slice(0, 2 * n, 2)
    models = [loose_pegasos(max_iter=8, tol=1e-9, random_state=seed, **settings) for seed in (0, 1)]
    with pytest.warns(Warning, match="stopped by max_iter"):
        f = [model.fit(X[few], Y[few]).decision_function(X) for model in models]
    assert models[0].t_ == (8 if n == 32 else 8 * n)
    assert np.allclose(f[0], f[1], rtol=1e-9) == (n == 32)


def test_uniform_draws_and_streams_take_one_sample_a_step():
    model = loose_pegasos(sampling="uniform", max_iter=8, tol=1e-9)
    with pytest.warns(Warning, match="stopped by max_iter"):
        assert model.fit(X[:20], Y[:20]).t_ == 160
    assert loose_pegasos().partial_fit(X[:20], Y[:20], classes=[0, 1]).t_ == 20


@pytest.mark.parametrize("settings", [{}, {"kernel": "rbf"}], ids=["linear", "rbf"])
def test_a_stream_goes_on_from_a_fit_of_few_samples(settings):
    """Its steps take one sample each: in the next one, 1/(n epochs + 1) of f gives way."""
    few, epochs = slice(0, 40, 2), 100
    shared = {"lam": 0.1, "tol": 1e-9, "fit_intercept": False, "averaging": "none"}
    model = loose_pegasos(max_iter=epochs, **shared, **settings)
    with pytest.warns(Warning, match="stopped by max_iter"):
        before = model.fit(X[few], Y[few]).decision_function(X)
    easy = np.argmax(np.where(Y == 1, before, -before))
    assert abs(before[easy]) > 1.0  # no violator: f only shrinks
    after = model.partial_fit(X[[easy]], Y[[easy]]).decision_function(X)
    np.testing.assert_allclose(after, (1.0 - 1.0 / (20 * epochs + 1)) * before, rtol=1e-6)


def test_a_stream_learns():
    model = loose_pegasos()
    for _ in range(5):
        for batch in np.array_split(np.random.default_rng(0).permutation(len(Y)), 10):
            model.partial_fit(X[batch], Y[batch], classes=[0, 1])
    assert model.score(X, Y) > 0.95
    assert model.t_ == 5 * len(Y)


def test_a_stream_of_three_classes_learns():
    rows, labels = scale(IRIS[0]), IRIS[1]
    model = loose_pegasos()
    for _ in range(30):
        model.partial_fit(rows, labels, classes=[0, 1, 2])
    assert model.coef_.shape == (3, 4)
    assert model.score(rows, labels) > 0.8


@pytest.mark.parametrize("classes", [None, [0, 1]])
def test_partial_fit_goes_on_from_fit(classes):
    model = loose_pegasos().fit(X, Y)
    before, steps = model.coef_.copy(), model.t_
    model.partial_fit(X[:5], Y[:5], classes=classes)
    assert np.abs(model.coef_ - before).max() < 0.1 * np.abs(before).max()
    assert model.t_ == steps + 5
    with pytest.raises(AttributeError, match="stream is not kept"):
        _ = model.certificate_
    with pytest.raises(AttributeError, match="no history after partial_fit"):
        _ = model.history_


def test_a_batch_of_another_width_is_refused():
    model = loose_pegasos().fit(X, Y)
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :3], Y)
    assert model.n_features_in_ == X.shape[1]


@pytest.mark.parametrize("fitted", [False, True])
def test_other_classes_are_refused(fitted):
    model = loose_pegasos()
    model.fit(X, Y) if fitted else model.partial_fit(X, Y, classes=[0, 1])
    with pytest.raises(ValueError, match=r"classes=.* differs"):
        model.partial_fit(X, Y, classes=[0, 1, 2])


def test_an_unknown_label_is_refused():
    model = loose_pegasos().partial_fit(X, Y, classes=[0, 1])
    with pytest.raises(ValueError, match="label 7"):
        model.partial_fit(X[:3], [0, 1, 7])


def test_the_first_batch_must_name_the_classes():
    with pytest.raises(ValueError, match="needs classes="):
        loose_pegasos().partial_fit(X, Y)


def test_fit_after_a_stream_starts_anew():
    model = loose_pegasos().partial_fit(X, Y, classes=[0, 1]).fit(X, Y)
    np.testing.assert_array_equal(model.coef_, loose_pegasos().fit(X, Y).coef_)


# ---- sample weights


@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_weights_are_costs(kernel):
    weight = np.arange(len(Y)) % 3
    live = weight > 0
    model = loose_pegasos(kernel=kernel, gamma=0.05).fit(X, Y, sample_weight=weight)
    assert model.certificate_.status is Status.OPTIMAL
    C = 1 / (1e-2 * weight.sum())
    exact = (free_svc(C, tol=1e-6) if kernel is None else SVC(C, gamma=0.05, tol=1e-6)).fit(
        X, Y, weight
    )
    assert model.certificate_.dual <= exact.certificate_.primal * (1 + 1e-6)
    assert exact.certificate_.dual <= model.certificate_.primal * (1 + 1e-6)
    assert live[model.support_].all()


def test_equal_weights_are_none():
    plain, weighted = loose_pegasos().fit(X, Y), loose_pegasos().fit(X, Y, np.full(len(Y), 0.5))
    np.testing.assert_allclose(weighted.coef_, plain.coef_, rtol=1e-9)
    with pytest.raises(ValueError, match="zero or negative weights"):
        loose_pegasos().fit(X, Y, -np.ones(len(Y)))


# ---- all classes in one problem


def test_classes_not_begun_at_an_interruption_have_a_model():
    class Stopper:
        def setup(self, estimator, context): ...

        def teardown(self, estimator, context): ...

        def on_fit_task_begin(self, estimator, context): ...

        def on_fit_task_end(self, estimator, context):
            return context.task_name == "gap check"

    X, y = load_iris(return_X_y=True)
    model = PegasosClassifier(tol=1e-9).set_callbacks(Stopper())
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model.fit(X, y)
    assert model.coef_.shape == (3, 4)
    assert model.predict(X).shape == (150,)


@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_a_warm_start_with_as_many_samples_as_features(kernel):
    X = np.random.default_rng(0).normal(size=(40, 40))
    y = np.sign(X[:, 0])
    model = PegasosClassifier(0.1, kernel=kernel, warm_start=True, max_iter=5, tol=1e-9)
    for _ in range(2):
        with pytest.warns(ConvergenceWarning):
            model.fit(X, y)
    assert model.score(X, y) > 0.5


def test_a_warm_start_leaves_an_intercept_behind():
    X = np.random.default_rng(0).normal(size=(60, 3)) + 2.0
    y = np.where(X[:, 0] > 2.0, 1, -1)
    model = PegasosClassifier(0.1, warm_start=True, max_iter=5, tol=1e-9)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    assert model.intercept_[0] != 0.0
    with pytest.warns(ConvergenceWarning):
        model.set_params(fit_intercept=False).fit(X, y)
    assert model.intercept_[0] == 0.0


KINDS = pytest.mark.parametrize(
    "settings",
    [{}, {"kernel": "rbf"}, {"multi_class": "crammer_singer"}],
    ids=["linear", "rbf", "crammer_singer"],
)


@pytest.mark.parametrize("class_weight", [{0: 3.0, 1: 0.5}, "balanced"])
def test_class_weights_are_those_of_the_exact_machine(class_weight):
    model = loose_pegasos(class_weight=class_weight).fit(X, Y)
    exact = free_svc(lam=1e-2, class_weight=class_weight, tol=1e-8).fit(X, Y)
    plain = free_svc(lam=1e-2, tol=1e-8).fit(X, Y).certificate_.primal
    assert model.certificate_.relative_gap <= 0.05
    assert model.certificate_.dual <= exact.certificate_.primal <= model.certificate_.primal
    assert exact.certificate_.primal != pytest.approx(plain, rel=0.05)


@KINDS
def test_class_weights_of_a_stream_are_weights_of_its_samples(settings):
    data, y = IRIS
    factors = np.array([2.0, 0.5, 0.0])
    by_class = loose_pegasos(class_weight=dict(enumerate(factors)), **settings)
    by_sample, plain = loose_pegasos(**settings), loose_pegasos(**settings)
    for rows in (slice(0, 150, 2), slice(50, 100), slice(1, 150, 2)):  # one has a class only
        by_class.partial_fit(data[rows], y[rows], [0, 1, 2])
        by_sample.partial_fit(data[rows], y[rows], [0, 1, 2], sample_weight=factors[y[rows]])
        plain.partial_fit(data[rows], y[rows], [0, 1, 2])
    f = by_sample.decision_function(data)
    np.testing.assert_array_equal(by_class.decision_function(data), f)
    assert not np.allclose(plain.decision_function(data), f)


@KINDS
def test_a_batch_without_weight_is_refused(settings):
    data, y = IRIS
    model = loose_pegasos(class_weight={0: 1.0, 1: 1.0, 2: 0.0}, **settings)
    with pytest.raises(ValueError, match=r"sample_weight times class_weight.*Leave the batch out"):
        model.partial_fit(data[100:], y[100:], classes=[0, 1, 2])
    assert (model.partial_fit(data, y, classes=[0, 1, 2]).predict(data[:50]) == 0).all()


def test_a_stream_has_no_balanced_classes():
    with pytest.raises(ValueError, match=r"class_weight='balanced'.*dict"):
        loose_pegasos(class_weight="balanced").partial_fit(X, Y, classes=[0, 1])


def test_lambda_is_asked_for_by_its_name():
    missing: Any = None
    with pytest.raises(ValueError, match="lam must be a positive finite number, got None"):
        PegasosClassifier(missing).fit(X, Y)


def test_minus_two_is_no_number_of_epochs():
    with pytest.raises(ValueError, match="max_iter must be"):
        PegasosClassifier(max_iter=-2).fit(X, Y)


def test_several_labels_a_sample_are_sent_to_the_estimator_for_them():
    with pytest.raises(ValueError, match="MultiOutputClassifier"):
        PegasosClassifier().fit(X, np.c_[Y, Y])


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris, load_digits, load_wine])
def test_the_defaults_converge_on_small_sets(load):
    X, y = load(return_X_y=True)
    model = PegasosClassifier(random_state=0).fit(scale(X), y)
    assert all(solution.certificate.relative_gap <= 0.01 for solution in model.solutions_)
    assert model.score(scale(X), y) > 0.9


@pytest.mark.parametrize("scaled", [minmax_scale, robust_scale])
@pytest.mark.parametrize("load", [load_breast_cancer, load_digits, load_iris, load_wine])
def test_the_defaults_converge_whatever_the_scaler(load, scaled):
    """In [0, 1] the intercept crept: gaps of 2 to 17 % were left after 100,000 epochs."""
    X, y = load(return_X_y=True)
    model = PegasosClassifier(random_state=0, max_iter=1000).fit(scaled(X), y)
    assert {solution.status for solution in model.solutions_} == {Status.OPTIMAL}


@pytest.mark.slow
@pytest.mark.parametrize("load", [load_breast_cancer, load_iris, load_wine])
def test_the_defaults_prove_the_small_classic_sets_whatever_the_seed(load):
    X, y = load(return_X_y=True)
    models = [PegasosClassifier(random_state=seed).fit(scale(X), y) for seed in range(20)]
    assert {model.certificate_.status for model in models} == {Status.OPTIMAL}
