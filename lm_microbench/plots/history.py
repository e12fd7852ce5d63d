"""The figure of a history of checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from lm_microbench.plots.figure import Plot
from lm_microbench.plots.style import in_points, legend, styles_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = (7.0, 4.2)


def history_plot(table: pd.DataFrame) -> Plot:
    """Return the figure of estimates, with one standard error, against steps.

    Where a checkpoint's name has no number, all stand in their order instead.
    """
    data = table[["step", "checkpoint", "task", "estimate", "standard_error"]]
    counted = bool(data["step"].notna().all())
    order = {name: float(n) for n, name in enumerate(data["checkpoint"].unique(), 1)}

    def draw(axes: Axes) -> None:
        from matplotlib.ticker import MaxNLocator

        styles = styles_of(sorted(data["task"].unique()))
        for task, rows in data.groupby("task", sort=True):
            at = rows["step"] if counted else rows["checkpoint"].map(order)
            axes.errorbar(
                np.asarray(at, dtype=float), rows["estimate"], rows["standard_error"],
                **styles[str(task)], capsize=3, linewidth=1, label=str(task),
            )  # fmt: skip
        axes.set_xlabel("step" if counted else "checkpoint, in order")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_title("bars: one standard error", fontsize="small", loc="right")
        axes.grid(alpha=0.3)
        in_points(axes.yaxis, "estimated full score, points")
        legend(axes)

    return Plot(
        "history", "Checkpoints", "Estimated full score of each checkpoint.", data, draw, SIZE
    )
