"""Check that the folders of src/core include leftwards only, and nanobind in python/ alone."""

import re
import sys
from pathlib import Path

CORE = Path(__file__).parents[1] / "src" / "core"

#: Each folder may include itself and those to its left; the three kinds of solvers not each other.
ORDER = [
    "common",
    "data",
    "objective",
    "linalg",
    "kernels",
    "linear",
    "stochastic",
    "smo",
    "python",
]
SOLVERS = {"linear", "stochastic", "smo"}


def faults(path: Path) -> list[str]:
    """Return what is wrong with the includes of one file."""
    folder, found = path.relative_to(CORE).parts[0], []
    if folder not in ORDER:
        return [f"{path}: no folder of the order {ORDER}"]
    for included in re.findall(r'#include [<"]([^">]+)[">]', path.read_text()):
        other = included.split("/")[0]
        if other == "nanobind" and folder != "python":
            found.append(f"{path} includes {included}: only python/ may")
        if other not in ORDER or other == folder:
            continue
        apart = folder in SOLVERS and other in SOLVERS
        if ORDER.index(other) > ORDER.index(folder) or apart:
            found.append(f"{path} includes {included}: {folder}/ may not include {other}/")
    return found


if __name__ == "__main__":
    files = sorted(path for path in CORE.rglob("*") if path.suffix in (".hpp", ".cpp"))
    wrong = [fault for path in files for fault in faults(path)]
    print("\n".join(wrong) or f"{len(files)} files of the core include leftwards only")
    sys.exit(bool(wrong))
