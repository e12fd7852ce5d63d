"""Drafts: a starting `benchmark.yaml` for any task or group of lm_eval, guessed from its data."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

import lm_eval.tasks
import yaml
from lm_eval.api.task import Task
from lm_eval.tasks import TaskManager

from lm_microbench.benchmark import Benchmark, ItemRule, SubtaskRule
from lm_microbench.leaves import Document, leaf_documents
from lm_microbench.names import unknown

# Fields that data sets call the subject of a question by, the most telling first.
SUBJECTS = ("subtask", "subject", "category", "domain", "topic", "subset", "type", "language")
MIN_ITEMS = 5


@dataclass(frozen=True)
class Draft:
    """A guessed benchmark, and what else could have been chosen.

    Parameters
    ----------
    benchmark : Benchmark
    metrics, filters : tuple of str
        All that the task has.
    n_items : int
    subtasks : tuple of str
    """

    benchmark: Benchmark
    metrics: tuple[str, ...]
    filters: tuple[str, ...]
    n_items: int
    subtasks: tuple[str, ...]

    def to_yaml(self) -> str:
        """Return the text of `benchmark.yaml`, with what can be changed in comments."""
        raw = self.benchmark.model_dump(mode="json", exclude_none=True)
        if not raw["item"]["hash"]:
            del raw["item"]["hash"]
        notes = {
            "base": "The task or group of lm_eval.",
            "folder": "Where it lies: below lm_eval/tasks, or from here if it starts with a dot.",
            "subtask": "What groups the items: {field: ...} of the document, or the task's name "
            "without {task_prefix: ...}.",
            "item": "What names an item: {hash: [...]} of fields, or one {field: ...}.",
            "content": "A change in one of these fields is another item.",
            "metric": f"Of each item, in [0, 1]; the task has: {', '.join(self.metrics)}.",
            "filter": f"Of the answers; the task has: {', '.join(self.filters)}.",
        }
        lines = []
        for key, note in notes.items():
            value = yaml.safe_dump(raw[key], default_flow_style=True, width=1000).split("\n")[0]
            lines.append(f"# {note}\n{key}: {value}")
        return "\n".join(lines) + "\n"


def draft(
    task: str,
    home: Path,
    *,
    include: Path | None = None,
    metric: str | None = None,
    filter_name: str | None = None,
) -> Draft:
    """Return a starting benchmark for a task or group, guessed from its settings and documents.

    Subtasks are the leaf tasks of a group, or the values of a field such as `subject`. An item is
    named by a hash of all fields that hold text in every document. The metric is the first that is
    a mean over items; the filter is the first.

    Parameters
    ----------
    task : str
    home : Path
        The folder where `benchmark.yaml` will lie.
    include : Path, optional
        A folder with tasks of the user's own, as lm_eval's `--include_path`.
    metric, filter_name : str, optional
        In place of the guess.

    Raises
    ------
    KeyError
        If there is no such task, metric or filter.
    ValueError
        If the tasks of a group cannot run as one, no metric is a mean, or documents differ from
        one loading to the next.
    """
    manager = _manager(task, include)
    leaves: dict[str, Task] = dict(manager.load([task])["tasks"])
    documents = {name: list(leaf_documents(leaf)) for name, leaf in leaves.items()}
    _check_alike(task, leaves)
    metrics = _metrics(task, leaves.values())
    filters = tuple(f.name for f in next(iter(leaves.values()))._filters)
    fields = _common_fields(task, documents)
    text = [name for name in fields if _holds_text(name, documents)]
    benchmark = Benchmark(
        base=task,
        folder=_folder(manager, task, list(leaves), home, include),
        subtask=_subtask_rule(documents),
        item=ItemRule(hash=tuple(text or fields)),
        content=tuple(fields),
        metric=_chosen("metric", metric, metrics),
        filter=_chosen("filter", filter_name, filters),
        home=home,
    )
    _check_stable(benchmark, documents, manager.load([task])["tasks"])
    subtasks = {benchmark.subtask_of(x, leaf) for leaf, docs in documents.items() for x in docs}
    n_items = sum(map(len, documents.values()))
    return Draft(benchmark, metrics, filters, n_items, tuple(sorted(subtasks)))


def _manager(task: str, include: Path | None) -> TaskManager:
    """Return a manager that knows the task: of the user's folder if that is enough, else of all."""
    if include is not None and not include.is_dir():
        raise FileNotFoundError(f"{include}: no such folder; give that of your tasks' YAML files")
    if include is not None:
        manager = TaskManager(include_defaults=False, include_path=str(include))
        if task in manager.all_tasks:
            return manager
    manager = TaskManager(include_path=None if include is None else str(include))
    if task not in manager.all_tasks:
        raise unknown("lm_eval task", task, manager.all_tasks, hint="(own ones: --include-path)")
    return manager


def _check_alike(task: str, leaves: Mapping[str, Task]) -> None:
    if not leaves:
        raise ValueError(f"{task}: a group without tasks")
    for what, values in {
        "output types": {str(x.OUTPUT_TYPE) for x in leaves.values()},
        "filters": {", ".join(f.name for f in x._filters) for x in leaves.values()},
    }.items():
        if len(values) > 1:
            raise ValueError(
                f"{task}: its tasks differ in {what} ({'; '.join(sorted(values))}); "
                "they cannot run as one, make a benchmark of a part of them"
            )


def _metrics(task: str, leaves: Iterable[Task]) -> tuple[str, ...]:
    """Return the metrics that are a mean over items in every leaf task, in the task's order."""
    means = [
        [name for name, how in x.aggregation().items() if getattr(how, "__name__", "") == "mean"]
        for x in leaves
    ]
    shared = tuple(name for name in means[0] if all(name in other for other in means))
    if not shared:
        raise ValueError(f"{task}: no metric is a mean over items; a subset could not estimate it")
    return shared


def _common_fields(task: str, documents: Mapping[str, Sequence[Document]]) -> list[str]:
    """Return the fields that every document has and whose values can be compared by their text."""
    every = [document for docs in documents.values() for document in docs]
    if not every:
        raise ValueError(f"{task}: no documents")
    shared = [name for name in every[0] if all(name in document for document in every)]
    found = [str(name) for name in shared if all(_is_plain(document[name]) for document in every)]
    if not found:
        raise ValueError(f"{task}: no field of the documents can name an item")
    return found


def _is_plain(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(isinstance(k, str) and _is_plain(x) for k, x in value.items())
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, str | int | float)


def _holds_text(name: str, documents: Mapping[str, Sequence[Document]]) -> bool:
    return all(
        isinstance(value := document[name], str)
        or (isinstance(value, list) and bool(value) and all(isinstance(x, str) for x in value))
        for docs in documents.values()
        for document in docs
    )


def _subtask_rule(documents: Mapping[str, Sequence[Document]]) -> SubtaskRule:
    if len(documents) > 1:
        same = takewhile(lambda letters: len(set(letters)) == 1, zip(*documents, strict=False))
        shared = "".join(letters[0] for letters in same)
        return SubtaskRule(task_prefix=shared[: shared.rfind("_") + 1])
    [docs] = documents.values()
    for name in SUBJECTS:
        values = [document.get(name) for document in docs]
        named = all(isinstance(value, str) and value for value in values)
        if named and 1 < len(set(values)) <= len(docs) / MIN_ITEMS:
            return SubtaskRule(field=name)
    return SubtaskRule(task_prefix="")


def _folder(
    manager: TaskManager, task: str, leaves: Sequence[str], home: Path, include: Path | None
) -> str:
    """Return the smallest folder known to hold the task and its leaves; empty: search them all."""
    source = manager.task_index[task].yaml_path
    if source is None:
        return ""
    if include is not None and Path(source).resolve().is_relative_to(include.resolve()):
        path = Path(os.path.relpath(include.resolve(), home.resolve())).as_posix()
        return path if path.startswith(".") else f"./{path}"
    own = Path(lm_eval.tasks.__file__).parent
    if not Path(source).is_relative_to(own) or Path(source).parent == own:
        return ""
    found = TaskManager(include_defaults=False, include_path=str(Path(source).parent))
    if not {task, *leaves} <= set(found.all_tasks):
        return ""
    return Path(source).parent.relative_to(own).as_posix()


def _chosen(kind: str, wanted: str | None, known: Sequence[str]) -> str:
    if wanted is None:
        return known[0]
    if wanted not in known:
        raise unknown(kind, wanted, known)
    return wanted


def _check_stable(
    benchmark: Benchmark, before: Mapping[str, Sequence[Document]], again: Mapping[str, Task]
) -> None:
    """Refuse documents that are another at each loading (choices shuffled by global chance)."""
    for name, docs in before.items():
        other = leaf_documents(again[name])
        for position, (one, two) in enumerate(zip(docs, other, strict=True)):
            if benchmark.content_hash(one) != benchmark.content_hash(two):
                raise ValueError(
                    f"{benchmark.base}: document {position} of {name} is another each time it is "
                    "loaded (lm_eval shuffles it), so no subset of it can be fixed"
                )
