"""Every example in the documentation runs and prints what it says."""

import doctest
from pathlib import Path

import pytest

import maxmargin.estimators.linear

DOCS = Path(__file__).resolve().parent.parent / "docs"


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.stem)
def test_page(page):
    assert doctest.testfile(str(page), module_relative=False).failed == 0


def test_some_page_has_examples():
    assert sum(page.read_text().count(">>> ") for page in DOCS.rglob("*.md")) > 10


def test_docstrings_of_the_estimators():
    result = doctest.testmod(maxmargin.estimators.linear)
    assert result.attempted > 0
    assert result.failed == 0
