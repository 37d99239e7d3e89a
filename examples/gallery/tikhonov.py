"""Tikhonov regularisation: λ shrinks the weights, and the test error is least in between."""

from _picture import save  # isort: skip - chooses the backend first

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import PolynomialFeatures, StandardScaler, scale

from maxmargin import LinearSVR

X, y = load_diabetes(return_X_y=True)
X = StandardScaler().fit_transform(
    PolynomialFeatures(2, include_bias=False).fit_transform(scale(X))
)
train, test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

lams, weights, errors = np.geomspace(1e-1, 1e4, 20), [], []
for lam in lams:  # SSD + λ‖w‖² is ½‖w‖² + C Σ r² with C = 1/(2λ)
    model = LinearSVR(
        C=1 / (2 * lam), loss="squared", fit_intercept=True, penalized_intercept=False, tol=1e-6
    ).fit(train, y_train)
    weights.append(model.coef_)
    ends = ((train, y_train), (test, y_test))
    errors.append([np.sqrt(np.mean((model.predict(A) - t) ** 2)) for A, t in ends])

figure, (paths, error) = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained")
paths.plot(lams, np.array(weights), color="#0072B2", lw=0.7, alpha=0.6)
paths.set(title="the weights", xlabel="λ", xscale="log")
for name, course, dash in zip(("training", "test"), np.array(errors).T, ("--", "-"), strict=True):
    error.plot(lams, course, dash, color="#D55E00", label=name)
best = lams[np.argmin(np.array(errors)[:, 1])]
error.axvline(best, color="0.5", ls=":", label=f"least test error: λ = {best:.3g}")
error.set(title="root mean square error", xlabel="λ", xscale="log")
error.legend()
save(figure, __file__)
