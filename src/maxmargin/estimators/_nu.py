"""The parameter ν, and the shares that it bounds."""

from __future__ import annotations

import numbers

from maxmargin.solution import Solution

_LEAST_NU = 1e-100  # its square, the size of the objective, must not underflow


def check_nu(nu: object) -> float:
    """Return ν as a float, or say what is wrong with it."""
    if isinstance(nu, bool) or not isinstance(nu, numbers.Real) or not 0.0 < float(nu) <= 1.0:
        raise ValueError(f"nu must be a number above 0 and at most 1, got {nu!r}.")
    if float(nu) < _LEAST_NU:
        raise ValueError(f"nu={nu!r} is too small for float64: give at least {_LEAST_NU:g}.")
    return float(nu)


class NuShares:
    """A ν-machine of one problem."""

    solution_: Solution

    @property
    def margin_errors_(self) -> float:
        """Share of the samples beyond the margin or outside the tube; at most ν."""
        return self.solution_.shares.margin_errors

    @property
    def support_fraction_(self) -> float:
        """Share of the samples that are support vectors; at least ν, unless the tube is 0."""
        return self.solution_.shares.support_vectors
