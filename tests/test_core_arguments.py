"""The compiled core refuses arguments that it cannot work with, instead of crashing on them."""

import numpy as np
import pytest

import maxmargin._core as _core

N, D = 5, 3
ROWS = np.random.default_rng(0).normal(size=(N, D))


def source(n_samples=N):
    return _core.KernelRows(lambda index: np.zeros((len(index), n_samples), np.float32), n_samples)


def rest_state(n_classes):
    width = max(0, _core.padded(n_classes))
    bias = _core.ClassBias(1.0, True, np.zeros(width), np.zeros(width))
    beta, active = np.zeros((N, width)), np.ones((N, width), np.uint8)
    order = np.arange(N, dtype=np.int32)
    return _core.RestState(beta, active, bias, n_classes, order, _core.Sweep(N))


def empty_batch():
    none, integers = np.empty(0), np.empty(0, np.int32)
    return _core.ProblemBatch(np.eye(N), integers, integers, none, none, none, True)


@pytest.mark.parametrize(
    "call",
    [
        empty_batch,
        lambda: source(0),
        lambda: source(-1),
        lambda: _core.Random(0).below(0),
        lambda: _core.Random(0).below(-3),
        lambda: rest_state(0),
        lambda: rest_state(-1),
        lambda: _core.Classes(np.empty(0, np.int32), np.empty(0), np.empty(0), 0),
        lambda: _core.combine_classes(
            _core.Rows(np.empty((N, 0))), np.empty((N, 0)), 0, N, np.empty((0, 0))
        ),
        lambda: _core.Rows(np.empty(0), np.empty(0, np.int32), np.zeros(1, np.int32), -3),
    ],
)
def test_refuses_what_it_cannot_work_with(call):
    with pytest.raises(ValueError, match=r"at least|no problems|no samples|negative"):
        call()


def outputs():
    rows, vector, matrix = _core.Rows(ROWS), np.ones(D), np.ones((N, 8))
    terms = _core.CertificateTerms(np.ones(N), np.ones(N), 1.0, 0.0, True, True)
    return {
        "predict": (lambda out: rows.predict(vector, 1.0, 0, N, out), N),
        "combine": (lambda out: rows.combine(np.ones(N), 0, N, out), D),
        "squared_norms": (lambda out: rows.squared_norms(0, N, out), N),
        "clip": (lambda out: terms.clip(np.full(N, 0.5), out), N),
        "exact_products": (
            lambda out: _core.exact_products(rows, vector, 0, N, out, np.empty(N)),
            N,
        ),
        "products": (
            lambda out: rows.products(vector, np.ones(N), 0, N, out, np.zeros(D)),
            N,
        ),
        "certificate": (
            lambda out: terms.sum_rows(rows, vector, 0.0, np.ones(N), 0, N, out),
            D,
        ),
        "classes": (
            lambda out: _core.combine_classes(rows, matrix[:, :2], 0, N, out),
            (D, _core.padded(2)) if _core.by_feature(rows) else (2, D),
        ),
    }


@pytest.mark.parametrize("name", outputs())
def test_never_writes_results_into_a_copy(name):
    call, shape = outputs()[name]
    out = np.zeros(shape)
    call(out)
    assert out.any()
    for other in (np.zeros(shape, np.float32), np.repeat(np.zeros(shape), 2, axis=-1)[..., ::2]):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            call(other)
