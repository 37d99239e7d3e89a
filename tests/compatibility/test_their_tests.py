"""scikit-learn's own tests of sklearn.svm, run on our classes in a process of its own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import sklearn

ROOT = Path(__file__).resolve().parents[2]
PASSES = 292  # of 308; raise it as the tables of docs/sklearn-compatibility.md shrink


@pytest.mark.slow
@pytest.mark.skipif(not sklearn.__version__.startswith("1.9."), reason="other tests")
def test_their_tests_of_svm_pass_but_for_those_listed(tmp_path):
    options = ["-q", "-p", "substitute", "-p", "no:cacheprovider", "-c", os.devnull]
    path = os.pathsep.join([str(ROOT / "tools"), os.environ.get("PYTHONPATH", "")])
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            *options,
            "--rootdir",
            tmp_path,
            "--pyargs",
            "sklearn.svm",
        ],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": path},
    )
    assert run.returncode == 0, run.stdout[-5000:]
    assert int(re.findall(r"(\d+) passed", run.stdout)[-1]) >= PASSES
