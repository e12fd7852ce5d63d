"""Benchmark: which lm_eval task it is, and how an item is named from its document."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from lm_microbench.folders import PATH_VARIABLE, task_folders
from lm_microbench.items import ItemTable, Location
from lm_microbench.names import unknown

BENCHMARK_FILE = "benchmark.yaml"
ITEMS_FILE = "items.parquet"
HASH_LENGTH = 16


class SubtaskRule(BaseModel):
    """Where an item's subtask comes from: a field of the document, or its leaf task's name."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    field: str | None = None
    task_prefix: str | None = None

    @model_validator(mode="after")
    def _one_rule(self) -> SubtaskRule:
        if (self.field is None) == (self.task_prefix is None):
            raise ValueError("give either `field` or `task_prefix`")
        return self


class ItemRule(BaseModel):
    """What names an item within its subtask: the value of one field, or a hash of some."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    field: str | None = None
    hash: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _one_rule(self) -> ItemRule:
        if (self.field is None) == (not self.hash):
            raise ValueError("give either `field` or `hash`")
        return self


class Benchmark(BaseModel):
    """A full benchmark: an lm_eval task or group, and the rules that name its items.

    Read from `tasks/<name>/benchmark.yaml`.

    Parameters
    ----------
    base : str
        The lm_eval task or group; also the benchmark's name.
    subtask, item : rules
        An item is named `<subtask>/<key>`; a later copy of the same name gets `#2`, `#3`.
    content : tuple of str
        Fields of the document that its content hash covers: a change in any of them is another
        item, an added column is not.
    metric, filter : str
        The metric, and the filter's name, that score an item.
    folder : str
        Where lm_eval keeps the task: relative to `lm_eval/tasks`, or to this file when it starts
        with `.`. Empty: lm_eval's whole index is searched.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    base: str
    subtask: SubtaskRule
    item: ItemRule
    content: tuple[str, ...] = Field(min_length=1)
    metric: str
    filter: str = "none"
    folder: str = ""
    home: Path = Field(default=Path(), exclude=True)

    @property
    def name(self) -> str:
        """The benchmark's name: that of its lm_eval task."""
        return self.base

    @classmethod
    def read(cls, path: Path) -> Benchmark:
        """Return the benchmark that a `benchmark.yaml` describes.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            If the file is not valid; the message names the field.
        """
        if not path.is_file():
            raise FileNotFoundError(f"{path}: no such file; give a benchmark's name or its file")
        try:
            raw = yaml.safe_load(path.read_text(encoding="utf-8"))
            if not isinstance(raw, dict):
                raise ValueError("not a mapping of keys to values")
            return cls(**raw, home=path.parent)
        except (yaml.YAMLError, ValidationError, ValueError, TypeError) as error:
            raise ValueError(f"{path}: {one_line(error)}") from None

    def subtask_of(self, doc: Mapping[str, Any], leaf: str) -> str:
        """Return the subtask of a document that the leaf task `leaf` owns."""
        if self.subtask.field is not None:
            return self._name(doc, self.subtask.field)
        return leaf.removeprefix(self.subtask.task_prefix or "")

    def key_of(self, doc: Mapping[str, Any]) -> str:
        """Return the part of an item's name that tells it from others of its subtask."""
        if self.item.field is not None:
            return self._name(doc, self.item.field)
        values = [self._value(doc, name) for name in self.item.hash]
        text = values[0] if len(values) == 1 and isinstance(values[0], str) else _canonical(values)
        return _hash(text)

    def base_name(self, doc: Mapping[str, Any], leaf: str) -> str:
        """Return an item's name without the `#2` that a later copy of the same content gets."""
        return f"{self.subtask_of(doc, leaf)}/{self.key_of(doc)}"

    def content_hash(self, doc: Mapping[str, Any]) -> str:
        """Return 16 hexadecimal digits that change when the content of a document does."""
        return _hash(_canonical([self._value(doc, name) for name in self.content]))

    def locate(self, leaf: str, docs: Iterable[Mapping[str, Any]]) -> list[Location]:
        """Return the items of one leaf task's documents, in order."""
        return [
            Location(
                self.base_name(doc, leaf),
                self.subtask_of(doc, leaf),
                leaf,
                position,
                self.content_hash(doc),
            )
            for position, doc in enumerate(docs)
        ]

    def items(self) -> ItemTable:
        """Return the table of all items, from `items.parquet` beside `benchmark.yaml`.

        Raises
        ------
        FileNotFoundError
            If the benchmark has no such table yet.
        """
        return ItemTable.load(self.home / ITEMS_FILE)

    def _value(self, doc: Mapping[str, Any], name: str) -> Any:
        if name not in doc:
            raise ValueError(
                f"{self.base}: a document has no field {name!r} "
                f"(it has: {', '.join(map(str, doc))}); the data set has "
                "another version than benchmark.yaml describes"
            )
        return doc[name]

    def _name(self, doc: Mapping[str, Any], field: str) -> str:
        """Return a field's value as a part of a name; without one, items would go by their row."""
        value = self._value(doc, field)
        if value is None or value == "" or value != value:
            raise ValueError(
                f"{self.base}: field {field!r} of a document is empty, so the item has no name; "
                "name items by another field or a hash in benchmark.yaml"
            )
        return str(value)


def benchmarks() -> dict[str, Path]:
    """Return the name of every known benchmark with the path of its `benchmark.yaml`."""
    paths = (
        path for folder in task_folders() for path in sorted(folder.glob(f"**/{BENCHMARK_FILE}"))
    )
    found: dict[str, Path] = {}
    for path in paths:
        found.setdefault(Benchmark.read(path).name, path)
    return found


def load_benchmark(name: str, *, beside: Path | None = None) -> Benchmark:
    """Return the benchmark of that name, or the one that a path to `benchmark.yaml` describes.

    Parameters
    ----------
    name : str
    beside : Path, optional
        A folder that may hold the `benchmark.yaml` of an unknown name: a micro-task's own.

    Raises
    ------
    KeyError
        For an unknown name, with the nearest ones.
    FileNotFoundError
        If there is no file at a path.
    """
    path = Path(name)
    if path.suffix in (".yaml", ".yml"):
        return Benchmark.read(path)
    known = benchmarks()
    if name not in known and beside is not None and (beside / BENCHMARK_FILE).is_file():
        found = Benchmark.read(beside / BENCHMARK_FILE)
        known[found.name] = beside / BENCHMARK_FILE
    if name not in known:
        hint = f"(own ones: the path of its {BENCHMARK_FILE}, or its folder in {PATH_VARIABLE})"
        raise unknown("benchmark", name, known, hint=hint)
    return Benchmark.read(known[name])


def one_line(error: Exception) -> str:
    """Return what an error says in one line; of a validation error, the first fault."""
    if isinstance(error, ValidationError):
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"]))
        return f"{where or 'content'}: {fault['msg'].removeprefix('Value error, ')}"
    return " ".join(str(error).split())


def _canonical(values: Sequence[Any]) -> str:
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"), default=_plain)


def _plain(value: Any) -> Any:
    """Return a value of no JSON type as lm_eval's logs hold it, if that is stable."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    text = str(value)
    if isinstance(value, set | frozenset) or " at 0x" in text:
        raise ValueError(
            f"a document holds a {type(value).__name__}, whose text differs from run to run; "
            "leave its field out of `hash` and `content` in benchmark.yaml"
        )
    return text


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:HASH_LENGTH]
