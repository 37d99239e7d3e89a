"""Solvers by name or as given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from maxmargin.data.checks import check_choice
from maxmargin.solvers import JOINT_SOLVERS, CrammerSinger, Solver


def given_solver(given: Any, named: Mapping[str, Callable[[], Solver]], *others: str) -> Solver:
    """Return the solver that the parameter means: an instance, or one of these by name.

    `others` are names that the caller has dealt with.
    """
    if isinstance(given, type):
        raise ValueError(f"solver must be an instance: write solver={given.__name__}().")
    if hasattr(given, "solve"):
        solver: Solver = given
        return solver
    return named[check_choice("solver", given, (*others, *named))]()


def joint_solver(given: Any) -> Any:
    """Return the solver of the one problem of all classes that the parameter means."""
    if isinstance(given, str) and given in ("auto", *JOINT_SOLVERS):
        return JOINT_SOLVERS.get(given, CrammerSinger)()
    if type(given) in JOINT_SOLVERS.values():
        return given
    raise ValueError(
        f"multi_class='crammer_singer' is solved by solver='dual_cd', 'pegasos' or 'sgd', got"
        f" {given!r}. Use solver='auto', or multi_class='ovr'."
    )
