"""A fit knows its own data where values of f have lost digits: other data are still refused."""

import numpy as np
import pytest

from maxmargin import SVC, SVR, LinearSVC, NuSVR

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

RNG = np.random.default_rng(0)
NEAR = RNG.normal(size=(40, 2))
LABELS = np.where(NEAR[:, 0] + RNG.normal(size=40) > 0.0, 1.0, -1.0)
LIMITS = {"max_time": 10.0, "max_iter": 1000}


@pytest.mark.parametrize(
    ("model", "offset"),
    [
        (SVC(kernel="linear", C=1e8, fit_intercept=False), 1e3),
        (SVC(kernel="linear", C=1e4, fit_intercept=False), 1e5),
        (SVC(kernel="linear", C=1e8), 1e7),
        (LinearSVC(C=1e8, loss="hinge", penalized_intercept=False), 1e7),
        (SVR(kernel="poly", C=100.0, fit_intercept=False), 1e3),
        (NuSVR(kernel="poly", C=100.0), 1e3),
    ],
    ids=str,
)
def test_rows_far_from_0_are_known(model, offset):
    X = NEAR + offset
    table = model.set_params(**LIMITS).fit(X, LABELS).samples(X, LABELS)
    assert np.isfinite(table.slack).all()


@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_labels_in_another_order_are_refused(offset):
    X = NEAR + offset
    model = SVC(kernel="linear", C=10.0).fit(X, LABELS)
    with pytest.raises(ValueError, match="Give X and y of the fit"):
        model.samples(X, LABELS[::-1])
