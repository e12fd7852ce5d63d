"""Items: their names and subtasks, and where their documents lie."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from lm_microbench import files
from lm_microbench.names import unknown

_COPY = re.compile(r"#\d+$")
_COLUMNS = {"item": str, "subtask": str, "task": str, "position": int, "content": str}


@dataclass(frozen=True)
class Location:
    """One item: its name and subtask, and where its document lies."""

    item: str
    subtask: str
    task: str
    position: int
    content: str


@dataclass(frozen=True)
class ItemTable:
    """All items of a benchmark with the place of their documents; no text of any question."""

    locations: tuple[Location, ...]

    def __post_init__(self) -> None:
        """Check that the names are distinct."""
        twice = next((x for x, n in Counter(self.items).items() if n > 1), None)
        if twice is not None:
            raise ValueError(
                f"item {twice!r} occurs twice: two different documents get this name; "
                "change the rule in benchmark.yaml"
            )

    @classmethod
    def of(cls, locations: Iterable[Location]) -> ItemTable:
        """Return the table; a later item of the same name gets `#2`, `#3` and so on."""
        return cls(tuple(_numbered(locations)))

    # Kept, because loops over items look one up at every step.
    @cached_property
    def items(self) -> tuple[str, ...]:
        """The items' names, in the order of the documents."""
        return tuple(x.item for x in self.locations)

    @cached_property
    def subtasks(self) -> tuple[str, ...]:
        """The subtask of each item."""
        return tuple(x.subtask for x in self.locations)

    def find(self, items: Sequence[str]) -> tuple[Location, ...]:
        """Return the locations of the named items.

        Raises
        ------
        KeyError
            For an item that the benchmark does not hold.
        """
        index = {x.item: x for x in self.locations}
        missing = next((item for item in items if item not in index), None)
        if missing is not None:
            raise unknown("item", missing, index)
        return tuple(index[item] for item in items)

    def save(self, path: Path) -> None:
        """Write the table as Parquet, atomically."""
        columns = {name: [getattr(x, name) for x in self.locations] for name in _COLUMNS}
        with files.atomic(path) as temporary:
            pq.write_table(pa.table(columns), temporary, compression="zstd")

    @classmethod
    def load(cls, path: Path) -> ItemTable:
        """Return the table that `save` wrote.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            If it is not a table of items.
        """
        if not path.is_file():
            raise FileNotFoundError(f"{path}: no such file; `lm-microbench items` makes it")
        rows = files.read_parquet(path).to_pydict()
        for name, kind in _COLUMNS.items():
            if not all(isinstance(value, kind) for value in rows.get(name, [None])):
                raise ValueError(
                    f"{path}: not a table of items (column {name!r}); "
                    "`lm-microbench items` makes one"
                )
        columns = (rows[name] for name in _COLUMNS)
        try:
            return cls(tuple(Location(*row) for row in zip(*columns, strict=True)))
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None


def without_copy(name: str) -> str:
    """Return an item's name without the `#2`, `#3` that a later copy of it got."""
    return _COPY.sub("", name)


def _numbered(locations: Iterable[Location]) -> Iterable[Location]:
    seen: Counter[str] = Counter()
    for x in locations:
        seen[x.item] += 1
        copy = seen[x.item]
        item = x.item if copy == 1 else f"{x.item}#{copy}"
        yield Location(item, x.subtask, x.task, x.position, x.content)
