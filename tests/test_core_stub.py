"""The types of the compiled module, as mypy and editors read them."""

import subprocess
import sys
from pathlib import Path

import pytest

import maxmargin

ROOT = Path(__file__).parents[1]


def test_the_committed_stub_is_that_of_the_built_module(tmp_path):
    pytest.importorskip("nanobind", reason="nanobind writes the stub")
    made, patterns = tmp_path / "_core.pyi", ROOT / "src" / "core" / "python" / "stub.pat"
    subprocess.run(
        [
            *(sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "maxmargin._core"),
            *("-o", str(made), "-p", str(patterns)),
        ],
        check=True,
        cwd=tmp_path,
    )
    committed = ROOT / "src" / "maxmargin" / "_core.pyi"
    assert made.read_text() == committed.read_text(), "renew it: make stub"


def test_the_types_are_shipped_with_the_package():
    installed = Path(maxmargin.__file__).parent
    assert (installed / "_core.pyi").is_file()
    assert (installed / "py.typed").is_file()
