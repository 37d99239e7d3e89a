"""What the scripts of the gallery share: where the picture goes, and two clouds of samples."""

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")


def save(figure, script: str) -> None:
    """Save to SCRIPT.png, in the directory of the command line or in the current one."""
    directory = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    path = directory / f"{Path(script).stem}.png"
    figure.savefig(path, dpi=110)
    print(path)


def clouds(n_samples: int = 80, distance: float = 1.0, seed: int = 0):
    """Two Gaussian clouds with centres that far from 0, and labels ±1."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n_samples) % 2 == 0, 1, -1)
    X = rng.normal(size=(n_samples, 2)) + distance * y[:, np.newaxis] * np.array([0.8, 0.6])
    return X, y


def separated(n_samples: int = 60, gap: float = 0.35, seed: int = 1):
    """Samples that a line through 0 separates, `gap` further apart than they were drawn."""
    rng = np.random.default_rng(seed)
    normal = np.array([0.8, -0.6])
    X = rng.normal(size=(n_samples, 2))
    y = np.where(X @ normal > 0.0, 1, -1)
    return X + gap * y[:, np.newaxis] * normal, y
