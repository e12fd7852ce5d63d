"""One samples file of lm_eval: which item got which score, and what had to be rejected."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from lm_microbench.readers.catalogue import Catalogue, NotFoundError
from lm_microbench.readers.confidence import right_share
from lm_microbench.readers.jsonl import Fault
from lm_microbench.readers.prompts import asks_question, request_texts, shows_choices
from lm_microbench.readers.rows import sample_records

ROW_KEY = "lm_microbench"
_ABSENT = {"", "n/a", "nan", "none", "null"}
_SHOWN = 0.5


class RejectedError(ValueError):
    """A row that cannot be used; its text is the reason."""


@dataclass(frozen=True, slots=True)
class Row:
    """One usable row: the items it may be, its score (NaN: missing) and confidence.

    `prompted` says whether the row holds its prompt, `choices_shown` whether the prompt holds the
    document's choices (None: it has none), `filtered` whether the row names its filter.
    """

    items: tuple[int, ...]
    doc_id: int | None
    score: float
    confidence: float
    prompted: bool
    choices_shown: bool | None
    filtered: bool


@dataclass
class SampleFile:
    """What one samples file says about the items of a benchmark.

    `scores` and `confidence` have one value an item, NaN where there is none; `conflicting` are
    the items with two different scores (the later one stands in `scores`); `first_ids` whether
    the documents' numbers are 0 to n-1; `names_filter` whether rows name their filter (those of
    old versions do not); `unchecked` how many rows hold no prompt to be checked.
    """

    path: str
    task: str
    scores: npt.NDArray[np.float32]
    confidence: npt.NDArray[np.float32]
    rows: int = 0
    items: frozenset[int] = frozenset()
    duplicates: dict[int, int] = field(default_factory=dict)
    conflicting: tuple[int, ...] = ()
    rejected: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    first_ids: bool = False
    names_filter: bool = False
    unchecked: int = 0

    def reject(self, line: int, reason: str) -> None:
        """Count a rejected row; the first of each reason is kept with its line."""
        self.rejected[reason] += 1
        self.examples.setdefault(reason, f"{self.path}:{line}")


def read_samples(
    path: Path,
    task: str,
    catalogue: Catalogue,
    *,
    micro: bool = False,
    advance: Callable[[int], None] | None = None,
) -> SampleFile:
    """Return what a samples file says, joined to the items by content.

    Parameters
    ----------
    path : Path
    task : str
        The task that the file belongs to: a leaf task of the benchmark or, if `micro`, a
        micro-task, whose rows name their leaf task.
    """
    size = len(catalogue.table.locations)
    empty = np.full(size, np.nan, dtype=np.float32)
    result = SampleFile(str(path), task, empty, empty.copy())
    placer = _Placer(catalogue, result)
    for line, record in sample_records(path, result.faults, advance=advance):
        result.rows += 1
        try:
            placer.add(line, read_row(record, task, catalogue, micro=micro))
        except RejectedError as error:
            result.reject(line, str(error))
    placer.finish()
    return result


def read_row(record: Any, task: str, catalogue: Catalogue, *, micro: bool) -> Row:
    """Return a row's items, score and confidence.

    Raises
    ------
    RejectedError
        If it is no sample, has another filter, its document is no item, its prompt is another
        document's, or its score is not a number in [0, 1].
    """
    if not isinstance(record, Mapping) or not isinstance(record.get("doc"), Mapping):
        raise RejectedError("no sample of lm_eval (it has no `doc`)")
    wanted = catalogue.benchmark.filter
    if record.get("filter", wanted) != wanted:
        raise RejectedError(f"another filter than {wanted!r}")
    doc = dict(record["doc"])
    note = doc.pop(ROW_KEY, None)
    try:
        items = catalogue.find(doc, _leaf(note, task, micro))
    except NotFoundError as error:
        raise RejectedError(str(error)) from None
    if micro:
        items = tuple(i for i in items if catalogue.table.items[i] == note.get("item"))
        if not items:
            raise RejectedError("the row names another item than its document is")
    prompts, continuations = request_texts(record.get("arguments"))
    content = catalogue.benchmark.content
    if not asks_question(doc, prompts, content[0]):
        raise RejectedError("the prompt is another document's (its question is not in it)")
    doc_id = record.get("doc_id")
    return Row(
        items,
        doc_id if isinstance(doc_id, int) else None,
        score_of(record, catalogue.benchmark.metric),
        right_share(record),
        bool(prompts),
        shows_choices(doc, [*prompts, " ".join(continuations)], content[1:]) if prompts else None,
        "filter" in record,
    )


def score_of(record: Mapping[str, Any], metric: str) -> float:
    """Return the score of a row, in [0, 1]; NaN where it is missing, null, NaN or "N/A".

    Raises
    ------
    RejectedError
        If it is there, but not a number in [0, 1].
    """
    value = record.get(metric)
    if value is None or (isinstance(value, str) and value.strip().lower() in _ABSENT):
        return math.nan
    if not isinstance(value, int | float):
        raise RejectedError(f"{metric} is not a number")
    number = float(value)
    if not (math.isnan(number) or 0 <= number <= 1):
        raise RejectedError(f"{metric} is outside [0, 1]")
    return number


def _leaf(note: Any, task: str, micro: bool) -> str:
    if not micro:
        return task
    if not isinstance(note, Mapping) or not isinstance(note.get("task"), str):
        raise RejectedError(f"no row of a micro-task (its document has no `{ROW_KEY}`)")
    return str(note["task"])


# ---- which item ---------------------------------------------------------------------------------


class _Placer:
    """Puts every row's score where it belongs; counts duplicates and conflicts.

    Rows that can be placed at once are not kept, so memory does not grow with the file.
    """

    def __init__(self, catalogue: Catalogue, result: SampleFile) -> None:
        self._catalogue, self._result = catalogue, result
        self._seen: set[int] = set()
        self._conflicting: dict[int, None] = {}
        self._ids: set[int | None] = set()
        self._copies: dict[tuple[int, ...], list[Row]] = defaultdict(list)
        self._doubtful: list[tuple[int, Row]] = []
        self._filtered = self._prompted = self._shown = self._hidden = 0

    def add(self, line: int, row: Row) -> None:
        self._ids.add(row.doc_id)
        self._filtered += row.filtered
        self._prompted += row.prompted
        self._shown += row.choices_shown is True
        self._hidden += row.choices_shown is False
        if row.filtered and row.prompted and row.choices_shown is not False:
            self._accept(row)
        else:
            self._doubtful.append((line, row))

    def finish(self) -> None:
        """Decide about the rows that need the whole file to be known."""
        for line, row in self._doubtful:
            reason = self._doubt(row)
            if reason:
                self._result.reject(line, reason)
            else:
                self._accept(row)
        for item, row in self._told_apart():
            self._put(item, row)
        self._result.names_filter = self._filtered > 0
        self._result.unchecked = 0 if self._prompted else len(self._doubtful)
        self._result.items = frozenset(self._seen)
        self._result.conflicting = tuple(self._conflicting)
        self._result.first_ids = self._ids == set(range(len(self._ids)))

    def _doubt(self, row: Row) -> str:
        """Return why a row that differs from the others of its file is not to be trusted."""
        if not row.filtered and self._filtered:
            return "the row does not name its filter, as others do"
        if not row.prompted and self._prompted:
            return "the row has no prompt, as others do"
        # Many questions have the same text ("which is true?") and differ only in their choices. A
        # task may also show none, so a row is rejected only where most others show theirs.
        strict = self._shown >= _SHOWN * (self._shown + self._hidden)
        if row.choices_shown is False and strict:
            return "the prompt is another document's (its choices are not in it)"
        return ""

    def _accept(self, row: Row) -> None:
        if len(row.items) == 1:
            self._put(row.items[0], row)
        else:
            self._copies[row.items].append(row)

    def _put(self, item: int, row: Row) -> None:
        result = self._result
        if item in self._seen:
            result.duplicates[item] = result.duplicates.get(item, 0) + 1
        self._seen.add(item)
        if math.isnan(row.score):
            return
        before = result.scores[item]
        if not np.isnan(before) and before != np.float32(row.score):
            self._conflicting[item] = None
        result.scores[item] = row.score
        result.confidence[item] = row.confidence

    def _told_apart(self) -> Iterator[tuple[int, Row]]:
        """Yield the rows whose content several items share; `doc_id` tells the copies apart."""
        for items, rows in self._copies.items():
            free = {self._catalogue.table.locations[i].position: i for i in items}
            ids = sorted({row.doc_id for row in rows if row.doc_id is not None})
            by_id = {x: free.pop(x) for x in ids if x in free}
            left = iter(free.values())
            by_id |= {x: next(left, items[-1]) for x in ids if x not in by_id}
            for row in rows:
                number = row.doc_id
                yield (next(left, items[-1]) if number is None else by_id[number]), row
