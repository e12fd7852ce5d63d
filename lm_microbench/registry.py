"""Where tasks live, how lm_eval finds them, and the files of a new one."""

from __future__ import annotations

import logging
import re
import site
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lm_microbench import files
from lm_microbench.folders import task_folders
from lm_microbench.names import unknown
from lm_microbench.subset import NewerSchemaError, Subset

HOOK_FILE = "lm_microbench_autoload.pth"
HOOK = (
    "import os; exec(\"if os.environ.get('LM_MICROBENCH_AUTOLOAD') != '0':\\n"
    "    try:\\n        from lm_microbench import _autoload; _autoload.install()\\n"
    '    except Exception: pass")\n'
)

_LABEL = re.compile(r"[A-Za-z0-9_-]+")

log = logging.getLogger(__name__)

_TASK_YAML = """\
task: {name}
class: !function lm_microbench.task.MicroTask
metadata:
  version: {version}
"""


@dataclass(frozen=True)
class TaskEntry:
    """A micro-task on disk: its name, manifest and the folder that holds both."""

    name: str
    manifest: Path

    def load(self) -> Subset:
        """Return the task's subset."""
        return Subset.load(self.manifest)


def task_name(benchmark: str, size: int, method: str, label: str = "") -> str:
    """Return the name of a micro-task, `<benchmark>_micro<size>_<method>`, and `_<label>`.

    Raises
    ------
    ValueError
        If the label could not stand in a task's name.
    """
    if label and not _LABEL.fullmatch(label):
        raise ValueError(f"label: {label!r}; use letters, digits, `_` and `-`")
    name = f"{benchmark}_micro{size}_{method.replace('-', '_')}"
    return f"{name}_{label}" if label else name


def tasks() -> Iterator[TaskEntry]:
    """Yield every micro-task, sorted by folder and name.

    Where two have the same name, it is the one that lm_eval runs: the first one of a folder, and
    that of a later folder before that of an earlier.
    """
    found: dict[str, TaskEntry] = {}
    for folder in task_folders():
        manifests = sorted(folder.glob("**/*_micro*.json"), key=Path.as_posix, reverse=True)
        found |= {
            manifest.stem: TaskEntry(manifest.stem, manifest)
            for manifest in manifests
            if manifest.with_suffix(".yaml").is_file()
        }
    yield from sorted(found.values(), key=lambda entry: entry.manifest.as_posix())


def describe(entry: TaskEntry) -> dict[str, Any]:
    """Return what a list of tasks shows of one: what it is, and its measured reliability.

    `error_*` is the root mean square error of the estimate of a source model that was held out,
    `agreement_*` the share of pairs of such models ordered rightly, each of models inside the range
    of the others and of the best, above it; None where it was too few to tell, and not there where
    nothing was measured.
    """
    subset = entry.load()
    provenance, measured = subset.provenance, subset.reliability
    kinds = {} if measured is None else {"inside": measured.inside, "above": measured.above}
    return {
        "benchmark": provenance.benchmark,
        "task": entry.name,
        "size": provenance.size,
        "n_items": provenance.n_items,
        "method": provenance.method,
        "n_sources": len(provenance.sources),
        **{f"error_{kind}": found.error_rms for kind, found in kinds.items()},
        **{f"agreement_{kind}": found.agreement for kind, found in kinds.items()},
    }


def find_subset(name: str) -> Subset:
    """Return the subset of a task name, or of the manifest or YAML file at a path.

    Raises
    ------
    KeyError
        If there is no such task, with the nearest names.
    """
    path = Path(name)
    if path.suffix in (".json", ".yaml"):
        return Subset.load(path.with_suffix(".json"))
    known = {entry.name: entry for entry in tasks()}
    if name not in known:
        raise unknown("micro-task", name, known)
    return known[name].load()


def write_task(
    subset: Subset, folder: Path, *, label: str = "", replace: bool = False, version: float = 1.0
) -> TaskEntry:
    """Write manifest and YAML of a micro-task into `folder` and return its entry.

    The manifest comes first: lm_eval finds a task by its YAML, so it never sees half of one. An
    equal manifest is left as it is, with its date; a damaged one is made whole.

    Parameters
    ----------
    subset : Subset
    folder : Path
    label : str
        End of the task's name, to keep subsets apart that differ in seed, options or sources only.
    replace : bool
        Whether another subset of the same name may be lost.

    Raises
    ------
    ValueError
        If the subset was not built for a benchmark, or the name is another subset's or that of a
        manifest which a later version wrote.
    """
    provenance = subset.provenance
    if provenance.benchmark is None or subset.documents is None:
        raise ValueError("the subset was not built for a benchmark; lm_eval could not run it")
    name = task_name(provenance.benchmark, provenance.size, provenance.method, label)
    manifest = folder / f"{name}.json"
    there = _subset_at(manifest)
    if there is None or not same(there, subset):
        if there is not None and not replace:
            raise ValueError(
                f"{manifest}: another subset (seed {there.provenance.seed}, options "
                f"{there.provenance.options}, {len(there.provenance.sources)} sources); "
                "keep both with a label (--label), or say --replace"
            )
        subset.save(manifest)
    files.write_text(folder / f"{name}.yaml", _TASK_YAML.format(name=name, version=version))
    return TaskEntry(name, manifest)


def _subset_at(manifest: Path) -> Subset | None:
    """Return the subset of a manifest; None if there is none, or it is damaged."""
    try:
        return Subset.load(manifest)
    except NewerSchemaError:
        raise
    except (FileNotFoundError, ValueError):
        return None


def same(one: Subset, other: Subset) -> bool:
    """Return whether two subsets are equal but for the date and the package's version."""
    undated = {"date": None, "package_version": ""}

    def bare(subset: Subset) -> Subset:
        return subset.with_(provenance=subset.provenance.model_copy(update=undated))

    return bare(one) == bare(other)


def add_tasks(manager: Any) -> None:
    """Add our tasks to an lm_eval `TaskManager`; names that it already knows stay what they are."""
    from lm_eval.tasks import TaskManager

    ours = TaskManager(include_defaults=False, include_path=[str(x) for x in task_folders()])
    index = manager.task_index
    new = [name for name in ours.task_index if name not in index]
    index.update({name: ours.task_index[name] for name in new})
    for attribute in ("_all_tasks", "_all_subtasks", "_all_groups", "_all_tags"):
        names = set(getattr(ours, attribute)).intersection(new)
        setattr(manager, attribute, sorted(names.union(getattr(manager, attribute))))


def hook_path() -> Path:
    """Return where the start-up hook of this environment lies, or would lie."""
    return Path(sysconfig.get_paths()["purelib"]) / HOOK_FILE


def register() -> Path:
    """Make plain `lm_eval` find our tasks in this environment; return the hook's path."""
    path = hook_path()
    files.write_text(path, HOOK)
    return path


def unregister() -> list[Path]:
    """Switch it off; return the hooks taken away (none: it was off)."""
    places = {hook_path(), *(Path(x) / HOOK_FILE for x in site.getsitepackages())}
    found = sorted(path for path in places if path.exists())
    for path in found:
        path.unlink()
    return found
