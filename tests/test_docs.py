"""Every example in the documentation runs and prints what it says."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import maxmargin

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page(page):
    assert doctest.testfile(str(page), module_relative=False).failed == 0


def test_some_page_has_examples():
    assert sum(page.read_text().count(">>> ") for page in PAGES) > 10


def modules():
    found = pkgutil.walk_packages(maxmargin.__path__, "maxmargin.")
    return [found.name for found in found if not found.name.endswith("_core")]


@pytest.mark.parametrize("name", modules())
def test_examples_in_docstrings(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_some_docstring_has_examples():
    finder = doctest.DocTestFinder()
    assert sum(len(case.examples) for case in finder.find(maxmargin.LinearSVC)) > 3


def resolved(name):
    """The object of a dotted name."""
    module = name
    rest: list[str] = []
    while True:
        try:
            found = importlib.import_module(module)
            break
        except ModuleNotFoundError:
            module, _, last = module.rpartition(".")
            rest.insert(0, last)
    for part in rest:
        found = getattr(found, part)
    return found


def test_what_the_architecture_names_exists():
    names = re.findall(r"`(maxmargin\.[\w.]+\w)`", (ROOT / "docs" / "architecture.md").read_text())
    assert len(names) > 15
    assert all(resolved(name) for name in names)


def test_the_map_of_the_architecture_has_every_package():
    text = (ROOT / "docs" / "architecture.md").read_text()
    packages = [
        name for _, name, is_package in pkgutil.iter_modules(maxmargin.__path__) if is_package
    ]
    assert len(packages) > 10
    assert not [name for name in packages if f"`{name}`" not in text]
