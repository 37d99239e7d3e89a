"""Step sizes: why not summable, and why square summable."""

from _picture import clouds, save  # isort: skip - chooses the backend first

import matplotlib.pyplot as plt
import numpy as np

from maxmargin import LinearSVC
from maxmargin.solvers.stochastic import schedules

LAM, STEPS = 0.05, 20_000
X, y = clouds(200)
optimum = (
    LAM
    * LinearSVC(lam=LAM, loss="hinge", fit_intercept=False, tol=1e-9).fit(X, y).certificate_.dual
)
looks = set(np.unique(np.geomspace(1, STEPS, 120).astype(int)))


def run(step_of):
    """Return F(w_t) − F* along a run of SGD with these steps."""
    rng, w, course = np.random.default_rng(0), np.array([-4.0, 6.0]), []
    for t in range(1, STEPS + 1):
        i = rng.integers(len(X))
        hit = y[i] * (X[i] @ w) < 1.0
        w = w - step_of(t) * (LAM * w - hit * y[i] * X[i])
        if t in looks:
            F = 0.5 * LAM * w @ w + np.maximum(0.0, 1.0 - y * (X @ w)).mean()
            course.append(F - optimum)
    return np.array(course)


CHOICES = {
    "γ₀/(1 + γ₀λt): both conditions hold": lambda t: schedules.Decay(step0=0.5).step(t, LAM),
    "constant: not square summable": lambda t: schedules.Constant(step0=0.5).step(t, LAM),
    "γ₀/√t: squares only just diverge": lambda t: schedules.InverseSqrt(step0=0.5).step(t, LAM),
    "γ₀/t²: summable, stops short": lambda t: 0.5 / t**2,
}
figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
for (name, step_of), dash, colour in zip(
    CHOICES.items(), ("-", "--", "-.", ":"), ("#0072B2", "#D55E00", "#009E73", "black"), strict=True
):
    axes.plot(sorted(looks), run(step_of), dash, color=colour, lw=1.6, label=name)
axes.set(xscale="log", yscale="log", xlabel="step t", ylabel="F(w_t) − F*", ylim=(1e-6, 20))
axes.legend(fontsize="small", loc="lower left")
save(figure, __file__)
