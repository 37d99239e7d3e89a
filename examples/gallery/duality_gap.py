"""The primal value falls, the dual value rises: what lies between them bounds the error."""

from _picture import save  # isort: skip - chooses the backend first

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from maxmargin import LinearSVC
from maxmargin.plots import ConvergenceDisplay

X, y = load_breast_cancer(return_X_y=True)
model = LinearSVC(
    C=1.0, loss="hinge", penalized_intercept=False, solver="dual_cd", tol=1e-6, random_state=0
).fit(scale(X), y)

figure, (values, gap) = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained")
ConvergenceDisplay.from_estimator(model, x="epoch", quantity="objective", ax=values)
ConvergenceDisplay.from_estimator(model, x="epoch", quantity="gap", ax=gap)
values.set_ylim(0.0, 2.0 * model.certificate_.primal)
values.set_title("weak duality: the optimum is between the lines")
gap.set_title(model.certificate_.sentence())
save(figure, __file__)
