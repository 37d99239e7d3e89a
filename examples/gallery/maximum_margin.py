"""Many lines separate two classes; one has the widest margin, and few samples decide it."""

from _picture import save, separated  # isort: skip - chooses the backend first

import matplotlib.pyplot as plt
import numpy as np

from maxmargin import LinearSVC, theory
from maxmargin.plots import MarginDisplay

X, y = separated()
model = LinearSVC(C=np.inf, loss="hinge", penalized_intercept=False, tol=1e-6).fit(X, y)
widest = theory.maximum_margin(model, X, y)

figure, (some, best) = plt.subplots(1, 2, figsize=(11, 5.2), layout="constrained")
ends = np.array([-3.0, 3.0])
for turn in np.linspace(-0.3, 0.3, 41):
    rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    u = rotation @ widest.direction
    values = X @ u
    margin = 0.5 * (values[y == 1].min() - values[y == -1].max())
    if margin > 0.0:
        offset = -0.5 * (values[y == 1].min() + values[y == -1].max())
        width = 0.5 + 3.0 * margin / widest.value
        some.plot(ends, -(offset + u[0] * ends) / u[1], color="#009E73", lw=width, alpha=0.35)
some.scatter(*X[y == -1].T, c="#0072B2", marker="o", s=26, zorder=3)
some.scatter(*X[y == 1].T, c="#D55E00", marker="s", s=26, zorder=3)
some.set(title="lines that separate, thicker with their margin", xlabel="feature 0")
some.set(ylabel="feature 1", xlim=ends, ylim=(-3, 3), aspect="equal")

MarginDisplay.from_estimator(model, X, y, ax=best)
best.set_title(f"the widest margin: γ = {widest.value:.3f} = 1/‖w‖")
save(figure, __file__)
