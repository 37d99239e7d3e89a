"""The tool that compares scikit-learn's example gallery: a script of two figures, with both."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

TOOL = Path(__file__).resolve().parent.parent / "tools" / "sklearn_gallery.py"
HEAD = "import matplotlib.pyplot as plt\nimport numpy as np\nfrom sklearn.svm import SVC\n"
FIT = "X = np.arange(8.0)[:, np.newaxis]\nmodel = SVC(tol=1e-6).fit(X, X[:, 0] > 3)\n"
DRAW = "plt.plot(model.decision_function(X))\nplt.show()\n"


@pytest.mark.slow
def test_scripts_are_compared(tmp_path):
    folder = tmp_path / "examples" / "svm"
    folder.mkdir(parents=True)
    module = "plt.figure(); plt.title(type(model).__module__)\nplt.show()\n"
    (folder / "plot_alike.py").write_text(HEAD + FIT + DRAW + DRAW)
    (folder / "plot_other.py").write_text(HEAD + FIT + module)
    (folder / "plot_data.py").write_text(HEAD + "from sklearn.datasets import x\nfetch_x()\n")
    (folder / "plot_none.py").write_text("import sklearn\n")
    command = [sys.executable, TOOL, tmp_path, "--out", tmp_path / "out"]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    rows = [line.split(" | ") for line in run.stdout.splitlines()[2:]]
    alike, data, other = sorted(rows, key=lambda cells: cells[0])
    assert alike[:3] == ["| svm/plot_alike.py", "2", "0.00 %"]
    assert float(alike[3]) < 1e-3
    assert "needs a download (fetch_x)" in data[1]
    assert float(other[2].split()[0]) > 0.1
