"""Draw docs/reliability.png: how often events happen that were given a probability.

python examples/reliability.py [docs/reliability.png]
"""

import sys

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from sklearn.calibration import CalibratedClassifierCV, calibration_curve
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from maxmargin import SVC


def main(path: str) -> None:
    X, y = make_classification(
        12_000, 12, n_informative=5, weights=[0.7], flip_y=0.1, class_sep=0.7, random_state=0
    )
    X, X_test, y, y_test = train_test_split(X, y, train_size=2_000, random_state=0)
    model = SVC(C=5.0).fit(X, y)
    peer = CalibratedClassifierCV(SVC(C=5.0), ensemble=False).fit(X, y)
    figure, (curves, shares) = plt.subplots(
        2, 1, figsize=(5.5, 6.5), sharex=True, height_ratios=[3, 1]
    )
    curves.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    for one, name, marker in ((model, "maxmargin", "o"), (peer, "CalibratedClassifierCV", "s")):
        P = one.predict_proba(X_test)[:, 1]
        happened, said = calibration_curve(y_test, P, n_bins=15)
        differ = (one.predict_proba(X_test).argmax(axis=1) != model.predict(X_test)).mean()
        label = f"{name}: log-loss {log_loss(y_test, P):.3f}, {100 * differ:.1f} % not as predict"
        curves.plot(said, happened, marker=marker, markersize=4, linewidth=1, label=label)
        shares.hist(P, bins=15, range=(0, 1), histtype="step")
    curves.set(ylabel="share that happened", title="SVC(C=5): 2,000 training, 10,000 test rows")
    curves.legend(fontsize=7)
    shares.set(xlabel="probability given", ylabel="test rows")
    figure.tight_layout()
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "docs/reliability.png")
