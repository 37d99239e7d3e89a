"""Several classes: maxmargin and its peers on linear machines, and on full MNIST with a kernel.

    python -m benchmarks.multiclass [--only ovr/hinge,usps] [--peers snap,maxmargin] ...

Linear, without intercept, one thread: each peer climbs its ladder of tolerances until the neutral
primal objective is within 1e-3 of the optimum, and the median of repeated fits at that tolerance
counts; maxmargin must prove 1e-3 by itself. `--only kernel` is one against one on MNIST as in
`benchmarks.kernel`, with the error on the test set; it is run when it is asked for by name.
"""

import argparse
import json
import math
from pathlib import Path
from typing import Any

from benchmarks import kernel, multiclass_report
from benchmarks.data import data_dir
from benchmarks.kernel_peers import Spec as KernelSpec
from benchmarks.linear import HOPELESS, HOPELESS_SECONDS, RESULTS, claims, stalled
from benchmarks.multiclass_peers import SPECS, ClassTrial, Spec, peers_of
from benchmarks.peers import Peer
from benchmarks.report import cell, outcome
from benchmarks.runner import Child, circumstances, machine, repeat, warn_if_busy

REFERENCE_TOL = 1e-6
REFERENCE_SECONDS = 600.0
KERNEL = KernelSpec("kernel", "mnist", 60_000, 0.02, 10.0, "mnist_test")
KERNEL_PEERS = ("maxmargin 1t", "intelex 1t")
KERNEL_SECONDS = 1800.0
QUICK = ("pendigits", "usps")


def reference(spec: Spec, folder: Path) -> dict[str, Any]:
    """Find the optimum: the neutral value of a proof to 1e-6."""
    child = Child(ClassTrial(peers_of(spec)[0], spec, folder))
    point = child.fit({"tol": REFERENCE_TOL}, REFERENCE_SECONDS)
    child.close()
    if point is None:
        raise RuntimeError(f"{spec.name}: no reference: {child.error or 'limit'}")
    if not math.isclose(point["objective"], point["primal"]):
        print("  WRONG: the certificate's primal differs from the neutral one", flush=True)
    return {"optimum": point["objective"], "lower_bound": point["dual"]}


def climb(
    peer: Peer, spec: Spec, optimum: float, args: argparse.Namespace, limit: float
) -> dict[str, Any]:
    """Climb the ladder of one peer; its points, and why it stopped."""
    child = Child(ClassTrial(peer, spec, args.folder))
    points: list[dict[str, Any]] = []
    end = "end of ladder"
    for effort in peer.ladder:
        point = child.fit(effort, limit)
        if point is None:
            end = child.error or "limit"
            break
        point |= {"times": [point["seconds"]], "objectives": [point["objective"]]}
        point["counts"] = peer.counts(effort)
        points.append(point)
        if claims(point, optimum):
            repeat(child, point, args.repeats, limit)
        if claims(point, optimum) or stalled(points, optimum):
            end = "done" if claims(point, optimum) else "stalled"
            break
    child.close()
    return circumstances(peer) | {"limit": limit, "end": end, "points": points}


def run(spec: Spec, args: argparse.Namespace, results: dict[str, Any]) -> None:
    """Measure the peers on one problem, and merge what they did into the results."""
    task = spec.task(args.folder)
    entry = results["runs"].setdefault(spec.name, {"peers": {}})
    entry |= {"rows": task.X.shape[0], "columns": task.X.shape[1], "nnz": task.nnz, "C": task.C}
    if not entry.get("lower_bound"):
        entry |= reference(spec, args.folder)
    print(f"{spec.name}: optimum {entry['optimum']:.8g}", flush=True)
    fastest = math.inf
    for peer in peers_of(spec):
        if not kernel.matches(peer.name, args.peers):
            continue
        limit = min(args.limit, max(HOPELESS_SECONDS, HOPELESS * fastest))
        done = climb(peer, spec, entry["optimum"], args, limit)
        entry["peers"][peer.name] = done
        found = outcome(done, entry["optimum"], peer.name)
        fastest = min(fastest, found.seconds)
        print(f"  {peer.name:20} {cell(found)}", flush=True)
        for point in done["points"]:
            if point["objective"] < entry["lower_bound"] * (1 - 1e-9):
                print("  WRONG: a peer went below the certified lower bound", flush=True)


def run_kernel(args: argparse.Namespace, results: dict[str, Any]) -> list[str]:
    """One against one on MNIST; the failures."""
    peers = args.peers or KERNEL_PEERS
    limit = max(args.limit, KERNEL_SECONDS)
    settings = kernel.Settings(args.folder, args.raw, 1, limit, (), peers)
    return kernel.run(KERNEL, settings, results)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder of the data sets (or MAXMARGIN_DATA)")
    parser.add_argument("--only", help="comma separated parts of multi_class/loss/set, or kernel")
    parser.add_argument("--peers", help="comma separated parts of names; all by default")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=120.0, help="seconds per fit")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder to write to")
    parser.add_argument("--quick", action="store_true", help="two small sets")
    parser.add_argument("--report", action="store_true", help="only write the page again")
    args = parser.parse_args()
    args.names = tuple(args.only.split(",")) if args.only else (QUICK if args.quick else ())
    args.peers = tuple(args.peers.split(",")) if args.peers else ()
    args.folder, args.raw = data_dir(args.data), args.results / "multiclass.json"
    return args


def main() -> None:
    args = arguments()
    args.results.mkdir(exist_ok=True)
    results = json.loads(args.raw.read_text()) if args.raw.exists() else {"runs": {}}
    failures: list[str] = []
    if not args.report:
        results["machine"] = machine()
        warn_if_busy()
        for spec in SPECS:
            if kernel.matches(spec.name, args.names):
                run(spec, args, results)
                args.raw.write_text(json.dumps(results, indent=1))
        if "kernel" in args.names:
            failures = run_kernel(args, results)
    multiclass_report.write(results, args.results)
    if failures:
        raise SystemExit("\n".join(["FAILED:", *failures]))


if __name__ == "__main__":
    main()
