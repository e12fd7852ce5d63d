"""One dump of the MMLU-Pro project: which letter a model answered to which item."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from lm_microbench.readers.catalogue import CHANGED, UNKNOWN, Catalogue
from lm_microbench.readers.jsonl import Fault, records

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
ID, GROUP, KEY, PRED = "question_id", "category", "answer", "pred"
ABSENT, NULL, NO_LETTER = 0, -1, -2


@dataclass
class Dump:
    """What one file says, one value an item.

    `preds` and `keys` hold 1 for "A", 2 for "B" and so on, 0 where the file has no record; a pred
    is also -1 where it is null and -2 where it is no single letter. `n_options` is 0 where unknown.
    """

    path: str
    preds: npt.NDArray[np.int8]
    keys: npt.NDArray[np.int8]
    n_options: npt.NDArray[np.int16]
    rows: int = 0
    duplicates: dict[int, int] = field(default_factory=dict)
    conflicting: list[int] = field(default_factory=list)
    rejected: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    def reject(self, line: int, reason: str) -> None:
        """Count a rejected record; the first of each reason is kept with its line."""
        self.rejected[reason] += 1
        self.examples.setdefault(reason, f"{self.path}:{line}")


def read_dump(
    path: Path, catalogue: Catalogue, advance: Callable[[int], None] | None = None
) -> Dump:
    """Return what one file says, joined to the items by `<category>/<question_id>`.

    Where a record holds question and options too, they must be the item's.
    """
    size = len(catalogue.table.items)
    dump = Dump(
        path=str(path),
        preds=np.zeros(size, dtype=np.int8),
        keys=np.zeros(size, dtype=np.int8),
        n_options=np.zeros(size, dtype=np.int16),
    )
    index = {name: i for i, name in enumerate(catalogue.table.items)}
    for line, record in records(path, dump.faults, advance=advance):
        dump.rows += 1
        if not isinstance(record, Mapping) or ID not in record:
            dump.reject(line, f"no record (a {type(record).__name__} without {ID})")
            continue
        _add(dump, line, record, index, catalogue)
    return dump


def _add(
    dump: Dump, line: int, record: Mapping[str, Any], index: Mapping[str, int], catalogue: Catalogue
) -> None:
    item = index.get(f"{record.get(GROUP)}/{record[ID]}")
    if item is None:
        dump.reject(line, UNKNOWN)
        return
    if not _same_content(record, item, catalogue):
        dump.reject(line, CHANGED)
        return
    if PRED not in record:
        dump.reject(line, f"no {PRED}")
        return
    key = _letter(record.get(KEY))
    if key <= 0:
        dump.reject(line, f"{KEY} is no letter")
        return
    pred = _letter(record[PRED])
    if dump.preds[item] != ABSENT:
        dump.duplicates[item] = dump.duplicates.get(item, 0) + 1
        if (dump.preds[item], dump.keys[item]) != (pred, key):
            dump.conflicting.append(item)
    dump.preds[item], dump.keys[item] = pred, key
    options = record.get("options")
    if isinstance(options, list):
        dump.n_options[item] = len(options)


def _letter(value: Any) -> int:
    """Return 1 for "A" and so on, -1 for null or nothing, -2 for what is no single letter."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return NULL
    if isinstance(value, str) and len(value.strip()) == 1 and value.strip() in LETTERS:
        return LETTERS.index(value.strip()) + 1
    return NO_LETTER


def _same_content(record: Mapping[str, Any], item: int, catalogue: Catalogue) -> bool:
    """Return whether question and options are the item's; its key may differ between files."""
    benchmark = catalogue.benchmark
    if any(name not in record for name in benchmark.content):
        return True
    wanted = catalogue.table.locations[item].content
    if benchmark.content_hash(record) == wanted:
        return True
    others = ({**record, KEY: letter} for letter in LETTERS)
    return any(benchmark.content_hash(other) == wanted for other in others)
