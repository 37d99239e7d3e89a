"""Real data sets, prepared once and cached as `.npz`: one loader per set, one `Task` out.

Features are float64 (C order, or CSR with int32 indices); two labels are -1 / +1. Sets that come
sorted by class are shuffled once with a fixed seed, because online peers read rows in order.
"""

import os
import re
import tarfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks.files import (
    SEED,
    Matrix,
    one_hot,
    open_packed,
    read_arff_lines,
    read_lines,
    read_svmlight,
    read_table,
    regression,
    shuffle,
    standardise,
)

Kind = Literal["classification", "regression"]

HERE = Path(__file__).resolve().parent
CACHE = HERE / ".cache"
DEFAULT_DATA = HERE.parent.parent / "shared" / "data"


@dataclass(frozen=True)
class Task:
    """One problem: minimise 0.5 ||w||^2 + C sum of losses.

    Linear and without intercept if gamma is None, else with the kernel exp(-gamma ||x - z||^2).
    """

    name: str
    X: Matrix
    y: np.ndarray
    kind: Kind
    C: float = 1.0
    epsilon: float = 0.1
    gamma: float | None = None

    @property
    def nnz(self) -> int:
        return self.X.nnz if sparse.issparse(self.X) else self.X.size

    def head(self, rows: int) -> "Task":
        """A small task of the same kind, holding every class."""
        if self.kind == "regression":
            return self.first(rows)
        labels = np.unique(self.y)
        share = rows // len(labels)
        keep = np.concatenate([np.flatnonzero(self.y == label)[:share] for label in labels])
        return replace(self, X=self.X[keep], y=self.y[keep])

    def first(self, rows: int) -> "Task":
        return replace(self, X=self.X[:rows], y=self.y[:rows])


def data_dir(given: str | None = None) -> Path:
    return Path(given or os.environ.get("MAXMARGIN_DATA") or DEFAULT_DATA)


def load(name: str, data: Path | None = None) -> Task:
    """The prepared task, from the cache if it is there."""
    kind: Kind = "regression" if name in REGRESSION else "classification"
    file = CACHE / f"{name}.npz"
    if not file.exists():
        X, y = (LOADERS | KERNEL_ONLY | TEST_ONLY)[name](data or data_dir())
        CACHE.mkdir(exist_ok=True)
        _save(file, X, y)
    X, y = _read(file)
    return Task(name, X, y, kind)


def _save(file: Path, X: Matrix, y: np.ndarray) -> None:
    part = file.with_suffix(".part.npz")
    if sparse.issparse(X):
        X = sparse.csr_matrix(X, dtype=np.float64)
        X.sort_indices()
        ints = {"indices": X.indices.astype(np.int32), "indptr": X.indptr.astype(np.int32)}
        np.savez(part, y=y.astype(np.float64), data=X.data, shape=X.shape, **ints)
    else:
        np.savez(part, y=y.astype(np.float64), X=np.ascontiguousarray(X, dtype=np.float64))
    part.replace(file)


def _read(file: Path) -> tuple[Matrix, np.ndarray]:
    with np.load(file) as z:
        if "X" in z:
            return z["X"], z["y"]
        parts = (z["data"], z["indices"], z["indptr"])
        return sparse.csr_matrix(parts, shape=tuple(z["shape"])), z["y"]


# --- binary classification ---


def _a9a(data: Path) -> tuple[Matrix, np.ndarray]:
    return read_svmlight(data / "a9a/a9a.xz", 1)


def _mushrooms(data: Path) -> tuple[Matrix, np.ndarray]:
    return read_svmlight(data / "mushrooms/mushrooms.xz", 1)


def _phishing(data: Path) -> tuple[Matrix, np.ndarray]:
    return read_svmlight(data / "phishing/phishing.xz", 1)


def _german(data: Path) -> tuple[Matrix, np.ndarray]:
    X, y = read_svmlight(data / "german.numer/german.numer_scale.xz", 1)
    return X.toarray(), y


def _heart(data: Path) -> tuple[Matrix, np.ndarray]:
    X, y = read_svmlight(data / "heart_scale/heart_scale.xz", 1)
    return X.toarray(), y


def _svmguide1(data: Path) -> tuple[Matrix, np.ndarray]:
    X, y = read_svmlight(data / "svmguide1/svmguide1.xz", 1)
    return shuffle(standardise(X.toarray()), y)


def _splice(data: Path) -> tuple[Matrix, np.ndarray]:
    X, y = read_svmlight(data / "splice/splice_libsvm.xz", 1)
    return X[:1000].toarray(), y[:1000]


def _skin(data: Path) -> tuple[Matrix, np.ndarray]:
    table, _ = read_table(read_lines(data / "skin_nonskin/Skin_NonSkin.txt.xz"), delimiter=None)
    return shuffle(standardise(table[:, :3]), np.where(table[:, 3] == 1, 1.0, -1.0))


def _covtype(data: Path) -> tuple[Matrix, np.ndarray]:
    table, _ = read_table(read_lines(data / "covtype/covtype.csv.xz"), skip=1)
    keep = np.random.default_rng(SEED).permutation(len(table))[: int(0.9 * len(table))]
    return standardise(table[keep, :-1]), np.where(table[keep, -1] == 2, 1.0, -1.0)


def _mnist(data: Path, part: str = "train") -> tuple[Matrix, np.ndarray]:
    with open_packed(data / f"mnist/{part}-images-idx3-ubyte.gz") as f:
        pixels = np.frombuffer(f.read(), np.uint8, offset=16).reshape(-1, 784)
    with open_packed(data / f"mnist/{part}-labels-idx1-ubyte.gz") as f:
        digit = np.frombuffer(f.read(), np.uint8, offset=8)
    return pixels / 255.0, digit


def _mnist_test(data: Path) -> tuple[Matrix, np.ndarray]:
    return _mnist(data, "t10k")


def _mnist8(data: Path) -> tuple[Matrix, np.ndarray]:
    X, digit = _mnist(data)
    return X, np.where(digit == 8, 1.0, -1.0)


def _mnist_odd(data: Path) -> tuple[Matrix, np.ndarray]:
    X, digit = _mnist(data)
    return X, np.where(digit % 2 == 1, 1.0, -1.0)


def _kddcup99(data: Path) -> tuple[Matrix, np.ndarray]:
    path = data / "kddcup99_10pct/kddcup.data_10_percent.gz"
    table, codes = read_table(read_lines(path), nominal=(1, 2, 3, 41))
    numeric = np.delete(table, (1, 2, 3, 41), axis=1)
    peak = np.abs(numeric).max(axis=0)
    scaled = sparse.csr_matrix(numeric / np.where(peak > 0, peak, 1.0))
    X = sparse.hstack([scaled, one_hot(table[:, 1:4])], format="csr")
    return shuffle(X, np.where(table[:, 41] == codes[41]["normal"], 1.0, -1.0))


def _spambase(data: Path) -> tuple[Matrix, np.ndarray]:
    table, _ = read_table(read_lines(data / "spambase/spambase.tsv.gz"), delimiter="\t", skip=1)
    return shuffle(standardise(table[:, :-1]), np.where(table[:, -1] == 1, 1.0, -1.0))


def _higgs(data: Path) -> tuple[Matrix, np.ndarray]:
    table, _ = read_table(read_lines(data / "higgs_7500/binary.train.xz"), delimiter="\t")
    return standardise(table[:, 1:]), np.where(table[:, 0] == 1, 1.0, -1.0)


def _hiva(data: Path) -> tuple[Matrix, np.ndarray]:
    X, _ = read_table(read_lines(data / "hiva/hiva_train.data.xz"), delimiter=None)
    y, _ = read_table(read_lines(data / "hiva/hiva_train.labels.xz"), delimiter=None)
    return sparse.csr_matrix(X), y


def _adult(data: Path) -> tuple[Matrix, np.ndarray]:
    nominal = (1, 3, 5, 6, 7, 8, 9, 13)
    lines = (line for line in read_lines(data / "adult/adult.data.xz") if line)
    table, codes = read_table(lines, nominal=(*nominal, 14))
    numeric = standardise(np.delete(table, (*nominal, 14), axis=1))
    X = sparse.hstack([sparse.csr_matrix(numeric), one_hot(table[:, nominal])], format="csr")
    return X, np.where(table[:, 14] == codes[14][">50K"], 1.0, -1.0)


def _imdb(data: Path) -> tuple[Matrix, np.ndarray]:
    """25,000 x 438,811: reviews read as latin-1, words and pairs seen in two reviews or more."""
    texts, y = [], []
    with tarfile.open(data / "imdb/aclImdb_labelled.tar.xz") as tar:
        for member in tar:
            if member.isfile() and "/train/" in member.name:
                texts.append(tar.extractfile(member).read().decode("latin-1"))
                y.append(1.0 if "/pos/" in member.name else -1.0)
    X = TfidfVectorizer(ngram_range=(1, 2), min_df=2).fit_transform(texts)
    return shuffle(X, np.array(y))


def _sms_spam(data: Path) -> tuple[Matrix, np.ndarray]:
    pairs = [
        line.split("\t", 1) for line in read_lines(data / "sms_spam/SMSSpamCollection.xz") if line
    ]
    y = np.array([1.0 if label == "spam" else -1.0 for label, _ in pairs])
    return TfidfVectorizer().fit_transform([text for _, text in pairs]), y


def _reuters(data: Path) -> tuple[Matrix, np.ndarray]:
    """Topic `earn` against the rest, on the 9,603 training articles of the ModApte split."""
    article = re.compile(r'<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN".*?</REUTERS>', re.DOTALL)
    texts, y = [], []
    with tarfile.open(data / "reuters21578/reuters21578.tar.xz") as tar:
        for member in sorted(tar.getmembers(), key=lambda m: m.name):
            if member.name.endswith(".sgm"):
                for text in article.findall(tar.extractfile(member).read().decode("latin-1")):
                    topics = re.search(r"<TOPICS>(.*?)</TOPICS>", text).group(1)
                    y.append(1.0 if "<D>earn</D>" in topics else -1.0)
                    body = re.search(r"<TEXT.*</TEXT>", text, re.DOTALL).group(0)
                    texts.append(re.sub(r"<[^>]*>|&#?\w+;", " ", body))
    return TfidfVectorizer().fit_transform(texts), np.array(y)


# --- several classes ---


def _pmlb(name: str, first: int = 0) -> Callable[[Path], tuple[Matrix, np.ndarray]]:
    """Read a table of PMLB, from its column `first`; the label is the last one."""

    def prepare(data: Path) -> tuple[Matrix, np.ndarray]:
        table, _ = read_table(read_lines(data / name / f"{name}.tsv.gz"), delimiter="\t", skip=1)
        return standardise(table[:, first:-1]), table[:, -1]

    return prepare


def _usps(data: Path) -> tuple[Matrix, np.ndarray]:
    table, _ = read_table(read_lines(data / "usps/zip.train.xz"), delimiter=None)
    return table[:, 1:], table[:, 0]


def _news20(data: Path) -> tuple[Matrix, np.ndarray]:
    return read_svmlight(data / "news20/news20.bz2")


def _newsgroups(data: Path) -> tuple[Matrix, np.ndarray]:
    texts, groups = [], []
    with tarfile.open(data / "20newsgroups/20news-bydate.tar.xz") as tar:
        for member in tar:
            if member.isfile() and "-train/" in member.name:
                texts.append(tar.extractfile(member).read().decode("latin-1"))
                groups.append(member.name.split("/")[-2])
    _, y = np.unique(groups, return_inverse=True)
    return shuffle(TfidfVectorizer(min_df=2).fit_transform(texts), y)


# --- regression: features and target standardised, epsilon = 0.1 ---


def _abalone(data: Path) -> tuple[Matrix, np.ndarray]:
    table, _ = read_table(read_lines(data / "abalone/abalone.data.xz"), nominal=(0,))
    sex = one_hot(table[:, :1]).toarray()
    return regression(np.hstack([sex, table[:, 1:-1]]), table[:, -1])


def _casp(data: Path) -> tuple[Matrix, np.ndarray]:
    table, _ = read_table(read_lines(data / "casp/CASP.csv.xz"), skip=1)
    return regression(table[:, 1:], table[:, 0])


def _arff(path: str) -> Callable[[Path], tuple[Matrix, np.ndarray]]:
    def prepare(data: Path) -> tuple[Matrix, np.ndarray]:
        table, _ = read_table(read_arff_lines(data / path))
        return regression(table[:, :-1], table[:, -1])

    return prepare


def _elevators(data: Path) -> tuple[Matrix, np.ndarray]:
    table, _ = read_table(read_lines(data / "elevators/data.csv.gz"))
    return regression(table[:, :-1], table[:, -1])


def _bike(data: Path) -> tuple[Matrix, np.ndarray]:
    table, _ = read_table(read_lines(data / "bike/data.csv.gz"))
    return regression(table[:, :15], table[:, -1])  # columns 16, 17 add up to the target


def _house(data: Path) -> tuple[Matrix, np.ndarray]:
    table, _ = read_table(
        read_lines(data / "house_16H/574_house_16H.tsv.gz"), delimiter="\t", skip=1
    )
    return regression(table[:, :-1], table[:, -1])


CLASSIFICATION: dict[str, Callable[[Path], tuple[Matrix, np.ndarray]]] = {
    "a9a": _a9a,
    "imdb": _imdb,
    "covtype": _covtype,
    "mnist8": _mnist8,
    "mushrooms": _mushrooms,
    "phishing": _phishing,
    "german": _german,
    "heart_scale": _heart,
    "svmguide1": _svmguide1,
    "splice": _splice,
    "skin": _skin,
    "kddcup99": _kddcup99,
    "spambase": _spambase,
    "higgs_7500": _higgs,
    "hiva": _hiva,
    "adult": _adult,
    "sms_spam": _sms_spam,
    "reuters": _reuters,
}
REGRESSION: dict[str, Callable[[Path], tuple[Matrix, np.ndarray]]] = {
    "abalone": _abalone,
    "california_housing": _arff("california_housing/cal_housing.arff.xz"),
    "casp": _casp,
    "bank32nh": _arff("bank32nh/bank32nh.arff.xz"),
    "kin8nm": _arff("kin8nm/kin8nm.arff.xz"),
    "ailerons": _arff("ailerons/ailerons.arff.xz"),
    "elevators": _elevators,
    "bike": _bike,
    "house_16H": _house,
}
LOADERS = CLASSIFICATION | REGRESSION
KERNEL_ONLY: dict[str, Callable[[Path], tuple[Matrix, np.ndarray]]] = {
    "mnist_odd": _mnist_odd,
    "mnist": _mnist,
    "usps": _usps,
    "news20": _news20,
    "20newsgroups": _newsgroups,
    "satimage": _pmlb("satimage"),
    "shuttle": _pmlb("shuttle"),
    "pendigits": _pmlb("pendigits"),
    "optdigits": _pmlb("optdigits"),
    "dna": _pmlb("dna"),
    "vowel": _pmlb("vowel", first=3),
    "krkopt": _pmlb("krkopt"),
}
TEST_ONLY: dict[str, Callable[[Path], tuple[Matrix, np.ndarray]]] = {"mnist_test": _mnist_test}


if __name__ == "__main__":
    for set_name in LOADERS | KERNEL_ONLY:
        task = load(set_name)
        store = "CSR" if sparse.issparse(task.X) else "dense"
        share = f"{np.mean(task.y > 0):.3f} positive"
        print(f"{set_name:20} {task.X.shape[0]:>7} x {task.X.shape[1]:<7} {store:5} {share}")
