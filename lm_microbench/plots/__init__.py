"""The figures of studies, comparisons and histories: what each shows, its data, how it is drawn.

Data are fractions; axes show points. Every curve has a colour, a marker and a line style of its
own, so that it is told from the others in grey and by colour-blind readers.
"""

from lm_microbench.plots.comparison import comparison_plots
from lm_microbench.plots.figure import HINT, WIDTH, Plot, available
from lm_microbench.plots.history import history_plot
from lm_microbench.plots.study import study_plots

__all__ = [
    "HINT", "WIDTH", "Plot", "available", "comparison_plots", "history_plot", "study_plots",
]  # fmt: skip
