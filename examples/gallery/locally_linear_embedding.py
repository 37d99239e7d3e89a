"""Locally linear embedding: each row is a mean of its neighbours, here and in the plane."""

from _picture import draw_embedded, rows_to_embed, save  # isort: skip - chooses the backend first

import matplotlib.pyplot as plt

from maxmargin.embeddings import LocallyLinearEmbedding

NEIGHBOURS = {"Swiss roll": 12, "two moons": 30, "digits": 40}

figure, panels = plt.subplots(1, 3, figsize=(14, 4.8), layout="constrained")
for panel, (name, rows) in zip(panels, rows_to_embed().items(), strict=True):
    draw_embedded(panel, name, LocallyLinearEmbedding(2, n_neighbors=NEIGHBOURS[name]), rows)
save(figure, __file__)
