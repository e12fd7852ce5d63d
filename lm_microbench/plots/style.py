"""Colours, markers and lines that differ in grey too; axes in points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lm_microbench.report.numbers import points

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito, "Color Universal Design" (2008); its yellow, too pale on white, comes last.
COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#F0E442")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*", "h", "p")
LINES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (1, 2)))


def styles_of(methods: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return colour, marker and line of each method; `random`'s is black with larger, hollow marks.

    So it is seen under another that is the same, as `stratified` is where there are no subtasks.
    """
    ordered = sorted(dict.fromkeys(methods), key=lambda x: x != "random")
    start = 0 if "random" in ordered else 1
    return {
        method: {
            "color": COLOURS[i % len(COLOURS)],
            "marker": MARKERS[i % len(MARKERS)],
            "linestyle": LINES[i % len(LINES)],
            "markersize": 5 if i else 8,
            "markerfacecolor": COLOURS[i % len(COLOURS)] if i else "none",
        }
        for i, method in enumerate(ordered, start)
    }


def in_points(axis: Any, label: str) -> None:
    """Label an axis of fractions in points."""
    axis.set_major_formatter(lambda x, _: points(x).removesuffix(".0"))
    axis.set_label_text(label)


def legend(axes: Axes) -> None:
    """Put the legend below the axes, where it hides nothing, in as many columns as fit."""
    handles, names = axes.get_legend_handles_labels()
    if not names:
        return
    figure: Any = axes.figure
    fitting = int(13 * figure.get_figwidth()) // (max(map(len, names)) + 6)
    columns = min(max(fitting, 1), len(names))
    figure.legend(handles, names, loc="outside lower center", ncols=columns)
