"""A solver has the same path in the package, among its tests and among the twins; every test asserts."""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
SOLVERS = TESTS.parent / "src" / "maxmargin" / "solvers"
MODULES = sorted(
    path.relative_to(SOLVERS)
    for path in SOLVERS.glob("*/*.py")
    if path.name != "__init__.py" and not path.name.startswith("_")
)
TWINS = sorted(
    path.relative_to(TESTS / "reference") for path in (TESTS / "reference").glob("*/*.py")
)


def named(path):
    return str(path.with_suffix(""))


@pytest.mark.parametrize("module", MODULES, ids=named)
def test_a_module_of_the_solvers_has_tests_of_its_name(module):
    assert (TESTS / "solvers" / module.parent / f"test_{module.name}").exists()


@pytest.mark.parametrize("twin", TWINS, ids=named)
def test_a_twin_has_the_path_of_its_solver(twin):
    assert (SOLVERS / twin).exists()


def asserts(function):
    """Whether a test can fail by what it says, and not only by an exception."""
    text = ast.unparse(function)
    return any(word in text for word in ("assert", "pytest.raises", "pytest.warns", "check_"))


@pytest.mark.parametrize("path", sorted(TESTS.rglob("test_*.py")), ids=lambda path: path.stem)
def test_every_test_asserts(path):
    functions = [node for node in ast.walk(ast.parse(path.read_text())) if hasattr(node, "args")]
    tests = [node for node in functions if getattr(node, "name", "").startswith("test_")]
    assert tests
    assert [node.name for node in tests if not asserts(node)] == []
