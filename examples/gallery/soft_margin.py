"""C trades the width of the margin for slacks: a small one gives a wide margin."""

from _picture import clouds, save  # isort: skip - chooses the backend first

import matplotlib.pyplot as plt

from maxmargin import LinearSVC
from maxmargin.plots import MarginDisplay

X, y = clouds()
figure, panels = plt.subplots(1, 3, figsize=(15, 5.6), layout="constrained")
for panel, C in zip(panels, (0.01, 0.1, 10.0), strict=True):
    model = LinearSVC(C=C, loss="hinge", penalized_intercept=False).fit(X, y)
    MarginDisplay.from_estimator(model, X, y, ax=panel)
    proof = model.certificate_
    panel.set_title(f"C = {C:g}: margin {proof.margin:.2f}, slacks Σ ξ = {proof.slack_sum:.1f}")
save(figure, __file__)
