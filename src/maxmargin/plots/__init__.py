"""Pictures of fitted models, by scikit-learn's Display conventions (extra `maxmargin[plot]`).

`from_estimator` computes, `plot` draws into axes and returns the display, whose artists are kept as
attributes ending in an underscore; `describe` says in one sentence what is to be seen. Colours are
those of Okabe and Ito, and nothing is told by colour alone.
"""

from maxmargin.plots.convergence import ConvergenceDisplay
from maxmargin.plots.influence import InfluenceDisplay
from maxmargin.plots.margin import MarginDisplay
from maxmargin.plots.margin_histogram import MarginHistogramDisplay
from maxmargin.plots.path import PathDisplay
from maxmargin.plots.tube import TubeDisplay
from maxmargin.plots.tuning import TuningDisplay

__all__ = [
    "ConvergenceDisplay",
    "InfluenceDisplay",
    "MarginDisplay",
    "MarginHistogramDisplay",
    "PathDisplay",
    "TubeDisplay",
    "TuningDisplay",
]
