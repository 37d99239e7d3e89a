"""LinearSVC(penalty="l1") beside LIBLINEAR's -s 5, interleaved.

    python -m benchmarks.l1 [--repeats 7] [--data ...] [--only a9a ...]

Both minimise ‖w‖₁ + |b| + C Σ max(0, 1 − y f)², each at the loosest tolerance of a ladder that ends
within 1e-3, or 1e-5, of the optimum.
"""

import argparse
import os
import time
import warnings
from collections.abc import Callable
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from sklearn.svm import LinearSVC as Liblinear
from sklearn.svm import l1_min_c
from threadpoolctl import threadpool_limits

from benchmarks.data import Matrix, data_dir, load
from benchmarks.runner import machine, warn_if_busy
from maxmargin import LinearSVC

RESULT = Path(__file__).resolve().parent / "results" / "l1.md"
WIDE = "72 x 7,000"
RATIOS, TARGETS = (5, 20, 200), (1e-3, 1e-5)
LADDER = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
LIMIT = 30.0  # seconds of a fit after which no tighter one is tried

HEAD = (
    "| data | C / C_min | non-zeros | within | ours, ms | proven, ms | LIBLINEAR tol | its ms |"
    " ratio | ratio proven |",
    "|---|---|---|---|---|---|---|---|---|---|",
)

Fit = Callable[[float], Any]


class Problem(NamedTuple):
    name: str
    X: Matrix
    y: np.ndarray
    C: float
    ratio: int

    def objective(self, model: Any) -> float:
        w, b = model.coef_[0], float(model.intercept_[0])
        slack = np.maximum(0.0, 1.0 - self.y * (self.X @ w + b))
        return float(np.abs(w).sum() + abs(b) + self.C * slack @ slack)

    def ours(self, tol: float) -> Any:
        model = LinearSVC(
            C=self.C, penalty="l1", loss="squared_hinge", penalized_intercept=True, tol=tol
        )
        return model.fit(self.X, self.y)

    def liblinear(self, tol: float) -> Any:
        model = Liblinear(
            C=self.C, penalty="l1", dual=False, tol=tol, max_iter=3000, random_state=0
        )
        return model.fit(self.X, self.y)


def wide() -> tuple[np.ndarray, np.ndarray]:
    """72 x 7,000: columns with 20 common factors, standardised, as genes of few patients."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(72, 20)) @ rng.normal(size=(20, 7000)) + rng.normal(size=(72, 7000))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    noisy = X[:, :50] @ rng.normal(size=50) + 3.0 * rng.normal(size=72)
    return np.ascontiguousarray(X), np.where(noisy > 0.0, 1.0, -1.0)


def problems(only: list[str], data: Path) -> list[Problem]:
    found = []
    for name in only:
        task = None if name == WIDE else load(name, data)
        X, y = (task.X, task.y) if task else wide()
        least = l1_min_c(X, y, loss="squared_hinge")
        found += [Problem(name, X, y, ratio * least, ratio) for ratio in RATIOS]
    return found


def loosest(problem: Problem, fit: Fit, limit: float) -> float | None:
    """The first tolerance of the ladder that ends at an objective of at most that."""
    for tol in LADDER:
        begin = time.process_time()
        if problem.objective(fit(tol)) <= limit:
            return tol
        if time.process_time() - begin > LIMIT:
            break
    return None


def turns(fits: list[tuple[Fit, float]], repeats: int) -> list[float]:
    """Median processor seconds of each, interleaved."""
    seconds: list[list[float]] = [[] for _ in fits]
    for _ in range(repeats):
        for (fit, tol), own in zip(fits, seconds, strict=True):
            begin = time.process_time()
            fit(tol)
            own.append(time.process_time() - begin)
    return [median(own) for own in seconds]


def rows(problem: Problem, repeats: int) -> list[str]:
    """A line of the table for each target."""
    best = problem.ours(1e-8)
    optimum, used = best.certificate_.dual, np.count_nonzero(best.coef_)
    lines = []
    for target in TARGETS:
        limit = (1.0 + target) * optimum
        tols = [loosest(problem, fit, limit) for fit in (problem.ours, problem.liblinear)]
        fits = [problem.ours, problem.liblinear, problem.ours]
        proof = min(tols[0] or target, target)
        efforts = [(fit, tol or LADDER[-1]) for fit, tol in zip(fits, (*tols, proof), strict=True)]
        ours, theirs, proven = turns(efforts, repeats)
        reached = f"{tols[1]:g}" if tols[1] else "not reached"
        shares = [f"{theirs / time:.1f}" if tols[1] else "–" for time in (ours, proven)]
        lines.append(
            f"| {problem.name} | {problem.ratio} | {used} | {target:g} | {1e3 * ours:.3g}"
            f" | {1e3 * proven:.3g} | {reached} | {1e3 * theirs:.3g} | {shares[0]}"
            f" | {shares[1]} |"
        )
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder of the data sets (or MAXMARGIN_DATA)")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--only", nargs="+", default=[WIDE, "a9a", "imdb"])
    args = parser.parse_args()
    warn_if_busy()
    lines, load_before = [], os.getloadavg()[0]
    with threadpool_limits(1), warnings.catch_warnings(action="ignore"):
        for problem in problems(args.only, data_dir(args.data)):
            lines += rows(problem, args.repeats)
    about, today = machine(), date.today().isoformat()
    text = f"""# ‖w‖₁ with the squared hinge: beside LIBLINEAR

Both minimise ‖w‖₁ + |b| + C Σ max(0, 1 − y f)² (`benchmarks/l1.py`); LIBLINEAR is -s 5 as
scikit-learn ships it, `LinearSVC(penalty="l1", dual=False)`. Hardness goes by C as a multiple of
`l1_min_c`. Each fits at the loosest tolerance of {LADDER[0]:g}, {LADDER[1]:g}, … {LADDER[-1]:g}
that ends within the target of the optimum, which is known to 1e-8. `proven` is our time until that
target is proven, not only reached; LIBLINEAR proves nothing. Medians of the processor time of
{args.repeats} interleaved rounds, one thread, with all conversions of the data. `ratio` is
LIBLINEAR's time over ours.
{about["cpu"]}, {about["cores"]} cores, load {load_before:.1f} at the start, {today}.

"""
    RESULT.write_text("\n".join([text, *HEAD, *lines, ""]))


if __name__ == "__main__":
    main()
