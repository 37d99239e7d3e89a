"""A kind of problem is a class: solvers neither ask for it nor need to know of new ones."""

import ast
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import maxmargin
from maxmargin import Intercept, Problem, solvers
from maxmargin.kernels import Linear
from maxmargin.losses import HINGE
from maxmargin.objectives import KernelObjective, LinearObjective, Objective
from maxmargin.objectives.base import Judged
from maxmargin.solvers import Monitor, Start, Stopping
from maxmargin.solvers.kernel.origin_margin import OriginMargin
from maxmargin.solvers.linear.l1 import L1

PACKAGE = Path(maxmargin.__file__).parent
MODULES = [
    path
    for path in sorted(PACKAGE.rglob("*.py"))
    if "objectives" not in path.relative_to(PACKAGE).parts
]

#: Attributes by which an objective once told its kind.
FLAGS = {"hard", "mass"}


def name_of(node):
    return getattr(node, "id", getattr(node, "attr", ""))


def asks(node):
    """Whether a node asks for the kind of a problem."""
    if isinstance(node, ast.Call) and name_of(node.func) == "isinstance":
        return any(name_of(part).endswith("Objective") for part in ast.walk(node.args[1]))
    if isinstance(node, ast.Attribute):  # the average of a stochastic solver has a mass as well
        return node.attr in FLAGS and name_of(node.value) != "core"
    if isinstance(node, ast.Compare) and name_of(node.left) == "kernel":
        return name_of(getattr(node.left, "value", node)) == "objective"
    return False


def questions(tree):
    """Return every question for the kind of a problem."""
    return [ast.unparse(node) for node in ast.walk(tree) if asks(node)]


@pytest.mark.parametrize(
    "source",
    ["isinstance(a, LinearObjective)", "isinstance(a, (int, objectives.NuObjective))", "a.hard",
     "objective.mass > 0", "self.objective.kernel is None"],
)  # fmt: skip
def test_questions_are_recognised(source):
    assert questions(ast.parse(source))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_objectives_know_their_kind(path):
    assert questions(ast.parse(path.read_text(encoding="utf-8"))) == []


@dataclass(frozen=True, eq=False)
class Toy(Objective):
    """P(b) = b², a kind of problem that no solver knows."""

    problem: Problem
    loss = HINGE
    intercept = Intercept.FREE
    negligible = 0.0

    def judge(self, point):
        return Judged(point, self.certify(point), self.loss)

    def certify(self, point):
        raise NotImplementedError


class ToyLinear(LinearObjective):
    """A linear machine with something else to it."""


class ToyKernel(KernelObjective):
    """A kernel machine with something else to it."""


KNOWN = [getattr(solvers, name) for name in solvers.__all__ if name != "Solver"]
SOLVERS = [solver for solver in [*KNOWN, OriginMargin, L1] if hasattr(solver, "solve")]


def test_every_solver_is_tried():
    assert {solver.__name__ for solver in SOLVERS} == {
        "QP", "SGD", "SMO", "ClassSMO", "CrammerSinger", "DualCD", "KernelPegasos", "Newton",
        "Pegasos", "OriginMargin", "L1",
    }  # fmt: skip


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.__name__)
@pytest.mark.parametrize("kind", [Toy, ToyLinear, ToyKernel])
def test_a_solver_refuses_a_kind_of_problem_that_it_does_not_know(solver, kind):
    if solver is solvers.QP:
        pytest.importorskip("clarabel")
    problem = Problem(np.eye(4), np.array([1.0, -1.0, 1.0, -1.0]), np.ones(4))
    more = {ToyLinear: (HINGE,), ToyKernel: (HINGE, Intercept.FREE, Linear())}.get(kind, ())
    objective = kind(problem, *more)
    refusal = f"takes an? .*Objective, got a {kind.__name__}. (Use|Give) "
    with pytest.raises(ValueError, match=refusal):
        solver().solve(objective, Monitor(objective, Stopping()), Start())
