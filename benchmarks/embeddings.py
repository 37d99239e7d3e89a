"""Kernel machines by embeddings: landmarks, exact bounds, manifolds, duplicates.

    python -m benchmarks.embeddings [--rows 50000] [--landmarks 500,1000] [--sections covtype,exact]

Seconds of the processor, of all threads, and of the clock; the machine may be shared, and the first
then say more. Each line is one fit: differences below a third mean nothing.
"""

import argparse
import multiprocessing
import os
import resource
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import KernelPCA as PeerKernelPCA
from sklearn.kernel_approximation import Nystroem as PeerNystroem
from sklearn.linear_model import SGDClassifier
from sklearn.manifold import SpectralEmbedding
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC as PeerSVC

from benchmarks.data import data_dir, load
from maxmargin import SVC, EmbeddedSVC, LinearSVC
from maxmargin.embeddings import KernelPCA, LaplacianEigenmaps
from maxmargin.runtime.memory import free_memory

RESULTS = Path(__file__).resolve().parent / "results" / "embeddings.md"
GAMMA, C, TARGET = 0.1, 10.0, 1e-3  # of covtype
PASS = 100_000  # rows of the exact pass
SECONDS = 60.0  # of the processor: after such a fit of a peer no longer one is tried
HINGE = {"loss": "hinge", "fit_intercept": True, "penalized_intercept": False}


class Took(NamedTuple):
    cpu: float
    wall: float
    found: Any

    def __str__(self) -> str:
        return f"{self.cpu:.2f} | {self.wall:.2f}"


def timed(action: Callable[..., Any], *given: Any, **options: Any) -> Took:
    cpu, wall = time.process_time(), time.perf_counter()
    found = action(*given, **options)
    return Took(time.process_time() - cpu, time.perf_counter() - wall, found)


def table(title: str, *columns: str) -> list[str]:
    return [f"\n## {title}\n", f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]


def covtype(rows: int) -> tuple[np.ndarray, ...]:
    task = load("covtype", data_dir())
    test = slice(-20_000, None)
    rows = min(rows, len(task.y) - 20_000)
    return task.X[:rows], task.y[:rows], task.X[test], task.y[test]


def against_peers(rows: int, landmarks: list[int]) -> list[str]:
    """Nyström features and a linear SVM on covtype."""
    data = covtype(rows)
    title = f"covtype, {len(data[1]):,} rows, γ = {GAMMA}, C = {C}, to {TARGET:g}"
    columns = ("m", "fit", "CPU s", "clock s", "above its optimum", "test accuracy")
    lines, ours = table(title, *columns), {m: [own_fit(data, m)] for m in landmarks}
    for m in landmarks:
        goal = ours[m][0].found.score(*data[2:])
        others = []
        for peer in (of_features, snap):  # ours before, between and after theirs
            others += peer(data, m, goal)
            ours[m].append(own_fit(data, m))
        took = Took(*(float(np.median([one[k] for one in ours[m]])) for k in (0, 1)), None)
        gap = ours[m][0].found.certificate_.relative_gap
        name = f"SVC(landmarks), median of {len(ours[m])}"
        lines.append(f"| {m} | {name} | {took} | ≤ {gap:.1e} (proven) | {goal:.4f} |")
        lines += others
        print(lines[-1 - len(others)], flush=True)
    peaks = [f"{peak_of_own_fit(rows, m):.1f} GB with m = {m}" for m in landmarks]
    return [*lines, f"\nPeak of a process that reads the rows and fits ours: {', '.join(peaks)}."]


def peak_of_own_fit(rows: int, m: int) -> float:
    """Gigabytes of a process of its own."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_peak, rows, m).result()


def _peak(rows: int, m: int) -> float:
    own_fit(covtype(rows), m)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def own_fit(data: tuple[np.ndarray, ...], m: int) -> Took:
    model = SVC(C, gamma=GAMMA, landmarks=m, random_state=0, n_jobs=2)
    took = timed(model.fit, *data[:2])
    print(f"ours {m}: {took}", flush=True)
    return took


def of_features(data: tuple[np.ndarray, ...], m: int, goal: float) -> list[str]:
    """Peers on scikit-learn's Nyström features, which are made once and counted for each."""
    X, y, X_test, y_test = data
    if not room_for(8 * 3 * len(y) * m):
        return [f"| {m} | scikit-learn Nystroem: no memory for its features | – | – | – | – |"]
    features = PeerNystroem(gamma=GAMMA, n_components=m, random_state=0)
    made = timed(features.fit_transform, X)
    print(f"features {m}: {made}", flush=True)
    test = features.transform(X_test), y_test
    return [sgd(made, y, test, goal), liblinear(made, y, test)]


def room_for(n_bytes: float) -> bool:
    """Whether so much memory can be had, and some is left."""
    return free_memory() > 1.3 * n_bytes


def joined(made: Took, took: Took) -> Took:
    return Took(made.cpu + took.cpu, made.wall + took.wall, None)


def liblinear(made: Took, y: Any, test: tuple[Any, Any]) -> str:
    """LinearSVC, the fewest epochs within the target, or the last that were tried."""
    Z, m = made.found, made.found.shape[1]
    name = "scikit-learn Nystroem + LinearSVC"
    if not room_for(16 * Z.size):
        return f"| {m} | {name}: no memory for its copy | – | – | – | – |"
    least = LinearSVC(C=C, tol=1e-4, n_jobs=2, **HINGE).fit(Z, y).certificate_.dual
    for max_iter in (10, 30, 100, 300, 1000):
        model = PeerSVC(C=C, loss="hinge", max_iter=max_iter, tol=1e-8, random_state=0)
        took = timed(model.fit, Z, y)
        value = 0.5 * float(model.coef_[0] @ model.coef_[0]) + C * hinge(Z @ model.coef_[0], y)
        above, accuracy = value / least - 1.0, model.score(*test)
        print(f"{name} {max_iter}: {took} {above:.1e} {accuracy:.4f}", flush=True)
        if above <= TARGET or took.cpu > SECONDS:
            break
    whole = joined(made, took)
    return f"| {m} | {name}, {max_iter} epochs | {whole} | {above:.1e} | {accuracy:.4f} |"


def hinge(f: np.ndarray, y: np.ndarray) -> float:
    """Σ max(0, 1 − y (f + b)) for the best b."""
    corners = np.sort(y - f)
    ups = np.count_nonzero(y > 0)
    return float(np.maximum(0.0, 1.0 - y * (f + corners[ups - 1])).sum())


def sgd(made: Took, y: Any, test: tuple[Any, Any], goal: float) -> str:
    """SGDClassifier, the fewest epochs that are as accurate to 0.1 points, or the last."""
    Z, name = made.found, "scikit-learn Nystroem + SGDClassifier"
    for epochs in (5, 20, 80, 320):
        model = SGDClassifier(
            alpha=1.0 / (C * len(y)), max_iter=epochs, tol=None, average=True, random_state=0
        )
        took = timed(model.fit, Z, y)
        accuracy = model.score(*test)
        print(f"{name} {epochs}: {took} {accuracy:.4f}", flush=True)
        if accuracy >= goal - 1e-3 or took.cpu > SECONDS:
            break
    return f"| {Z.shape[1]} | {name}, {epochs} epochs | {joined(made, took)} | – | {accuracy:.4f} |"


def snap(data: tuple[np.ndarray, ...], m: int, goal: float) -> list[str]:
    """Snap ML's random features: more of them until they are as accurate to 0.1 points."""
    try:
        from snapml import SupportVectorMachine
    except ImportError:
        return [f"| {m} | Snap ML: not installed | – | – | – | – |"]
    X, y, X_test, y_test = data
    lines = []
    for features in (m, 2 * m):
        if not room_for(12 * len(y) * features):
            lines.append(f"| {m} | Snap ML rbf, {features} features: no memory | – | – | – | – |")
            break
        model = SupportVectorMachine(
            kernel="rbf", gamma=GAMMA, n_components=features, regularizer=1.0 / C, max_iter=300,
            tol=1e-4, n_jobs=2, random_state=0,
        )  # fmt: skip
        took = timed(model.fit, X, y)
        accuracy = float(np.mean(model.predict(X_test) == y_test))
        name = f"Snap ML rbf, {features} features"
        lines.append(f"| {m} | {name} | {took} | – | {accuracy:.4f} |")
        print(lines[-1], flush=True)
        if accuracy >= goal - 1e-3:
            break
    return lines


def exact(_rows: int, landmarks: list[int]) -> list[str]:
    """What one pass over the rows proves about the exact problem."""
    title = "The exact problem's bounds on covtype, C = 10, two threads"
    columns = ("rows", "m", "γ", "approximate gap", "proven exact gap", "optimum between", "SVs",
               "CPU s", "clock s")  # fmt: skip
    lines = table(title, *columns)
    for size, gamma in ((10_000, GAMMA), (10_000, 1 / 54), (PASS, GAMMA), (PASS, 1 / 54)):
        X, y, _, _ = covtype(size)
        for m in landmarks:
            model = SVC(C, gamma=gamma, landmarks=m, random_state=0, n_jobs=2, tol=1e-3).fit(X, y)
            took = timed(model.exact_certificate, X, y, max_values=1e12)
            bounds, used = took.found, np.count_nonzero(model.solution_.beta)
            lines.append(
                f"| {size:,} | {m} | {gamma:.3g} | {model.certificate_.relative_gap:.1e} |"
                f" {100 * bounds.relative_gap:.3g} % | {bounds.dual:.6g} … {bounds.upper:.6g} |"
                f" {used:,} | {took} |"
            )
            print(lines[-1], flush=True)
    return lines


def manifold_sets() -> dict[str, tuple[np.ndarray, ...]]:
    X, y = load_digits(return_X_y=True)
    sets = {"digits": train_test_split(X, y, test_size=500, random_state=0)}
    for name, size in (("usps", 9298), ("mnist", 20_000)):
        task = load(name, data_dir())
        keep = np.random.default_rng(0).permutation(len(task.y))[:size]
        sets[name] = train_test_split(task.X[keep], task.y[keep], test_size=0.2, random_state=0)
    return sets


def manifolds(_rows: int, _landmarks: list[int]) -> list[str]:
    """Laplacian eigenmaps + LinearSVC beside the transductive embedding and kernel PCA."""
    title = "50 coordinates, scaled, + LinearSVC(C=1): accuracy on the test rows"
    lines = table(title, "set", "train + test rows", "embedding", "CPU s", "clock s", "accuracy")
    k = 50
    for name, (X, X_test, y, y_test) in manifold_sets().items():
        eigenmaps = LaplacianEigenmaps(k, n_neighbors=11, n_jobs=2)
        inductive = {
            "LaplacianEigenmaps": eigenmaps,
            "KernelPCA": KernelPCA(k, random_state=0, n_jobs=2),
        }
        for label, embedding in inductive.items():
            model = EmbeddedSVC(make_pipeline(embedding, StandardScaler()), LinearSVC(**HINGE))
            took = timed(fitted_score, model, X, X_test, y, y_test)
            lines.append(row(name, (X, X_test), label, took))
        for label, peer in {
            "scikit-learn SpectralEmbedding of train and test rows": SpectralEmbedding(
                k, n_neighbors=11, random_state=0, n_jobs=2
            ),
            "scikit-learn KernelPCA": PeerKernelPCA(
                k, kernel="rbf", gamma=1.0 / (X.shape[1] * X.var()), random_state=0
            ),
        }.items():
            took = timed(transduced, peer, X, X_test, y, y_test)
            lines.append(row(name, (X, X_test), label, took))
    X, X_test = load("mnist", data_dir()).X[:5000], load("mnist", data_dir()).X[5000:15000]
    fitted = LaplacianEigenmaps(k, n_neighbors=11, n_jobs=2).fit(X)
    took = timed(fitted.transform, X_test)
    lines.append(row("mnist", (X, X_test), "LaplacianEigenmaps.transform alone", took, "–"))
    X, _, X_test, _ = covtype(20_000)
    fitted = LaplacianEigenmaps(k, n_neighbors=11, n_jobs=2).fit(X[:5000])
    took = timed(fitted.transform, X_test[:10_000])
    label = "LaplacianEigenmaps.transform alone"
    return [*lines, row("covtype", (X[:5000], X_test[:10_000]), label, took, "–")]


def row(name: str, parts: tuple[Any, Any], label: str, took: Took, score: str = "") -> str:
    sizes = " + ".join(f"{len(part):,}" for part in parts)
    line = f"| {name} | {sizes} | {label} | {took} | {score or f'{took.found:.4f}'} |"
    print(line, flush=True)
    return line


def fitted_score(model: Any, X: Any, X_test: Any, y: Any, y_test: Any) -> float:
    return float(model.fit(X, y).score(X_test, y_test))


def transduced(peer: Any, X: Any, X_test: Any, y: Any, y_test: Any) -> float:
    """The peer without `transform` sees the test rows as it embeds; kernel PCA does not."""
    if hasattr(peer, "transform"):
        Z, Z_test = peer.fit_transform(X), peer.transform(X_test)
    else:
        Z = peer.fit_transform(np.vstack([X, X_test]))
        Z, Z_test = Z[: len(X)], Z[len(X) :]
    scaler = StandardScaler().fit(Z)
    model = LinearSVC(**HINGE).fit(scaler.transform(Z), y)
    return float(model.score(scaler.transform(Z_test), y_test))


def accuracies(_rows: int, _landmarks: list[int]) -> list[str]:
    """Landmarks beside the exact machine."""
    lines = table(
        "Accuracy beside the exact kernel SVM (γ and C as said), in points",
        "set", "train + test rows", "C, γ", "m", "exact", "landmarks", "difference",
        "exact, CPU s", "landmarks, CPU s",
    )  # fmt: skip
    sets = (
        ("usps", 7291, 10.0, "scale", 2000), ("pendigits", 8_000, 10.0, "scale", 1000),
        ("satimage", 6435, 10.0, "scale", 1000), ("spambase", 4601, 1.0, "scale", 1000),
        ("phishing", 8_000, 10.0, 0.1, 1000), ("skin", 10_000, 10.0, 1.0, 500),
        ("optdigits", 5620, 10.0, "scale", 1000), ("adult", 6_000, 1.0, 0.01, 1000),
        ("covtype", 8_000, 10.0, 0.1, 2000), ("mnist", 6000, 10.0, "scale", 2000),
    )  # fmt: skip
    for name, size, cost, gamma, m in sets:
        task = load(name, data_dir())
        X, X_test, y, y_test = split(task.X, task.y, size)
        whole = timed(SVC(cost, gamma=gamma, n_jobs=2).fit, X, y)
        some = timed(SVC(cost, gamma=gamma, landmarks=m, random_state=0, n_jobs=2).fit, X, y)
        scores = whole.found.score(X_test, y_test), some.found.score(X_test, y_test)
        lines.append(
            f"| {name} | {X.shape[0]:,} + {X_test.shape[0]:,} | {cost:g}, {gamma} | {m} |"
            f" {scores[0]:.4f} | {scores[1]:.4f} | {100 * (scores[1] - scores[0]):+.2f} |"
            f" {whole.cpu:.1f} | {some.cpu:.1f} |"
        )
        print(lines[-1], flush=True)
    return lines


def split(X: Any, y: Any, size: int) -> Any:
    keep = np.random.default_rng(0).permutation(X.shape[0])[:size]
    return train_test_split(X[keep], y[keep], test_size=0.25, random_state=0)


def duplicates(_rows: int, _landmarks: list[int]) -> list[str]:
    """SVC on KDD99, whose rows come many times, with and without merging."""
    import maxmargin.estimators._duplicates as merging

    lines = table("Equal rows on kddcup99, SVC(C=1, gamma=1)", "rows", "fit", "CPU s", "clock s",
                  "primal", "gap")  # fmt: skip
    task = load("kddcup99", data_dir()).first(30_000)
    worth = merging._WORTH
    for label, least in (("merged", worth), ("as they are", 10**9)):
        merging._WORTH = least
        took = timed(SVC(gamma=1.0, n_jobs=2).fit, task.X, task.y)
        proof = took.found.certificate_
        lines.append(
            f"| {task.X.shape[0]:,} | {label} | {took} | {proof.primal:.7g} |"
            f" {proof.relative_gap:.1e} |"
        )
        print(lines[-1], flush=True)
    merging._WORTH = worth
    return lines


SECTIONS = {
    "exact": exact,
    "accuracies": accuracies,
    "manifolds": manifolds,
    "covtype": against_peers,
    "duplicates": duplicates,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=522_910, help="of covtype, 20,000 for the test")
    parser.add_argument("--landmarks", default="500,1000")
    parser.add_argument("--sections", default=",".join(SECTIONS))
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    landmarks = [int(m) for m in given.landmarks.split(",")]
    warnings.simplefilter("ignore")
    lines = [
        "# Embeddings and landmarks",
        "",
        (__doc__ or "").split("\n\n")[2].strip(),
        f"Load of the machine as the run began: {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores.",
    ]
    for name in given.sections.split(","):
        print(f"-- {name}", flush=True)
        lines += SECTIONS[name](given.rows, landmarks)
        given.out.write_text("\n".join(lines) + "\n")
    load_now = os.getloadavg()[0]
    given.out.write_text("\n".join([*lines, f"\nLoad as the run ended: {load_now:.1f}."]) + "\n")


if __name__ == "__main__":
    main()
