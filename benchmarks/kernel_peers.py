"""The peers on kernel machines: C-SVC and epsilon-SVR with a Gaussian kernel and an intercept.

`C`, `gamma`, `epsilon` mean the same to all of them. A peer's options: the type of the numbers it
is given, how they are stored, and its cache in MB (None: its default). Threads: `n_jobs` of
maxmargin, scikit-learn-intelex and ThunderSVM, OMP_NUM_THREADS of LIBSVM; scikit-learn has one.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.data import CLASSIFICATION, KERNEL_ONLY, REGRESSION, Matrix, Task, load
from benchmarks.peers import Effort, Job, Peer
from benchmarks.reference_objective import dual

TARGET = 1e-4  # relative suboptimality of the dual objective
LADDER = tuple({"tol": tol} for tol in (0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4, 1e-5))
OUR_LADDER = tuple({"tol": tol} for tol in (0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, TARGET))
LOSSES = ("hinge", "epsilon_insensitive")
CACHE_MB = 2048
ROWS_THAT_FIT = 5000  # their kernel matrix fits in every default cache
MIXED = (0.05, 0.5)  # shares of nonzeros where both dense and CSR are tried
LARGEST = 60_000
SMALL_ROWS = 300
WARM_UP_ROWS = 200
PREDICT_ROWS = 5000


# --- the problems ---


@dataclass(frozen=True)
class Spec:
    """One problem: a data set, how many of its rows, and the constants."""

    section: str
    set: str
    rows: int = LARGEST
    gamma: float | None = None  # None: 1 / (d var X), scikit-learn's "scale"
    C: float = 1.0
    test: str | None = None  # a set of the same columns, to count errors on

    @property
    def name(self) -> str:
        return f"{self.section}/{self.set}"

    def task(self, folder: Path) -> Task | None:
        """The task; None if the set is larger than what is compared."""
        task = load(self.set, folder)
        if self.section == "sets" and len(task.y) > self.rows:
            return None
        task = task.head(self.rows) if self.section == "small" else task.first(self.rows)
        return replace(task, C=self.C, gamma=self.gamma or _scale(task.X))


def _scale(X: Matrix) -> float:
    values, size = X.data if sparse.issparse(X) else X, X.shape[0] * X.shape[1]
    variance = float(np.sum(values**2)) / size - float(np.sum(values) / size) ** 2
    return 1.0 / (X.shape[1] * variance)


MAIN = (
    Spec("main", "a9a", gamma=0.05),
    Spec("main", "mnist_odd", 20_000, 0.02, 10.0),
    Spec("main", "covtype", 30_000, 0.1, 10.0),
    Spec("main", "skin", 50_000, 1.0, 10.0),
)
SAME_ROWS = {"mnist8"}  # as mnist_odd
SMALL = (
    "heart_scale",
    "german",
    "splice",
    "spambase",
    "a9a",
    "vowel",
    "satimage",
    "abalone",
    "bike",
)
SPECS = (
    *MAIN,
    *(Spec("small", name, SMALL_ROWS) for name in SMALL),
    *(Spec("sets", n) for n in CLASSIFICATION | KERNEL_ONLY | REGRESSION if n not in SAME_ROWS),
)


# --- the peers ---


class KernelPeer(Peer):
    """A peer whose model has scikit-learn's attributes."""

    single = False  # whether float32 input may speed it up

    def prepare(self, job: Job) -> Any:
        X = job.task.X.astype(
            self.options["dtype"]
        )  # a copy: ThunderSVM writes to what it is given
        if self.options["storage"] == "csr":
            return sparse.csr_matrix(X)
        return X.toarray() if sparse.issparse(X) else X

    def parameters(self, task: Task, effort: Effort) -> dict[str, Any]:
        tube = {"epsilon": task.epsilon} if task.kind == "regression" else {}
        return tube | {"C": task.C, "gamma": task.gamma, "tol": effort["tol"]}

    def cache(self, keyword: str) -> dict[str, float]:
        size = self.options["cache"]
        return {} if size is None else {keyword: size}

    def dual_point(self, model: Any) -> tuple[np.ndarray, np.ndarray]:
        """Rows and coefficients of the support vectors."""
        coef = model.dual_coef_  # sparse if the samples are, in scikit-learn's manner
        return model.support_, coef.toarray() if sparse.issparse(coef) else coef

    def predict(self, model: Any, X: Any) -> None:
        model.predict(X)


class MaxMargin(KernelPeer):
    """This library."""

    proves, single = True, True

    def train(self, job: Job, effort: Effort) -> Any:
        from maxmargin import SVC, SVR

        machine = SVR if job.task.kind == "regression" else SVC
        shared = self.parameters(job.task, effort) | self.cache("cache_size")
        return machine(n_jobs=self.threads, **shared).fit(job.data, job.task.y)


class Intelex(KernelPeer):
    """oneDAL under scikit-learn's interface."""

    single = True

    def train(self, job: Job, effort: Effort) -> Any:
        from sklearnex.svm import SVC, SVR

        machine = SVR if job.task.kind == "regression" else SVC
        shared = self.parameters(job.task, effort) | self.cache("cache_size")
        return machine(n_jobs=self.threads, **shared).fit(job.data, job.task.y)


class ThunderSVM(KernelPeer):
    """It computes in float32, whatever it is given; its cache is what max_mem_size leaves."""

    def train(self, job: Job, effort: Effort) -> Any:
        from thundersvm import SVC, SVR

        machine = SVR if job.task.kind == "regression" else SVC
        shared = self.parameters(job.task, effort) | self.cache("max_mem_size")
        model = machine(n_jobs=self.threads, **shared).fit(job.data, job.task.y)
        if model is None:
            raise RuntimeError("ThunderSVM says that training failed")
        return model


class Scikit(KernelPeer):
    """scikit-learn's copy of LIBSVM: float32 input is converted."""

    def train(self, job: Job, effort: Effort) -> Any:
        from sklearn.svm import SVC, SVR

        machine = SVR if job.task.kind == "regression" else SVC
        shared = self.parameters(job.task, effort) | self.cache("cache_size")
        return machine(**shared).fit(job.data, job.task.y)


class Libsvm(KernelPeer):
    """LIBSVM itself: its own rows of (index, double) are made before the clock starts."""

    def prepare(self, job: Job) -> Any:
        from libsvm.svmutil import svm_problem

        return svm_problem(job.task.y, sparse.csr_matrix(job.task.X))

    def train(self, job: Job, effort: Effort) -> Any:
        from libsvm.svmutil import svm_train

        task = job.task
        command = f"-s {3 if task.kind == 'regression' else 0} -t 2 -g {task.gamma!r} -c {task.C}"
        command += f" -p {task.epsilon} -e {effort['tol']} -q"
        if (cache := self.options["cache"]) is not None:
            command += f" -m {cache}"
        return svm_train(job.data, command)

    def dual_point(self, model: Any) -> tuple[np.ndarray, np.ndarray]:
        rows = np.array(model.get_sv_indices()) - 1
        return rows, np.array(model.get_sv_coef()).T

    def predict(self, model: Any, X: Any) -> None:
        from libsvm.svmutil import svm_predict

        svm_predict([], X, model, "-q")


KINDS: tuple[tuple[type[KernelPeer], str, str, tuple[int, ...]], ...] = (
    (MaxMargin, "maxmargin", "maxmargin", (2, 1)),
    (Intelex, "intelex", "scikit-learn-intelex", (2, 1)),
    (ThunderSVM, "ThunderSVM", "thundersvm-cpu", (2, 1)),
    (Libsvm, "LIBSVM", "libsvm-official", (2, 1)),
    (Scikit, "scikit-learn", "scikit-learn", (1,)),
)


def all_peers(task: Task, thorough: bool) -> Iterator[KernelPeer]:
    """Every peer with every setting that could matter, the most promising first.

    Not thorough: float32 only for those that compute with it, no second cache where the whole
    kernel matrix fits in the first.
    """
    both = ("float64", "float32")
    caches = (CACHE_MB, None) if thorough or len(task.y) > ROWS_THAT_FIT else (None,)
    for kind, label, package, threads in KINDS:
        types = both if kind.single or thorough else both[:1]
        stores, sizes = _storages(task), caches
        if kind is Libsvm:
            types, stores = both[:1], ("csr",)
        if kind is MaxMargin:
            sizes = (None,)
        for t, dtype, store, cache in product(threads, types, stores, sizes):
            family = label if threads == (1,) else f"{label} {t}t"
            name = f"{family} {dtype} {store}" + (f" {cache} MB" if cache else "")
            options = {"dtype": dtype, "storage": store, "cache": cache}
            ladder = OUR_LADDER if kind.proves else LADDER
            yield kind(name, family, package, LOSSES, ladder, t, options)


def _storages(task: Task) -> tuple[str, ...]:
    """As it is given, and the other way too where enough of the values are zero, but not most."""
    given, other = ("csr", "dense") if sparse.issparse(task.X) else ("dense", "csr")
    values = task.X.data if given == "csr" else task.X
    share = np.count_nonzero(values) / (task.X.shape[0] * task.X.shape[1])
    return (given, other) if MIXED[0] <= share <= MIXED[1] else (given,)


@dataclass
class KernelTrial:
    """A peer on a kernel problem: what the runner's child does."""

    peer: KernelPeer
    spec: Spec
    folder: Path
    job: Job | None = None
    batch: Any = None

    @property
    def threads(self) -> int:
        return self.peer.threads

    @property
    def settle(self) -> float:
        """OpenBLAS's threads, used to judge, spin on for a while on every core."""
        return 0.2 if self.threads > 1 else 0.0

    def ready(self) -> None:
        task = self.spec.task(self.folder)
        loss = LOSSES[task.kind == "regression"]
        small = Job(task.head(WARM_UP_ROWS), loss)
        small.data = self.peer.prepare(small)
        model = self.peer.train(small, {"tol": 1e-3})
        self.job = Job(task, loss)
        self.job.data = self.peer.prepare(self.job)
        self.batch = KernelPeer.prepare(self.peer, Job(task.first(PREDICT_ROWS), loss))
        self.peer.predict(model, self.batch[:WARM_UP_ROWS])

    def fit(self, effort: Effort) -> Any:
        return self.peer.train(self.job, effort)

    def judge(self, model: Any) -> dict[str, float]:
        support, coef = self.peer.dual_point(model)
        found = {"objective": dual(self.job.task, support, coef), "support": len(support)}
        if self.spec.test is not None:
            test = load(self.spec.test, self.folder)
            X = KernelPeer.prepare(self.peer, Job(test, self.job.loss))
            found["test_error"] = float(np.mean(model.predict(X) != test.y))
        return found

    def predict(self, model: Any) -> int:
        self.peer.predict(model, self.batch)
        return self.batch.shape[0]
