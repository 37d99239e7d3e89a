"""A circle in the plane is a plane in the space of (1 + x'z)²: two machines, one optimum."""

from _picture import save  # isort: skip - chooses the backend first

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles

from maxmargin import SVC, LinearSVC
from maxmargin.kernels import Polynomial
from maxmargin.plots import MarginDisplay

X, y = make_circles(120, noise=0.12, factor=0.5, random_state=0)


def phi(A):
    """Return the features whose inner product is (1 + x'z)²."""
    one, two = A.T
    root = np.sqrt(2.0)
    columns = [one**2, two**2, root * one * two, root * one, root * two, np.ones(len(A))]
    return np.column_stack(columns)


implicit = SVC(C=10.0, kernel=Polynomial(gamma=1.0, degree=2, coef0=1.0), tol=1e-6).fit(X, y)
explicit = LinearSVC(C=10.0, loss="hinge", penalized_intercept=False, tol=1e-6).fit(phi(X), y)

figure, (plane, features) = plt.subplots(1, 2, figsize=(12, 5.6), layout="constrained")
MarginDisplay.from_estimator(implicit, X, y, ax=plane)
plane.set_title(f"the kernel machine: dual value {implicit.certificate_.dual:.5f}")
for label, colour, marker in ((0, "#0072B2", "o"), (1, "#D55E00", "s")):
    features.scatter(*phi(X)[y == label, :2].T, c=colour, marker=marker, s=26)
w, b = explicit.coef_[0], explicit.intercept_[0] + explicit.coef_[0, 5]
ends = np.array([0.0, 2.0])
for level, dash in ((-1, "--"), (0, "-"), (1, "--")):
    features.plot(ends, (level - b - w[0] * ends) / w[1], dash, color="black", lw=1.2)
features.set(title=f"the linear machine on φ(x): {explicit.certificate_.dual:.5f}")
features.set(xlim=(0, 2), ylim=(0, 2), xlabel="x₁²", ylabel="x₂² (its other weights are small)")
save(figure, __file__)
