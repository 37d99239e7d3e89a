"""What a wheel must do in an environment of its own: fit, predict, prove."""

from pathlib import Path

import numpy as np

import maxmargin
from maxmargin import SVC, LinearSVC, Status

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 5))
y = (X[:, 0] * X[:, 1] > 0).astype(int)
for model in (LinearSVC(), SVC()):
    certificate = model.fit(X, y).certificate_
    if certificate.status is not Status.OPTIMAL:
        raise SystemExit(f"{model} is not proven: {certificate.sentence()}")
if SVC().fit(X, y).score(X, y) < 0.8:
    raise SystemExit("SVC has not learnt the training set")
if not all(
    (Path(maxmargin.__file__).parent / name).is_file() for name in ("_core.pyi", "py.typed")
):
    raise SystemExit("the wheel has no types")
print(f"maxmargin {maxmargin.__version__} works")
