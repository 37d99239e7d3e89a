"""The most probable class is the predicted one: 10⁵ points of 20 sets with 2 to 10 classes."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.preprocessing import scale

from maxmargin import SVC, LinearSVC, NuSVC

POINTS = 5000
BUNDLED = [load_breast_cancer, load_digits, load_iris, load_wine]


def bundled(load):
    X, y = load(return_X_y=True)
    return scale(X)[:600], y[:600]


def drawn(n_classes, *, seed):
    """Return overlapping classes, of unequal size for odd seeds."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(n_classes, 3.0)) if seed % 2 else np.full(n_classes, 1.0)
    y = np.r_[
        np.repeat(np.arange(n_classes), 6), rng.choice(n_classes, 240, p=shares / shares.sum())
    ]
    return rng.normal(size=(len(y), 5)) + 1.5 * rng.normal(size=(n_classes, 5))[y], y


SETS = {load.__name__: lambda load=load: bundled(load) for load in BUNDLED}
SETS |= {
    f"{2 + k % 9} classes, {k}": lambda k=k: drawn(2 + k % 9, seed=k) for k in range(20 - len(SETS))
}


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize(
    "model",
    [SVC(), SVC(multi_class="ovr"), NuSVC(nu=0.05), LinearSVC(), LinearSVC(multi_class="ovo")],
    ids=repr,
)
def test_the_most_probable_class_is_the_predicted_one(name, model):
    X, y = SETS[name]()
    model = clone(model).fit(X, y)
    rng = np.random.default_rng(1)
    # Around the samples, between them, where two classes are as likely, and far away.
    pairs, between = rng.integers(len(X), size=(2, POINTS)), rng.random((POINTS, 1))
    points = X[pairs[0]] * between + X[pairs[1]] * (1.0 - between)
    points *= 10.0 ** rng.uniform(-1.0, 1.0, size=(POINTS, 1))
    P = model.predict_proba(points)
    np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(points))


def test_these_are_a_hundred_thousand_points_of_twenty_sets():
    assert len(SETS) == 20
    assert POINTS * len(SETS) == 10**5
    assert {len(np.unique(SETS[name]()[1])) for name in SETS} == set(range(2, 11))
