"""Time to 0.1 % of the optimum: maxmargin and its peers on linear SVMs without intercept.

    python -m benchmarks.linear [--sets a9a,imdb] [--losses hinge] [--peers snap,maxmargin] ...

Each peer climbs its ladder of settings until the neutral objective is within 1e-3 of the optimum;
that setting is then repeated, and the medians count: every peer is given the loosest setting that
works, which a user could not know. maxmargin must prove 1e-3 by itself.
"""

import argparse
import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.data import LOADERS, Task, data_dir, load
from benchmarks.peers import TARGET, Job, LinearTrial, Peer, all_peers
from benchmarks.reference_objective import LOSSES, suboptimality
from benchmarks.runner import Child, circumstances, machine, repeat, warn_if_busy

RESULTS = Path(__file__).resolve().parent / "results"
RAW = RESULTS / "linear.json"
QUICK = ("heart_scale", "phishing", "a9a", "abalone")
REFERENCES = (  # tried in this order, until one ends within the limit
    ("maxmargin 1t", 1e-6),
    ("maxmargin 1t", 1e-4),
    ("LinearSVC/R primal", 1e-6),
    ("LinearSVC/R dual", 1e-4),
    ("LinearSVC/R dual", 1e-2),
)
CURVE_GOAL = 3e-4  # on the sets that get a figure, the ladder is climbed further
PATIENCE = 4  # settings without progress before a peer is given up
HOPELESS = 50.0  # a fit this many times slower than the fastest so far is ended early...
HOPELESS_SECONDS = 2.0  # ... but not before this


@dataclass(frozen=True)
class Settings:
    data: Path
    repeats: int
    limit: float
    quick: bool

    def goal(self, task: Task) -> float:
        return CURVE_GOAL if task.name in report.CURVES and not self.quick else TARGET


def reference(job: Job, settings: Settings) -> dict[str, Any]:
    """Find the optimum: maxmargin's certificate, else what a strong peer reaches."""
    peers = {peer.name: peer for peer in all_peers() if peer.supports(job.task, job.loss)}
    for name, tol in ((name, tol) for name, tol in REFERENCES if name in peers):
        child = Child(LinearTrial(peers[name], job.task.name, job.loss, settings.data))
        point = child.fit({"tol": tol}, settings.limit)
        child.close()
        if point:
            if not math.isclose(point["objective"], point.get("primal", point["objective"])):
                print("  WRONG: the certificate's primal differs from the neutral one", flush=True)
            return {"optimum": point["objective"], "lower_bound": point.get("dual")}
    return {"optimum": None}


def climb(peer: Peer, job: Job, optimum: float, settings: Settings) -> dict[str, Any]:
    """Climb the ladder of one peer; its points, and why it stopped."""
    child = Child(LinearTrial(peer, job.task.name, job.loss, settings.data))
    points: list[dict[str, Any]] = []
    reached, end = False, "end of ladder"
    for effort in peer.ladder:
        point = child.fit(effort, settings.limit)
        if point is None:
            end = child.error or "limit"
            break
        point |= {"times": [point["seconds"]], "objectives": [point["objective"]]}
        point["counts"] = peer.counts(effort)
        points.append(point)
        if not reached and claims(point, optimum):
            repeat(child, point, settings.repeats, settings.limit)
            reached = claims(point, optimum)
        finished = reached and point["objective"] <= (1 + settings.goal(job.task)) * optimum
        if finished or stalled(points, optimum):
            end = "done" if reached else "stalled"
            break
    child.close()
    return circumstances(peer) | {"limit": settings.limit, "end": end, "points": points}


def claims(point: dict[str, Any], optimum: float) -> bool:
    return point["counts"] and point["objective"] <= (1 + TARGET) * optimum


def stalled(points: list[dict[str, Any]], optimum: float) -> bool:
    errors = [suboptimality(point["objective"], optimum) for point in points]
    return len(errors) > PATIENCE and min(errors[-PATIENCE:]) > 0.9 * min(errors[:-PATIENCE])


def run(job: Job, peers: list[Peer], settings: Settings, results: dict[str, Any]) -> None:
    """Measure the peers on one task, and merge what they did into the results."""
    task, loss = job.task, job.loss
    entry = results["runs"].setdefault(f"{task.name}/{loss}", {"peers": {}})
    entry |= {"rows": task.X.shape[0], "columns": task.X.shape[1], "nnz": task.nnz}
    if not entry.get("lower_bound"):
        entry |= reference(job, settings)
    if entry["optimum"] is None:
        print(f"{task.name} {loss}: no reference within the limit, left out", flush=True)
        return
    print(f"{task.name} {loss}: optimum {entry['optimum']:.8g}", flush=True)
    fastest = math.inf
    for peer in (peer for peer in peers if peer.supports(task, loss)):
        patience = min(settings.limit, max(HOPELESS_SECONDS, HOPELESS * fastest))
        done = climb(peer, job, entry["optimum"], replace(settings, limit=patience))
        entry["peers"][peer.name] = done
        entry["optimum"] = min([entry["optimum"], *(p["objective"] for p in done["points"])])
        outcome = report.outcome(done, entry["optimum"])
        fastest = min(fastest, outcome.seconds)
        print(f"  {peer.name:24} {report.cell(outcome)}", flush=True)
    if entry["optimum"] < (entry["lower_bound"] or -math.inf) * (1 - 1e-9):
        print("  WRONG: a peer went below the certified lower bound", flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder of the data sets (or MAXMARGIN_DATA)")
    parser.add_argument("--sets", help="comma separated; all by default")
    parser.add_argument("--losses", help="comma separated; all by default")
    parser.add_argument("--peers", help="comma separated parts of names; all by default")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=120.0, help="seconds per fit")
    parser.add_argument("--quick", action="store_true", help="four small sets, short ladders")
    parser.add_argument("--report", action="store_true", help="only write the pages again")
    return parser.parse_args()


def main() -> None:
    args = arguments()
    RESULTS.mkdir(exist_ok=True)
    results = json.loads(RAW.read_text()) if RAW.exists() else {"runs": {}}
    if not args.report:
        measure(args, results)
    report.write(results, RESULTS)


def measure(args: argparse.Namespace, results: dict[str, Any]) -> None:
    limit = min(args.limit, 10.0) if args.quick else args.limit
    settings = Settings(data_dir(args.data), args.repeats, limit, args.quick)
    names = args.sets.split(",") if args.sets else (QUICK if args.quick else tuple(LOADERS))
    parts = [part.lower() for part in (args.peers or "").split(",")]
    peers = [peer for peer in all_peers() if any(part in peer.name.lower() for part in parts)]
    results["machine"] = machine()
    warn_if_busy()
    for name in names:
        task = load(name, settings.data)
        for loss in LOSSES[task.kind]:
            if args.losses is None or loss in args.losses.split(","):
                run(Job(task, loss), peers, settings, results)
                RAW.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
