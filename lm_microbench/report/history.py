"""A line of text for every evaluation of a checkpoint."""

from __future__ import annotations

from typing import Any

import pandas as pd

from lm_microbench.report.numbers import percent, points


def history_lines(table: pd.DataFrame, checkpoint: str) -> list[str]:
    """Return a line for each task of one checkpoint: estimate, error, and whether it is better."""
    rows = table[table["checkpoint"] == checkpoint].to_dict("records")
    return [_line(row) for row in rows]


def _line(row: dict[Any, Any]) -> str:
    text = f"{row['checkpoint']}: {row['task']} {points(row['estimate'])}"
    if pd.notna(row["standard_error"]):
        text += f" ± {points(row['standard_error'])}"
    for other in ("last", "best"):
        chance = row[f"probability_better_than_{other}"]
        if pd.notna(chance) and not (other == "best" and row["best"] == row["last"]):
            text += f"; better than {row[other]} with probability {percent(chance)}"
    return text
