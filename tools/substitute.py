"""A pytest plugin that puts our estimators in the place of scikit-learn's.

`pytest -p substitute --pyargs sklearn.svm`, with this folder on PYTHONPATH, runs scikit-learn's
installed tests on them; `make sklearn-tests` does. Tests that are known to fail are expected to:
`docs/sklearn-compatibility.md` gives each with its reason, and one that passes is an error too.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from pathlib import Path

import pytest
import sklearn.svm

import maxmargin

NAMES = ("LinearSVC", "LinearSVR", "NuSVC", "NuSVR", "OneClassSVM", "SVC", "SVR")
PAGE = Path(__file__).resolve().parent.parent / "docs" / "sklearn-compatibility.md"

for module in (sklearn.svm, importlib.import_module("sklearn.svm._classes")):
    for name in NAMES:
        setattr(module, name, getattr(maxmargin, name))


def known_failures(page: str) -> dict[str, str]:
    """Return the reason for each test in the tables of the page."""
    rows = (line.split("|") for line in page.splitlines() if line.startswith("| `test_"))
    return {cells[1].strip().strip("`"): cells[-2].strip() for cells in rows}


def pytest_collection_modifyitems(items: Iterable[pytest.Item]) -> None:
    known = known_failures(PAGE.read_text())
    for item in items:
        test = f"{item.path.name}::{item.name}"
        for start in (test, test.partition("[")[0]):
            if start in known:
                item.add_marker(pytest.mark.xfail(reason=known[start], strict=True))
