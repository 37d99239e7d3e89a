"""Pegasos beside its theorem: the mean of the points, the last one, and the projection."""

from _picture import save  # isort: skip - chooses the backend first

import itertools

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from maxmargin import teaching, theory

LAM = 0.01
X, y = load_breast_cancer(return_X_y=True)
X = scale(X)
X /= np.linalg.norm(X, axis=1).max()

figure, (rates, lengths) = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained")
for projection, dash in ((False, "-"), (True, "--")):
    rate = theory.pegasos_rate(X, y, LAM, max_steps=20_000, projection=projection)
    name = "with projection" if projection else "no projection"
    rates.plot(rate.steps, rate.bounds, dash, color="0.5", label=f"bound, {name}")
    rates.plot(rate.steps, rate.last, dash, color="#D55E00", label=f"last point, {name}")
    rates.plot(rate.steps, rate.suboptimality, dash, color="#0072B2", label=f"mean, {name}")
    run = teaching.pegasos(X, y, LAM, projection=projection, random_state=0)
    norms = [np.linalg.norm(step.w) for step in itertools.islice(run, 2000)]
    lengths.plot(np.arange(1, 2001), norms, dash, lw=1.0, color="#0072B2", label=name)
rates.set(title="F(w) − F*", xlabel="step T", xscale="log", yscale="log")
rates.legend(fontsize="small")
lengths.axhline(1 / np.sqrt(LAM), color="0.5", ls=":", label="1/√λ")
lengths.set(title="‖w_t‖: the first steps are long", xlabel="step t", xscale="log", yscale="log")
lengths.legend()
save(figure, __file__)
