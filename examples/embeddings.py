"""Pictures of the embeddings: each is fitted on training rows, and test rows are embedded after.

    python examples/embeddings.py [DIRECTORY]        needs matplotlib

Dots are training rows, crosses rows that came later. Written are one picture of each embedding
(`embedding-NAME.png`): of a Swiss roll, two moons and handwritten digits.
"""

import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, make_moons, make_swiss_roll
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import EmbeddedSVC, LinearSVC
from maxmargin.embeddings import (
    FourierFeatures,
    KernelPCA,
    LaplacianEigenmaps,
    LocallyLinearEmbedding,
    Nystroem,
)

DATA = {
    "Swiss roll": make_swiss_roll(1500, random_state=0),
    "two moons": make_moons(600, noise=0.08, random_state=0),
    "digits": load_digits(return_X_y=True),
}
PICTURES = {
    "laplacian-eigenmaps": lambda data: LaplacianEigenmaps(2, n_neighbors=NEIGHBOURS[data]),
    "locally-linear": lambda data: LocallyLinearEmbedding(2, n_neighbors=NEIGHBOURS[data]),
    "kernel-pca": lambda data: KernelPCA(2, gamma=WIDTH[data]),
}
NEIGHBOURS = {"Swiss roll": 12, "two moons": 40, "digits": 30}
WIDTH = {"Swiss roll": 0.01, "two moons": 2.0, "digits": 1e-3}
LINEAR = LinearSVC(loss="hinge", fit_intercept=True, penalized_intercept=False)


def draw_coordinates(name: str, directory: Path) -> None:
    """The plane of an embedding, one panel for each data set."""
    figure, panels = plt.subplots(1, len(DATA), figsize=(12, 4))
    for panel, (data, (X, colour)) in zip(panels, DATA.items(), strict=True):
        parts = train_test_split(X, colour, test_size=0.2, random_state=0)
        embedding = PICTURES[name](data).fit(parts[0])
        for rows, shade, marker in ((parts[0], parts[2], "."), (parts[1], parts[3], "x")):
            Z = embedding.transform(rows)
            panel.scatter(*Z.T, c=shade, cmap="viridis", marker=marker, s=12, linewidths=0.7)
        panel.set(title=data, xticks=[], yticks=[])
    save(figure, directory / f"embedding-{name}.png", type(embedding).__name__)


def draw_decisions(directory: Path) -> None:
    """What a linear machine on each embedding decides about two moons."""
    X, y = DATA["two moons"]
    grid = np.stack(np.meshgrid(np.linspace(-1.5, 2.5, 160), np.linspace(-1, 1.5, 120)), axis=-1)
    embeddings = {
        "Nystroem": Nystroem(n_components=20, gamma=2.0, random_state=0),
        "FourierFeatures": FourierFeatures(200, gamma=2.0, random_state=0),
        "LaplacianEigenmaps": make_pipeline(
            LaplacianEigenmaps(4, n_neighbors=40), StandardScaler()
        ),
    }
    figure, panels = plt.subplots(1, len(embeddings), figsize=(12, 3.2))
    for panel, (name, embedding) in zip(panels, embeddings.items(), strict=True):
        model = EmbeddedSVC(embedding, LINEAR).fit(X, y)
        f = model.decision_function(grid.reshape(-1, 2)).reshape(grid.shape[:2])
        panel.contourf(*grid.transpose(2, 0, 1), np.clip(f, -2, 2), levels=20, cmap="RdBu")
        panel.contour(*grid.transpose(2, 0, 1), f, levels=[0.0], colors="black")
        panel.scatter(*X.T, c=y, cmap="RdBu", edgecolors="black", linewidths=0.3, s=10)
        panel.set(title=name, xticks=[], yticks=[])
    save(figure, directory / "embedding-decisions.png", "A linear machine on each embedding")


def save(figure: plt.Figure, path: Path, title: str) -> None:
    figure.suptitle(title)
    figure.tight_layout()
    figure.savefig(path, dpi=60)
    plt.close(figure)
    print(path)


if __name__ == "__main__":
    where = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/pictures")
    where.mkdir(parents=True, exist_ok=True)
    for picture in PICTURES:
        draw_coordinates(picture, where)
    draw_decisions(where)
