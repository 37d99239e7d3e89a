"""Kernel values that no arithmetic here can work with are refused."""

from __future__ import annotations

import numpy as np

from maxmargin.data.arrays import Array

#: Larger kernel values lose all digits of the losses, and leave the range of float32 in sums and
#: products not much later.
_LARGEST = 1e30


def refuse_negative(diagonal: Array) -> None:
    """Refuse k(x, x) < 0."""
    if not (diagonal >= 0.0).all():
        raise ValueError("The kernel is negative on its diagonal, k(x, x) < 0: it is no kernel.")


def refuse_huge(diagonal: Array) -> None:
    """Refuse values that overflow in the float32 of the kernel rows."""
    if not (np.abs(diagonal) < _LARGEST).all():
        raise ValueError(
            f"Kernel values reach {diagonal.max():.1e}, beyond what float32 can work with. Scale X"
            " (sklearn.preprocessing.StandardScaler), or lower gamma or degree."
        )


def refuse_huge_values(values: Array) -> None:
    """Refuse what leaves no digits to the losses; a kernel of the caller's may hold it anywhere."""
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
            f"Kernel values reach {diagonal.max():.1e}, which leaves no digits to the losses. Scale"
            " X (sklearn.preprocessing.StandardScaler), or lower gamma or degree."
        )
