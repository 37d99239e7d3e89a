"""What every result of `maxmargin.theory` is: a number, what it assumes, where it comes from."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Result:
    """A number with the words that belong to it.

    Attributes
    ----------
    value : float
        The number.
    assumptions : tuple of str
        What must hold for it to mean what it says.
    source : str
        The theorem, and where it is proven.
    remark : str
        What to notice about the value here; empty if nothing.
    """

    value: float
    assumptions: tuple[str, ...] = field(repr=False)
    source: str = field(repr=False)
    remark: str = field(default="", kw_only=True)

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        lines = [f"{self.value:.6g}  {self.source}"]
        lines += [f"  assumes {assumption}" for assumption in self.assumptions]
        return "\n".join([*lines, f"  {self.remark}"] if self.remark else lines)


def vacuous(value: float) -> str:
    """Return a remark where a bound on a share says nothing."""
    return "" if value < 1.0 else "It is 1 or more, so it says nothing here."
