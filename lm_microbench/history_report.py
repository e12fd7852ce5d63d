"""A history of checkpoints as lines of text and as a plot; in points."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pandas as pd

from lm_microbench import files

PLOT_FILE = "history.png"
MARKERS = "osD^vPX*"
LINES = ("-", "--", ":", "-.")


def history_lines(table: pd.DataFrame, checkpoint: str) -> list[str]:
    """Return a line for each task of one checkpoint: estimate, error, and whether it is better."""
    rows = table[table["checkpoint"] == checkpoint].to_dict("records")
    return [_line(row) for row in rows]


def _line(row: dict[Any, Any]) -> str:
    text = f"{row['checkpoint']}: {row['task']} {100 * row['estimate']:.1f}"
    if pd.notna(row["standard_error"]):
        text += f" ± {100 * row['standard_error']:.1f}"
    for other in ("last", "best"):
        chance = row[f"probability_better_than_{other}"]
        if pd.notna(chance) and not (other == "best" and row["best"] == row["last"]):
            text += f"; better than {row[other]} with probability {chance:.2f}"
    return text


def plot_history(table: pd.DataFrame, path: Path) -> bool:
    """Draw estimates with one standard error against steps; return whether that was possible.

    It is not where matplotlib is missing.
    """
    if importlib.util.find_spec("matplotlib") is None:
        return False
    # Figures without pyplot: no global state, no display.
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.add_subplot()
    for number, (task, rows) in enumerate(table.groupby("task", sort=True)):
        steps = rows["step"].astype("Float64").to_numpy(dtype="float64", na_value=float("nan"))
        axes.errorbar(
            steps,
            100 * rows["estimate"],
            yerr=100 * rows["standard_error"],
            marker=MARKERS[number % len(MARKERS)],
            capsize=3,
            linewidth=1,
            linestyle=LINES[number % len(LINES)],
            label=str(task),
        )
    axes.set(xlabel="step", ylabel="estimated full score, points")
    axes.set_title("bars: one standard error", fontsize="small", loc="right")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(alpha=0.3)
    if len(table):
        axes.legend(frameon=False, fontsize="small")
    with files.atomic(path) as temporary:
        figure.savefig(temporary, format="png", dpi=120)
    return True
