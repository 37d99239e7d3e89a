"""Values beyond what the arithmetic can hold are refused in words, not by a bare OverflowError."""

import numpy as np
import pytest

from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM, PegasosClassifier
from synthetic import csr

MODELS = [
    SVC(),
    SVR(),
    NuSVC(),
    OneClassSVM(),
    PegasosClassifier(),
    PegasosClassifier(kernel="rbf"),
]


def samples(n=80):
    X = np.random.default_rng(0).normal(size=(n, 3))
    return X, (X[:, 0] > 0) * 1


@pytest.mark.parametrize("storage", [np.asarray, csr], ids=["dense", "csr"])
@pytest.mark.parametrize("factor", [1e153, 1e200, 1e307])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_squares_that_overflow_name_x_and_the_remedy(model, factor, storage):
    X, y = samples()
    with pytest.raises(ValueError, match=r"(?s)X .*(StandardScaler)"):
        model.fit(storage(factor * X), y)


@pytest.mark.parametrize("gamma", ["scale", "median"])
def test_a_rule_for_gamma_says_that_squares_overflow(gamma):
    X, y = samples()
    with pytest.raises(ValueError, match=f"squares overflow, and gamma='{gamma}'"):
        SVC(gamma=gamma).fit(1e200 * X, y)


@pytest.mark.parametrize("n", [300, 1500])
@pytest.mark.parametrize(
    "model", [SVC(), SVC(multi_class="crammer_singer"), PegasosClassifier()], ids=str
)
@pytest.mark.parametrize("huge", [1e39, -1e39])
def test_a_function_that_returns_huge_values_off_the_diagonal_is_refused(model, n, huge):
    def kernel(A, B):
        values = np.exp(-((A[:, np.newaxis] - B) ** 2).sum(axis=2))
        return np.where(values < 0.2, huge, values)

    X, y = samples(n)
    with pytest.raises(ValueError, match=r"values up to 1.0e\+39 .*below 1e\+30.*scale X"):
        model.set_params(kernel=kernel).fit(X, y)


@pytest.mark.parametrize(
    "model", [SVC(), SVR(), NuSVR(), SVC(multi_class="crammer_singer")], ids=str
)
def test_weights_whose_squares_overflow_are_refused(model):
    X, y = samples()
    with pytest.raises(ValueError, match=r"costs C_i.* overflow\. Lower C, or divide"):
        model.fit(X, y, sample_weight=np.full(len(y), 1e300))
