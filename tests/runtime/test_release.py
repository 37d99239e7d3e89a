"""Memory of a fit goes when the fit is over, not when the garbage collector comes."""

import gc

import pytest

from maxmargin import SVC, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM, PegasosClassifier
from maxmargin.runtime.monitor import Monitor
from synthetic import overlapping

MODELS = [
    SVC(),
    SVC(kernel="precomputed"),
    SVC(multi_class="crammer_singer"),
    SVC(landmarks=50),
    NuSVC(nu=0.4),
    SVR(),
    NuSVR(),
    OneClassSVM(),
    LinearSVC(),
    LinearSVC(penalty="l1"),
    LinearSVC(solver="dual_cd"),
    PegasosClassifier(),
]


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_no_fit_waits_for_the_garbage_collector(model):
    """Kernel rows of 256 MB stayed after every fit of a kernel machine, in a cycle of objects."""
    X, y = overlapping(2500)
    data = (X @ X.T if getattr(model, "kernel", None) == "precomputed" else X), y
    gc.collect()
    gc.disable()
    try:
        model.fit(*data)
        left = [found for found in gc.get_objects() if isinstance(found, Monitor)]
    finally:
        gc.enable()
    assert left == []
