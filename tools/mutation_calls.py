"""A pytest plugin for `mutation.py`: which functions of the package each test calls."""

import json
import os
import sys
import threading
from collections import defaultdict
from pathlib import Path

import pytest

PACKAGE = f"{os.sep}src{os.sep}maxmargin{os.sep}"
tests = {}
calls = defaultdict(set)


def profile(frame, event, _):
    if event == "call" and PACKAGE in frame.f_code.co_filename:
        module = frame.f_code.co_filename.partition(f"{os.sep}src{os.sep}")[2]
        calls[f"src/{Path(module).as_posix()}"].add(frame.f_code.co_name)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    """Listen from the fixtures' setup on."""
    calls.clear()
    threading.setprofile(profile)
    sys.setprofile(profile)
    yield
    sys.setprofile(None)
    threading.setprofile(None)


def pytest_runtest_logreport(report):
    if report.when == "call" and report.passed and "PYTEST_XDIST_WORKER" in os.environ:
        found = {module: sorted(names) for module, names in calls.items()}
        tests[report.nodeid] = {"seconds": report.duration, "calls": found}


def pytest_sessionfinish():
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker:
        Path(os.environ["MUTATION_CALLS"], f"{worker}.json").write_text(json.dumps(tests))
