"""What a caller's kernel raises reaches the caller, from however deep inside the core."""

import numpy as np
import pytest

from maxmargin import SVC, SVR, PegasosClassifier
from maxmargin.kernels import User


class Breaks:
    """A linear kernel that raises at its n-th call."""

    def __init__(self, at):
        self.left = at

    def __call__(self, A, B):
        self.left -= 1
        if self.left == 0:
            raise KeyError("my kernel")
        return A @ B.T


def calls_of(model, X, y):
    kernel = Breaks(at=-1)
    model.set_params(kernel=User(kernel)).fit(X, y)
    return -1 - kernel.left


@pytest.mark.parametrize(
    "model", [SVC(), SVC(multi_class="crammer_singer"), SVR(), PegasosClassifier(random_state=0)]
)
def test_an_exception_of_a_kernel_arrives_at_every_call(model):
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 3))
    y = (X[:, 0] + 0.1 * random.normal(size=3000) > 0) * 1
    calls = calls_of(model, X, y)
    for at in sorted({1, 2, 3, calls // 2, calls - 1, calls}):
        with pytest.raises(KeyError, match="my kernel"):
            model.set_params(kernel=User(Breaks(at))).fit(X, y)
    assert calls_of(model, X, y) == calls
