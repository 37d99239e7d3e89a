"""Timed fits in a child process: a peer that hangs or crashes is ended, and only that peer.

A `Trial` says what happens in the child: one peer on one task.
"""

import multiprocessing
import os
import platform
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any, Protocol

from benchmarks.peers import Effort, Peer

PREPARE_SECONDS = 900.0  # reading, converting and warming up: outside the clock, but not for ever
GRACE_SECONDS = 300.0  # reading the model and judging it
REPEAT_SECONDS = 0.3  # tiny fits are repeated for this long, MAX_REPEATS times at most
MAX_REPEATS = 30
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


class Trial(Protocol):
    """One peer on one task; what it holds must be picklable until it is ready."""

    threads: int
    settle: float  # seconds to wait before the clock starts

    def ready(self) -> None:
        """Load the data, put them in the peer's format, warm up."""

    def fit(self, effort: Effort) -> Any:
        """Train: the timed part."""

    def judge(self, model: Any) -> dict[str, float]:
        """Say how good the model is: at least {"objective": value}."""

    def predict(self, model: Any) -> int:
        """Predict, timed as well; the number of rows."""


class Child:
    """A process with one trial, ready to be timed."""

    def __init__(self, trial: Trial) -> None:
        context = multiprocessing.get_context("spawn")
        self.error: str | None = None
        self._settle = trial.settle
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs, trial), daemon=True)
        self._scratch = tempfile.TemporaryDirectory()  # ours, since a killed child cleans nothing
        with _environment(trial.threads, self._scratch.name):
            self._process.start()
        theirs.close()
        self.alive = "ready" in (self._receive(PREPARE_SECONDS) or {})

    def fit(self, effort: Effort, limit: float) -> dict[str, Any] | None:
        """Time one fit; None if it failed or took longer than the limit."""
        if not self.alive:
            return None
        self._pipe.send(effort)
        trained = self._receive(limit + self._settle)
        return self._receive(GRACE_SECONDS) if trained else None

    def predict(self, limit: float) -> float | None:
        """Rows per second with the last model; None if it failed or took longer than the limit."""
        if not self.alive:
            return None
        self._pipe.send(None)
        answer = self._receive(limit + self._settle)
        return answer and answer["rows"] / answer["seconds"]

    def _receive(self, seconds: float) -> dict[str, Any] | None:
        try:
            answer = self._pipe.recv() if self._pipe.poll(seconds) else {"limit": True}
        except EOFError:
            answer = {"error": "the process died"}
        if "error" not in answer and "limit" not in answer:
            return answer
        self.error = answer.get("error")
        self.close()
        return None

    def close(self) -> None:
        self.alive = False
        self._process.kill()
        self._process.join()
        self._pipe.close()
        self._scratch.cleanup()


@contextmanager
def _environment(threads: int, scratch: str) -> Iterator[None]:
    """Set what a child reads at its start: thread limits, and where temporary files go."""
    before = dict(os.environ)
    os.environ |= dict.fromkeys(THREAD_VARIABLES, str(threads)) | {"TMPDIR": scratch}
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _work(pipe: Connection, trial: Trial) -> None:
    import warnings

    warnings.simplefilter("ignore")
    try:
        trial.ready()
        pipe.send({"ready": True})
        model = None
        while True:
            effort = pipe.recv()
            time.sleep(trial.settle)
            if effort:
                model = None  # its memory is not held during the next fit
                model, point = _timed_fit(trial, effort)
                pipe.send({"trained": True})
                pipe.send(point | trial.judge(model))
            else:
                clock = time.perf_counter()
                rows = trial.predict(model)
                pipe.send({"rows": rows, "seconds": time.perf_counter() - clock})
    except EOFError:
        pass
    except Exception as error:  # noqa: BLE001 - whatever a peer raises is its result
        pipe.send({"error": f"{type(error).__name__}: {error}"})


def _timed_fit(trial: Trial, effort: Effort) -> tuple[Any, dict[str, Any]]:
    before = _restart_peak()
    cpu, clock = time.process_time(), time.perf_counter()
    model = trial.fit(effort)
    seconds, cpu = time.perf_counter() - clock, time.process_time() - cpu
    memory = _status("VmHWM") - before
    point = {"effort": effort, "seconds": seconds, "cpu": cpu, "memory_mb": memory}
    if (certificate := getattr(model, "certificate_", None)) is not None:
        point |= {"primal": certificate.primal, "dual": certificate.dual}
    return model, point


def _restart_peak() -> float:
    """Reset the kernel's record of peak memory; the memory held now, in MB."""
    refs = Path("/proc/self/clear_refs")
    if refs.exists():
        refs.write_text("5")
    return _status("VmRSS")


def _status(key: str) -> float:
    """Read one line of Linux's process status, in MB; nan elsewhere."""
    status = Path("/proc/self/status")
    if not status.exists():
        return float("nan")
    line = next(line for line in status.read_text().splitlines() if line.startswith(key))
    return int(line.split()[1]) / 1024


def repeat(child: Child, point: dict[str, Any], repeats: int, limit: float) -> None:
    """Repeat a fit; its seconds and its objective become medians."""
    times, cpus = point["times"], [point["cpu"]]
    while len(times) < repeats or (sum(times) < REPEAT_SECONDS and len(times) < MAX_REPEATS):
        again = child.fit(point["effort"], limit)
        if again is None:
            break
        times.append(again["seconds"])
        cpus.append(again["cpu"])
        point["objectives"].append(again["objective"])
    point |= {"seconds": median(times), "cpu": median(cpus)}
    point["objective"] = median(point["objectives"])


def circumstances(peer: Peer) -> dict[str, Any]:
    """What belongs to a peer's times: its version, when and on what they were taken."""
    found = {"family": peer.family, "version": peer.version, "threads": peer.threads}
    found |= {"date": date.today().isoformat(), "load": os.getloadavg()[0]}
    return found | {"cpu": machine()["cpu"]}


def machine() -> dict[str, Any]:
    model = platform.processor()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text().splitlines()
        model = next((x.split(":")[1].strip() for x in lines if x.startswith("model name")), model)
    return {"cpu": model, "cores": os.cpu_count(), "python": platform.python_version()}


def warn_if_busy() -> None:
    if (load := os.getloadavg()[0]) > 0.5:
        print(f"load average {load:.1f}: this machine is not idle, times will be too long")
