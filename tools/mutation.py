"""Sample one-token mutations of the package and report those that no test notices.

Everything happens in a copy of the tree. The tests run once to learn which functions each of them
calls and how long it takes; a mutation is then tried by the tests that call its function, quickest
first, until one fails. Tests marked slow, and those that failed unmutated, take no part.

Not mutmut or cosmic-ray: both want every mutation of a module instead of a seeded sample, and they
import the package from where they put it, without the compiled module of an editable install.
"""

import argparse
import ast
import collections
import difflib
import importlib.util
import io
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import tokenize
from pathlib import Path
from typing import NamedTuple

TREE = Path(__file__).resolve().parents[1]
PACKAGE = Path("src/maxmargin")
LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv*", "build", ".build*", "__pycache__", ".hypothesis"
)
PAIRS = ("< <=", "> >=", "== !=", "+ -", "* /", "+= -=", "*= /=", "& |", "and or", "True False",
         "min max", "minimum maximum", "any all")  # fmt: skip
SWAPS = dict(pair.split() for pair in PAIRS) | dict(pair.split()[::-1] for pair in PAIRS)
SWAPS |= {"//": "*", "**": "*", "not": "", "is": "is not", "in": "not in"}

# Takes the editable install's finder away, in the tests' own subprocesses too.
SITE = """import sys
sys.meta_path = [f for f in sys.meta_path if type(f).__name__ != "ScikitBuildRedirectingFinder"]
"""


class Mutation(NamedTuple):
    path: Path
    line: int
    begin: int
    end: int
    new: str

    def applied(self, source: str) -> str:
        lines = source.splitlines(keepends=True)
        text = lines[self.line - 1]
        lines[self.line - 1] = text[: self.begin] + self.new + text[self.end :]
        return "".join(lines)


def annotations(tree: ast.AST) -> list[ast.expr]:
    found = [
        getattr(node, name, None) for node in ast.walk(tree) for name in ("annotation", "returns")
    ]
    return [node for node in found if isinstance(node, ast.expr)]


def mutated(token: tokenize.TokenInfo) -> str | None:
    """Return what the token becomes, None if it stays."""
    if token.type == tokenize.NUMBER:
        value = ast.literal_eval(token.string)
        return str(value + 1) if isinstance(value, int) else repr(10.0 * value or 1.0)
    return SWAPS.get(token.string) if token.type in (tokenize.OP, tokenize.NAME) else None


def mutations(path: Path) -> list[Mutation]:
    """Return all one-token mutations of a file that are Python, none of them in an annotation."""
    source, found = path.read_text(), []
    types = annotations(ast.parse(source))
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
        new, (line, begin) = mutated(token), token.start
        column = len(token.line[:begin].encode())
        typed = any(
            (node.lineno, node.col_offset)
            <= (line, column)
            < (node.end_lineno, node.end_col_offset)
            for node in types
        )
        stars = token.string in ("*", "**") and (before.string in "({[," or after.string == ",")
        if new is None or typed or stars or (token.string == "is" and after.string == "not"):
            continue
        mutation = Mutation(path, line, begin, token.end[1], new)
        try:
            ast.parse(mutation.applied(source))
        except SyntaxError:
            continue
        found.append(mutation)
    return found


def functions_around(mutation: Mutation) -> set[str]:
    """Return the innermost function that the mutation is in; empty: it is outside of all."""
    around = [
        node
        for node in ast.walk(ast.parse(mutation.path.read_text()))
        if isinstance(node, ast.FunctionDef)
        and node.body[0].lineno <= mutation.line <= node.end_lineno
    ]
    return {max(around, key=lambda node: node.lineno).name} if around else set()


class Copy:
    """A copy of the tree where tests run."""

    def __init__(self, where: Path, args: argparse.Namespace) -> None:
        self.root, self.args = where / "tree", args
        shutil.copytree(TREE, self.root, ignore=LEFT_OUT)
        core = Path(importlib.util.find_spec("maxmargin._core").origin)
        shutil.copy(core, self.root / PACKAGE)
        (where / "site").mkdir()
        (where / "site/sitecustomize.py").write_text(SITE)
        self.calls = where / "calls"
        self.calls.mkdir()
        paths = [where / "site", self.root / "src", Path(__file__).parent]
        self.environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
            "PYTHONDONTWRITEBYTECODE": "1",
            "MUTATION_CALLS": str(self.calls),
        }

    def place(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()

    def mutations(self) -> list[Mutation]:
        files = sorted((self.root / PACKAGE).rglob("*.py"))
        return [m for f in files if self.args.only in self.place(f) for m in mutations(f)]

    def pytest(self, *options: str, seconds: float | None = None) -> tuple[bool, str]:
        """Return whether the tests pass, and the end of what they say."""
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
        try:
            done = subprocess.run(
                command, cwd=self.root, env=self.environment, timeout=seconds,
                capture_output=True, text=True, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return False, "time limit"
        lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return done.returncode == 0, lines[0] if lines else done.stdout[-500:] + done.stderr[-500:]

    def learn(self) -> dict[str, dict]:
        """Return for each test how long it takes, and the functions that it calls."""
        options = ["-n", str(self.args.jobs), "-m", "not slow", "-p", "mutation_calls"]
        self.pytest(*options, *self.args.tests)
        tests = {}
        for part in self.calls.glob("*.json"):
            tests |= json.loads(part.read_text())
        return tests

    def survives(self, mutation: Mutation, tests: dict[str, dict]) -> tuple[bool | None, str]:
        """Return whether the tests of the mutation's function pass, None if there are none."""
        module, inside = self.place(mutation.path), functions_around(mutation)
        suited = [
            name
            for name, test in tests.items()
            if (set(test["calls"].get(module, [])) & inside if inside else module in test["calls"])
        ]
        seconds, chosen = 0.0, []
        for name in sorted(suited, key=lambda name: tests[name]["seconds"]):
            seconds += tests[name]["seconds"]
            if seconds > self.args.seconds and chosen:
                break
            chosen.append(name)
        if not chosen:
            return None, "no test calls it"
        (self.root / "chosen").write_text("\n".join(chosen))
        source = mutation.path.read_text()
        mutation.path.write_text(mutation.applied(source))
        try:
            return self.pytest("-x", "@chosen", seconds=3.0 * self.args.seconds + 60.0)
        finally:
            mutation.path.write_text(source)


def difference(mutation: Mutation) -> str:
    source = mutation.path.read_text()
    pair = (text.splitlines() for text in (source, mutation.applied(source)))
    return "\n".join(line for line in list(difflib.unified_diff(*pair, n=0, lineterm=""))[3:])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=40, help="mutations to try")
    parser.add_argument("--seed", type=int, default=0, help="which ones")
    parser.add_argument("--seconds", type=float, default=60.0, help="of tests for each of them")
    parser.add_argument("--jobs", type=int, default=2, help="processes of the run that learns")
    parser.add_argument("--only", default="", help="files whose path contains this")
    parser.add_argument("tests", nargs="*", default=["tests"], help="tests that take part")
    args = parser.parse_args()
    results = collections.Counter()
    with tempfile.TemporaryDirectory() as where:
        copy = Copy(Path(where), args)
        every = copy.mutations()
        sample = random.Random(args.seed).sample(every, min(args.count, len(every)))
        print(f"{len(every)} mutations; learning which test calls what", flush=True)
        tests = copy.learn()
        print(f"{len(tests)} tests pass", flush=True)
        for number, mutation in enumerate(sample, 1):
            survived, why = copy.survives(mutation, tests)
            result = {True: "SURVIVED", False: "caught", None: "UNTESTED"}[survived]
            results[result] += 1
            place = f"{copy.place(mutation.path)}:{mutation.line}"
            print(f"{number:3} {result:8} {place}  {'' if survived else why[:120]}", flush=True)
            if survived is not False:
                print(difference(mutation), flush=True)
    print(", ".join(f"{count} {result}" for result, count in results.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
