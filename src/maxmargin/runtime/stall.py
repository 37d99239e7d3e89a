"""When to give up: gap checks in a row without progress."""

from __future__ import annotations

import math


class StallDetector:
    """Counts gap checks in a row without progress.

    The solver says what progress is: mostly a gap below nine tenths of the smallest one so far,
    which rounding alone does not bring, or a higher dual bound.
    """

    def __init__(self, patience: int) -> None:
        self.patience, self.failures = patience, 0
        self.smallest_gap, self.highest_dual = math.inf, -math.inf

    def lowers_gap(self, gap: float) -> bool:
        """Whether the gap is below nine tenths of the smallest one so far; remember it."""
        lower = gap < 0.9 * self.smallest_gap
        self.smallest_gap = min(self.smallest_gap, gap)
        return lower

    def raises_dual(self, dual: float, rounding: float = 0.0) -> bool:
        """Whether the dual bound is the highest so far, by more than its rounding; remember it."""
        higher = dual - self.highest_dual > rounding * abs(dual)
        self.highest_dual = max(self.highest_dual, dual)
        return higher

    def count(self, progress: bool, patience: int | None = None) -> bool:
        """Count one gap check; whether too many in a row brought no progress."""
        self.failures = 0 if progress else self.failures + 1
        return self.failures >= (self.patience if patience is None else patience)

    @property
    def stalled(self) -> bool:
        """Whether too many gap checks in a row brought no progress."""
        return self.failures >= self.patience
