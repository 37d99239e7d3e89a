"""Kernel principal components: the two directions of largest variance among the φ(x)."""

from _picture import draw_embedded, rows_to_embed, save  # isort: skip - chooses the backend first

import matplotlib.pyplot as plt

from maxmargin.embeddings import KernelPCA

GAMMA = {"Swiss roll": 0.01, "two moons": 2.0, "digits": 1e-3}

figure, panels = plt.subplots(1, 3, figsize=(14, 4.8), layout="constrained")
for panel, (name, rows) in zip(panels, rows_to_embed().items(), strict=True):
    draw_embedded(panel, name, KernelPCA(2, gamma=GAMMA[name]), rows)
save(figure, __file__)
