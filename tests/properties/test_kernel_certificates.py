"""OPTIMAL kernel machines are optimal in extended precision, whatever they fit and store."""

import numpy as np
import pytest
from scipy import sparse

from extended import HOSTILE, recomputed, rounding
from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM, Status

KINDS = [SVC, SVR, NuSVC, NuSVR, OneClassSVM]
KERNELS = ["linear", "poly", "rbf", "laplacian"]
STORAGES = [np.asarray, sparse.csr_matrix]


def posed(kind, make, n):
    """Rows, what to fit them to, and y as the solution counts it."""
    rng = np.random.default_rng(7)
    X, noise = make(rng, n), rng.normal(size=n)
    Z = (X - np.median(X, axis=0)) / X.std(axis=0)
    signal = Z[:, 0] * Z[:, 1] + 0.3 * noise
    if issubclass(kind, SVR):
        return X, signal, signal
    y = np.where(signal > np.median(signal), 1.0, -1.0)
    return X, y, np.ones(n) if kind is OneClassSVM else -y


def check_proof(kind, make, n, storage, **options):
    """Fit, and return whether the proof was there to be checked."""
    X, y, side = posed(kind, make, n)
    model = kind(coef0=1.0, max_time=0.5, **options)
    model.set_params(**{"nu": 0.5} if "nu" in model.get_params() else {})
    try:
        model.fit(storage(X), y)
    except ValueError as error:  # means of the two classes coincide, or K has no digits left
        causes = "leaves no margin", "lose all digits", "beyond what float32"
        assert any(cause in str(error) for cause in causes)  # noqa: PT017
        return False
    claim, cost = model.certificate_, np.full(n, getattr(model, "C", 1.0))
    if claim.status is not Status.OPTIMAL or not model.solution_.w.any():
        return False
    true, lost = recomputed(model, X, side, cost), rounding(model, X, cost)
    size, small = max(true.dual, -true.primal), 0.01 * model.tol
    assert true.violation <= 1e-12
    assert true.primal - true.dual <= (1.0 + small) * model.tol * size + lost
    assert abs(claim.primal - true.primal) <= small * size + lost
    assert abs(claim.dual - true.dual) <= claim.gap + small * size + lost
    return True


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("make", HOSTILE)
@pytest.mark.parametrize(
    ("storage", "C", "tol"),
    [(np.asarray, 1.0, 1e-3), (sparse.csr_matrix, 1e3, 1e-6)],
    ids=["dense", "csr"],
)
def test_a_proof_in_float64_holds(make, kernel, storage, C, tol):
    checked = 0
    for kind in KINDS:
        costs = {"C": C} if kind in (SVC, SVR, NuSVR) else {}
        checked += check_proof(kind, make, 60, storage, kernel=kernel, tol=tol, **costs)
    assert checked >= (2 if kernel in ("rbf", "laplacian") else 0)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(14))
def test_a_proof_from_float32_rows_holds(seed):
    """Of 1,100 rows, with a kind, kernel, storage and C that go round."""
    make, storage = HOSTILE[seed % len(HOSTILE)], STORAGES[seed // 4 % 2]
    kind = KINDS[seed % len(KINDS)]
    costs = {"C": [0.1, 1.0, 30.0][seed % 3]} if kind in (SVC, SVR, NuSVR) else {}
    check_proof(kind, make, 1100, storage, kernel=KERNELS[seed % len(KERNELS)], tol=1e-3, **costs)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
@pytest.mark.parametrize("C", [1e6, 1e10, 1e14])
def test_a_proof_allows_for_what_a_large_cost_makes_of_the_rounding_of_f(kernel, C):
    """The dual value of β and the primal value of f, and no allowance for how they are computed."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(30, 4)) + 10.0
        y = np.where(rng.random(30) < 0.5, -1.0, 1.0)
        model = SVC(kernel=kernel, C=C, gamma=0.1, tol=1e-6, max_time=0.3).fit(X, y)
        if (claim := model.certificate_).status is Status.OPTIMAL:
            true = recomputed(model, X, -y, np.full(30, C))
            assert true.primal - true.dual <= claim.gap + 1e-12 * true.primal


@pytest.mark.filterwarnings("ignore")
def test_a_proof_allows_for_the_rounding_of_f_at_the_edge_of_the_margin():
    """f(x) = 1 to the last digit of <w, x> + b, which a cost of 1e9 makes visible."""
    X = 1e-7 * np.array([[1.5, 1.5, -1.0], [2.7, -0.3, -17.6], [-1.0, 0.3, 19.7], [-0.2, 0.0, -11]])
    y, weight = np.array([1.0, -1.0, -1.0, 1.0]), np.array([2e9, 0.02, 0.04, 0.006])
    for scale in np.linspace(0.5, 2.0, 40):
        model = SVC(kernel="linear", tol=1e-8).fit(scale * X, y, sample_weight=weight)
        claim, true = model.certificate_, recomputed(model, scale * X, -y, weight)
        assert true.primal - true.dual <= claim.gap + 1e-15 * true.primal
