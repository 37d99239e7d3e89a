"""Every script of the gallery runs, draws its picture, and stays short."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = sorted((ROOT / "examples" / "gallery").glob("[!_]*.py"))
INDEX = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_draws_its_picture(script, tmp_path):
    command = [sys.executable, "-W", "error::UserWarning", str(script), str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert run.returncode == 0, run.stderr
    picture = (tmp_path / f"{script.stem}.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 10_000


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_is_shorter_than_60_lines(script):
    assert len(script.read_text(encoding="utf-8").splitlines()) < 60


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_the_gallery_names_the_script_and_shows_its_picture(script):
    assert f"examples/gallery/{script.name}" in INDEX
    assert f"pictures/gallery/{script.stem}.png" in INDEX
    assert (ROOT / "docs" / "pictures" / "gallery" / f"{script.stem}.png").exists()


def test_the_gallery_names_no_script_that_is_not_there():
    assert INDEX.count("](../examples/gallery/") == len(SCRIPTS) > 10
