"""Timed fits in a child process: a peer that hangs or crashes is ended, and only that peer."""

import multiprocessing
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from benchmarks.data import load
from benchmarks.neutral import primal
from benchmarks.peers import Effort, Job, Peer, peer_named

WARM_UP_ROWS = 1000
PREPARE_SECONDS = 900.0  # reading, converting and warming up: outside the clock, but not for ever
GRACE_SECONDS = 30.0  # reading the weights and judging them
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


class Child:
    """A process with one peer, one task and one loss, ready to be timed."""

    def __init__(self, peer: Peer, task_name: str, loss: str, data: Path) -> None:
        context = multiprocessing.get_context("spawn")
        self.error: str | None = None
        self._pipe, theirs = context.Pipe()
        arguments = (theirs, peer.name, task_name, loss, data)
        self._process = context.Process(target=_work, args=arguments, daemon=True)
        self._scratch = tempfile.TemporaryDirectory()  # ours, since a killed child cleans nothing
        with _environment(peer.threads, self._scratch.name):
            self._process.start()
        theirs.close()
        self.alive = "ready" in (self._receive(PREPARE_SECONDS) or {})

    def fit(self, effort: Effort, limit: float) -> dict[str, Any] | None:
        """Time one fit; None if it failed or took longer than the limit."""
        if not self.alive:
            return None
        self._pipe.send(effort)
        trained = self._receive(limit)
        return self._receive(GRACE_SECONDS) if trained else None

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


def _work(pipe: Connection, peer_name: str, task_name: str, loss: str, data: Path) -> None:
    import warnings

    warnings.simplefilter("ignore")
    try:
        peer, task = peer_named(peer_name), load(task_name, data)
        small = Job(task.head(WARM_UP_ROWS), loss)
        small.data = peer.prepare(small)
        peer.weights(peer.train(small, peer.ladder[len(peer.ladder) // 2]))
        job = Job(task, loss)
        job.data = peer.prepare(job)
        pipe.send({"ready": True})
        while True:
            pipe.send(_timed_fit(peer, job, pipe))
    except EOFError:
        pass
    except Exception as error:  # noqa: BLE001 - whatever a peer raises is its result
        pipe.send({"error": f"{type(error).__name__}: {error}"})


def _timed_fit(peer: Peer, job: Job, pipe: Connection) -> dict[str, Any]:
    effort = pipe.recv()
    before = _restart_peak()
    cpu, clock = time.process_time(), time.perf_counter()
    model = peer.train(job, effort)
    seconds, cpu = time.perf_counter() - clock, time.process_time() - cpu
    memory = _status("VmHWM") - before
    pipe.send({"trained": True})
    point = {"effort": effort, "seconds": seconds, "cpu": cpu, "memory_mb": memory}
    if (certificate := getattr(model, "certificate_", None)) is not None:
        point |= {"primal": certificate.primal, "dual": certificate.dual}
    return point | {"objective": primal(job.task, job.loss, peer.weights(model))}


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
