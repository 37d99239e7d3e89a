"""ν lies between the share of margin errors and that of support vectors."""

from _picture import clouds, save  # isort: skip - chooses the backend first

import matplotlib.pyplot as plt
import numpy as np

from maxmargin import NuSVC, theory
from maxmargin.plots import MarginDisplay

X, y = clouds(60)
nus = np.linspace(0.2, 0.95, 30)
models = [NuSVC(nu=nu, gamma=0.5, tol=1e-6).fit(X, y) for nu in nus]
checks = [theory.nu_property(model, X, y) for model in models]
assert all(check.holds for check in checks)

figure, (shares, plane) = plt.subplots(1, 2, figsize=(12, 5.4), layout="constrained")
shares.step(nus, [check.support for check in checks], "-", color="#0072B2", label="support vectors")
shares.plot(nus, nus, ":", color="black", label="ν")
errors = [check.margin_errors for check in checks]
shares.step(nus, errors, "--", color="#D55E00", label="margin errors")
shares.set(title="margin errors ≤ ν ≤ support vectors", xlabel="ν", ylabel="share of the samples")
shares.legend()
MarginDisplay.from_estimator(models[8], X, y, ax=plane)
plane.set_title(f"ν = {nus[8]:.2f}")
save(figure, __file__)
