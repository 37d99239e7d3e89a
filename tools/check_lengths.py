"""Refuse files of more than 400 lines and Python functions of more than 60.

python tools/check_lengths.py src tools
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

MOST_LINES, MOST_IN_FUNCTION = 400, 60

READ = (".py", ".pyi", ".hpp", ".cpp")

#: Written by nanobind from the bindings.
GENERATED = {Path("src/maxmargin/_core.pyi")}


def tracked(folders: list[str]) -> list[Path]:
    """Return the files of the folders that git tracks and whose lines count."""
    command = ["git", "ls-files", "--", *folders]
    listed = subprocess.run(command, capture_output=True, text=True, check=True)
    paths = [Path(name) for name in listed.stdout.splitlines()]
    return [path for path in paths if path.suffix in READ and path not in GENERATED]


def functions(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the name and the number of lines of every function."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


def faults(path: Path) -> Iterator[str]:
    """Yield what is too long in one file."""
    text = path.read_text(encoding="utf-8")
    n_lines = len(text.splitlines())
    if n_lines > MOST_LINES:
        yield f"{path}: {n_lines} lines, {MOST_LINES} are allowed: split it by subject"
    if path.suffix != ".py":
        return
    for name, lines in functions(ast.parse(text)):
        if lines > MOST_IN_FUNCTION:
            yield f"{path}: {name} has {lines} lines, {MOST_IN_FUNCTION} are allowed"


if __name__ == "__main__":
    paths = [path for path in tracked(sys.argv[1:] or ["src"]) if path.exists()]
    wrong = [fault for path in paths for fault in faults(path)]
    print("\n".join(wrong) or f"no file or function of {len(paths)} files is too long")
    sys.exit(bool(wrong))
