"""A fit leaves X where it is: what it takes beside it is measured in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FITS = """
import sys
import numpy as np
from pathlib import Path
from scipy import sparse
from synthetic import free_svc, free_svr
from maxmargin import LinearSVC, LinearSVR, PegasosClassifier

free = {"penalized_intercept": False, "loss": "hinge"}

def peak():
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])

storage, dtype = sys.argv[1:3]
rng = np.random.default_rng(0)
n, d = 40_000, 256
X = rng.standard_normal((n, d), dtype=np.float32).astype(dtype)
y = np.sign(X[:, 0] + rng.standard_normal(n))
if storage == "csr":
    X[rng.random((n, d)) < 0.7] = 0.0
    X = sparse.csr_array(X)
size = X.nbytes if storage == "dense" else X.data.nbytes + X.indices.nbytes
few = slice(9000)
for name, model in {
    "newton, hinge": free_svc(**free, solver="newton"),
    "newton, squared hinge": free_svc(solver="newton", penalized_intercept=False),
    "newton, regression": free_svr(solver="newton", penalized_intercept=False),
    "dual_cd": free_svc(**free, solver="dual_cd", C=1e-4),
    "sgd": free_svc(**free, solver="sgd", C=1e-4, tol=0.1),
    "pegasos": PegasosClassifier(lam=0.1, tol=0.1),
}.items():
    model.fit(X[few], y[few])  # what is loaded and kept once
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    before = peak()
    model.fit(X, y)
    print(f"{name}: {(peak() - before) / size}")
"""


@pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="the peak is counted on Linux only"
)
@pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="ASAN keeps memory")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("storage", ["dense", "csr"])
def test_a_fit_takes_no_copy_of_the_rows(storage, dtype):
    """Only of a sample of an eighth of the rows; and there are some numbers for each row."""
    command = [sys.executable, "-W", "ignore", "-c", FITS, storage, dtype]
    at_once = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536"}  # freed memory is given back
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, env=at_once
    )
    assert done.returncode == 0, done.stderr
    shares = dict(line.split(": ") for line in done.stdout.splitlines())
    assert len(shares) == 6
    assert {name: share for name, share in shares.items() if float(share) > 0.45} == {}
