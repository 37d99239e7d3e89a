"""Every example in the documentation runs and prints what it says."""

import doctest
from pathlib import Path

import pytest

import maxmargin.estimators.linear

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page(page):
    assert doctest.testfile(str(page), module_relative=False).failed == 0


def test_some_page_has_examples():
    assert sum(page.read_text().count(">>> ") for page in PAGES) > 10


def test_docstrings_of_the_estimators():
    result = doctest.testmod(maxmargin.estimators.linear)
    assert result.attempted > 0
    assert result.failed == 0
