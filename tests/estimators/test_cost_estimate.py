"""estimate_cost: sane figures and the right advice, without a fit of all the data."""

import itertools
import subprocess
import sys
import time
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from maxmargin import (
    QP,
    SVC,
    SVR,
    CostEstimate,
    EmbeddedSVC,
    EmbeddedSVR,
    LinearSVC,
    LinearSVR,
    NuSVC,
    NuSVR,
    OneClassSVM,
    PegasosClassifier,
)
from maxmargin.embeddings import FourierFeatures
from maxmargin.estimators._cost import Growth, Part, _turns
from maxmargin.kernels import User
from synthetic import csr, overlapping, regression


def noise(n, d=2, n_classes=2):
    """Labels that nothing explains: nearly every sample becomes a support vector."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)), rng.integers(n_classes, size=n)


def estimate(model, data, max_time=0.2):
    return model.estimate_cost(*data, max_time=max_time)


@pytest.mark.parametrize(
    ("Model", "data"), [(SVC, overlapping(600)), (SVR, regression(600))], ids=["SVC", "SVR"]
)
def test_figures_are_those_of_the_fit(Model, data):
    cost = estimate(Model(), data, max_time=5.0)
    model = Model().fit(*data)
    assert cost.seconds > 0.0
    assert cost.n_samples == 600
    assert cost.n_support == pytest.approx(len(model.support_), abs=60)
    assert cost.cache_rows == 600
    assert cost.advice == ()


def test_memory_is_that_of_the_rows_kept():
    n = 6000
    cost = estimate(SVC(cache_size=1000), noise(n))
    assert cost.memory_bytes == pytest.approx(4 * n * n, rel=0.5)
    small = estimate(SVC(cache_size=20), noise(n))
    assert 20e6 < small.memory_bytes < 40e6
    assert small.cache_rows == 20_000_000 // (4 * n)


PEAK = """
import numpy as np
from sklearn.datasets import make_classification
from maxmargin import SVC

def memory(name):
    with open("/proc/self/status") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith(name))

X, y = make_classification(12_000, 60, flip_y=0.6, random_state=0)
model = SVC(tol=0.01, cache_size={cache_size})
print(model.estimate_cost(X, y, max_time=3.0).memory_bytes)
before = memory("VmRSS:")
model.fit(X, y)
print(memory("VmHWM:") - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from Linux's /proc")
@pytest.mark.parametrize("cache_size", [None, 100, 1000])
def test_memory_is_the_peak_of_the_fit(cache_size):
    """To within a factor of 1.6; cheap rows do not fill the memory if no cache_size is given."""
    program = PEAK.format(cache_size=cache_size)
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True
    )
    expected, peak = map(int, ran.stdout.split())
    assert peak / 1.6 < expected < 1.6 * peak
    if cache_size is None:
        assert peak < 350e6


def test_more_samples_take_more_time_memory_and_support_vectors():
    costs = [estimate(SVC(cache_size=1e4), noise(n)) for n in (200, 4000, 40_000)]
    for few, many in itertools.pairwise(costs):
        assert few.seconds < many.seconds
        assert few.memory_bytes < many.memory_bytes
        assert few.n_support < many.n_support <= many.n_samples


def test_a_cache_too_small_is_told():
    advice = " ".join(estimate(SVC(cache_size=5), noise(5000)).advice)
    assert "cache_size=" in advice
    assert "cache_size=" not in " ".join(estimate(SVC(cache_size=500), noise(5000)).advice)


def test_features_of_different_size_are_told():
    X, y = overlapping(400)
    assert "StandardScaler" in " ".join(estimate(SVC(), (X * [1, 1e5, 1, 1], y)).advice)


def test_too_many_samples_are_told():
    advice = " ".join(estimate(SVC(cache_size=100), noise(250_000)).advice)
    assert "SVC(landmarks=1000)" in advice
    assert "exact_certificate" in advice


def test_too_many_samples_are_told_where_there_are_no_landmarks():
    advice = " ".join(estimate(NuSVC(cache_size=100), noise(250_000)).advice)
    assert "maxmargin.embeddings.Nystroem" in advice


def test_a_linear_kernel_is_told():
    assert "LinearSVC" in " ".join(estimate(SVC(kernel="linear"), overlapping(300)).advice)


def test_a_measurement_cut_short_is_told():
    def slow(A, B):
        time.sleep(2e-6 * A.shape[0] * B.shape[0])
        return A @ B.T

    slowly = SVC(kernel=User(slow))
    assert "cut short" in " ".join(estimate(slowly, overlapping(2000), 0.02).advice)


def test_the_model_stays_as_it_is():
    model = SVC(warm_start=True, verbose=0)
    before = dict(vars(model))
    estimate(model, overlapping(300))
    assert vars(model) == before
    model.fit(*overlapping(100))
    solutions = model.solutions_
    estimate(model, overlapping(300))
    assert model.solutions_ is solutions


def test_kernels_and_storages_of_all_kinds():
    X, y = overlapping(700)
    K = rbf_kernel(X)
    for model, rows in [
        (SVC(), csr(X)),
        (SVC(), X.astype(np.float32)),
        (SVC(kernel="precomputed"), K),
        (SVC(kernel=rbf_kernel), X),
        (SVC(n_jobs=2), X),
    ]:
        cost = estimate(model, (rows, y))
        assert cost.seconds > 0.0
        assert 0 < cost.n_support <= 700


@pytest.mark.parametrize(("penalty", "first"), [("l1", 500), ("l2", 250)])
def test_parts_of_an_l1_fit_have_more_rows_than_features(penalty, first, monkeypatch):
    """250 separable rows took 40 times the sweeps of all: the estimate was 38 times too long."""
    sizes, fitted = list[int](), Part.fitted

    def noted(model, X, y):
        sizes.append(len(y))
        return fitted(model, X, y)

    monkeypatch.setattr(Part, "fitted", noted)
    estimate(LinearSVC(penalty=penalty), noise(2000, 100))
    assert sizes[0] == first


def test_rare_classes_and_few_samples():
    X, y = noise(3000, n_classes=3)
    y[:] = np.where(y == 2, 1, y)
    y[1234] = 2
    assert estimate(SVC(), (X, y)).n_samples == 3000
    assert estimate(SVC(), (X[:4], [0, 1, 0, 1])).n_samples == 4


def test_wrong_data_is_refused_as_by_fit():
    X, y = overlapping(300)
    with pytest.raises(ValueError, match="got 1 class"):
        SVC().estimate_cost(X, np.ones(300))
    with pytest.raises(ValueError, match="NaN"):
        SVC().estimate_cost(np.where(X > 2.0, np.nan, X), y)
    with pytest.raises(ValueError, match="max_time"):
        SVC().estimate_cost(X, y, max_time=0.0)


def test_it_reads_well():
    cost = CostEstimate(100_000, 7300.0, 9000.0, 3_200_000_000, 20_000, 8000, ("Do this.",))
    assert str(cost) == (
        "A fit of 100,000 samples takes about 2.0 hours (2.5 hours of processors) and 3.2 GB of"
        " memory, and leaves about 20,000 support vectors; the cache has room for 8,000 kernel"
        " rows.\nDo this."
    )
    linear = str(CostEstimate(1000, 30.0, 30.0, 5_000_000, 100))
    assert "about 30 seconds (30 seconds of processors) and 5 MB of memory" in linear
    assert "cache" not in linear
    with pytest.raises(FrozenInstanceError):
        cost.seconds = 1.0  # type: ignore[misc] # which is what is tested


@pytest.mark.parametrize(
    ("model", "data"),
    [(NuSVC(nu=0.3), overlapping(2000)), (NuSVR(), regression(2000)), (OneClassSVM(), noise(2000))],
    ids=["NuSVC", "NuSVR", "OneClassSVM"],
)
def test_nu_machines(model, data):
    cost = estimate(model, data)
    assert cost.n_samples == 2000
    assert cost.seconds > 0.0
    assert 0 < cost.n_support <= 2000


def test_one_class_needs_no_labels():
    assert OneClassSVM().estimate_cost(noise(600)[0], max_time=0.1).n_samples == 600


@pytest.mark.parametrize("n_few", [101, 333])
def test_the_largest_nu_is_feasible_in_every_part(n_few):
    X, y = noise(3000)[0], np.arange(3000) < n_few
    model = NuSVC(nu=2 * n_few / 3000)
    assert estimate(model, (X, y)).n_samples == 3000
    assert model.nu == 2 * n_few / 3000
    with pytest.raises(ValueError, match="is infeasible"):
        estimate(NuSVC(nu=0.9), (X, y))


def test_parts_have_the_classes_in_proportion():
    y = np.random.default_rng(0).permutation(np.repeat([0, 1, 2], [400, 600, 1000]))
    order = np.argsort(_turns(y), kind="stable")
    assert sorted(y[order[:6]]) == [0, 0, 1, 1, 2, 2]
    for size in (250, 500, 1000):
        np.testing.assert_allclose(np.bincount(y[order[:size]]) / size, [0.2, 0.3, 0.5], atol=0.01)


def test_a_kernel_matrix_is_refused_as_by_fit():
    X, y = overlapping(300)
    with pytest.raises(ValueError, match="kernel='precomputed' needs a"):
        SVC(kernel="precomputed").estimate_cost(X, y)


@pytest.mark.parametrize("solver", ["qp", QP()], ids=["name", "object"])
def test_a_quadratic_program_has_all_kernel_values(solver):
    X, y = noise(1200)
    cost = estimate(SVC(solver=solver), (X, y))
    assert cost.memory_bytes >= 3 * 8 * 1200**2
    assert cost.cache_rows == 1200
    with pytest.raises(ValueError, match="solver='qp' is for at most 5000 samples, and X has 5001"):
        estimate(SVC(solver=solver), noise(5001))
    assert estimate(SVC(solver=solver), noise(5400, n_classes=3)).n_samples == 5400


def test_the_table_of_many_pairs_counts():
    rng = np.random.default_rng(0)
    y = np.arange(3000) % 60
    X = rng.normal(size=(60, 5))[y] + 0.1 * rng.normal(size=(3000, 5))
    table = 8 * 3000**2
    assert table < estimate(SVC(), (X, y)).memory_bytes < 1.5 * table
    assert estimate(SVC(cache_size=100.0), (X, y)).memory_bytes < 0.5 * table


# ---- every estimator


@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(),
        LinearSVC(penalty="l1", C=0.1),
        LinearSVC(multi_class="ovo"),
        LinearSVC(multi_class="crammer_singer"),
        LinearSVC(loss="hinge", solver="dual_cd"),
        PegasosClassifier(max_iter=5),
        PegasosClassifier(kernel="rbf", fit_intercept=False, max_iter=2),
        SVC(landmarks=50),
        EmbeddedSVC(),
        EmbeddedSVC(FourierFeatures(100, random_state=0), LinearSVC()),
    ],
    ids=repr,
)
def test_every_classifier_estimates(model):
    before = dict(vars(model))
    cost = estimate(model, noise(3000, n_classes=3), max_time=0.05)
    assert cost.n_samples == 3000
    assert cost.seconds > 0.0
    assert cost.cpu_seconds > 0.0
    assert cost.memory_bytes > 0
    assert 0 < cost.n_support <= 3000
    assert vars(model) == before


@pytest.mark.parametrize("model", [LinearSVR(), EmbeddedSVR(), SVR(landmarks=50)], ids=repr)
def test_every_regression_estimates(model):
    cost = estimate(model, regression(3000), max_time=0.05)
    assert cost.seconds > 0.0
    assert cost.memory_bytes > 0


def test_targets_that_are_needed_are_asked_for():
    X, _ = noise(300)
    for model in (LinearSVC(), LinearSVR(), SVC()):
        with pytest.raises(ValueError, match="requires y to be passed"):
            model.estimate_cost(X)


def common_letters(A, B):
    return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])


def test_a_function_of_texts():
    """It failed: parts of the texts were checked as rows of numbers."""
    texts = ["spam ham", "jam", "eggs and ham", "spam spam"] * 20
    cost = SVC(kernel=common_letters).estimate_cost(texts, [1, 0, 0, 1] * 20, max_time=0.1)
    assert cost.n_samples == 80
    assert cost.memory_bytes >= 8 * 80 * 80


@pytest.mark.parametrize("power", [0.0, 1.0, 2.0])
def test_growth_is_found(power):
    sizes = (250, 500, 1000, 2000)
    parts = [Part(n, 0.0, 0.3 + (n / 1e3) ** power, None, True, "", 1) for n in sizes]
    found = Growth(parts, 16_000).of(lambda part: part.cpu_seconds, (0.0, 1.0, 2.0))
    assert found == pytest.approx(0.3 + 16.0**power)


def test_uneven_times_are_not_taken_for_a_square():
    times = zip((250, 500, 1000, 2000), (1.0, 2.1, 3.8, 8.2), strict=True)
    parts = [Part(n, 0.0, seconds, None, True, "", 1) for n, seconds in times]
    found = Growth(parts, 64_000).of(lambda part: part.cpu_seconds, (0.0, 1.0, 2.0))
    assert found == pytest.approx(256.0, rel=0.1)


LINEAR_PEAK = """
import ctypes
from sklearn.datasets import make_classification
from maxmargin import LinearSVC

def memory(name):
    with open("/proc/self/status") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith(name))

X, y = make_classification(300_000, 20, n_informative=10, n_classes=5, random_state=0)
model = LinearSVC({settings}).fit(X[:300], y[:300])
ctypes.CDLL(None).malloc_trim(0)  # what is free must not serve the fit
open("/proc/self/clear_refs", "w").write("5")
before = memory("VmRSS:")
model.fit(X, y)
peak = memory("VmHWM:") - before
print(model.estimate_cost(X, y, max_time=0.5).memory_bytes, peak)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from Linux's /proc")
@pytest.mark.parametrize("settings", ["", "multi_class='ovo'"])
def test_memory_of_a_linear_fit_is_its_peak(settings):
    program = LINEAR_PEAK.format(settings=settings)
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True
    )
    expected, peak = map(int, ran.stdout.split())
    assert peak / 2.0 < expected < 2.0 * peak
