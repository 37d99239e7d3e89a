"""Reading data files, and preparing their columns."""

import bz2
import gzip
import lzma
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file
from sklearn.preprocessing import OneHotEncoder

Matrix = np.ndarray | sparse.csr_matrix
SEED = 0


def open_packed(path: Path) -> IO[bytes]:
    openers = {".xz": lzma.open, ".gz": gzip.open, ".bz2": bz2.open}
    return openers[path.suffix](path, "rb")


def read_lines(path: Path) -> Iterator[str]:
    with open_packed(path) as f:
        for line in f:
            yield line.decode().strip().rstrip(",.")  # bank32nh, adult.test, kddcup99


def read_arff_lines(path: Path) -> Iterator[str]:
    lines = read_lines(path)
    for line in lines:
        if line.lower().startswith("@data"):
            break
    return (line for line in lines if line)


def read_table(
    lines: Iterable[str], delimiter: str | None = ",", skip: int = 0, nominal: Sequence[int] = ()
) -> tuple[np.ndarray, dict[int, dict[str, int]]]:
    """A numeric table; nominal columns become codes, returned by column as {word: code}."""
    codes: dict[int, dict[str, int]] = {column: {} for column in nominal}
    converters = {
        column: lambda word, seen=seen: seen.setdefault(word.strip(), len(seen))
        for column, seen in codes.items()
    }
    table = np.loadtxt(
        lines, delimiter=delimiter, skiprows=skip, converters=converters or None, encoding="utf-8"
    )
    return table, codes


def read_svmlight(
    path: Path, positive: float | None = None
) -> tuple[sparse.csr_matrix, np.ndarray]:
    with open_packed(path) as f:
        X, y = load_svmlight_file(f)
    return X, y if positive is None else np.where(y == positive, 1.0, -1.0)


def standardise(X: np.ndarray) -> np.ndarray:
    X = np.asarray(X, dtype=np.float64)
    spread = X.std(axis=0)
    centred = X - X.mean(axis=0)
    return centred / np.where(spread > 1e-12 * np.abs(X).max(axis=0), spread, 1.0)


def one_hot(codes: np.ndarray) -> sparse.csr_matrix:
    return sparse.csr_matrix(OneHotEncoder().fit_transform(codes))


def shuffle(X: Matrix, y: np.ndarray) -> tuple[Matrix, np.ndarray]:
    order = np.random.default_rng(SEED).permutation(len(y))
    return X[order], y[order]


def regression(X: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return standardise(X), standardise(target)
