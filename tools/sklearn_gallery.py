"""Run scikit-learn's example gallery with its classes and with ours, and compare the pictures.

    python tools/sklearn_gallery.py CHECKOUT [--only svm/] [--out DIRECTORY] [--timeout SECONDS]

CHECKOUT is a copy of scikit-learn's sources, of the version that is installed. Every script of its
`examples` that imports `sklearn.svm` is run unchanged, twice, under Agg. A row of the table has

- the share of pixels that differ visibly, in the worst figure of the script;
- how far the decision values, or probabilities, are apart, as a share of the largest;
- the share of predicted labels that differ, or how far predicted numbers are apart;
- the seconds of both runs (whole scripts, so mostly of what they have in common).

Scripts that download data (`fetch_…`) are named and not run.

The figures and what was printed are left in DIRECTORY, `theirs` beside `ours`.
"""

from __future__ import annotations

import argparse
import functools
import inspect
import os
import re
import runpy
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

USES = re.compile(r"^(from sklearn\.svm|import sklearn\.svm|from sklearn import .*\bsvm\b)", re.M)
METHODS = ("decision_function", "score_samples", "predict_proba", "predict")
VISIBLE = 48  # of 255: a pixel that differs less looks the same
FIGURE_DPI = 60


# ---- one script, in a process of its own


class Recorder:
    """Keeps what the machines answered, in the order in which they were asked."""

    def __init__(self) -> None:
        self.answers: list[Any] = []
        self._inside = False

    def watch(self, machine: type) -> None:
        for name in METHODS:
            method = inspect.getattr_static(machine, name, None)
            if hasattr(method, "fn"):  # scikit-learn's available_if, which must stay what it is
                method.fn = self._recorded(name, method.fn)
            elif method is not None:
                setattr(machine, name, self._recorded(name, method))

    def _recorded(self, name: str, method: Any) -> Any:
        @functools.wraps(method)
        def answer(model: Any, *args: Any, **kwargs: Any) -> Any:
            outermost, self._inside = not self._inside, True
            try:
                result = method(model, *args, **kwargs)
            finally:
                if outermost:
                    self._inside = False
            if outermost:
                self.answers.append((name, np.asarray(result)))
            return result

        return answer


def run_script(script: Path, out: Path, ours: bool) -> None:
    """Run it, and leave its figures and the machines' answers in `out`."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    if ours:
        import substitute  # noqa: F401 - puts our classes into sklearn.svm
    import sklearn.svm

    recorder = Recorder()
    for name in ("LinearSVC", "LinearSVR", "NuSVC", "NuSVR", "OneClassSVM", "SVC", "SVR"):
        recorder.watch(getattr(sklearn.svm, name))
    count = 0

    def keep_figures(*_: Any, **__: Any) -> None:
        nonlocal count
        for number in plt.get_fignums():
            plt.figure(number).savefig(out / f"{count:02d}.png", dpi=FIGURE_DPI)
            count += 1
        plt.close("all")

    plt.show = keep_figures
    warnings.simplefilter("default")
    np.random.seed(0)  # noqa: NPY002 - some scripts draw without a seed
    os.chdir(script.parent)
    sys.argv = [str(script)]
    try:
        runpy.run_path(str(script), run_name="__main__")
    finally:
        keep_figures()
        np.save(out / "answers.npy", np.array([*recorder.answers, None], dtype=object))


# ---- both runs, compared


@dataclass
class Run:
    """What a run left."""

    out: Path
    seconds: float
    error: str

    @property
    def figures(self) -> list[Path]:
        return sorted(self.out.glob("*.png"))

    @property
    def answers(self) -> list[Any]:
        return list(np.load(self.out / "answers.npy", allow_pickle=True)[:-1])


def run(script: Path, out: Path, which: str, timeout: float) -> Run:
    out = out / which / script.parent.name / script.stem
    out.mkdir(parents=True, exist_ok=True)
    for old in out.iterdir():
        old.unlink()
    command = [sys.executable, __file__, "--run", str(script), "--out", str(out), "--which", which]
    begin = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout)
    except subprocess.TimeoutExpired:
        return Run(out, timeout, f"takes more than {timeout:.0f} s")
    seconds = time.monotonic() - begin
    (out / "stdout").write_text(done.stdout, encoding="utf-8")
    (out / "stderr").write_text(done.stderr, encoding="utf-8")
    last = (done.stderr.strip().splitlines() or ["?"])[-1]
    return Run(out, seconds, last if done.returncode else "")


def pixels_apart(theirs: Path, ours: Path) -> float:
    """The share of pixels that look different; 1 for figures of different sizes."""
    import matplotlib.image as image

    one, other = (image.imread(path)[..., :3] for path in (theirs, ours))
    if one.shape != other.shape:
        return 1.0
    return float((np.abs(one - other).max(axis=2) > VISIBLE / 255).mean())


def answers_apart(theirs: list[Any], ours: list[Any]) -> tuple[float, float]:
    """The largest difference of decision values, and of predictions, as shares."""
    values, predictions = 0.0, 0.0
    for (name, one), (_, other) in zip(theirs, ours, strict=True):
        if one.dtype.kind == "f":
            apart = float(np.abs(one - other).max() / np.abs(one).max())
        else:
            apart = float((one != other).mean())
        if name == "predict":
            predictions = max(predictions, apart)
        else:
            values = max(values, apart)
    return values, predictions


def compared(theirs: Run, ours: Run) -> str:
    if theirs.error:
        return f"theirs fails: {theirs.error[:90]}"
    if ours.error:
        return f"OURS FAILS: {ours.error[:90]}"
    if len(theirs.figures) != len(ours.figures):
        return f"{len(theirs.figures)} and {len(ours.figures)} figures"
    pairs = list(zip(theirs.figures, ours.figures, strict=True))
    picture = max((pixels_apart(*pair) for pair in pairs), default=0.0)
    cells = [f"{len(pairs)}", f"{100 * picture:.2f} %"]
    if [name for name, _ in theirs.answers] != [name for name, _ in ours.answers]:
        cells += ["other calls", ""]
    else:
        cells += [f"{share:.1e}" for share in answers_apart(theirs.answers, ours.answers)]
    return " | ".join([*cells, f"{theirs.seconds:.1f}, {ours.seconds:.1f}"])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("checkout", type=Path, nargs="?")
    parser.add_argument("--only", default="", help="part of the paths to run")
    parser.add_argument("--out", type=Path, default=Path("build/sklearn-gallery"))
    parser.add_argument("--timeout", type=float, default=600.0)
    parser.add_argument("--run", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--which", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run is not None:
        run_script(options.run, options.out.resolve(), options.which == "ours")
        return
    if options.checkout is None:
        parser.error("CHECKOUT is missing: a copy of scikit-learn's sources")
    examples = options.checkout.resolve() / "examples"
    scripts = [
        path for path in sorted(examples.rglob("*.py")) if USES.search(path.read_text("utf-8"))
    ]
    print("| script | figures | pixels | values | predictions | seconds: theirs, ours |")
    print("|---|---|---|---|---|---|")
    for script in scripts:
        name = script.relative_to(examples).as_posix()
        if download := re.search(r"\bfetch_\w+(?=\()", script.read_text("utf-8")):
            print(f"| {name} | not run: needs a download ({download[0]}) |", flush=True)
        elif options.only in name:
            out = options.out.resolve()
            runs = [run(script, out, which, options.timeout) for which in ("theirs", "ours")]
            print(f"| {name} | {compared(*runs)} |", flush=True)


if __name__ == "__main__":
    main()
