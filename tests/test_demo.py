"""The demonstration of the README runs."""

import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).resolve().parents[1] / "examples" / "demo.py"


@pytest.mark.slow
def test_the_demonstration_runs_and_shows_its_proofs():
    ran = subprocess.run(
        [sys.executable, DEMO], capture_output=True, text=True, timeout=300, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("of the optimum") >= 3
