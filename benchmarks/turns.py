"""Fits in turns with the closest peers, so that all have the same minutes of a noisy machine.

    python -m benchmarks.turns [--repeats 25] [--data ...]

The settings are those that `benchmarks.linear` found; one thread; medians of single fits.
"""

import argparse
import json
from datetime import date
from pathlib import Path
from statistics import median

from benchmarks.data import data_dir
from benchmarks.linear import RAW, RESULTS, claims
from benchmarks.peers import LinearTrial, Peer, all_peers
from benchmarks.runner import Child, machine, warn_if_busy

LIMIT = 30.0
DUELS = (
    ("imdb", "hinge", ("LIBLINEAR -s 3 1t", "Snap ML 1t", "LinearSVC/R dual")),
    ("imdb", "squared_hinge", ("LIBLINEAR -s 1 1t", "Snap ML 1t", "LinearSVC/R dual")),
    ("a9a", "squared_hinge", ("LIBLINEAR -s 2 1t",)),
    ("mnist8", "squared_hinge", ("LIBLINEAR -s 2 1t",)),
    ("heart_scale", "squared_hinge", ("LIBLINEAR -s 2 1t",)),
)


def duel(name: str, loss: str, peers: list[Peer], repeats: int, data: Path) -> list[str]:
    """Return a row of the table for each peer, ours first."""
    found = json.loads(RAW.read_text())["runs"][f"{name}/{loss}"]
    efforts, children = [], []
    for peer in peers:
        points = found["peers"][peer.name]["points"]
        efforts.append(next(p["effort"] for p in points if claims(p, found["optimum"])))
        children.append(Child(LinearTrial(peer, name, loss, data)))
    fits: list[list[dict[str, float]]] = [[] for _ in peers]
    for _ in range(repeats):
        for child, effort, own in zip(children, efforts, fits, strict=True):
            point = child.fit(effort, LIMIT)
            assert point, child.error
            own.append(point)
    for child in children:
        child.close()
    seconds = [median(point["seconds"] for point in own) for own in fits]
    rows = []
    for peer, effort, own, time in zip(peers, efforts, fits, seconds, strict=True):
        beyond = median(point["objective"] for point in own) / found["optimum"] - 1.0
        whole = time + own[0]["conversion"]
        rows.append(
            f"| {name} | {loss} | {peer.name} {peer.version} | {effort['tol']:g} | {beyond:.1e}"
            f" | {1e3 * time:.3g} | {time / seconds[0]:.2f} | {whole / seconds[0]:.2f} |"
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder of the data sets (or MAXMARGIN_DATA)")
    parser.add_argument("--repeats", type=int, default=25)
    args = parser.parse_args()
    warn_if_busy()
    by_name = {peer.name: peer for peer in all_peers()}
    rows = []
    for name, loss, names in DUELS:
        peers = [by_name[peer] for peer in ("maxmargin 1t", *names)]
        rows += duel(name, loss, peers, args.repeats, data_dir(args.data))
        print(*rows[-len(peers) :], sep="\n", flush=True)
    about, today = machine(), date.today().isoformat()
    text = f"""# Linear SVM: in turns with the closest peers

Medians of {args.repeats} fits each, one fit of each in turn, one thread, no intercept, C = 1; the
settings are those with which `linear.md` finds them within 0.1 % of the optimum. `from arrays`
counts the conversion to the peer's own format. {about["cpu"]}, {about["cores"]} cores, {today}.

| data | loss | peer | tol | above the optimum | ms | ratio | from arrays |
|---|---|---|---|---|---|---|---|
"""
    (RESULTS / "turns.md").write_text(text + "\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
