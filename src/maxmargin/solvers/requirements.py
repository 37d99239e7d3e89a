"""Which objectives a solver does not take, and what would."""

from __future__ import annotations

from maxmargin.objectives.base import Objective

#: What solves the kinds of problems that another solver refuses.
_SOLVED_BY = {
    "LinearObjective": "Newton() or DualCD(), or a KernelObjective with Linear()",
    "L1Objective": "L1()",
    "CrammerSingerObjective": "CrammerSinger()",
    "KernelObjective": "solver='smo'",
    "NuObjective": "solver='smo'",
    "HardMarginObjective": "solver='smo'",
    "OriginMarginObjective": "OriginMargin()",
    "KernelCrammerSingerObjective": "ClassSMO()",
}


def require(objective: Objective, solver: str, accepts: tuple[type[Objective], ...]) -> None:
    """Refuse a kind of problem that the solver does not accept."""
    if type(objective) not in accepts:
        kinds, kind = " or ".join(kind.__name__ for kind in accepts), type(objective).__name__
        remedy = _SOLVED_BY.get(kind, "another solver")
        raise ValueError(f"solver={solver!r} takes a {kinds}, got a {kind}. Use {remedy}.")


def require_regularized(objective: Objective, solver: str) -> None:
    """Refuse the perceptron, which has no ½‖w‖² and so no dual."""
    if not objective.loss.regularized:
        raise ValueError(
            f"solver={solver!r} needs a regularised objective, and loss="
            f"{objective.loss.name!r} has none. Use solver='sgd', or loss='hinge'."
        )
