"""What the scripts of the gallery share: where the picture goes, samples, embedded rows."""

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.datasets import load_digits, make_moons, make_swiss_roll
from sklearn.model_selection import train_test_split

from maxmargin import SVC, EmbeddedSVC

mpl.use("Agg")

#: Okabe and Ito's, which the colour-blind tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")


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


def rows_to_embed():
    """Return three data sets by name: rows to fit, rows that come later, and what colours both."""
    data = {
        "Swiss roll": make_swiss_roll(1200, random_state=0),
        "two moons": make_moons(500, noise=0.08, random_state=0),
        "digits": load_digits(n_class=6, return_X_y=True),
    }
    return {
        name: train_test_split(*pair, test_size=0.2, random_state=0) for name, pair in data.items()
    }


def draw_embedded(panel, name, embedding, rows):
    """Fit to the rows that are there, and embed those that come later, which get a dark edge."""
    known, later, known_value, later_value = rows
    embedding.fit(known)
    panel.set(title=name, xticks=[], yticks=[])
    early = {"s": 22, "lw": 0.0, "alpha": 0.7}
    late = {"s": 34, "lw": 0.8, "edgecolors": "black"}
    for X, value, look in ((known, known_value, early), (later, later_value, late)):
        Z = embedding.transform(X)
        if value.dtype.kind == "f":  # a place along the roll
            panel.scatter(*Z.T, c=value, cmap="cividis", **look)
            continue
        for label in np.unique(value):
            marker = "os"[label] if name == "two moons" else f"${label}$"
            size = look["s"] * (1 if name == "two moons" else 2)
            panel.scatter(
                *Z[value == label].T, c=COLOURS[label], marker=marker, **look | {"s": size}
            )


def draw_machine(panel, embedding, size):
    """Draw the two moons, and where a linear machine on the embedding decides between them."""
    X, y = make_moons(300, noise=0.15, random_state=0)
    model = EmbeddedSVC(embedding).fit(X, y)
    u, v = np.meshgrid(np.linspace(-1.6, 2.6, 120), np.linspace(-1.1, 1.6, 90))
    f = model.decision_function(np.column_stack([u.ravel(), v.ravel()])).reshape(u.shape)
    panel.contourf(u, v, f, levels=[-np.inf, 0.0, np.inf], colors=COLOURS[:2], alpha=0.15)
    panel.contour(u, v, f, levels=[-1, 0, 1], colors="black", linestyles=["--", "-", "--"])
    for label, marker in ((0, "o"), (1, "s")):
        panel.scatter(*X[y == label].T, c=COLOURS[label], marker=marker, s=14)
    panel.set(title=f"two moons, {size}: {model.score(X, y):.0%} right", xticks=[], yticks=[])


def draw_accuracy(panel, make, sizes, what):
    """Draw the accuracy on digits against the size of the embedding, and that of the exact SVC."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
    scores = [EmbeddedSVC(make(size)).fit(X, y).score(X_test, y_test) for size in sizes]
    panel.plot(sizes, scores, "o-", color=COLOURS[0], label=f"linear machine on {what}")
    exact = SVC(gamma=1e-3).fit(X, y).score(X_test, y_test)
    panel.axhline(exact, color=COLOURS[1], ls="--", label="SVC, the exact problem")
    panel.set(title="digits: accuracy on new rows", xlabel=what, xscale="log")
    panel.legend(loc="lower right")
