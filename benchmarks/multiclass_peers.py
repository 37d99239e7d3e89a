"""The peers on linear machines of several classes: Crammer-Singer and one against the rest.

Parameters map to ours as in `peers.py`; no intercept, one thread. `multi_class` of a problem is
scikit-learn's word for it.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.data import Task, load
from benchmarks.peers import TOLS, Effort, Job, Liblinear, Peer, ScikitLinear, SnapML
from benchmarks.reference_objective import primal_of_classes

WARM_UP_ROWS = 1000


@dataclass(frozen=True)
class Spec:
    """One problem: a data set with its C, how classes are told apart, the loss."""

    set: str
    C: float
    multi_class: str
    loss: str

    @property
    def name(self) -> str:
        return f"{self.multi_class}/{self.loss}/{self.set}"

    def task(self, folder: Path) -> Task:
        task = replace(load(self.set, folder), C=self.C)
        return replace(task, X=_log_counts(task.X)) if self.set == "news20" else task


def _log_counts(X: sparse.csr_matrix) -> sparse.csr_matrix:
    """log(1 + count), rows of length 1."""
    X = X.copy()
    X.data = np.log1p(X.data)
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X.data /= np.repeat(np.where(lengths > 0.0, lengths, 1.0), np.diff(X.indptr))
    return X


SETS = {"news20": 1.0, "usps": 1.0, "pendigits": 1.0, "mnist": 0.01}
KINDS = (("crammer_singer", "hinge"), ("ovr", "hinge"), ("ovr", "squared_hinge"))
SPECS = tuple(Spec(name, C, *kind) for kind in KINDS for name, C in SETS.items())


class ClassPeer(Peer):
    """A peer whose model has a row of weights for each class; options: multi_class."""

    def weights(self, model: Any) -> np.ndarray:
        return np.asarray(model.coef_, dtype=np.float64)


class MaxMarginClasses(ClassPeer):
    """This library."""

    proves = True

    def train(self, job: Job, effort: Effort) -> Any:
        from maxmargin import LinearSVC

        shared = {"C": job.task.C, "loss": job.loss, "tol": effort["tol"], "max_iter": None}
        return LinearSVC(fit_intercept=False, **shared, **self.options).fit(job.task.X, job.task.y)


class ScikitClasses(ClassPeer, ScikitLinear):
    """scikit-learn's copy of LIBLINEAR; options: dual as well."""


class LiblinearClasses(Liblinear):
    """LIBLINEAR; options: solver (its -s)."""

    def weights(self, model: Any) -> np.ndarray:
        K = model.get_nr_class()
        W = np.ctypeslib.as_array(model.w, (model.get_nr_feature(), K))
        return W.T[np.argsort(model.get_labels())].copy()


class SnapClasses(ClassPeer, SnapML):
    """Snap ML, one against the rest."""


def peers_of(spec: Spec) -> list[Peer]:
    """List the peers of a problem, ours first."""
    options = {"multi_class": spec.multi_class}
    losses = (spec.loss,)
    tols = tuple({"tol": tol} for tol in (1e-3, 5e-4, 1e-4))
    peers: list[Peer] = [
        MaxMarginClasses("maxmargin", "maxmargin", "maxmargin", losses, tols, 1, options)
    ]
    joint, squared = spec.multi_class == "crammer_singer", spec.loss == "squared_hinge"
    for solver in (4,) if joint else (1, 2) if squared else (3,):
        name, own = f"LIBLINEAR -s {solver}", {"solver": solver}
        package = "liblinear-multicore"
        peers.append(LiblinearClasses(name, "LIBLINEAR", package, losses, TOLS, 1, own))
    for dual in (True, False) if squared else (True,):
        name, own = f"LinearSVC {'dual' if dual else 'primal'}", options | {"dual": dual}
        peers.append(ScikitClasses(name, "LinearSVC", "scikit-learn", losses, TOLS, 1, own))
    if not joint:
        tols = tuple({"tol": k * 10.0**-p} for p in range(1, 8) for k in (3, 1))
        peers.append(SnapClasses("Snap ML", "Snap ML", "snapml", losses, tols, 1))
    return peers


@dataclass
class ClassTrial:
    """A peer on a problem of several classes: what the runner's child does."""

    peer: Peer
    spec: Spec
    folder: Path
    job: Job | None = None
    threads: int = 1
    settle = 0.0

    def ready(self) -> None:
        task, ladder = self.spec.task(self.folder), self.peer.ladder
        self.peer.fit(task.head(WARM_UP_ROWS), self.spec.loss, ladder[len(ladder) // 3])
        self.job = Job(task, self.spec.loss)
        self.job.data = self.peer.prepare(self.job)

    def fit(self, effort: Effort) -> Any:
        return self.peer.train(self.job, effort)

    def judge(self, model: Any) -> dict[str, float]:
        W, spec = self.peer.weights(model), self.spec
        return {"objective": primal_of_classes(self.job.task, spec.multi_class, spec.loss, W)}
