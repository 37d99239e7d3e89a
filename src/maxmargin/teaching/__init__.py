"""The algorithms of the lecture, step by step: generators that show what each step did.

They are written to be read and to be stopped anywhere, not to be fast; each ends at, or tends to,
the optimum of `LinearSVC` and `SVC`.
"""

from maxmargin.teaching.online import PegasosStep, PerceptronStep, pegasos, perceptron
from maxmargin.teaching.smo import SmoStep, smo

__all__ = ["PegasosStep", "PerceptronStep", "SmoStep", "pegasos", "perceptron", "smo"]
