"""Which objectives a solver does not take, and what would."""

from __future__ import annotations

from maxmargin.objectives.objective import Intercept, Objective


def require(objective: Objective, solver: str, *, regularized: bool) -> None:
    """Say which objective a linear solver cannot take."""
    if objective.kernel is not None:
        raise ValueError(f"solver={solver!r} is for linear problems. Use solver='smo'.")
    if regularized:
        require_regularized(objective, solver)


def require_intercept(objective: Objective, solver: str) -> None:
    """Refuse what no kernel machine has."""
    if objective.intercept is Intercept.PENALIZED:
        raise ValueError(f"solver={solver!r} has a free intercept or none, not a penalised one.")


def require_plain(objective: Objective, solver: str) -> None:
    """Refuse the kernel machines that only SMO solves."""
    if objective.mass is not None or objective.hard:
        raise ValueError(
            f"solver={solver!r} is not for a nu-problem or a hard margin. Use solver='smo'."
        )
    require_intercept(objective, solver)


def require_regularized(objective: Objective, solver: str) -> None:
    """Refuse the perceptron, which has no ½‖w‖² and so no dual."""
    if not objective.loss.regularized:
        raise ValueError(
            f"solver={solver!r} needs a regularised objective, and loss="
            f"{objective.loss.name!r} has none. Use solver='sgd', or loss='hinge'."
        )
