"""Interleaved fits with the closest peers, so that all have the same minutes of a noisy machine.

    python -m benchmarks.interleaved [--repeats 25] [--data ...]

The settings are those that `benchmarks.linear` found; ours has one thread; medians of single fits.
"""

import argparse
import json
import time
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.data import data_dir
from benchmarks.linear import RAW, RESULTS, claims
from benchmarks.peers import Effort, LinearTrial, Peer, all_peers
from benchmarks.runner import Child, machine, warn_if_busy

LIMIT = 30.0
SETTLE = 0.1  # seconds in which threads of the one before, which spin for a while, come to rest
BRIEF = 0.1  # seconds
DUELS = (
    ("imdb", "hinge", ("LIBLINEAR -s 3 1t", "Snap ML 1t", "LinearSVC/R dual")),
    ("imdb", "squared_hinge", ("LIBLINEAR -s 1 1t", "Snap ML 1t", "Snap ML 2t")),
    ("a9a", "hinge", ("LIBLINEAR -s 3 1t", "LIBLINEAR -s 3 2t", "LinearSVC/R dual")),
    ("a9a", "squared_hinge", ("LIBLINEAR -s 2 1t", "LIBLINEAR -s 2 2t")),
    ("mnist8", "squared_hinge", ("LIBLINEAR -s 2 1t", "LIBLINEAR -s 2 2t")),
    ("covtype", "squared_hinge", ("LIBLINEAR -s 2 1t", "LIBLINEAR -s 2 2t")),
    ("mushrooms", "squared_hinge", ("LIBLINEAR -s 1 1t", "LIBLINEAR -s 1 2t")),
    ("svmguide1", "squared_hinge", ("LIBLINEAR -s 2 1t", "LIBLINEAR -s 2 2t")),
    ("heart_scale", "squared_hinge", ("LIBLINEAR -s 2 1t", "LIBLINEAR -s 2 2t")),
)


def duel(name: str, loss: str, peers: list[Peer], repeats: int, data: Path) -> list[str]:
    """Return a row of the table for each peer, ours first."""
    found = json.loads(RAW.read_text())["runs"][f"{name}/{loss}"]
    efforts = [_first_that_does(found["peers"][peer.name], found["optimum"]) for peer in peers]
    bare = [Child(LinearTrial(peer, name, loss, data)) for peer in peers]
    whole = [
        Child(LinearTrial(peer, name, loss, data, whole=True)) if peer.converts else child
        for peer, child in zip(peers, bare, strict=True)
    ]
    effort_of = dict(zip((*bare, *whole), (*efforts, *efforts), strict=True))
    rounds: dict[Child, list[list[dict[str, float]]]] = {child: [] for child in effort_of}
    for _ in range(repeats):
        for child, own in rounds.items():
            time.sleep(SETTLE)
            own.append(_turn(child, effort_of[child]))
    for child in rounds:
        child.close()
    fits = {child: _better_place(own) for child, own in rounds.items()}
    seconds = {child: _seconds(own) for child, own in fits.items()}
    ours = seconds[bare[0]]
    rows = []
    for peer, effort, one, two in zip(peers, efforts, bare, whole, strict=True):
        beyond = median(point["objective"] for point in fits[one]) / found["optimum"] - 1.0
        rows.append(
            f"| {name} | {loss} | {peer.name} {peer.version} | {effort['tol']:g} | {beyond:.1e}"
            f" | {1e3 * seconds[one]:.3g} | {1e3 * seconds[two]:.3g}"
            f" | {seconds[one] / ours:.2f} | {seconds[two] / ours:.2f} |"
        )
    return rows


def _turn(child: Child, effort: Effort) -> list[dict[str, float]]:
    """Fit once, and a brief fit once more: the first has to wake the machine up."""
    points: list[dict[str, float]] = []
    while not points or (len(points) == 1 and points[0]["seconds"] < BRIEF):
        point = child.fit(effort, LIMIT)
        assert point, child.error
        points.append(point)
    return points


def _better_place(rounds: list[list[dict[str, float]]]) -> list[dict[str, float]]:
    """Return the first fits, or the second ones: a peer's threads may be in its own way then."""
    places = [[round_[place] for round_ in rounds] for place in range(min(map(len, rounds)))]
    return min(places, key=_seconds)


def _seconds(fits: list[dict[str, float]]) -> float:
    return median(fit["seconds"] for fit in fits)


def _first_that_does(peer: dict[str, Any], optimum: float) -> Effort:
    return next(point["effort"] for point in peer["points"] if claims(point, optimum))


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
    text = f"""# Linear SVM: interleaved with the closest peers

Medians of {args.repeats} rounds in which each has its fit; no intercept, C = 1; `1t`, `2t` are
threads. The settings are those with which `linear.md` finds them within 0.1 % of the optimum.
`whole` fits begin with the arrays: a peer that reads a format of its own converts them each time.
Before each fit the machine rests for {SETTLE} s; fits of less than {BRIEF} s are made twice then,
and each peer's better place counts: the first fit wakes the machine up, in the second threads of
the first may still spin.
{about["cpu"]}, {about["cores"]} cores, {today}.

| data | loss | peer | tol | above the optimum | ms | whole, ms | ratio | whole ratio |
|---|---|---|---|---|---|---|---|---|
"""
    (RESULTS / "interleaved.md").write_text(text + "\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
