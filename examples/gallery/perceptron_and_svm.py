"""The perceptron stops at any line that separates, the SVM finds the one in the middle."""

from _picture import save, separated  # isort: skip - chooses the backend first

import matplotlib.pyplot as plt
import numpy as np

from maxmargin import LinearSVC, teaching, theory

X, y = separated(gap=0.2)
svm = LinearSVC(C=np.inf, loss="hinge", fit_intercept=False, tol=1e-6).fit(X, y)
mistakes = theory.novikoff(svm, X, y)


def perceptron(order):
    """Return w after a pass without a mistake."""
    w, clean = np.zeros(2), 0
    for step in teaching.perceptron(X[order], y[order]):
        w, clean = step.w, 0 if step.mistake else clean + 1
        if clean == len(X):
            break
    return w


figure, (plane, margins) = plt.subplots(1, 2, figsize=(12, 5.2), layout="constrained")
ends, rng = np.array([-3.5, 3.5]), np.random.default_rng(0)
found = [perceptron(rng.permutation(len(X))) for _ in range(40)]
for w in found:
    plane.plot(ends, -w[0] / w[1] * ends, color="0.6", lw=0.8)
w = svm.coef_[0]
plane.plot(ends, -w[0] / w[1] * ends, color="black", lw=2.5)
plane.scatter(*X[y == -1].T, c="#0072B2", marker="o", s=26, zorder=3)
plane.scatter(*X[y == 1].T, c="#D55E00", marker="s", s=26, zorder=3)
plane.set(title="perceptrons of 40 orders (grey), the SVM (black)", aspect="equal")
plane.set(xlim=ends, ylim=ends)

reached = [(y * (X @ w)).min() / np.linalg.norm(w) for w in found]
margins.hist(reached, bins=15, color="0.7", edgecolor="white", label="perceptrons")
margins.axvline(mistakes.margin, color="black", lw=2.5, label="SVM")
margins.set(title=f"{mistakes.mistakes} mistakes in the given order, at most {mistakes.value:.0f}")
margins.set(xlabel="margin on the samples", ylabel="perceptrons")
margins.legend()
save(figure, __file__)
