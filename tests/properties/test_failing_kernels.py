"""An estimator whose kernel raises, at whichever call, keeps what it was."""

import pickle

import numpy as np
import pytest
from sklearn.base import is_regressor
from sklearn.metrics.pairwise import rbf_kernel

from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM, PegasosClassifier
from synthetic import overlapping, regression


class Failing:
    """A Gaussian kernel that raises at its k-th call; 0: never."""

    def __init__(self):
        self.at, self.calls, self.error = 0, 0, ValueError

    def __call__(self, A, B):
        self.calls += 1
        if self.calls == self.at:
            raise self.error("from the kernel")
        return rbf_kernel(A, B, gamma=0.3)

    def __reduce__(self):  # its counters are no part of a model
        return Failing, ()

    def arm(self, at, error):
        self.at, self.calls, self.error = at, 0, error


MODELS = [
    SVC(), SVC(warm_start=True), SVC(multi_class="crammer_singer"), SVR(), NuSVC(nu=0.2), NuSVR(),
    OneClassSVM(), PegasosClassifier(max_iter=3, random_state=0),
    PegasosClassifier(max_iter=3, random_state=0, warm_start=True),
]  # fmt: skip


def attributes(model):
    return {name: id(value) for name, value in vars(model).items()}, pickle.dumps(model)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("at", "error"),
    [
        (1, ValueError),
        (2, MemoryError),
        (5, KeyboardInterrupt),
        (20, MemoryError),
        (20, ValueError),
    ],
)
@pytest.mark.parametrize("how", ["fit", "refit", "partial_fit"])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_kernel_that_raises_changes_nothing(model, how, at, error):
    if how == "partial_fit" and not hasattr(model, "partial_fit"):
        return
    kernel = Failing()
    model = type(model)(**model.get_params() | {"kernel": kernel})
    made = regression if is_regressor(model) else overlapping
    (X, y), (X_next, y_next) = made(200, 4), made(1100, 4, seed=1)
    if how != "fit":
        model.fit(X, y)
        predicted = model.predict(X[:50])
    before = attributes(model)
    kernel.arm(at, error)
    method = model.partial_fit if how == "partial_fit" else model.fit
    try:
        method(X_next, y_next)
    except error:
        assert kernel.calls >= at
        kernel.arm(0, error)
        assert attributes(model) == before
        if how != "fit":
            np.testing.assert_array_equal(model.predict(X[:50]), predicted)
    else:
        assert kernel.calls < at
