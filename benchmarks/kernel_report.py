"""The page made from `kernel.json`: seconds, prediction rates, and every setting measured."""

import math
from pathlib import Path
from typing import Any

from benchmarks.kernel_peers import (
    CACHE_MB,
    KINDS,
    PREDICT_ROWS,
    ROWS_THAT_FIT,
    SMALL_ROWS,
    TARGET,
)
from benchmarks.reference_objective import dual_suboptimality
from benchmarks.report import OURS, Outcome, about, best_of, cell, number, ratio

LABELS = tuple(label for _, label, _, _ in KINDS)
SECTIONS = {
    "main": "The main problems",
    "small": f"A few hundred rows: {SMALL_ROWS} of each set, C = 1, gamma = scale",
    "sets": "Sets up to 60,000 rows: C = 1, gamma = scale",
}

METHOD = f"""\
Seconds of the whole fit of a C-SVC or epsilon-SVR with a Gaussian kernel and an intercept, until
its dual objective is within {TARGET:g} (relative) of the optimum. One NumPy formula in float64
values every peer's coefficients, clipped and balanced to be feasible, on the float64 data. Each
setting of a peer climbs a ladder of tolerances (0.3 to 1e-5; for maxmargin, whose tolerance is
the proven gap, to 1e-4, and from 1e-2 on but for the main problems); its time is the median of
repeated fits (fits of 20 s or more: of one) at the loosest tolerance that gets there. `proven`:
maxmargin with tol = {TARGET:g}, the certificate included. Settings: float64 and float32 input;
dense and CSR where 5 to 50 % of the values are not zero; the default cache and {CACHE_MB} MB
(maxmargin: its default); the best one counts. Beside the main problems, float32 is left out for
those that convert it (ThunderSVM, scikit-learn), and the second cache up to {ROWS_THAT_FIT:,}
rows. LIBSVM's conversion of the rows to its own format is not counted. Two threads: the best of
all settings; one thread: of those with one thread. Several classes: one against one. Regression:
target standardised, epsilon = 0.1.
`> 60 (3.0e-03)`: not there in 60 s, and the suboptimality reached before, if any; a fit 20 times
slower than the fastest is ended early, and settings of that peer which promise less are not tried.
`stuck`: no tolerance got there.
`-`: not run. Not every setting of a peer was run on every set, nor all in one go."""


def outcome(peer: dict[str, Any], optimum: float, name: str = "", tol: float = math.inf) -> Outcome:
    """Judge one setting by the final optimum, at tolerances up to tol."""
    seconds, best = math.inf, math.inf
    for point in peer["points"]:
        error = dual_suboptimality(point["objective"], optimum)
        best = min(best, error)
        if error <= TARGET and point["effort"]["tol"] <= tol:
            seconds = point["seconds"]
            break
    return Outcome(seconds, best, peer["end"], peer["limit"], name, peer["threads"])


def line(peer: dict[str, Any], result: Outcome) -> str:
    """What one setting did, in words."""
    if not math.isfinite(result.seconds):
        return cell(result)
    point = next(p for p in peer["points"] if p["seconds"] == result.seconds)
    words = [f"{number(result.seconds)} s", f"tol {point['effort']['tol']:g}"]
    words += [
        f"{point['support']} SV",
        f"cpu {number(point['cpu'])} s",
        f"n = {len(point['times'])}",
    ]
    if peer.get("rows_per_second"):
        words.append(f"{peer['rows_per_second']:,.0f} rows/s")
    return ", ".join(words)


def write(results: dict[str, Any], folder: Path) -> None:
    """Write kernel.md."""
    runs = {name: run for name, run in results["runs"].items() if run["peers"]}
    results = results | {"runs": runs}
    parts = ["# Kernel SVM: time to a dual objective within 1e-4", METHOD, about(results)]
    parts[-1] += "\n" + _optimum(runs)
    for section, title in SECTIONS.items():
        if here := {n.split("/")[1]: r for n, r in runs.items() if n.startswith(section + "/")}:
            parts += [f"## {title}", _times(here)]
            if section == "main":
                parts += ["## Prediction: rows per second", _rates(here)]
    parts += [_failures(runs), "## Every setting on the main problems", _settings(runs)]
    (folder / "kernel.md").write_text("\n\n".join(part for part in parts if part) + "\n")


def _optimum(runs: dict[str, Any]) -> str:
    gaps = {n: (r["upper_bound"] - r["optimum"]) / r["optimum"] for n, r in runs.items()}
    loose = [f"{name} ({gap:.1e})" for name, gap in gaps.items() if gap > 1e-5]
    text = "Optimum: the best dual objective seen, proven to 1e-5 by maxmargin's primal"
    return text + (f", except on {', '.join(loose)}." if loose else ".")


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in lines)


def _times(runs: dict[str, Any]) -> str:
    peers = [label for label in LABELS if label != OURS]
    head = ["data", "rows x columns", "threads", *peers, "ours", "ratio", "proven", "ratio"]
    rows = []
    for name, run in runs.items():
        for threads in (2, 1):
            by_label = {label: best_of(_outcomes(run, label, threads)) for label in LABELS}
            ours = by_label.pop(OURS)
            rivals = [result for result in by_label.values() if result]
            proven = best_of(_outcomes(run, OURS, threads, TARGET))
            row = [name, f"{run['rows']:,} x {run['columns']:,}", str(threads)]
            row += [cell(by_label[label]) for label in peers]
            for mine in (ours, proven):
                row += [cell(mine), ratio(rivals, [mine] if mine else [])]
            rows.append(row)
    return table(head, rows)


def _outcomes(
    run: dict[str, Any], label: str, threads: int, tol: float = math.inf
) -> list[Outcome]:
    return [
        outcome(peer, run["optimum"], name, tol) for name, peer in _of(run, label, threads).items()
    ]


def _of(run: dict[str, Any], label: str, threads: int) -> dict[str, Any]:
    """The settings of a peer that use so many threads, or fewer."""
    return {
        name: peer
        for name, peer in run["peers"].items()
        if peer["family"].split(" ")[0] == label and peer["threads"] <= threads
    }


def _rates(runs: dict[str, Any]) -> str:
    peers = [label for label in LABELS if label != OURS]
    rows = []
    for name, run in runs.items():
        for threads in (2, 1):
            rates = {
                label: max(
                    (
                        peer.get("rows_per_second") or 0.0
                        for peer in _of(run, label, threads).values()
                    ),
                    default=0.0,
                )
                for label in LABELS
            }
            rival = max(rates[label] for label in peers)
            row = [name, str(threads)]
            row += [f"{rates[label]:,.0f}" if rates[label] else "-" for label in (*peers, OURS)]
            rows.append([*row, f"{rates[OURS] / rival:.1f}" if rival and rates[OURS] else "-"])
    text = f"{PREDICT_ROWS:,} rows at a time, with the models of the table above.\n\n"
    return text + table(["data", "threads", *peers, "ours", "ratio"], rows)


def _failures(runs: dict[str, Any]) -> str:
    known = ("done", "limit", "end of ladder")
    failed = [
        f"- {name}, {setting}: {peer['end']}"
        for name, run in runs.items()
        for setting, peer in run["peers"].items()
        if peer["end"] not in known
    ]
    return "\n".join(["## Failures", "", *failed]) if failed else ""


def _settings(runs: dict[str, Any]) -> str:
    rows = [
        [name.split("/")[1], setting, line(peer, outcome(peer, run["optimum"]))]
        for name, run in runs.items()
        if name.startswith("main/")
        for setting, peer in run["peers"].items()
    ]
    return table(["data", "setting", "result"], rows)
