"""Nyström features: a kernel machine whose f lies in the span of a few landmarks."""

from _picture import draw_accuracy, draw_machine, save  # isort: skip - chooses the backend first

import matplotlib.pyplot as plt

from maxmargin.embeddings import Nystroem

figure, panels = plt.subplots(1, 3, figsize=(14, 4.6), layout="constrained")
for panel, m in zip(panels, (4, 20), strict=False):
    draw_machine(panel, Nystroem(n_components=m, gamma=2.0, random_state=0), f"{m} landmarks")
draw_accuracy(
    panels[2],
    lambda m: Nystroem(n_components=m, gamma=1e-3, random_state=0),
    (10, 30, 100, 300),
    "landmarks",
)
save(figure, __file__)
