"""The figures of a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from lm_microbench.compared import Comparison
from lm_microbench.plots.figure import WIDTH, Plot
from lm_microbench.plots.style import COLOURS, in_points
from lm_microbench.report import brief, percent, rank_models
from lm_microbench.results import NORMAL_95

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ANNOTATED = 12


def comparison_plots(result: Comparison) -> list[Plot]:
    """Return two figures for each micro-task: the ladders of models, then the maps of pairs."""
    ladders, maps = [], []
    for task, models in result.models.groupby("task", sort=False):
        ranked = rank_models(models)
        pairs = result.pairs[result.pairs["task"] == task]
        ladders.append(_ladder(str(task), ranked))
        if len(pairs):
            maps.append(_heat_map(str(task), ranked["model"].tolist(), pairs, result.probability))
    return ladders + maps


def _ladder(task: str, ranked: pd.DataFrame) -> Plot:
    def draw(axes: Axes) -> None:
        rows = np.arange(len(ranked))[::-1]
        estimate, error = ranked["estimate"], NORMAL_95 * ranked["standard_error"].fillna(0)
        low, high = (estimate - error).clip(0, 1), (estimate + error).clip(0, 1)
        axes.hlines(rows, low, high, color=COLOURS[1], linewidth=2)
        axes.plot(estimate, rows, "o", color=COLOURS[1], label="estimate, 95 % interval")
        if ranked["full_score"].notna().any():
            axes.plot(
                ranked["full_score"], rows, "D", color=COLOURS[2], markerfacecolor="none",
                markersize=8, markeredgewidth=1.5, label="full score",
            )  # fmt: skip
            axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
        axes.set_yticks(rows, ranked["model"].map(_short))
        axes.set_ylim(-0.7, len(ranked) - 0.3)
        axes.grid(axis="y", color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
        in_points(axes.xaxis, "score, points")

    columns = ["model", "estimate", "standard_error", "full_score", "groups"]
    caption = (
        "Best estimate on top. Intervals that overlap do not mean that two models cannot be told "
        "apart: they answered the same items, and the map of pairs takes that into account."
    )
    height = max(2.2, 1.2 + 0.27 * len(ranked))
    return Plot(
        f"ladder_{task}", f"{task}: models", caption, ranked[columns], draw, (WIDTH, height)
    )


def _heat_map(task: str, names: list[str], pairs: pd.DataFrame, probability: float) -> Plot:
    place = {name: i for i, name in enumerate(names)}
    values = np.full((len(names), len(names)), np.nan)
    told = np.zeros_like(values, dtype=bool)
    for x in pairs.itertuples():
        a, b = sorted((place[str(x.model_a)], place[str(x.model_b)]))
        values[b, a], told[b, a] = x.probability, x.told_apart

    def draw(axes: Axes) -> None:
        import matplotlib

        colours = matplotlib.colormaps["cividis"].with_extremes(bad="#ffffff")
        shown = axes.imshow(np.ma.masked_invalid(values), cmap=colours, vmin=0.5, vmax=1)
        n = len(names)
        labels = [f"{i + 1}. {_short(name)}" for i, name in enumerate(names)]
        axes.set_yticks(np.arange(n), labels)
        axes.set_xticks(np.arange(n), [str(i + 1) for i in range(n)], fontsize=8)
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)
        for b, a in np.argwhere(~np.isnan(values)):
            dark = "white" if values[b, a] < 0.8 else "black"
            if n <= ANNOTATED:
                text = percent(values[b, a]).removesuffix(" %").replace("> ", ">")
                weight = "bold" if told[b, a] else "normal"
                axes.text(a, b, text, ha="center", va="center", color=dark, fontsize=8,
                          fontweight=weight)  # fmt: skip
            elif told[b, a]:
                axes.plot(a, b, ".", color=dark, markersize=4)
        bar = axes.figure.colorbar(shown, ax=axes, shrink=0.6, pad=0.02)
        in_points(bar.ax.yaxis, "sure of the order, %")

    marked = "bold" if len(names) <= ANNOTATED else "with a dot"
    caption = (
        "How sure it is that the full benchmark puts the model of the column above that of the "
        f"row. Told apart ({brief(probability)} %, with the chosen correction): {marked}."
    )
    side = 1.6 + 0.27 * max(len(names), 6)
    return Plot(
        f"pairs_{task}", f"{task}: how sure each order is", caption, pairs, draw,
        (max(WIDTH, side + 1.6), side),
    )  # fmt: skip


def _short(name: str) -> str:
    """Return a model's name, cut in the middle where it is long."""
    return name if len(name) <= 28 else f"{name[:13]}…{name[-14:]}"
