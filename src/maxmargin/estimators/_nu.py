"""The parameter ν."""

from __future__ import annotations

import numbers

_LEAST_NU = 1e-100  # its square, the size of the objective, must not underflow


def check_nu(nu: object) -> float:
    """Return ν as a float, or say what is wrong with it."""
    if isinstance(nu, bool) or not isinstance(nu, numbers.Real) or not 0.0 < float(nu) <= 1.0:
        raise ValueError(f"nu must be a number above 0 and at most 1, got {nu!r}.")
    if float(nu) < _LEAST_NU:
        raise ValueError(f"nu={nu!r} is too small for float64: give at least {_LEAST_NU:g}.")
    return float(nu)
