"""Comparison: what micro runs say of models, as tables that can be read again."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lm_microbench import __version__, files
from lm_microbench.ordering import CORRECTIONS, PROBABILITY, Correction

COMPARISON_FILE = "comparison.json"
TABLES = {
    "models": (
        "task", "model", "size", "estimate", "standard_error", "full_score", "error", "groups",
    ),
    "pairs": (
        "task", "model_a", "model_b", "estimated_difference", "full_difference", "verdict",
        "standard_error", "probability", "more_examples", "told_apart",
    ),
    "bins": ("task", "difference", "pairs", "agreement"),
    "summary": (
        "task", "n_models", "n_pairs", "agreement", "mdad", "mdad_sustained", "kendall_tau",
        "spearman", "error",
    ),
}  # fmt: skip
_TEXTS = {"task", "model", "model_a", "model_b", "groups", "verdict"}
_COUNTS = {"size", "n_models", "n_pairs", "pairs"}
_NUMBERS: dict[str, Callable[[str], float]] = {
    column: int if column in _COUNTS else lambda x: float(x or "nan")
    for columns in TABLES.values()
    for column in columns
    if column not in _TEXTS
} | {"told_apart": {"True": True, "False": False}.__getitem__}


@dataclass(frozen=True, eq=False)
class Comparison:
    """What the micro runs say, next to what full runs say where there are; fractions throughout.

    Parameters
    ----------
    models : DataFrame
        task, model, size, estimate, standard_error, full_score, error, groups; a row a model and
        task. Two models share a letter of `groups` where they cannot be told apart.
    pairs : DataFrame
        task, model_a, model_b, estimated_difference, full_difference, verdict, standard_error (of
        the estimated difference), probability (that the full benchmark orders them so),
        more_examples (NaN: not known), told_apart; a row a pair. See `ordering.order`.
    bins : DataFrame
        task, difference (lower edge of the bin), pairs, agreement.
    summary : DataFrame
        task, n_models, n_pairs, agreement, mdad, mdad_sustained, kendall_tau, spearman, error.
        MDAD is NaN where there are fewer than `pairs.MIN_PAIRS` pairs.
    notes : tuple of str
        What was left out, and why.
    probability : float
        That makes two models told apart.
    correct : {"none", "holm"}
        Correction for many comparisons, of one micro-task.
    """

    models: pd.DataFrame
    pairs: pd.DataFrame
    bins: pd.DataFrame
    summary: pd.DataFrame
    notes: tuple[str, ...] = ()
    probability: float = PROBABILITY
    correct: Correction = "none"

    def save(self, folder: Path | str) -> list[Path]:
        """Write the four tables as CSV, and `comparison.json`; return the tables' paths.

        Raises
        ------
        ValueError
            If the folder holds results of another kind.
        """
        folder = Path(folder)
        files.check_kind(folder, COMPARISON_FILE)
        paths = []
        for name in TABLES:
            path = folder / f"{name}.csv"
            files.write_text(path, getattr(self, name).to_csv(index=False, lineterminator="\n"))
            paths.append(path)
        settings = {
            "probability": self.probability,
            "correct": self.correct,
            "notes": list(self.notes),
            "rows": {name: len(getattr(self, name)) for name in TABLES},
            "package_version": __version__,
        }
        files.write_text(folder / COMPARISON_FILE, json.dumps(settings, indent=1) + "\n")
        return paths

    @classmethod
    def load(cls, folder: Path | str) -> Comparison:
        """Return the comparison that `save` wrote.

        Raises
        ------
        FileNotFoundError
            If a file of it is missing.
        ValueError
            If a file is damaged.
        """
        folder = Path(folder)
        settings = _settings(folder / COMPARISON_FILE)
        tables = {name: _read(folder / f"{name}.csv", name) for name in TABLES}
        short = next((name for name in TABLES if len(tables[name]) != settings["rows"][name]), None)
        if short is not None:
            raise ValueError(
                f"{folder / short}.csv: {len(tables[short])} rows where {settings['rows'][short]} "
                "were written; compare again"
            )
        notes = tuple(map(str, settings["notes"]))
        return cls(
            **tables, notes=notes, probability=settings["probability"], correct=settings["correct"]
        )


def _settings(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file; `lm-microbench compare ... -o` writes it")
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
        known = float(settings["probability"]) < 1 and settings["correct"] in CORRECTIONS
        known = known and isinstance(settings["notes"], list) and set(settings["rows"]) == {*TABLES}
    except (ValueError, TypeError, KeyError):
        known = False
    if not known:
        raise ValueError(f"{path}: not the settings of a comparison; compare again")
    found: dict[str, Any] = settings
    return found


def _read(path: Path, name: str) -> pd.DataFrame:
    """Return one table as it was; a model's name may be any text, `NA` and `1` among them."""
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8")
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: no such file; compare again") from None
    except ValueError as error:  # pandas's own errors among them
        said = str(error).strip().split("\n")[0]
        raise ValueError(f"{path}: cannot be read ({said}); compare again") from None
    if tuple(table.columns) != TABLES[name]:
        raise ValueError(f"{path}: not a table of a comparison (other columns); compare again")
    for column, read in _NUMBERS.items():
        if column not in table:
            continue
        try:
            # Not pandas's way, which was off by a last bit before version 3.
            table[column] = np.array([read(x) for x in table[column]])
        except (ValueError, KeyError):
            raise ValueError(f"{path}: column {column} is not of numbers; compare again") from None
    return table
