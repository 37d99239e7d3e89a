"""Several classes: the multiclass hinge poses one problem, one against the rest poses three."""

from _picture import save  # isort: skip - chooses the backend first

import matplotlib.pyplot as plt
from sklearn.datasets import make_blobs

from maxmargin import LinearSVC
from maxmargin.plots import MarginDisplay

CENTRES = [(-3.0, 0.0), (0.0, 0.6), (3.0, 0.0)]
X, y = make_blobs(150, centers=CENTRES, cluster_std=0.9, random_state=0)

figure, panels = plt.subplots(1, 2, figsize=(12, 5.6), layout="constrained")
for panel, (multi_class, name) in zip(
    panels,
    {"ovr": "one against the rest", "crammer_singer": "multiclass hinge"}.items(),
    strict=True,
):
    model = LinearSVC(
        C=1.0, loss="hinge", multi_class=multi_class, fit_intercept=True, penalized_intercept=True
    ).fit(X, y)
    MarginDisplay.from_estimator(model, X, y, ax=panel)
    panel.set_title(f"{name}: {100 * model.score(X, y):.0f} % right on the samples")
save(figure, __file__)
