"""SMO, step by step: two α at a time, until no sample violates its KKT condition."""

from _picture import clouds, save  # isort: skip - chooses the backend first

import matplotlib.pyplot as plt
import numpy as np

from maxmargin import SVC, teaching

X, y = clouds(40)
steps = list(teaching.smo(X, y, C=1.0, random_state=0))
optimum = SVC(C=1.0, kernel="linear", tol=1e-6).fit(X, y).certificate_.dual

figure, panels = plt.subplots(2, 3, figsize=(14, 8.4), layout="constrained")
u, v = np.meshgrid(np.linspace(-4, 4, 100), np.linspace(-4, 4, 100))
shown = np.unique(np.geomspace(1, len(steps), 4).astype(int))[:4]
for panel, number in zip(panels.flat, shown, strict=False):
    step = steps[number - 1]
    w = (step.alpha * y) @ X
    lines = {"levels": [-1, 0, 1], "colors": "black", "linestyles": ["--", "-", "--"]}
    panel.contour(u, v, w[0] * u + w[1] * v + step.b, **lines)
    for label, colour, marker in ((-1, "#0072B2", "o"), (1, "#D55E00", "s")):
        of = y == label
        panel.scatter(*X[of].T, c=colour, marker=marker, s=14 + 90 * step.alpha[of])
    panel.scatter(*X[[step.i, step.j]].T, s=260, facecolors="none", edgecolors="black", lw=1.6)
    panel.set(title=f"step {number}: {step.n_violators} violators", aspect="equal")
    panel.set(xlim=(-4, 4), ylim=(-4, 4))

dual, clips = panels.flat[4:]
numbers = np.arange(1, len(steps) + 1)
dual.plot(numbers, [optimum - step.dual for step in steps], color="#0072B2")
dual.set(title="optimum − dual value, which never rises", xlabel="step", yscale="log", xscale="log")
clips.plot(numbers, [step.high - step.low for step in steps], ".", color="0.7", label="H − L")
kept = [step.low < step.unclipped < step.high for step in steps]
share = np.cumsum(kept) / numbers
clips.plot(numbers, share, color="#D55E00", label="share of steps that need no clip")
clips.set(title="the box of a pair", xlabel="step", xscale="log")
clips.legend()
save(figure, __file__)
