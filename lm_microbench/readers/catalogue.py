"""Catalogue: finds the item that a document is, by its content."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from lm_microbench.benchmark import Benchmark
from lm_microbench.items import ItemTable, without_copy

VERSION = "another version of the data"
CHANGED = f"{VERSION}: the content of the document differs"
UNKNOWN = f"{VERSION}: no such item"


class NotFoundError(ValueError):
    """The document is no item of the benchmark; its text is the reason."""


@dataclass(frozen=True)
class Catalogue:
    """All items of a benchmark, found by name and content."""

    benchmark: Benchmark
    table: ItemTable

    @classmethod
    def of(cls, benchmark: Benchmark) -> Catalogue:
        """Return the catalogue of a benchmark; its item table is read."""
        return cls(benchmark, benchmark.items())

    def __reduce__(self) -> tuple[Any, ...]:
        """Send a worker process where the table lies; it reads it once, not once a file."""
        return _of_file, (self.benchmark.model_dump_json(), str(self.benchmark.home))

    @cached_property
    def leaves(self) -> dict[str, int]:
        """The leaf tasks, each with its number of items."""
        count: dict[str, int] = defaultdict(int)
        for x in self.table.locations:
            count[x.task] += 1
        return dict(count)

    @cached_property
    def base_names(self) -> tuple[str, ...]:
        """Each item's name without the `#2` of a later copy."""
        items = set(self.table.items)
        return tuple(
            cut if (cut := without_copy(name)) in items else name for name in self.table.items
        )

    @cached_property
    def _index(self) -> dict[str, dict[tuple[str, str], tuple[int, ...]]]:
        index: dict[str, dict[tuple[str, str], tuple[int, ...]]] = defaultdict(dict)
        for i, (name, x) in enumerate(zip(self.base_names, self.table.locations, strict=True)):
            same = index[name].get((x.task, x.content), ())
            index[name][x.task, x.content] = (*same, i)
        return dict(index)

    def find(self, doc: Mapping[str, Any], leaf: str) -> tuple[int, ...]:
        """Return the positions of the items whose content the document has.

        More than one where the benchmark holds copies of the same content.

        Raises
        ------
        NotFoundError
            If no item has that name in that leaf task, or it has another content.
        """
        try:
            name = self.benchmark.base_name(doc, leaf)
            content = self.benchmark.content_hash(doc)
        except ValueError as error:
            raise NotFoundError(f"{VERSION}: {error}") from None
        known = self._index.get(name)
        if known is None:
            raise NotFoundError(UNKNOWN)
        found = known.get((leaf, content))
        if found is None:
            raise NotFoundError(CHANGED)
        return found


@lru_cache(maxsize=2)
def _of_file(benchmark: str, home: str) -> Catalogue:
    described = Benchmark.model_validate_json(benchmark)
    return Catalogue.of(described.model_copy(update={"home": Path(home)}))
