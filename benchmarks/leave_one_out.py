"""Exact leave-one-out errors: what they cost, in fits, and what the cheap bounds say.

    python -m benchmarks.leave_one_out [--data DIR] [--only german,made] [--report]

Writes benchmarks/results/leave_one_out.json and .md.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_limits

from benchmarks.data import data_dir, load
from benchmarks.kernel_report import table
from benchmarks.runner import machine
from maxmargin import SVC, theory

RESULTS = Path(__file__).resolve().parent / "results"
ROWS, FITS, COSTS = 2000, 5, (0.1, 1.0, 10.0, 100.0)
GAMMAS = (0.25, 1.0)
SETS = [
    "made",
    "breast_cancer",
    "german",
    "svmguide1",
    "splice",
    "a9a",
    "phishing",
]

METHOD = f"""\
SVC with a Gaussian kernel on {ROWS:,} rows, or all if there are fewer, of scaled columns; *width*
is γ times the number of columns. *cost*: CPU seconds of `theory.leave_one_out` over those of one
fit at the usual tol=1e-3 (the median of {FITS}, one thread). *refits*: support vectors whose sign
took one. *unproven*: signs without a proof. The last columns are bounds from the one fit, and the
span estimate. *made*: 10 normal columns, label of x₁ + x₂²/2 − ½ with noise. Others used the
machine meanwhile."""


def made() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.normal(size=(ROWS, 10))
    noise = 0.4 * random.normal(size=ROWS)
    return X, np.where(X[:, 0] + 0.5 * X[:, 1] ** 2 - 0.5 + noise > 0.0, 1, -1)


BUNDLED: dict[str, Callable[[], Any]] = {
    "made": made,
    "breast_cancer": lambda: load_breast_cancer(return_X_y=True),
}


def prepared(name: str, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    if name in BUNDLED:
        X, y = BUNDLED[name]()
    else:
        task = load(name, folder)
        X, y = task.X, task.y
    some = np.random.default_rng(0).permutation(len(y))[:ROWS]
    rows = X[some]
    return scale(rows.toarray() if hasattr(rows, "toarray") else rows), y[some]


def timed(action: Callable[[], Any]) -> tuple[Any, float]:
    """What it returns, and the CPU seconds it took: others may use the machine meanwhile."""
    begin = time.process_time()
    found = action()
    return found, time.process_time() - begin


def run(name: str, folder: Path) -> list[dict[str, Any]]:
    X, y = prepared(name, folder)
    found = []
    for width in GAMMAS:
        for C in COSTS:
            model = SVC(C=C, gamma=width / X.shape[1])
            fit = median(timed(lambda model=model: model.fit(X, y))[1] for _ in range(FITS))
            error, seconds = min(
                (timed(lambda model=model: theory.leave_one_out(model, X, y)) for _ in range(2)),
                key=lambda pair: pair[1],
            )
            row = {"rows": len(y), "width": width, "C": C, "fit": fit, "cost": seconds / fit}
            row |= {"support": error.n_support, "refits": error.n_refits}
            row |= {"unproven": error.n_unproven, "error": error.value}
            for bound in ("span", "removal_bound", "xi_alpha", "support_vector_bound"):
                row[bound] = getattr(theory, bound)(model, X, y).value
            print(name, {key: round(value, 4) for key, value in row.items()}, flush=True)
            found.append(row)
    return found


def write(results: dict[str, Any]) -> None:
    """Write the page."""
    head = [
        "data",
        "rows",
        "width",
        "C",
        "fit (ms)",
        "support vectors",
        "refits",
        "unproven",
        "cost (fits)",
        "error",
    ]
    head += ["span", "removal bound", "ξα", "#SV/n"]
    lines, costs = [], []
    for name, rows in results["runs"].items():
        for row in rows:
            costs.append(row["cost"])
            line = [name, f"{row['rows']:,}", f"{row['width']:g}", f"{row['C']:g}"]
            line += [f"{1e3 * row['fit']:.1f}", str(row["support"]), str(row["refits"])]
            line += [str(row["unproven"]), f"{row['cost']:.1f}"]
            line += [f"{100 * row[key]:.1f} %" for key in ("error", "span", "removal_bound")]
            line += [f"{100 * row[key]:.1f} %" for key in ("xi_alpha", "support_vector_bound")]
            lines.append(line)
    about = [
        row
        for rows in results["runs"].values()
        for row in rows
        if row["rows"] == ROWS and 400 <= row["support"] <= 600
    ]
    short = (
        f"{len(costs)} problems: median {median(costs):.1f} fits, worst {max(costs):.1f}; below 10"
        f" fits in {np.mean(np.array(costs) < 10.0):.0%}. Of {ROWS:,} rows with 400 to 600 support"
        f" vectors: median {median(row['cost'] for row in about):.1f}, worst"
        f" {max(row['cost'] for row in about):.1f}."
    )
    found = results["machine"]
    where = f"Machine: {found['cpu']}, {found['cores']} cores, one used. Python {found['python']}."
    parts = ["# Exact leave-one-out errors", METHOD, where, short, table(head, lines)]
    (RESULTS / "leave_one_out.md").write_text("\n\n".join(parts) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder of the data sets (or MAXMARGIN_DATA)")
    parser.add_argument("--only", help="comma separated names of sets; all by default")
    parser.add_argument("--report", action="store_true", help="only write the page again")
    args = parser.parse_args()
    raw = RESULTS / "leave_one_out.json"
    results = json.loads(raw.read_text()) if raw.exists() else {"runs": {}}
    if not args.report:
        results["machine"] = machine()
        for name in args.only.split(",") if args.only else SETS:
            with threadpool_limits(1):
                results["runs"][name] = run(name, data_dir(args.data))
            raw.write_text(json.dumps(results, indent=1) + "\n")
    write(results)


if __name__ == "__main__":
    main()
