"""A solver has one path in the package, among its tests and among the twins; all tests assert."""

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
SOLVERS = TESTS.parent / "src" / "maxmargin" / "solvers"


def solves(path):
    """Whether a module of the package has a solver: a class with a name and a method solve."""
    return re.search(r"^    def solve\(self, objective", path.read_text(), re.MULTILINE) is not None


MODULES = [path.relative_to(SOLVERS) for path in sorted(SOLVERS.glob("*/*.py")) if solves(path)]
TWINS = sorted(
    path.relative_to(TESTS / "reference") for path in (TESTS / "reference").glob("*/*.py")
)


def named(path):
    return str(path.with_suffix(""))


@pytest.mark.parametrize("module", MODULES, ids=named)
def test_a_solver_has_tests_of_its_name(module):
    assert (TESTS / "solvers" / module.parent / f"test_{module.name}").exists()


@pytest.mark.parametrize("twin", TWINS, ids=named)
def test_a_twin_has_the_path_of_its_solver(twin):
    assert (SOLVERS / twin).exists()


def asserts(function):
    """Whether a test can fail by what it says, and not only by an exception."""
    text = ast.unparse(function)
    return any(word in text for word in ("assert", "pytest.raises", "pytest.warns", "check"))


@pytest.mark.parametrize("path", sorted(TESTS.rglob("test_*.py")), ids=lambda path: path.stem)
def test_every_test_asserts(path):
    nodes = ast.walk(ast.parse(path.read_text()))
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
    tests = [node for node in functions if node.name.startswith("test_")]
    assert tests
    assert [node.name for node in tests if not asserts(node)] == []
