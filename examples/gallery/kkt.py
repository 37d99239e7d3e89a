"""The three cases of the KKT conditions, in the plane of the samples and in that of (y f, α)."""

from _picture import clouds, save  # isort: skip - chooses the backend first

import matplotlib.pyplot as plt

from maxmargin import SVC
from maxmargin.plots import MarginDisplay

CASES = {
    1: ("on the edge: 0 < α < C, y f = 1", "#009E73", "o"),
    2: ("at the bound: α = C, y f ≤ 1", "#D55E00", "s"),
    3: ("away: α = 0, y f ≥ 1", "#0072B2", "^"),
}

X, y = clouds()
model = SVC(C=1.0, gamma=0.5, tol=1e-6).fit(X, y)
samples = model.samples(X, y)

figure, (plane, conditions) = plt.subplots(1, 2, figsize=(12, 5.6), layout="constrained")
MarginDisplay.from_estimator(model, X, y, ax=plane)
allowed = [samples.margin.min(), 1.0, 1.0, samples.margin.max()]
conditions.plot(allowed, [1.0, 1.0, 0.0, 0.0], color="0.75", lw=7, label="what KKT allow")
for case, (name, colour, marker) in CASES.items():
    of_case = samples[samples.case == case]
    label = f"{name}: {len(of_case)} samples"
    conditions.scatter(
        of_case.margin, of_case.alpha, c=colour, marker=marker, zorder=3, label=label
    )
worst = samples.violation.max()
conditions.set(title=f"all conditions hold within {worst:.0e}", xlabel="y f(x)", ylabel="α")
conditions.legend(loc="center left", fontsize="small")
save(figure, __file__)
