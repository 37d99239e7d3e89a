"""When to give up: gap checks in a row that bring nothing."""

from __future__ import annotations

import math

from maxmargin.runtime.monitor import Monitor

#: Restarts from residuals in float64 in a row that do not lower the gap by a tenth. Each is a step
#: of iterative refinement: what float32 gets wrong is relative to the change that it makes, and at
#: a large C the gap jumps about before it falls.
_PATIENCE = 30

#: Looks in a row after many steps at points no better than an earlier one: the reason to make sums
#: in float64, and with these to give up.
_IN_VAIN = 4


class StallDetector:
    """Counts the looks in a row that brought nothing."""

    def __init__(self, *, hulls: bool) -> None:
        self.hulls = hulls
        self.least, self.failures = math.inf, 0
        self.highest, self.in_vain = -math.inf, 0
        self.slow = False  # the last point that seemed good enough did not halve the gap

    def reached(self, monitor: Monitor, satisfied: bool, exact: bool) -> bool:
        """Whether there are too many of points that seemed good enough, or after all the steps."""
        if satisfied:
            gap = monitor.history[-1].gap
            self.slow = gap > 0.5 * self.least
            self.failures = 0 if gap < 0.9 * self.least else self.failures + 1
            self.least = min(self.least, gap)
            return self.failures >= (_PATIENCE if exact else 3)
        if self.hulls and monitor.latest.primal < math.inf:
            return False  # D need not rise from one gap check to the next
        dual = monitor.latest.dual
        self.in_vain = 0 if dual > self.highest else self.in_vain + 1
        self.highest = max(self.highest, dual)
        return self.in_vain >= _IN_VAIN
