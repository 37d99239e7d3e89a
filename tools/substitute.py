"""A pytest plugin that puts our estimators in the place of scikit-learn's.

`pytest -p substitute --pyargs sklearn.svm`, with this folder on PYTHONPATH, runs scikit-learn's own
installed tests on them.
"""

from __future__ import annotations

import sklearn.svm

import maxmargin

NAMES = ("LinearSVC", "LinearSVR", "NuSVC", "NuSVR", "OneClassSVM", "SVC", "SVR")

for module in (sklearn.svm, sklearn.svm._classes):
    for name in NAMES:
        setattr(module, name, getattr(maxmargin, name))
