"""Every allocation of the core may fail: a MemoryError, and all goes on as before."""

import contextlib
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from maxmargin import (
    SVC,
    SVR,
    Intercept,
    LinearObjective,
    NuSVC,
    OneClassSVM,
    PegasosClassifier,
    Problem,
    _core,
)
from maxmargin.losses import SQUARED_HINGE
from maxmargin.solvers.linear import newton
from synthetic import csr, free_svc, free_svr

pytestmark = pytest.mark.skipif(
    not hasattr(_core, "fail_allocations"), reason="the core was built without MAXMARGIN_FAULTS"
)


RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(1300, 6))
SIGN = (X[:, 0] + 0.5 * RANDOM.normal(size=1300) > 0) * 1
CLASS = np.argmax(X[:, :4] + 0.5 * RANDOM.normal(size=(1300, 4)), axis=1)
SPARSE = csr(np.where(np.abs(X) > 1, X, 0.0))
ONES = csr((np.abs(X) > 1) * 1.0)


@contextlib.contextmanager
def failing(after=0, times=1, least=0):
    """Let the allocations after so many fail, of those of at least so many bytes."""
    _core.fail_allocations(after, times, least)  # type: ignore[attr-defined] # of builds for tests
    try:
        yield
    finally:
        _core.fail_allocations(0, 0)  # type: ignore[attr-defined]


def each_failure(fit):
    """Yield what the fit gives as each allocation fails in turn, later ones less often."""
    after = 0
    while True:
        with failing(after):
            try:
                result = fit()
            except MemoryError:
                result = None
            if _core.failed_allocations() == 0:  # type: ignore[attr-defined]
                return
        yield result
        after += 1 + after // 8


FITS = [
    (free_svc(), X, SIGN),
    (free_svc(), SPARSE, SIGN),
    (free_svc(solver="newton", loss="hinge"), ONES, SIGN),
    (free_svc(solver="newton"), SPARSE, SIGN),
    (free_svc(solver="dual_cd", loss="hinge"), SPARSE, SIGN),
    (free_svc(), X, CLASS),
    (free_svc(multi_class="crammer_singer"), SPARSE, CLASS),
    (free_svc(solver="pegasos", max_iter=20), X, SIGN),
    (free_svc(solver="sgd", max_iter=20), SPARSE, CLASS),
    (free_svr(), X, X[:, 1]),
    (SVC(), X, SIGN),
    (SVC(), X[:300], SIGN[:300]),
    (SVC(), SPARSE, CLASS),
    (SVC(), X[:300], CLASS[:300]),
    (SVC(multi_class="crammer_singer"), X, CLASS),
    (SVR(), X[:300], X[:300, 1]),
    (NuSVC(nu=0.3), X, SIGN),
    (OneClassSVM(nu=0.2), X, None),
    (PegasosClassifier(kernel="rbf", max_iter=20), X, SIGN),
]


@pytest.mark.parametrize(("model", "rows", "y"), FITS, ids=[str(model) for model, _, _ in FITS])
def test_a_failed_allocation_is_a_memory_error_and_leaves_all_in_order(model, rows, y):
    if "random_state" in model.get_params():
        model.set_params(random_state=0)

    def fit():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return clone(model).fit(rows, y).predict(rows[:50])

    expected = fit()
    results = list(each_failure(fit))
    assert any(result is None for result in results)
    for result in [*results, fit()]:
        if result is not None:
            np.testing.assert_allclose(result, expected, atol=1e-3)


def test_the_cache_of_rows_under_a_shortage_that_comes_and_goes():
    n = 1 << 21  # four rows fill a block of memory
    asked = []

    def rows(index):
        asked.extend(index)
        return np.full((len(index), n), index[:, None], dtype=np.float32)

    view = _core.KernelView(_core.KernelRows(rows, n), 2 * n, 64, 8)

    def total(index):
        out = np.zeros((1, n))
        view.combine(np.array(index, dtype=np.int32), np.ones((1, len(index))), out)
        assert (out == out[0, 0]).all()
        return out[0, 0]

    assert total([1]) == 1
    with failing(times=10**9, least=n):
        assert total([2, 3, 4, 5]) == 14  # row 1 gives way
        with pytest.raises(MemoryError):
            total([5, 6, 7, 8, 9, 10, 11, 12])
        assert total([2, 3]) == 5
    assert total([5, 6, 7, 8, 9, 10, 11, 12]) == 68
    del asked[:]
    assert total([5, 6, 7, 8, 9, 10, 11, 12]) == 68
    assert not asked


@pytest.mark.parametrize("rows", [X, SPARSE, ONES], ids=["dense", "csr", "indicators"])
def test_a_gram_matrix_that_memory_failed_for_is_made_anew(rows):
    problem = Problem(rows, np.where(SIGN, 1.0, -1.0), np.ones(len(SIGN)))
    objective = LinearObjective(problem, SQUARED_HINGE, Intercept.NONE)

    def go_on():
        return False

    def level():
        made = _core.NewtonLevel(problem.rows, objective.terms, _core.Bias(0.0, 0.0), newton._BLAS)
        made.start(np.zeros(rows.shape[1] + 1), 0.0, None, go_on)
        return made

    expected = level().hessian(go_on)
    for after in range(100):
        tried = level()
        with failing(after), contextlib.suppress(MemoryError):
            tried.hessian(go_on)
        np.testing.assert_allclose(tried.hessian(go_on), expected, rtol=1e-12)
