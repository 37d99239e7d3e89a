"""Classes to find probabilities of, and what holds of all probabilities."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal


def blobs(n_classes, n=120, spread=1.5, seed=0):
    rng = np.random.default_rng(seed)
    label = np.arange(n) % n_classes
    X = rng.normal(size=(n, 6)) + spread * rng.normal(size=(n_classes, 6))[label]
    return X, np.array(list("jihgfedcba"))[label]


def check_probabilities(model, X):
    """Check what holds of all probabilities; return them."""
    P = model.predict_proba(X)
    assert P.shape == (len(X) if isinstance(X, list) else X.shape[0], len(model.classes_))
    assert np.isfinite(P).all()
    assert (P > 0.0).all()
    assert_allclose(P.sum(axis=1), 1.0, atol=1e-12)
    assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X))
    logs = model.predict_log_proba(X)
    assert_allclose(logs, np.log(P))
    assert_array_equal(model.classes_[logs.argmax(axis=1)], model.predict(X))
    return P
