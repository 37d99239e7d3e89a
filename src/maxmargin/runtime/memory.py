"""How much memory a fit may use: what the machine has left, and what a container allows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

#: Where the system does not say.
_UNKNOWN = 1e9

#: The files of a control group with its limit and its use, and the line of memory.stat with the
#: cached file pages that it gives back when asked: version 2, version 1.
_FILES = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


def free_memory(proc: Path = Path("/proc"), groups: Path = Path("/sys/fs/cgroup")) -> float:
    """Bytes that can still be had; a gigabyte where the system does not tell."""
    return max(0.0, min([_available(proc), *_rooms(proc, groups)]))


def _available(proc: Path) -> float:
    """Count free pages, and those of cached files, which the kernel gives away when asked."""
    kilobytes = _numbers(proc / "meminfo").get("MemAvailable:")
    if kilobytes is not None:
        return 1024.0 * kilobytes
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return _UNKNOWN


def _rooms(proc: Path, groups: Path) -> Iterator[float]:
    """Yield what the control groups of this process leave: its own and all those around it.

    A container may see its own group as the root while the process's path is the host's: levels
    that do not exist are passed over.
    """
    for line in _text(proc / "self" / "cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        root = groups / "memory" if controllers else groups
        inside = Path(path.lstrip("/"))
        for level in (inside, *inside.parents):
            for limit, use, cached in _FILES:
                bounds = _text(root / level / limit).split(), _text(root / level / use).split()
                if all(bound and bound[0].isdigit() for bound in bounds):
                    reclaimable = _numbers(root / level / "memory.stat").get(cached, 0)
                    yield float(int(bounds[0][0]) - int(bounds[1][0]) + reclaimable)


def _numbers(file: Path) -> dict[str, int]:
    """Return the lines `name number` of a file."""
    words = (line.split() for line in _text(file).splitlines())
    return {word[0]: int(word[1]) for word in words if len(word) > 1 and word[1].isdigit()}


def _text(file: Path) -> str:
    """Return what the file says; nothing if it cannot be read."""
    try:
        return file.read_text()
    except OSError:
        return ""
