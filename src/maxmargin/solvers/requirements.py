"""Which objectives a solver does not take, and what would."""

from __future__ import annotations

from maxmargin.objectives.base import Objective

#: What to use for objectives of other kinds, by the solver's kind of problem.
_INSTEAD = {
    "LinearObjective": "Use solver='smo'.",
    "KernelObjective": "Give it a kernel: Linear().",
}


def require(objective: Objective, solver: str, accepts: tuple[type[Objective], ...]) -> None:
    """Refuse a kind of problem that the solver does not accept."""
    if type(objective) not in accepts:
        kinds = " or ".join(kind.__name__ for kind in accepts)
        raise ValueError(
            f"solver={solver!r} takes a {kinds}, got a {type(objective).__name__}."
            f" {_INSTEAD.get(kinds, 'Use another solver.')}"
        )


def require_regularized(objective: Objective, solver: str) -> None:
    """Refuse the perceptron, which has no ½‖w‖² and so no dual."""
    if not objective.loss.regularized:
        raise ValueError(
            f"solver={solver!r} needs a regularised objective, and loss="
            f"{objective.loss.name!r} has none. Use solver='sgd', or loss='hinge'."
        )
