"""The leaf tasks of a benchmark, as lm_eval loads them, and the documents of its items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import lm_eval.tasks
from lm_eval.api.task import Task
from lm_eval.tasks import TaskManager

from lm_microbench.benchmark import Benchmark
from lm_microbench.items import ItemTable, without_copy
from lm_microbench.names import unknown
from lm_microbench.subset import Subset

Document = Mapping[str, Any]
Row = tuple[str, str, int, str]  # item, leaf task, position, content


def load_leaves(
    benchmark: Benchmark,
    names: Sequence[str] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> dict[str, Task]:
    """Return the leaf tasks of a benchmark by name, in lm_eval's order.

    Parameters
    ----------
    benchmark : Benchmark
    names : sequence of str, optional
        Only these leaf tasks; a group's other data sets are then not loaded at all.
    metadata : mapping, optional
        What lm_eval hands to every task (`--metadata` and the model's arguments).

    Raises
    ------
    KeyError
        If lm_eval does not know the benchmark's task or one of the leaf tasks.
    """
    wanted = list(names) if names is not None else [benchmark.base]
    manager = _manager(benchmark, wanted, dict(metadata or {}))
    for name in wanted:
        if name not in manager.all_tasks:
            raise unknown("lm_eval task", name, manager.all_tasks, hint="is lm_eval up to date?")
    return dict(manager.load(wanted)["tasks"])


def leaf_documents(leaf: Task) -> Sequence[Document]:
    """Return the documents that lm_eval evaluates in a leaf task, in its order."""
    # A configurable task keeps its processed documents; `eval_docs` would process them again.
    docs = getattr(leaf, "task_docs", None)
    return docs if docs is not None else list(leaf.eval_docs)


def item_table(benchmark: Benchmark) -> ItemTable:
    """Return the table of all items of a benchmark, made from its data as lm_eval loads it."""
    leaves = load_leaves(benchmark)
    return ItemTable.of(
        location
        for name, leaf in leaves.items()
        for location in benchmark.locate(name, leaf_documents(leaf))
    )


def find_documents(
    benchmark: Benchmark, subset: Subset, leaves: Mapping[str, Task]
) -> list[tuple[int, Document]]:
    """Return position and document of every chosen item, in the order of the subset's items.

    A document is looked for where the manifest saw it, and by name in all of its leaf task where
    it moved.

    Raises
    ------
    ValueError
        If an item is missing or its content changed; the message names the item.
    """
    places = subset.documents
    if places is None:
        raise ValueError("the manifest has no documents; build it for a benchmark: --benchmark")
    rows = list(zip(subset.items, places.tasks, places.positions, places.contents, strict=True))
    moved = _moved(benchmark, rows, leaves)
    found = []
    for item, task, position, content in rows:
        docs = leaf_documents(leaves[task])
        position = moved[task].get(item, -1) if task in moved else position
        if position < 0:
            raise ValueError(
                f"{benchmark.name}: item {item!r} is not among the {len(docs)} documents of "
                f"{task}; the data set changed: build the subset again"
            )
        if benchmark.content_hash(docs[position]) != content:
            raise ValueError(
                f"{benchmark.name}: the content of item {item!r} (document {position} of {task}) "
                "is not what it was when the subset was built; build the subset again"
            )
        found.append((position, docs[position]))
    return found


def _moved(
    benchmark: Benchmark, rows: Sequence[Row], leaves: Mapping[str, Task]
) -> dict[str, dict[str, int]]:
    """Return every item's position in the leaf tasks where a document is not where it was.

    All items of such a leaf task are looked for by name: of two copies of one text, each may lie
    where the other was.
    """
    taken = Counter((task, position) for _, task, position, _ in rows)
    tasks = {row[1] for row in rows if taken[row[1:3]] > 1 or not _is_there(benchmark, row, leaves)}
    tables = {
        task: ItemTable.of(benchmark.locate(task, leaf_documents(leaves[task]))) for task in tasks
    }
    return {task: {x.item: x.position for x in table.locations} for task, table in tables.items()}


def _is_there(benchmark: Benchmark, row: Row, leaves: Mapping[str, Task]) -> bool:
    """Return whether a document is the one that the manifest saw at its position."""
    item, task, position, content = row
    docs = leaf_documents(leaves[task])
    if position >= len(docs):
        return False
    named = benchmark.base_name(docs[position], task) in (item, without_copy(item))
    return named and benchmark.content_hash(docs[position]) == content


def _manager(benchmark: Benchmark, names: Sequence[str], metadata: dict[str, Any]) -> TaskManager:
    """Return a manager that knows the names: of one folder if that is enough, else of all."""
    folder = _folder(benchmark)
    if folder is not None and folder.is_dir():
        manager = TaskManager(include_defaults=False, include_path=str(folder), metadata=metadata)
        if set(names) <= set(manager.all_tasks):
            return manager
    return TaskManager(metadata=metadata)


def _folder(benchmark: Benchmark) -> Path | None:
    if not benchmark.folder:
        return None
    if benchmark.folder.startswith("."):
        return benchmark.home / benchmark.folder
    return Path(lm_eval.tasks.__file__).parent / benchmark.folder
