"""History: what successive checkpoints of one model reached, and whether they improved."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from lm_microbench import files
from lm_microbench.ordering import order
from lm_microbench.subset import Subset

HISTORY_FILE = "history.csv"
COLUMNS = (
    "step", "checkpoint", "task", "size", "estimate", "standard_error",
    "last", "difference_last", "standard_error_last", "probability_better_than_last",
    "best", "difference_best", "standard_error_best", "probability_better_than_best",
)  # fmt: skip

_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class Point:
    """The answers of one checkpoint to one micro-task.

    Parameters
    ----------
    checkpoint : str
        Its name, such as `checkpoint-500`.
    task : str
    scores : tuple of float
        As `Subset.answers` gives them.
    """

    checkpoint: str
    task: str
    scores: tuple[float, ...]

    @property
    def step(self) -> int | None:
        """The training step: the last number in the checkpoint's name; None: there is none."""
        return step_of(self.checkpoint)


def step_of(checkpoint: str) -> int | None:
    """Return the last whole number in a checkpoint's name; None where there is none."""
    found = _NUMBER.findall(checkpoint)
    return int(found[-1]) if found else None


def in_order(checkpoint: str) -> tuple[bool, int, str]:
    """Return what checkpoints are sorted by: the step; those without one come last, by name."""
    step = step_of(checkpoint)
    return step is None, step or 0, checkpoint


def history(points: Iterable[Point], subsets: Mapping[str, Subset]) -> pd.DataFrame:
    """Return a row for each checkpoint and task, in the order of steps; fractions throughout.

    Columns: `step`, `checkpoint`, `task`, `size` (number of items), `estimate` of the full score
    and its `standard_error`; `last`, the checkpoint before, the `difference_last` from it, the
    paired `standard_error_last` of that, and `probability_better_than_last` (see `ordering.order`:
    both answered the same items); the same of `best`, the checkpoint with the highest estimate
    before this one (the earliest of several). Empty in a task's first row. The best of many noisy
    estimates is flattered by chance, so that a later checkpoint's probability of being better than
    it is rather too low.

    Parameters
    ----------
    points : iterable of Point
        In any order.
    subsets : mapping of str to Subset
        The subset of every task.
    """
    ordered = sorted(points, key=lambda x: (in_order(x.checkpoint), x.task))
    before: dict[str, list[tuple[Point, float]]] = {}
    rows = []
    for point in ordered:
        earlier = before.setdefault(point.task, [])
        row = _row(point, subsets[point.task], earlier)
        earlier.append((point, row["estimate"]))
        rows.append(row)
    table: pd.DataFrame = pd.DataFrame(rows, columns=list(COLUMNS))
    table["step"] = table["step"].astype("Int64")
    return table


def _row(point: Point, subset: Subset, earlier: Sequence[tuple[Point, float]]) -> dict[str, Any]:
    scores = np.array(point.scores, dtype=np.float64)
    row: dict[str, Any] = {
        "step": point.step,
        "checkpoint": point.checkpoint,
        "task": point.task,
        "size": subset.size,
        "estimate": float(subset.estimate(scores)[0]),
        "standard_error": float(subset.standard_error(scores)[0]),
    }
    if earlier:
        others = {"last": earlier[-1][0], "best": max(earlier, key=_rank)[0]}
        for name, other in others.items():
            row |= {name: other.checkpoint} | _compared(name, subset, scores, other)
    return row


def _rank(earlier: tuple[Point, float]) -> tuple[bool, float]:
    """Return what the best is the highest by; an estimate that is not known is never the best."""
    return not math.isnan(earlier[1]), earlier[1]


def _compared(
    name: str, subset: Subset, scores: npt.NDArray[np.float64], other: Point
) -> dict[str, float]:
    """Return difference, its standard error and the probability that the new one is better."""
    found = order(subset, np.vstack([scores, other.scores]))
    value, sure = float(found.difference[0]), float(found.probability[0])
    return {
        f"difference_{name}": value,
        f"standard_error_{name}": float(found.standard_error[0]),
        f"probability_better_than_{name}": sure if value >= 0 else 1 - sure,
    }


def save_history(table: pd.DataFrame, folder: Path) -> Path:
    """Write `history.csv` into a folder, atomically, and return its path."""
    path = folder / HISTORY_FILE
    files.write_text(path, table.to_csv(index=False, lineterminator="\n"))
    return path


def numbers(row: Mapping[Any, Any]) -> dict[str, float]:
    """Return what a training log shows of one row: names and finite numbers."""
    names = {
        "estimate": "estimate",
        "standard_error": "standard_error",
        "probability_better_than_last": "better_than_last",
        "probability_better_than_best": "better_than_best",
    }
    found = {short: float(row[name]) for name, short in names.items() if pd.notna(row[name])}
    return {short: value for short, value in found.items() if math.isfinite(value)}


def save_points(points: Sequence[Point], path: Path) -> None:
    """Write points as JSON, one a line, atomically."""
    lines = ",\n".join(json.dumps(asdict(point)) for point in points)
    files.write_text(path, f"[\n{lines}\n]\n")


def load_points(path: Path) -> list[Point]:
    """Return the points that `save_points` wrote; none where there is no file.

    Raises
    ------
    ValueError
        If the file is damaged.
    """
    if not path.is_file():
        return []
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        return [Point(x["checkpoint"], x["task"], tuple(map(float, x["scores"]))) for x in raw]
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"{path}: not a history of ours ({error}); delete it") from None
