"""The page made from `multiclass.json`: seconds on linear machines, then MNIST with a kernel."""

import math
from pathlib import Path
from typing import Any

from benchmarks import kernel_report
from benchmarks.peers import TARGET
from benchmarks.reference_objective import dual_suboptimality
from benchmarks.report import OURS, about, best_of, cell, number, outcome, ratio

FAMILIES = (OURS, "LIBLINEAR", "LinearSVC", "Snap ML")

METHOD = f"""\
Seconds of the whole fit of a linear machine of several classes, no intercept, one thread, until
its primal objective is within {TARGET:g} (relative) of the optimum, as judged by one NumPy formula
in float64 for all. Each peer climbs a ladder of tolerances; its time is the median of repeated
fits at the first that gets there. maxmargin gets no such help: its time is that of tol =
{TARGET:g}, the gap that it proves (of every class, one against the rest). Data in memory, warmed
up; the conversion of the rows to LIBLINEAR's format and to Snap ML's float32 is not counted. The
best variant of a peer counts. `> 120 (3.0e-03)`: not there in 120 s (a fit 50 times slower than the
fastest is ended early), and the best suboptimality it reached; `stuck`: more effort did not help.
news20: log(1 + count), rows of length 1; pendigits: standardised; MNIST: [0, 1], dense."""

TITLES = {
    "crammer_singer/hinge": "All classes in one problem (Crammer and Singer), hinge",
    "ovr/hinge": "One against the rest, hinge",
    "ovr/squared_hinge": "One against the rest, squared hinge",
}


def write(results: dict[str, Any], folder: Path) -> None:
    """Write multiclass.md."""
    runs = {name: run for name, run in results["runs"].items() if run["peers"]}
    if not runs:
        return
    parts = ["# Several classes", METHOD, about(results | {"runs": runs}) + "\n" + _optimum(runs)]
    for kind, title in TITLES.items():
        if here := {n.split("/")[2]: r for n, r in runs.items() if n.startswith(kind + "/")}:
            parts += [f"## {title}", _times(here)]
    if "kernel/mnist" in runs:
        parts += ["## MNIST with a Gaussian kernel, one against one", _kernel(runs["kernel/mnist"])]
    (folder / "multiclass.md").write_text("\n\n".join(parts) + "\n")


def _optimum(runs: dict[str, Any]) -> str:
    gaps = [
        run["optimum"] / run["lower_bound"] - 1.0 for run in runs.values() if "lower_bound" in run
    ]
    worst = max(gaps, default=math.nan)
    return f"Optimum: maxmargin's, proven to a relative gap of {worst:.0e} at most."


def _times(runs: dict[str, Any]) -> str:
    present = {peer["family"] for run in runs.values() for peer in run["peers"].values()}
    families = [family for family in FAMILIES if family in present]
    head = ["data", "rows x columns", "C", *families, "best peer", "ratio"]
    rows = []
    for name, run in runs.items():
        outcomes = {
            family: [
                outcome(peer, run["optimum"], label)
                for label, peer in run["peers"].items()
                if peer["family"] == family
            ]
            for family in families
        }
        mine = outcomes.get(OURS, [])
        rivals = [o for family in families if family != OURS for o in outcomes[family]]
        best = best_of(rivals)
        row = [name, f"{run['rows']:,} x {run['columns']:,}", f"{run['C']:g}"]
        row += [cell(best_of(outcomes[family])) for family in families]
        rows.append([*row, best.name if best else "-", ratio(rivals, mine)])
    return kernel_report.table(head, rows)


def _kernel(run: dict[str, Any]) -> str:
    text = (
        f"{run['rows']:,} x {run['columns']}, 10 classes, gamma = {run['gamma']:g},"
        f" C = {run['C']:g}, until the dual objective, summed over the pairs, is within 1e-4 of"
        " the optimum; `2t`: two threads; the error is that on the 10,000 test rows. One fit"
        " each.\n\n"
    )
    head = ["setting", "seconds", "tol", "support vectors", "test error"]
    rows = []
    for setting, peer in run["peers"].items():
        found = kernel_report.outcome(peer, run["optimum"], setting)
        reached = [p for p in peer["points"] if p["seconds"] == found.seconds]
        row = [setting, cell(found), "-", "-", "-"]
        if reached:
            point = reached[0]
            error = dual_suboptimality(point["objective"], run["optimum"])
            row = [setting, number(found.seconds), f"{point['effort']['tol']:g} ({error:.0e})"]
            row += [f"{point['support']:,}", f"{100 * point['test_error']:.2f} %"]
        rows.append(row)
    return text + kernel_report.table(head, rows)
