"""A fit of a kernel machine, posed: samples, kernel, targets."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin.data.arrays import Matrix
from maxmargin.data.origin import UNMOVED, Level
from maxmargin.kernels import Kernel


class Posed(NamedTuple):
    """Rows and targets as given, the samples as the kernel takes them, the rows of each class.

    `level` is what was subtracted from the targets.
    """

    X: Matrix
    y: Any
    samples: Matrix
    kernel: Kernel
    members: list[NDArray[np.intp]]
    level: Level = UNMOVED
