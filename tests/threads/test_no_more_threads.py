"""Where the system gives no more threads, the caller's own does the work, with the same result."""

import contextlib
import ctypes

import numpy as np
import pytest

from maxmargin import SVC
from synthetic import csr

LIBC = ctypes.CDLL(None)
pytestmark = pytest.mark.skipif(
    not hasattr(LIBC, "pthread_setattr_default_np"), reason="a function of glibc"
)


@contextlib.contextmanager
def no_more_threads():
    """Ask for a stack that no thread can have."""
    usual, vast = (ctypes.create_string_buffer(256) for _ in range(2))
    assert LIBC.pthread_getattr_default_np(usual) == 0
    assert LIBC.pthread_getattr_default_np(vast) == 0
    assert LIBC.pthread_attr_setstacksize(vast, ctypes.c_size_t(1 << 46)) == 0
    assert LIBC.pthread_setattr_default_np(vast) == 0
    try:
        yield
    finally:
        assert LIBC.pthread_setattr_default_np(usual) == 0


@pytest.mark.parametrize("storage", [np.asarray, csr], ids=["dense", "csr"])
def test_a_fit_without_threads_is_the_fit_with_them(storage):
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 10))
    y = (X[:, 0] * X[:, 1] > 0) * 1
    X = storage(np.where(np.abs(X) > 0.5, X, 0.0))
    model = SVC(n_jobs=3).fit(X, y)
    values = model.decision_function(X)
    with no_more_threads():
        again = SVC(n_jobs=3).fit(X, y)
        np.testing.assert_array_equal(again.decision_function(X), values)
