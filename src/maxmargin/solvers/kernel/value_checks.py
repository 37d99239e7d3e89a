"""Refuse kernel values that are too large, and kernels that are negative on the diagonal."""

from __future__ import annotations

import numpy as np

from maxmargin.data.arrays import Array
from maxmargin.kernels import Kernel

#: With larger kernel values the losses lose all digits, and somewhat larger ones overflow in
#: float32.
_LARGEST = 1e30


def refuse_negative(diagonal: Array) -> None:
    """Refuse k(x, x) < 0."""
    if not (diagonal >= 0.0).all():
        raise ValueError(
            "The kernel is negative on its diagonal, k(x, x) < 0: it is not a valid kernel."
        )


def refuse_for_float32(kernel: Kernel, diagonal: Array) -> None:
    """Refuse a diagonal that overflows, or is negative where the kernel may be a Mercer kernel."""
    if kernel.mercer is not False:
        refuse_negative(diagonal)
    refuse_huge(diagonal)


def refuse_huge(diagonal: Array) -> None:
    """Refuse values that overflow in the float32 of the kernel rows."""
    if not (np.abs(diagonal) < _LARGEST).all():
        raise ValueError(
            f"Kernel values reach {diagonal.max():.1e}, beyond what float32 can work with. Scale X"
            " (sklearn.preprocessing.StandardScaler), or lower gamma or degree."
        )


def refuse_huge_values(values: Array) -> None:
    """Refuse values with which the losses lose all digits, wherever a caller's kernel has them."""
    largest = max(float(values.max()), -float(values.min()))
    if not largest < _LARGEST:
        raise ValueError(
            f"The kernel returned values up to {largest:.1e} in size; they must stay below"
            f" {_LARGEST:.0e}. Divide them by a number, or scale X"
            " (sklearn.preprocessing.StandardScaler)."
        )


def refuse_improper(diagonal: Array) -> None:
    """Refuse k(x, x) < 0 and what overflows; no value is larger than those of the diagonal."""
    refuse_negative(diagonal)
    if not (diagonal < _LARGEST).all():
        raise ValueError(
            f"Kernel values reach {diagonal.max():.1e}, and the losses lose all digits. Scale X"
            " (sklearn.preprocessing.StandardScaler), or lower gamma or degree."
        )
