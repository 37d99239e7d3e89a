"""The pages made from `linear.json`: one table per loss, one figure per main data set."""

import math
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.peers import TARGET, all_peers
from benchmarks.reference_objective import suboptimality

CURVES = ("a9a", "imdb", "covtype", "mnist8")
OURS = "maxmargin"

METHOD = f"""\
Seconds until the objective 0.5 ||w||² + C Σ loss (C = 1, no intercept; squared losses without
1/2; epsilon = 0.1 in regression) is within {TARGET:g} (relative) of the optimum, as judged by one
NumPy formula for all. Each peer climbs a ladder of tolerances or epochs; its time is the median
of repeated fits at the first setting that gets there: the loosest setting that works, which a
user could not know. maxmargin gets no such help: its time is that of tol = {TARGET:g}, the gap
that it proves. Data in memory, warmed up; what LIBLINEAR, Snap ML (float32) and Vowpal Wabbit
(cache file) need to convert the data to their own format is not counted, but for LIBLINEAR and
Snap ML in the last column, `from arrays`, which is the ratio of whole calls; maxmargin,
scikit-learn and skglm read the arrays as they are, and whatever they check or copy is counted. Of
several variants of a peer the fastest counts. `1t`, `2t`: threads; a column without is one thread.
`> 120 (3.0e-03)`: not there in 120 s (a fit 50 times slower than the fastest is ended early),
and the best suboptimality it reached; `stuck (3.0e-03)`: more effort did not help."""


class Outcome(NamedTuple):
    """What one peer achieved: seconds if it reached the target, else how close it came."""

    seconds: float
    best: float
    end: str
    limit: float
    name: str = ""
    threads: int = 1
    conversion: float = 0.0  # seconds, not in the others

    def from_arrays(self) -> "Outcome":
        return self._replace(seconds=self.seconds + self.conversion)


def outcome(peer: dict[str, Any], optimum: float, name: str = "") -> Outcome:
    """Judge one peer by the final optimum."""
    seconds, best, conversion = math.inf, math.inf, 0.0
    for point in peer["points"]:
        error = suboptimality(point["objective"], optimum)
        best = min(best, error)
        if error <= TARGET and point["counts"]:
            seconds, conversion = point["seconds"], point.get("conversion", math.nan)
            break
    return Outcome(seconds, best, peer["end"], peer["limit"], name, peer["threads"], conversion)


def cell(result: Outcome | None) -> str:
    if result is None:
        return "-"
    if math.isfinite(result.seconds):
        return number(result.seconds)
    words = {"limit": f"> {result.limit:.3g}", "stalled": "stuck", "end of ladder": "stuck"}
    word = words.get(result.end, "failed")
    return f"{word} ({result.best:.1e})" if math.isfinite(result.best) else word


def number(seconds: float) -> str:
    return f"{seconds:.2g}" if seconds < 10 else f"{seconds:.0f}"


def best_of(results: list[Outcome]) -> Outcome | None:
    return min(results, key=lambda r: (r.seconds, r.best), default=None)


def write(results: dict[str, Any], folder: Path) -> None:
    """Write linear.md and the figures."""
    results["runs"] = {key: run for key, run in results["runs"].items() if run["peers"]}
    losses = list(dict.fromkeys(key.split("/")[1] for key in results["runs"]))
    loose = [key for key, run in results["runs"].items() if proven_gap(run) > 1e-6]
    optimum = "Optimum: the best objective seen, proven to 1e-6 by a dual bound of maxmargin" + (
        f", except on {', '.join(loose)}." if loose else "."
    )
    parts = ["# Linear SVM: time to 0.1 % of the optimum", METHOD, about(results) + "\n" + optimum]
    parts += [table(results, loss) for loss in losses]
    (folder / "linear.md").write_text("\n\n".join(parts) + "\n")
    for name in CURVES:
        runs = {loss: results["runs"].get(f"{name}/{loss}") for loss in losses}
        if runs := {loss: run for loss, run in runs.items() if run}:
            figure(name, runs, folder / f"curve-{name}.png")


def about(results: dict[str, Any]) -> str:
    machine = results["machine"]
    peers = [peer for run in results["runs"].values() for peer in run["peers"].values()]
    versions = sorted({f"{peer['family'].split(' ')[0]} {peer['version']}" for peer in peers})
    dates = sorted({peer["date"] for peer in peers})
    load = max(peer["load"] for peer in peers)
    lines = [
        f"{machines(results['runs'])}, {machine['cores']} cores. Python {machine['python']}.",
        f"Measured {dates[0]} to {dates[-1]}, load average at most {load:.1f} (1 or 2 is our own).",
        f"Versions: {', '.join(versions)}.",
    ]
    return "\n".join(lines)


def machines(runs: dict[str, Any]) -> str:
    """Say on what it was measured: the latest machine, and which runs were on others."""
    found: dict[str, list[str]] = {}
    for name, run in runs.items():
        for cpu in {peer["cpu"] for peer in run["peers"].values()}:
            found.setdefault(cpu, []).append(name)
    latest = max(
        (peer for run in runs.values() for peer in run["peers"].values()), key=lambda p: p["date"]
    )["cpu"]
    others = "".join(
        f"; on {cpu}: {', '.join(names)}" for cpu, names in found.items() if cpu != latest
    )
    return f"Machine: {latest}{others}"


def proven_gap(run: dict[str, Any]) -> float:
    bound = run.get("lower_bound")
    return (run["optimum"] - bound) / run["optimum"] if bound else math.inf


def table(results: dict[str, Any], loss: str) -> str:
    """Tabulate one loss: rows are data sets, columns are families."""
    runs = {k.split("/")[0]: r for k, r in results["runs"].items() if k.endswith(f"/{loss}")}
    families = [f for f in family_order() if any(f in _families(run) for run in runs.values())]
    head = ["data", "rows x columns", *families, "best peer", "ours"]
    head += ["ratio", "ratio 1t", "from arrays"]
    lines = [f"## {loss}", "", "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for name, run in runs.items():
        cells = [name, f"{run['rows']:,} x {run['columns']:,}"]
        by_family = {f: best_of(_outcomes(run, f)) for f in families}
        peers = [r for f, r in by_family.items() if r and not f.startswith(OURS)]
        ours = [r for f, r in by_family.items() if r and f.startswith(OURS)]
        rival, measured = best_of(peers), not any(math.isnan(peer.conversion) for peer in peers)
        cells += [cell(by_family[f]) for f in families]
        cells += [f"{rival.name}: {cell(rival)}" if rival else "-", cell(best_of(ours))]
        cells += [
            ratio(peers, ours),
            ratio(*([r for r in x if r.threads == 1] for x in (peers, ours))),
            ratio([peer.from_arrays() for peer in peers], ours) if measured else "-",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def family_order() -> list[str]:
    return list(dict.fromkeys(peer.family for peer in all_peers()))


def _families(run: dict[str, Any]) -> set[str]:
    return {peer["family"] for peer in run["peers"].values()}


def _outcomes(run: dict[str, Any], family: str) -> list[Outcome]:
    return [
        outcome(peer, run["optimum"], name)
        for name, peer in run["peers"].items()
        if peer["family"] == family
    ]


def ratio(peers: list[Outcome], ours: list[Outcome]) -> str:
    """Best peer's seconds over ours; a bound if no peer got there."""
    rival, mine = best_of(peers), best_of(ours)
    if rival is None or mine is None or not math.isfinite(mine.seconds):
        return "-"
    if math.isfinite(rival.seconds):
        return f"{rival.seconds / mine.seconds:.1f}"
    return f"> {max(p.limit for p in peers) / mine.seconds:.0f}"


def figure(name: str, runs: dict[str, dict[str, Any]], file: Path) -> None:
    """Draw suboptimality against time: the best variant of each family."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    fig, axes = plt.subplots(1, len(runs), figsize=(6.5 * len(runs), 4.5), squeeze=False)
    for ax, (loss, run) in zip(axes[0], runs.items(), strict=True):
        for colour, family in enumerate(family_order()):
            if family not in _families(run):
                continue
            peer = run["peers"][best_of(_outcomes(run, family)).name]
            errors = [suboptimality(p["objective"], run["optimum"]) for p in peer["points"]]
            times = [p["seconds"] for p in peer["points"]]
            style = {"color": f"C{colour}", "lw": 2.5 if family.startswith(OURS) else 1.0}
            ax.plot(times, [max(e, 1e-9) for e in errors], "o-", ms=3, label=family, **style)
        ax.axhline(TARGET, color="grey", lw=0.5, ls="--")
        ax.set(xscale="log", yscale="log", ylim=(1e-9, 10), title=f"{name}, {loss}")
        ax.set(xlabel="seconds", ylabel="relative suboptimality")
        ax.legend(fontsize=7)
    fig.tight_layout()
    fig.savefig(file, dpi=110)
    plt.close(fig)
