"""The peers: each solves P(w) = 0.5 ||w||^2 + C sum of losses with its own settings.

A peer prepares a `Job` (data in its own format, not timed), trains (timed) and is read
(`weights`, not timed). Its `ladder` lists settings of growing effort; the harness climbs it
until the neutral objective is good enough. Variants of one `family` share a column: the best
one counts.

How each peer's parameters map to ours (checked: it then reaches the optimum that LIBLINEAR finds):
LIBLINEAR and scikit-learn's LinearSVC / LinearSVR, skglm: C as it is.
Snap ML: regularizer = 1 / C, for both losses.
SGDClassifier / SGDRegressor: alpha = 1 / (C n); the squared losses diverge with "optimal" steps.
Vowpal Wabbit: l2 = 1 / (C m), where m counts the rows inside the margin at the optimum and not
all n, because it shrinks w only on rows that have a loss (see `VowpalWabbit`).
"""

import importlib.metadata
import math
import tempfile
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.data import Task, load
from benchmarks.reference_objective import primal

Effort = dict[str, float]

HINGES = ("hinge", "squared_hinge")
TUBES = ("epsilon_insensitive", "squared_epsilon_insensitive")
SQUARED = ("squared_hinge", "squared_epsilon_insensitive")
TARGET = 1e-3
WARM_UP_ROWS = 1000
CONVERSIONS = 3  # timed, of which the median counts


def _tols(*values: float) -> tuple[Effort, ...]:
    return tuple({"tol": value} for value in values)


TOLS = _tols(10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 5e-3, 2e-3, 1e-3, 3e-4, 1e-4, 1e-5, 1e-6)
EPOCHS = tuple({"epochs": k * 10**p} for p in range(5) for k in (1, 2, 5))
PASSES = tuple({"epochs": 2**p} for p in range(15))
MANY = 1_000_000  # an iteration limit that never binds: the tolerance stops, or the clock


@dataclass
class Job:
    """One task with one loss, and whatever the peer prepared for it."""

    task: Task
    loss: str
    data: Any = None


@dataclass(frozen=True)
class Peer(ABC):
    """One solver with one choice of options; subclasses say how to run it."""

    name: str
    family: str
    package: str
    losses: tuple[str, ...]
    ladder: tuple[Effort, ...] = TOLS
    threads: int = 1
    options: dict[str, Any] = field(default_factory=dict)
    proves = False  # whether its `tol` is a proven relative gap
    converts = False  # whether it reads a format of its own, and `prepare` makes just that

    @property
    def version(self) -> str:
        return importlib.metadata.version(self.package)

    def supports(self, task: Task, loss: str) -> bool:
        return loss in self.losses and (loss in TUBES) == (task.kind == "regression")

    def counts(self, effort: Effort) -> bool:
        """Whether this effort may be claimed as a time: who can prove the target, must."""
        return not self.proves or effort["tol"] <= TARGET

    def prepare(self, job: Job) -> Any:
        """Put the data in the peer's own format; most read the arrays as they are."""
        del job

    @abstractmethod
    def train(self, job: Job, effort: Effort) -> Any:
        """Fit: the timed part."""

    def weights(self, model: Any) -> np.ndarray:
        return np.asarray(model.coef_, dtype=np.float64).ravel()

    def fit(self, task: Task, loss: str, effort: Effort) -> np.ndarray:
        job = Job(task, loss)
        job.data = self.prepare(job)
        return self.weights(self.train(job, effort))


class MaxMargin(Peer):
    """This library."""

    proves = True

    def train(self, job: Job, effort: Effort) -> Any:
        from maxmargin import LinearSVC, LinearSVR

        task = job.task
        shared = {"C": task.C, "loss": job.loss, "fit_intercept": False, "tol": effort["tol"]}
        shared |= {"max_iter": None, "solver": "auto"}
        if task.kind == "regression":
            return LinearSVR(epsilon=task.epsilon, **shared).fit(task.X, task.y)
        return LinearSVC(**shared).fit(task.X, task.y)


class ScikitLinear(Peer):
    """scikit-learn's copy of LIBLINEAR; options: dual."""

    def train(self, job: Job, effort: Effort) -> Any:
        from sklearn.svm import LinearSVC, LinearSVR

        task = job.task
        shared = {"C": task.C, "loss": job.loss, "tol": effort["tol"], "max_iter": MANY}
        shared |= {"fit_intercept": False, "random_state": 0} | self.options
        if task.kind == "regression":
            return LinearSVR(epsilon=task.epsilon, **shared).fit(task.X, task.y)
        return LinearSVC(**shared).fit(task.X, task.y)


class ScikitSGD(Peer):
    """Stochastic gradient descent; options: learning_rate, eta0, average."""

    def train(self, job: Job, effort: Effort) -> Any:
        from sklearn.linear_model import SGDClassifier, SGDRegressor

        task = job.task
        shared = {"loss": job.loss, "alpha": 1 / (task.C * len(task.y)), "tol": None}
        shared |= {"max_iter": int(effort["epochs"]), "fit_intercept": False, "random_state": 0}
        shared |= self.options
        if task.kind == "regression":
            return SGDRegressor(epsilon=task.epsilon, **shared).fit(task.X, task.y)
        return SGDClassifier(**shared).fit(task.X, task.y)


class Liblinear(Peer):
    """Multi-core LIBLINEAR; options: solver (its -s). The dual solvers stop at 300 sweeps."""

    converts = True

    def prepare(self, job: Job) -> Any:
        from liblinear.liblinearutil import problem

        return problem(job.task.y, sparse.csr_matrix(job.task.X))

    def train(self, job: Job, effort: Effort) -> Any:
        from liblinear.liblinearutil import train

        solver, task = self.options["solver"], job.task
        command = f"-s {solver} -c {task.C} -p {task.epsilon} -e {effort['tol']} -B -1 -q"
        return train(job.data, command + (f" -m {self.threads}" if self.threads > 1 else ""))

    def weights(self, model: Any) -> np.ndarray:
        w = np.ctypeslib.as_array(model.w, (model.get_nr_feature(),)).copy()
        return w if model.is_regression_model() else w * model.get_labels()[0]


class SnapML(Peer):
    """Snap ML works in float32: it is given float32, so that no conversion is timed."""

    converts = True

    def prepare(self, job: Job) -> Any:
        return job.task.X.astype(np.float32, copy=False)

    def train(self, job: Job, effort: Effort) -> Any:
        from snapml import SupportVectorMachine

        return SupportVectorMachine(
            loss=job.loss,
            regularizer=1 / job.task.C,
            tol=effort["tol"],
            max_iter=MANY,
            n_jobs=self.threads,
            fit_intercept=False,
            random_state=0,
        ).fit(job.data, job.task.y)


class Skglm(Peer):
    """Anderson coordinate descent on the dual; options: everything (start from all rows)."""

    def train(self, job: Job, effort: Effort) -> Any:
        from skglm import LinearSVC

        task = job.task
        start = len(task.y) if self.options["everything"] else 10
        return LinearSVC(
            C=task.C, tol=effort["tol"], p0=start, max_iter=MANY, fit_intercept=False
        ).fit(task.X, task.y)


class VowpalWabbit(Peer):
    """Online gradient descent over a cache file; options: arguments (of the command line).

    It multiplies w by (1 - l2 step) only on rows whose loss is positive, so its l2 weighs
    l2 / 2 ||w||^2 once per such row: with m of them at the optimum, l2 = 1 / (C m) gives our
    objective. m is taken from a LIBLINEAR fit, before the clock starts. The weights in memory
    lack that factor, hence they are read from a saved model. One thread learns, one parses.
    """

    def prepare(self, job: Job) -> Any:
        task = job.task
        folder = tempfile.TemporaryDirectory()
        rows = Path(folder.name) / "rows"
        _write_vw(task, rows)
        guess = Liblinear("", "", "", HINGES, options={"solver": 3})
        w = guess.fit(task, "hinge", {"tol": 0.1})
        inside = max(1, int(np.sum(task.y * (task.X @ w) < 1)))
        bits = max(10, math.ceil(math.log2(task.X.shape[1] + 1)))
        command = (
            f"-d {rows} --cache_file {rows}.cache --holdout_off --noconstant --quiet -b {bits} "
            f"--loss_function hinge --l2 {1 / (task.C * inside)} {self.options['arguments']}"
        )
        data = {"folder": folder, "command": command, "features": task.X.shape[1]}
        self.train(Job(task, job.loss, data), {"epochs": 2})  # writes the cache
        return data

    def train(self, job: Job, effort: Effort) -> Any:
        from vowpalwabbit import Workspace

        return Workspace(f"{job.data['command']} --passes {int(effort['epochs'])}"), job.data

    def weights(self, model: Any) -> np.ndarray:
        from vowpalwabbit import Workspace

        workspace, data = model
        file = Path(data["folder"].name) / "model"
        workspace.save(str(file))
        workspace.finish()
        saved = Workspace(f"-i {file} --quiet -t")
        w = np.array([saved.get_weight(j) for j in range(data["features"])])
        saved.finish()
        return w


def _write_vw(task: Task, rows: Path) -> None:
    from sklearn.datasets import dump_svmlight_file

    text = BytesIO()
    dump_svmlight_file(sparse.csr_matrix(task.X), task.y, text, zero_based=True)
    text.seek(0)
    with rows.open("wb") as out:
        out.writelines(line.replace(b" ", b" | ", 1) for line in text)


def _maxmargin() -> list[Peer]:
    tols = _tols(1e-1, 1e-2, 1e-3, 5e-4, 2e-4, 1e-4, 1e-5, 1e-6)
    return [
        MaxMargin(f"maxmargin {t}t", f"maxmargin {t}t", "maxmargin", HINGES + TUBES, tols, t)
        for t in (1, 2)
    ]


def _scikit_learn() -> list[Peer]:
    family, package = "LinearSVC/R", "scikit-learn"
    linear: list[Peer] = [
        ScikitLinear(f"{family} dual", family, package, HINGES + TUBES, options={"dual": True}),
        ScikitLinear(f"{family} primal", family, package, SQUARED, options={"dual": False}),
    ]
    steps = {
        "optimal averaged": {"learning_rate": "optimal", "average": True},
        "constant averaged": {"learning_rate": "constant", "eta0": 1e-3, "average": True},
    }
    linear_losses = ("hinge", "epsilon_insensitive")
    for name, options in steps.items():
        losses = linear_losses if name.startswith("optimal") else HINGES + TUBES
        linear.append(ScikitSGD(f"SGD {name}", "SGD", package, losses, EPOCHS, options=options))
    return linear


def _liblinear() -> list[Peer]:
    solvers = {
        3: ("hinge",),
        1: ("squared_hinge",),
        2: ("squared_hinge",),
        13: ("epsilon_insensitive",),
        12: ("squared_epsilon_insensitive",),
        11: ("squared_epsilon_insensitive",),
    }
    return [
        Liblinear(
            f"LIBLINEAR -s {solver} {threads}t",
            f"LIBLINEAR {threads}t",
            "liblinear-multicore",
            losses,
            threads=threads,
            options={"solver": solver},
        )
        for solver, losses in solvers.items()
        for threads in ((1,) if solver in (12, 13) else (1, 2))  # 12 and 13 have no threads
    ]


def _snapml() -> list[Peer]:
    tols = _tols(*(k * 10.0**-p for p in range(1, 9) for k in (3, 1)))
    return [SnapML(f"Snap ML {t}t", f"Snap ML {t}t", "snapml", HINGES, tols, t) for t in (1, 2)]


def _others() -> list[Peer]:
    ways = {"skglm": {"everything": False}, "skglm p0=n": {"everything": True}}
    steps = {
        "adaptive": "",
        "sgd 0.5": "--sgd -l 0.5",
    }
    hinge = ("hinge",)
    return [
        *(
            Skglm(name, "skglm", "skglm", hinge, TOLS[4:], options=way)
            for name, way in ways.items()
        ),
        *(
            VowpalWabbit(
                f"VW {name}", "VW 2t", "vowpalwabbit", hinge, PASSES, 2, {"arguments": step}
            )
            for name, step in steps.items()
        ),
    ]


def all_peers() -> list[Peer]:
    """List every variant whose package is installed."""
    everyone = [*_maxmargin(), *_liblinear(), *_snapml(), *_scikit_learn(), *_others()]
    installed = {d.name.lower() for d in importlib.metadata.distributions() if d.name}
    return [p for p in everyone if p.package in installed]


@dataclass
class LinearTrial:
    """A peer on a task with one loss: what the runner's child does.

    If `whole`, the conversion to the peer's own format is part of every fit, and timed.
    """

    peer: Peer
    task_name: str
    loss: str
    folder: Path
    whole: bool = False
    job: Job | None = None
    conversion: float = 0.0
    settle = 0.0

    @property
    def threads(self) -> int:
        return self.peer.threads

    def ready(self) -> None:
        task = load(self.task_name, self.folder)
        ladder = self.peer.ladder
        self.peer.fit(task.head(WARM_UP_ROWS), self.loss, ladder[len(ladder) // 2])
        self.job = Job(task, self.loss)
        seconds = []
        for _ in range(CONVERSIONS if self.peer.converts else 1):
            clock = time.perf_counter()
            self.job.data = self.peer.prepare(self.job)
            seconds.append(time.perf_counter() - clock)
        self.conversion = median(seconds) if self.peer.converts else 0.0

    def fit(self, effort: Effort) -> Any:
        if self.whole:
            self.job.data = self.peer.prepare(self.job)
        return self.peer.train(self.job, effort)

    def judge(self, model: Any) -> dict[str, float]:
        objective = primal(self.job.task, self.loss, self.peer.weights(model))
        return {"objective": objective, "conversion": self.conversion}
