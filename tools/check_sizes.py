"""Refuse files of more than 400 lines and Python functions of more than 60."""

import ast
import subprocess
import sys
from pathlib import Path

LINES_OF_A_FILE, LINES_OF_A_FUNCTION = 400, 60
READ = (".py", ".hpp", ".cpp")


def tracked() -> list[Path]:
    """Return the source files that git tracks."""
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True)
    paths = [Path(name) for name in listed.stdout.splitlines()]
    return [path for path in paths if path.suffix in READ and path.exists()]


def long_functions(path: Path, text: str) -> list[str]:
    """Return each function of a Python file that is too long."""
    return [
        f"{path}:{node.lineno}: {node.name} has {lines} lines"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef)
        and (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > LINES_OF_A_FUNCTION
    ]


def found(path: Path) -> list[str]:
    """Return what is too long in a file."""
    text = path.read_text(encoding="utf-8")
    lines = len(text.splitlines())
    long = [f"{path}: {lines} lines"] if lines > LINES_OF_A_FILE else []
    return long + (long_functions(path, text) if path.suffix == ".py" else [])


if __name__ == "__main__":
    wrong = [line for path in tracked() for line in found(path)]
    print("\n".join(wrong) or "no file or function is too long")
    sys.exit(bool(wrong))
