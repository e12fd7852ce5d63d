"""Columns: one model's answers each, put together to a response matrix."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from lm_microbench.items import ItemTable
from lm_microbench.readers.reading import (
    ConflictError,
    ModelNote,
    ReadingReport,
    SubtaskNote,
)
from lm_microbench.responses import ResponseMatrix

Floats = npt.NDArray[np.float32]


@dataclass
class Column:
    """One model's answers; `scores` and `confidence` have one value an item, NaN for none.

    `expected` are the items that its runs should hold, `duplicates` how often an item was found
    again, `conflicting` the items with different scores, `kind` what its runs are ("full",
    "partial", "limit", "micro", "table"), `lacking` how many more a broken micro run should hold.
    """

    model: str
    kind: str
    scores: Floats
    confidence: Floats
    expected: npt.NDArray[np.bool_]
    runs: list[str] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    duplicates: Mapping[int, int] = field(default_factory=dict)
    conflicting: Sequence[int] = ()
    lacking: int = 0

    @property
    def coverage(self) -> float:
        """Share of the expected items that have a score."""
        expected = int(self.expected.sum()) + self.lacking
        return float((~np.isnan(self.scores) & self.expected).sum() / expected) if expected else 0.0


def assemble(columns: Sequence[Column], table: ItemTable, report: ReadingReport) -> ResponseMatrix:
    """Return the matrix of the columns that may stay; every column gets an entry in the report.

    Raises
    ------
    ConflictError
        If the report has conflicts and its rules say to refuse.
    ValueError
        If no model stays.
    """
    rules = report.rules
    for column in columns:
        note = _note(column, table)
        if column.coverage < rules.min_coverage:
            note.left = (
                f"{note.total('found'):,} of {note.total('expected') + column.lacking:,} items "
                f"({column.kind} run), under --min-coverage {rules.min_coverage:g}"
            )
        report.models.append(note)
    if report.conflicts and rules.conflict == "refuse":
        more = f" (and {len(report.conflicts) - 1} more)" if len(report.conflicts) > 1 else ""
        raise ConflictError(
            f"{report.conflicts[0]}{more}; drop one, or say --conflict newest or drop", report
        )
    kept = [c for c, note in zip(columns, report.models, strict=True) if not note.left]
    if not kept:
        raise ValueError(_nothing(columns, report))
    return _matrix(kept, table, report)


def _nothing(columns: Sequence[Column], report: ReadingReport) -> str:
    if columns:
        best = max(columns, key=lambda column: column.coverage)
        return (
            f"no model answered enough of {report.benchmark}: the best, {best.model}, has "
            f"{best.coverage:.4f} ({best.kind} run); lower --min-coverage"
        )
    reason = next((f"{f.path}: {f.skipped}" for f in report.files if f.skipped), "")
    note = report.notes[0] if report.notes else reason
    more = f" and {len(report.sources) - 3} more" if len(report.sources) > 3 else ""
    where = f"{', '.join(report.sources[:3])}{more}: " if report.sources else ""
    return f"{where}no answers to {report.benchmark} found" + (
        f" ({note})" if note else "; give runs of lm_eval with --log_samples"
    )


def _note(column: Column, table: ItemTable) -> ModelNote:
    answered = ~np.isnan(column.scores)
    accuracy = float(column.scores[answered].mean(dtype=np.float64)) if answered.any() else None
    total = float(np.where(answered, column.scores, 0).sum(dtype=np.float64))
    of_all = total / int(column.expected.sum()) if column.expected.any() else None
    return ModelNote(
        model=column.model,
        kind=column.kind,
        coverage=column.coverage,
        accuracy=accuracy,
        accuracy_of_all=of_all,
        runs=column.runs,
        settings=column.settings,
        subtasks=_subtask_notes(column, table),
    )


def _subtask_notes(column: Column, table: ItemTable) -> dict[str, SubtaskNote]:
    numbers = {name: i for i, name in enumerate(dict.fromkeys(table.subtasks))}
    of_item = np.array([numbers[name] for name in table.subtasks], dtype=np.intp)
    answered = ~np.isnan(column.scores)
    again = np.zeros(len(of_item), dtype=np.intp)
    again[list(column.duplicates)] = list(column.duplicates.values())
    differ = np.zeros(len(of_item), dtype=np.intp)
    differ[list(column.conflicting)] = 1
    counted = (column.expected, answered, column.expected & ~answered, again, differ)
    totals = [np.bincount(of_item, x, len(numbers)).astype(int).tolist() for x in counted]
    return {name: SubtaskNote(*(total[i] for total in totals)) for name, i in numbers.items()}


def _matrix(kept: Sequence[Column], table: ItemTable, report: ReadingReport) -> ResponseMatrix:
    scores = np.vstack([column.scores for column in kept])
    confidence = np.vstack([column.confidence for column in kept])
    items, subtasks = table.items, table.subtasks
    if report.rules.merge_duplicates:
        groups = same_content(table)
        scores, confidence = _merged(scores, groups), _merged(confidence, groups)
        items = tuple(items[group[0]] for group in groups)
        subtasks = tuple(subtasks[group[0]] for group in groups)
        report.notes.append(
            f"{len(table.items) - len(items)} items merged with one of the same content"
        )
    return ResponseMatrix(
        scores=scores,
        models=tuple(column.model for column in kept),
        items=items,
        subtasks=subtasks,
        confidence=None if np.isnan(confidence).all() else confidence,
        metadata=_metadata(kept, report),
    )


def same_content(table: ItemTable) -> list[list[int]]:
    """Return the positions of items grouped by subtask and content, in order of the first."""
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for i, x in enumerate(table.locations):
        groups[x.subtask, x.content].append(i)
    return list(groups.values())


def _merged(values: Floats, groups: Sequence[Sequence[int]]) -> Floats:
    result = np.empty((len(values), len(groups)), dtype=np.float32)
    for i, group in enumerate(groups):
        some = values[:, list(group)]
        known = ~np.isnan(some)
        count = known.sum(axis=1)
        total = np.where(known, some, 0).sum(axis=1)
        result[:, i] = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return result


def _metadata(kept: Sequence[Column], report: ReadingReport) -> dict[str, Any]:
    return {
        "benchmark": report.benchmark,
        "rules": asdict(report.rules),
        "conflicts": len(report.conflicts),
        "commits": report.commits,
        "columns": {
            column.model: {
                "kind": column.kind,
                "coverage": column.coverage,
                "settings": column.settings,
                # Names of folders, not paths: a matrix is made to be handed on.
                "runs": [Path(run).name for run in column.runs],
            }
            for column in kept
        },
    }
