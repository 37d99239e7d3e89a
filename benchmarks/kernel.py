"""Time to a dual objective within 1e-4 of the optimum: maxmargin and its peers on kernel machines.

    python -m benchmarks.kernel [--only main/skin,small] [--peers maxmargin,intelex] ...

Each setting of a peer (type of the input, storage, cache, threads) climbs a ladder of tolerances
until the neutral dual objective is within 1e-4 of the optimum; that fit is repeated, and the
median counts: the loosest tolerance that works. maxmargin is also timed with tol=1e-4, where it
proves what the others only reach. A peer's best setting counts.
"""

import argparse
import json
import math
import sys
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import kernel_report
from benchmarks.data import Task, data_dir
from benchmarks.kernel_peers import SPECS, TARGET, KernelPeer, KernelTrial, Spec, all_peers
from benchmarks.reference_objective import dual_suboptimality
from benchmarks.runner import Child, circumstances, machine, repeat, warn_if_busy

RESULTS = Path(__file__).resolve().parent / "results"
QUICK = ("small", "sets/svmguide1", "sets/spambase", "sets/abalone", "sets/dna")
LIMITS = {"main": 300.0, "sets": 60.0, "small": 10.0}  # seconds for each fit
REFERENCE_TOLS = (1e-6, 1e-5, TARGET)  # until one ends within REFERENCE_SECONDS
REFERENCE_SECONDS = 600.0
ROUNDING = 1e-6  # of a certificate, on samples in float32 or with rounded kernel values
LONG = 20.0  # a fit of this many seconds is not repeated
BEHIND = 1.5  # nor does a setting count that is so much slower than another of the same peer
HOPELESS = 20.0  # times slower than the fastest, and a fit is ended...
HOPELESS_SECONDS = 5.0  # ... but not before this
PREDICTIONS = 3


@dataclass(frozen=True)
class Settings:
    data: Path
    raw: Path
    repeats: int
    limit: float | None
    names: tuple[str, ...]
    peers: tuple[str, ...]


@dataclass
class Course:
    """What is known so far on one problem: it tells how long to wait for the next setting."""

    spec: Spec
    limit: float
    fastest: float = math.inf
    families: dict[str, float] = field(default_factory=dict)
    rungs: dict[str, int] = field(default_factory=dict)
    given_up: set[tuple[str, str, str]] = field(default_factory=set)

    def patience(self, peer: KernelPeer) -> float:
        own = BEHIND * self.families.get(peer.family, math.inf) + 1.0
        return min(self.hopeless, own)

    @property
    def hopeless(self) -> float:
        """Seconds after which nobody waits any longer."""
        return min(self.limit, max(HOPELESS_SECONDS, HOPELESS * self.fastest))

    def learn(self, peer: KernelPeer, done: dict[str, Any], seconds: float) -> None:
        self.fastest = min(self.fastest, seconds)
        self.families[peer.family] = min(self.families.get(peer.family, math.inf), seconds)
        if math.isfinite(seconds):
            tols = [effort["tol"] for effort in peer.ladder]
            reached = next(p for p in done["points"] if p["reached"])
            self.rungs.setdefault(peer.package, tols.index(reached["effort"]["tol"]))
        elif done["end"] == "limit" and done["limit"] >= self.hopeless:
            self.given_up.add(way(peer))  # the settings that follow promise less


def way(peer: KernelPeer) -> tuple[str, str, str]:
    return peer.package, peer.options["storage"], peer.options["dtype"]


def reference(spec: Spec, task: Task, settings: Settings) -> dict[str, Any]:
    """Find the optimum: the neutral value of maxmargin's dual point, its primal as a bound."""
    peer = next(peer for peer in all_peers(task, thorough=False) if peer.proves)
    for tol in REFERENCE_TOLS:
        child = Child(KernelTrial(peer, spec, settings.data))
        point = child.fit({"tol": tol}, REFERENCE_SECONDS)
        child.close()
        if point:
            if not math.isclose(point["objective"], point["dual"], rel_tol=ROUNDING):
                print("  WRONG: the certificate's dual differs from the neutral one", flush=True)
            return {"optimum": point["objective"], "upper_bound": point["primal"]}
    raise RuntimeError(f"{spec.name}: no reference: {child.error or 'limit'}")


def climb(peer: KernelPeer, course: Course, optimum: float, settings: Settings) -> dict[str, Any]:
    """Climb the ladder with one setting of a peer; its points, and why it stopped."""
    limit = course.patience(peer)
    child = Child(KernelTrial(peer, course.spec, settings.data))
    points: list[dict[str, Any]] = []
    end = "end of ladder"
    for effort in peer.ladder[course.rungs.get(peer.package, 0) :]:
        point = child.fit(effort, limit)
        if point is None:
            end = child.error or "limit"
            break
        point |= {"times": [point["seconds"]], "objectives": [point["objective"]]}
        point["reached"] = dual_suboptimality(point["objective"], optimum) <= TARGET
        points.append(point)
        if point["reached"]:
            again = point["seconds"] < min(LONG, limit / BEHIND)
            repeat(child, point, settings.repeats if again else 1, limit)
        if point["reached"] and (not peer.proves or effort["tol"] <= TARGET):
            end = "done"
            break
    about = circumstances(peer) | {"limit": limit, "end": child.error or end, "points": points}
    if end == "done" and course.spec.section == "main":
        about["rows_per_second"] = predictions(child, course.limit)
        about["end"] = child.error or end
    child.close()
    return about


def predictions(child: Child, limit: float) -> float | None:
    """Rows per second, the median of some predictions; None if they take too long."""
    rates = [child.predict(limit) for _ in range(PREDICTIONS)]
    return median(rates) if all(rates) else None


def run(spec: Spec, settings: Settings, results: dict[str, Any]) -> list[str]:
    """Measure the peers on one problem, and merge what they did; the failures."""
    task = spec.task(settings.data)
    if task is None:
        return []
    entry = results["runs"].setdefault(spec.name, {"peers": {}})
    entry |= {"rows": task.X.shape[0], "columns": task.X.shape[1], "nnz": task.nnz}
    entry |= {"kind": task.kind, "C": task.C, "gamma": task.gamma, "epsilon": task.epsilon}
    if not entry.get("upper_bound"):
        entry |= reference(spec, task, settings)
    print(f"{spec.name}: optimum {entry['optimum']:.8g}", flush=True)
    course = Course(spec, settings.limit or LIMITS[spec.section])
    failures = []
    for peer in all_peers(task, thorough=spec.section == "main"):
        if way(peer) in course.given_up or not matches(peer.name, settings.peers):
            continue
        done = climb(peer, course, entry["optimum"], settings)
        entry["peers"][peer.name] = done
        entry["optimum"] = max([entry["optimum"], *(p["objective"] for p in done["points"])])
        outcome = kernel_report.outcome(done, entry["optimum"], peer.name)
        course.learn(peer, done, outcome.seconds)
        settings.raw.write_text(json.dumps(results, indent=1))
        print(f"  {peer.name:40} {kernel_report.line(done, outcome)}", flush=True)
        if done["end"] not in ("done", "limit", "end of ladder"):
            failures.append(f"{spec.name}: {peer.name}: {done['end']}")
            print(f"  FAILED {failures[-1]}", flush=True)
    if entry["optimum"] > entry["upper_bound"] * (1 + ROUNDING):
        failures.append(f"{spec.name}: a dual objective above the certified upper bound")
    return failures


def matches(name: str, parts: tuple[str, ...]) -> bool:
    return not parts or any(part.lower() in name.lower() for part in parts)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder of the data sets (or MAXMARGIN_DATA)")
    parser.add_argument("--only", "--sets", help="comma separated parts of section/set, e.g. main")
    parser.add_argument("--peers", help="comma separated parts of names; all by default")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, help="seconds per fit; 300, 60, 10 by section")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder to write to")
    parser.add_argument("--quick", action="store_true", help="small sets only")
    parser.add_argument("--report", action="store_true", help="only write the page again")
    return parser.parse_args()


def main() -> None:
    args = arguments()
    args.results.mkdir(exist_ok=True)
    raw = args.results / "kernel.json"
    results = json.loads(raw.read_text()) if raw.exists() else {"runs": {}}
    failures = [] if args.report else measure(args, results, raw)
    kernel_report.write(results, args.results)
    if failures:
        sys.exit("\n".join(["FAILED:", *failures]))


def measure(args: argparse.Namespace, results: dict[str, Any], raw: Path) -> list[str]:
    names = tuple(args.only.split(",")) if args.only else (QUICK if args.quick else ())
    peers = tuple(args.peers.split(",")) if args.peers else ()
    settings = Settings(data_dir(args.data), raw, args.repeats, args.limit, names, peers)
    results["machine"] = machine()
    warn_if_busy()
    failures = []
    for spec in SPECS:
        if matches(spec.name, settings.names):
            failures += run(spec, settings, results)
    return failures


if __name__ == "__main__":
    main()
