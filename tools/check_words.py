"""Refuse words that a reader who knows SVMs would have to guess at; docs/notation.md has better."""

import re
import subprocess
import sys
from pathlib import Path

#: What the words stand for in the field's English.
REFUSED = {
    r"foretell\w*|foretold": "predicted",
    r"\btaste[sd]?\b": "warm-up pass on a subsample",
    r"lend(s|er|ing)?\b|borrow(s|ed)?\b": "subsampled Hessian",
    r"pour(s|ed)?\b": "fill_to_sum",
    r"sway\b": "drift",
    r"\bin vain\b": "without improvement",
    r"\bmade rows\b": "synthetic rows",
    r"\bin turns\b": "interleaved",
    r"\bmend(s|ed|ing)?\b": "fix",
    r"\banew\b": "again",
    r"\bhope\b|\bhopeful\b": "StallDetector, candidates",
    r"_per_look\b|\bat each look\b|\blooks? at the gap\b|\blooks? in a row\b": "gap check",
    r"\bwho(ever)? waits\b|\bnobody listens\b|_per_word\b|say_so_far": "report progress",
    r"\bin_vain\b": "without progress",
    r"\bleaves? no digits\b": "loses all digits",
    r"\bis no (kernel|sound)\b": "is not a valid",
    r"\bas (far as )?numbers can(not)? tell\b": "counts as none: lost in rounding",
    r"\bhas no say\b": "does not count",
    r"\btime to speak of\b": "negligible time",
    r"\brows? in play\b": "active set",
    r"\bset aside\b": "shrunk",
    r"\blook_at\w*": "summarise, violations of",
    r"_looks?\b|\blooked =|\bpulls?_ij\b": "gap check, score",
    r"task_name ?==? ?[\"']look|\b(last|second|first) looks?\b": "gap check",
}

READ = (".py", ".hpp", ".cpp", ".md", ".toml")


def tracked() -> list[Path]:
    """Return the files that git tracks and whose words count."""
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True)
    paths = [Path(name) for name in listed.stdout.splitlines()]
    return [path for path in paths if path.suffix in READ and path.name != Path(__file__).name]


def found(path: Path) -> list[str]:
    """Return each refused word of a file, with its line and what to say instead."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [
        f"{path}:{number}: {match[0]!r}: say {instead!r}"
        for number, line in enumerate(lines, 1)
        for refused, instead in REFUSED.items()
        for match in [re.search(refused, line, re.IGNORECASE)]
        if match
    ]


if __name__ == "__main__":
    wrong = [line for path in tracked() if path.exists() for line in found(path)]
    print("\n".join(wrong) or "no refused words")
    sys.exit(bool(wrong))
