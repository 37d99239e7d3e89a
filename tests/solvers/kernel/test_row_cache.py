"""Kernel rows come in pieces: a halt between them and a lack of memory leave all in order."""

import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from maxmargin import SMO, SVC, Intercept, KernelObjective, Problem, Status, _core
from maxmargin.kernels import Cosine, Gaussian, Linear, Polynomial, Sigmoid, User
from maxmargin.losses import HINGE
from maxmargin.solvers import Monitor, Start, Stopping
from maxmargin.solvers.kernel.row_source import KernelSamples
from synthetic import csr, overlapping

KERNELS = [Linear(), Gaussian(0.3), Polynomial(0.2, 3, 1.0), Sigmoid(0.1, 0.2), Cosine()]
EACH_KERNEL = pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
EACH_STORAGE = pytest.mark.parametrize("storage", [np.asarray, csr], ids=["dense", "csr"])


def rows_of(samples, index):
    out = np.empty((len(index), samples.X.shape[0]), dtype=np.float32)
    samples.rows().rows(np.asarray(index, dtype=np.int32), out)
    return out


@EACH_STORAGE
@EACH_KERNEL
def test_rows_have_the_same_bits_in_pieces_of_any_size(kernel, storage):
    X = overlapping(530, 7)[0]
    samples = KernelSamples(kernel, storage(X))
    whole = rows_of(samples, range(130))
    np.testing.assert_allclose(whole, kernel(X[:130], X), rtol=1e-4, atol=1e-5)
    for size in (1, 5, 16, 97):
        for begin in range(0, 130, size):
            piece = rows_of(samples, range(begin, min(begin + size, 130)))
            np.testing.assert_array_equal(piece, whole[begin : begin + size])


def test_a_halt_within_an_outer_step_changes_nothing():
    X, y = overlapping(200)
    K = Gaussian(0.3)(X, X).astype(np.float32)
    asked = []

    def rows(index):
        time.sleep(0.004 * len(index))
        asked.extend(index)
        return K[index]

    zeros, ones = np.zeros(200), np.ones(200)
    smo = _core.Smo(
        _core.KernelRows(rows, 200),
        _core.SmoProblem(
            y,
            np.where(y < 0, -ones, zeros),
            np.where(y > 0, ones, zeros),
            np.zeros(200, dtype=np.uint8),
            0.0,
            True,
        ),
        100,
        120,
    )
    smo.run(0.0, 0.0, 1, lambda: False)
    beta, residual, before = smo.beta, smo.residual, len(asked)
    smo.run(0.0, 0.0, 5, lambda: len(asked) > before)
    assert smo.outer_steps == 1
    assert before < len(asked) < before + 50
    np.testing.assert_array_equal(smo.beta, beta)
    np.testing.assert_array_equal(smo.residual, residual)
    smo.run(1e-4, 0.0, 1000, lambda: False)
    np.testing.assert_allclose(smo.residual, y - K @ smo.beta, atol=1e-4)
    assert smo.outer_steps > 2


def test_a_slow_kernel_stops_in_time_and_can_go_on():
    X, y = overlapping(900)
    gaussian, slow, asked = Gaussian(0.3), [True], []

    def kernel(A, B):
        if slow[0] and len(B) == 900:
            time.sleep(0.03 * len(A))
            asked.append(len(A))
        return gaussian(A, B)

    model = SVC(kernel=User(kernel), max_time=0.5, warm_start=True)
    with pytest.warns(ConvergenceWarning, match="Raise max_time"):
        model.fit(X, y)
    assert model.certificate_.status is Status.STOPPED_BY_TIME
    assert sum(asked) < 300  # a working set has 512 rows
    slow[0] = False
    assert model.set_params(max_time=None).fit(X, y).certificate_.status is Status.OPTIMAL


def test_a_kernel_that_fails_halfway_is_heard():
    X, y = overlapping(600)
    calls = []

    def kernel(A, B):
        calls.append(len(A))
        if len(B) == 600 and sum(calls) > 300:
            raise ZeroDivisionError("from the kernel")
        return A @ B.T

    with pytest.raises(ZeroDivisionError, match="from the kernel"):
        SVC(kernel=User(kernel)).fit(X, y)


def test_a_kernel_without_memory_names_the_parameter():
    X, y = overlapping(600)

    def kernel(A, B):
        if len(B) == 600:
            raise MemoryError
        return A @ B.T

    with pytest.raises(MemoryError, match="cache_size=7"):
        SVC(kernel=User(kernel), cache_size=7).fit(X, y)


def test_the_cache_holds_what_cache_size_says():
    X, y = overlapping(1000)
    objective = KernelObjective(
        Problem(X, y, np.full(1000, 10.0)), HINGE, Intercept.FREE, kernel=Gaussian(1.0)
    )
    few, all_rows = (
        SMO(64, cache_size, small=0).solve(objective, Monitor(objective, Stopping()), Start())
        for cache_size in (0.4, None)
    )
    assert few.info.rows > all_rows.info.rows
    assert all_rows.info.rows <= 1000


SHORT_OF_MEMORY = """
import resource
import numpy as np
from maxmargin import SVC

n = {n}
rng = np.random.default_rng(0)
X, y = rng.normal(size=(n, 2)), np.where(rng.random(n) < 0.5, -1.0, 1.0)
SVC().fit(X[:100], y[:100])
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + {megabytes} * 2**20,) * 2)
try:
    model = SVC(tol=0.01, C=1.0, gamma=0.5, cache_size=1e5).fit(X, y)
    print(model.certificate_.status.name, int(model.solution_.info.rows))
except MemoryError as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits of address space are Linux's")
@pytest.mark.parametrize(
    ("n", "megabytes", "expected"),
    [(12_000, 320, "OPTIMAL"), (60_000, 60, "cache_size=100000")],
    ids=["fewer rows", "not even a working set"],
)
def test_lack_of_memory_is_no_crash(n, megabytes, expected):
    """The whole matrix would take 576 MB; the cache takes what there is, or says what is short."""
    program = SHORT_OF_MEMORY.format(n=n, megabytes=megabytes)
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert expected in ran.stdout, ran.stdout + ran.stderr


def test_memory_beyond_the_first_rows_is_taken_as_rows_come_again():
    """A block of memory holds 2097 rows of 4000 values; these do until as many came again."""
    n = 4000
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, 2)), np.where(rng.random(n) < 0.5, -1.0, 1.0)

    def solved(C, tol, first):
        lower, upper = C * np.minimum(y, 0.0), C * np.maximum(y, 0.0)
        smo = _core.Smo(
            KernelSamples(Gaussian(5.0), X).rows(),
            _core.SmoProblem(y, lower, upper, np.zeros(n, dtype=np.uint8), 0.0, True),
            128,
            n,
            first,
        )
        smo.run(tol, 0.0, 10_000, lambda: False)
        return smo

    rough, precise, plain = solved(1.0, 0.2, 64), solved(100.0, 1e-2, 64), solved(100.0, 1e-2, n)
    assert rough.most_held == 2**23 // n
    assert rough.rows_computed > rough.most_held
    assert precise.most_held == plain.most_held == n
    assert precise.rows_computed <= plain.rows_computed + 2 * n
    assert precise.dual == pytest.approx(plain.dual, rel=0.02)
