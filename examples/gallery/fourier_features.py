"""Random Fourier features: the Gaussian kernel as a sum of cosines and sines, drawn by chance."""

from _picture import draw_accuracy, draw_machine, save  # isort: skip - chooses the backend first

import matplotlib.pyplot as plt

from maxmargin.embeddings import FourierFeatures

figure, panels = plt.subplots(1, 3, figsize=(14, 4.6), layout="constrained")
for panel, m in zip(panels, (10, 100), strict=False):
    draw_machine(panel, FourierFeatures(m, gamma=2.0, random_state=0), f"{m} features")
draw_accuracy(
    panels[2],
    lambda m: FourierFeatures(m, gamma=1e-3, random_state=0),
    (10, 30, 100, 300, 1000),
    "features",
)
save(figure, __file__)
