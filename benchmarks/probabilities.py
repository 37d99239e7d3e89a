"""Probabilities: log-loss and cost beside CalibratedClassifierCV and LIBSVM's probability=True.

    python -m benchmarks.probabilities [--data DIR] [--only german,digits] [--splits 3] [--report]

Writes benchmarks/results/probabilities.json and .md.
"""

import argparse
import json
import math
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from sklearn import datasets, svm
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_limits

from benchmarks.data import Matrix, data_dir, load
from benchmarks.kernel_report import table
from benchmarks.runner import machine
from maxmargin import SVC, LinearSVC

RESULTS = Path(__file__).resolve().parent / "results"
MOST_ROWS, FEWEST_OF_CLASS = 3000, 10

BUNDLED: dict[str, Callable[..., Any]] = {
    "breast_cancer": datasets.load_breast_cancer,
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "digits": datasets.load_digits,
}
TWO = "german heart_scale svmguide1 splice a9a mushrooms phishing spambase higgs_7500 hiva sms_spam"
SEVERAL = "satimage pendigits dna vowel usps"
SETS = [*BUNDLED, *TWO.split(), *SEVERAL.split()]

MODELS: dict[str, Callable[[], Any]] = {
    "SVC": SVC,
    "LinearSVC": lambda: LinearSVC(loss="squared_hinge", penalized_intercept=True),
}

METHOD = """\
Log-loss on 40 % of the rows after a fit to the other 60 %, mean of {splits} stratified splits, of
data sets cut to {rows:,} rows (and classes of {fewest} or more). Smaller sets are split more often,
until as many rows are tested: three splits of 569 rows have a ratio with a standard deviation of
0.04. *cv* is scikit-learn's
`CalibratedClassifierCV(model, ensemble=False)` around the same model: five fits more, one sigmoid
for each class. *ratio* is our log-loss over that one: below 1 is better. *LIBSVM* is
`sklearn.svm.SVC(probability=True)`. *disagree*: share of test rows whose most probable class is not
the predicted one; ours is 0 by construction. *cost* is CPU seconds of what comes on top of one fit,
in fits: our map, cv's and LIBSVM's whole fit less one fit of their model. One fit takes *fit*
milliseconds of CPU. SVC() is one against one with a Gaussian kernel; LinearSVC has the squared
hinge and a penalised intercept, scikit-learn's own problem."""


def prepared(name: str, folder: Path) -> tuple[Matrix, np.ndarray]:
    if name in BUNDLED:
        X, y = BUNDLED[name](return_X_y=True)
        X = scale(X)
    else:
        task = load(name, folder)
        X, y = task.X, task.y
    rows = np.random.default_rng(0).permutation(len(y))[:MOST_ROWS]
    labels, counts = np.unique(y[rows], return_counts=True)
    rows = rows[np.isin(y[rows], labels[counts >= FEWEST_OF_CLASS])]
    return X[rows], y[rows]


def timed(action: Callable[[], Any]) -> tuple[Any, float]:
    """What it returns, and the CPU seconds it took: others may use the machine meanwhile."""
    begin = time.process_time()
    found = action()
    return found, time.process_time() - begin


def one_split(make: Callable[[], Any], train: Any, test: Any, *, libsvm: bool) -> dict[str, float]:
    """Losses, disagreements and costs of one split."""
    X, y = test
    model, fit = timed(lambda: make().fit(*train))
    _, extra = timed(lambda: model.predict_proba(X[:1]))
    P = model.predict_proba(X)
    peer, whole = timed(lambda: CalibratedClassifierCV(make(), ensemble=False).fit(*train))
    Q = peer.predict_proba(X)
    predicted = model.predict(X)
    row = {
        "ours": log_loss(y, P),
        "cv": log_loss(y, Q),
        "ours_disagree": share_of_others(P, model, predicted),
        "cv_disagree": share_of_others(Q, model, predicted),
        "fit": fit,
        "ours_cost": extra / fit,
        "cv_cost": whole / fit - 1.0,
    }
    return row | (libsvm_split(train, test) if libsvm else {})


def share_of_others(P: np.ndarray, model: Any, predicted: np.ndarray) -> float:
    return float(np.mean(model.classes_[P.argmax(axis=1)] != predicted))


def libsvm_split(train: Any, test: Any) -> dict[str, float]:
    X, y = test
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # probability=True is deprecated
        _, fit = timed(lambda: svm.SVC().fit(*train))
        model, whole = timed(lambda: svm.SVC(probability=True, random_state=0).fit(*train))
    P = model.predict_proba(X)
    return {
        "libsvm": log_loss(y, P),
        "libsvm_disagree": share_of_others(P, model, model.predict(X)),
        "libsvm_cost": whole / fit - 1.0,
    }


def run(name: str, folder: Path, splits: int) -> dict[str, Any]:
    X, y = prepared(name, folder)
    often = splits * max(1, MOST_ROWS // len(y))
    cuts = list(StratifiedShuffleSplit(often, test_size=0.4, random_state=1).split(X, y))
    entry: dict[str, Any] = {"rows": len(y), "classes": len(np.unique(y)), "models": {}}
    for kind, make in MODELS.items():
        make().fit(X[:200], y[:200]).predict_proba(X[:1])  # warm-up
        found = [
            one_split(make, (X[fit], y[fit]), (X[rest], y[rest]), libsvm=kind == "SVC")
            for fit, rest in cuts
        ]
        middle = ("fit", "ours_cost", "cv_cost", "libsvm_cost")
        entry["models"][kind] = {
            key: (median if key in middle else np.mean)([row[key] for row in found])
            for key in found[0]
        }
        print(name, kind, {k: round(v, 4) for k, v in entry["models"][kind].items()}, flush=True)
    return entry


def write(results: dict[str, Any]) -> None:
    """Write the page."""
    method = METHOD.format(splits=results["splits"], rows=MOST_ROWS, fewest=FEWEST_OF_CLASS)
    parts = ["# Probabilities", method, about(results), "## In short"]
    parts.append(summary(results["runs"]))
    parts += [f"## {kind}\n\n" + details(results["runs"], kind) for kind in MODELS]
    (RESULTS / "probabilities.md").write_text("\n\n".join(parts) + "\n")


def about(results: dict[str, Any]) -> str:
    found = results["machine"]
    return f"Machine: {found['cpu']}, {found['cores']} cores, one used. Python {found['python']}."


def summary(runs: dict[str, Any]) -> str:
    head = ["model", "sets", "ratio, median", "worst", "ratio, two classes", "worst"]
    head += ["our cost, median", "worst", "cv's cost", "LIBSVM's cost", "cv disagrees, worst"]
    lines = []
    for kind in MODELS:
        rows = [(run["models"][kind], run["classes"]) for run in runs.values()]
        ratios = [row["ours"] / row["cv"] for row, _ in rows]
        two = [row["ours"] / row["cv"] for row, classes in rows if classes == 2]
        costs = [row["ours_cost"] for row, _ in rows]
        theirs = median(row["cv_cost"] for row, _ in rows)
        libsvm = [row.get("libsvm_cost", math.nan) for row, _ in rows]
        line = [kind, str(len(rows)), f"{median(ratios):.3f}", f"{max(ratios):.3f}"]
        line += [f"{median(two):.3f}", f"{max(two):.3f}"]
        line += [f"{median(costs):.2f}", f"{max(costs):.2f}", f"{theirs:.1f}"]
        line += [f"{median(libsvm):.1f}" if kind == "SVC" else "-"]
        lines.append([*line, f"{100 * max(row['cv_disagree'] for row, _ in rows):.1f} %"])
    return table(head, lines)


def details(runs: dict[str, Any], kind: str) -> str:
    head = ["data", "rows", "classes", "ours", "cv", "ratio", "LIBSVM", "fit", "cost", "cv's cost"]
    head += ["LIBSVM's cost", "cv disagrees", "LIBSVM disagrees"]
    lines = []
    for name, run in runs.items():
        row = run["models"][kind]
        line = [name, f"{run['rows']:,}", str(run["classes"]), f"{row['ours']:.4f}"]
        line += [f"{row['cv']:.4f}", f"{row['ours'] / row['cv']:.3f}"]
        line += [f"{row['libsvm']:.4f}" if "libsvm" in row else "-", f"{1e3 * row['fit']:.1f}"]
        line += [f"{row['ours_cost']:.2f}", f"{row['cv_cost']:.1f}"]
        line += [f"{row['libsvm_cost']:.1f}" if "libsvm" in row else "-"]
        line += [f"{100 * row['cv_disagree']:.1f} %"]
        line += [f"{100 * row['libsvm_disagree']:.1f} %" if "libsvm" in row else "-"]
        lines.append(line)
    return table(head, lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder of the data sets (or MAXMARGIN_DATA)")
    parser.add_argument("--only", help="comma separated names of sets; all by default")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--report", action="store_true", help="only write the page again")
    args = parser.parse_args()
    raw = RESULTS / "probabilities.json"
    results = json.loads(raw.read_text()) if raw.exists() else {"runs": {}}
    if not args.report:
        chosen = args.only.split(",") if args.only else SETS
        results |= {"machine": machine(), "splits": args.splits}
        for name in chosen:
            with threadpool_limits(1):
                results["runs"][name] = run(name, data_dir(args.data), args.splits)
            raw.write_text(json.dumps(results, indent=1) + "\n")
    write(results)


if __name__ == "__main__":
    main()
