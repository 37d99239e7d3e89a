"""What the problems of a fit share: a table of all kernel values, or rows within the classes."""

import numpy as np
import pytest

import maxmargin.multiclass.kernel_problems as tasks
import maxmargin.objectives.expansion as objectives
from maxmargin import SVC, PegasosClassifier, Status
from maxmargin.kernels import Gaussian, mercer_check
from maxmargin.multiclass.kernel_problems import shared_samples, table_bytes, tabulated
from maxmargin.solvers import SMO, KernelPegasos
from synthetic import clusters


@pytest.mark.parametrize(
    ("n", "cache_size", "kept"),
    [
        (2**12, None, True),
        (2**13, None, False),
        (1000, 16.0, True),  # half of them is 8 MB
        (1001, 16.0, False),
        (2**13, 1e6, False),
    ],
)
def test_a_table_takes_a_quarter_of_a_gigabyte_or_half_of_what_is_given(n, cache_size, kept):
    assert table_bytes(n, cache_size) == (8 * n**2 if kept else 0)


def test_the_answer_is_the_same_without_a_table(monkeypatch):
    X, y = clusters(12, 600, d=5, noise=0.4)
    with_table = SVC(tol=1e-6).fit(X, y)
    monkeypatch.setattr(tasks, "_TABLE", 0)
    without = SVC(tol=1e-6).fit(X, y)
    assert with_table.certificate_.primal == pytest.approx(without.certificate_.primal, rel=1e-5)
    assert with_table.decision_function(X) == pytest.approx(without.decision_function(X), abs=1e-2)


@pytest.mark.parametrize(("cache_size", "given"), [(None, 1000.0), (80.0, 40.0)])
def test_rows_within_classes_take_half_of_what_is_given(cache_size, given, monkeypatch):
    X, y = clusters(3, 90, d=40, noise=0.4)
    members = [np.flatnonzero(y == label) for label in range(3)]
    megabytes = []
    monkeypatch.setattr(tasks, "SharedSamples", lambda *others: megabytes.append(others[-1]))
    monkeypatch.setattr(tasks, "free_memory", lambda: 4e9)
    shared_samples(X, Gaussian(0.1), members, SMO(small=10), cache_size)
    assert megabytes == [given]


@pytest.mark.parametrize(("n_tasks", "threads"), [(1, 4), (3, 1)])
def test_threads_work_on_one_problem_or_on_several(n_tasks, threads):
    for model, kind in ((PegasosClassifier(kernel="rbf"), KernelPegasos), (SVC(), SMO)):
        solver = model._kernel_solver(n_tasks, 4)
        assert isinstance(solver, kind)
        assert solver.n_threads == threads


@pytest.mark.parametrize("values", [1, 7 * 600, 600 * 600])
def test_a_table_made_of_blocks_is_that_of_the_kernel(values, monkeypatch):
    X, y = clusters(12, 600, d=5, noise=0.4)
    members = [np.flatnonzero(y == label) for label in range(12)]
    monkeypatch.setattr(tasks, "VALUES_AT_ONCE", values)
    made = tabulated(X, Gaussian(0.2), members, lambda: False)
    assert made is not None
    at, table = made
    np.testing.assert_allclose(table(at, at), Gaussian(0.2)(X, X), rtol=1e-12)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_table_ends_with_the_time(monkeypatch):
    X, y = clusters(12, 600, d=5, noise=0.4)
    rows = []

    class Slow(Gaussian):
        def __call__(self, A, B):
            rows.append(len(A))
            return super().__call__(A, B)

    monkeypatch.setattr(tasks, "VALUES_AT_ONCE", 600)
    model = SVC(kernel=Slow(0.2), max_time=1e-6).fit(X, y)
    assert model.certificate_.status is Status.STOPPED_BY_TIME
    assert len(rows) < 300
    assert model.predict(X[:3]).shape == (3,)


@pytest.mark.parametrize("C", [1.0, np.inf])
def test_classes_against_the_rest_ask_once_whether_a_matrix_is_one_of_a_kernel(monkeypatch, C):
    X, y = clusters(5, 60)
    asked = []

    def check(*args, **options):
        asked.append(args)
        return mercer_check(*args, **options)

    monkeypatch.setattr(objectives, "mercer_check", check)
    K = Gaussian(0.5)(X, X)
    model = SVC(kernel="precomputed", multi_class="ovr", C=C).fit(K, y)
    assert model.certificate_.status is Status.OPTIMAL
    assert len(asked) == 1
