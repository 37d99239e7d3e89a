"""Bounds against reality: the exact leave-one-out error, and what one fit says about it."""

from _picture import clouds, save  # isort: skip - chooses the backend first

import matplotlib.pyplot as plt
import numpy as np

from maxmargin import SVC, theory

X, y = clouds(150)
fresh, labels = clouds(20_000, seed=1)
Cs = np.geomspace(0.05, 50.0, 9)
LINES = {
    "leave_one_out": ("leave-one-out, exact", "-", "#0072B2"),
    "span": ("span (an estimate)", "--", "#009E73"),
    "removal_bound": ("removal bound", "-.", "#CC79A7"),
    "xi_alpha": ("ξα bound", ":", "#E69F00"),
    "support_vector_bound": ("support vectors / n", "-", "#D55E00"),
    "margin_bound": ("margin bound (not below 1: vacuous)", "--", "black"),
}
values, true = {name: [] for name in LINES}, []
for C in Cs:
    model = SVC(C=C, gamma=0.5).fit(X, y)
    true.append(1.0 - model.score(fresh, labels))
    for name, course in values.items():
        course.append(getattr(theory, name)(model, X, y).value)

figure, axes = plt.subplots(figsize=(8, 5.2), layout="constrained")
for name, (label, dash, colour) in LINES.items():
    axes.plot(Cs, values[name], dash, color=colour, marker="o", ms=3, label=label)
axes.plot(Cs, true, color="0.4", lw=4, alpha=0.4, label="error on 20,000 fresh samples")
axes.set(xscale="log", yscale="log", xlabel="C", ylabel="error")
axes.legend(fontsize="small", ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.12))
save(figure, __file__)
