"""Runs of lm_eval on disk: which files belong to which run, of which model, with which settings."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

UNKNOWN = "unknown"
OFF = "off"
_PACKED = r"\.(?:jsonl?(?:\.gz)?|parquet)$"
_DATED = re.compile(
    r"^samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT\d\d[-:]\d\d[-:]\d\d(?:\.\d+)?)" + _PACKED
)
_UNDATED = re.compile(r"^samples_(?P<task>.+?)" + _PACKED)
_RESULTS = re.compile(r"(?:^|_)(?P<date>\d{4}-\d\d-\d\dT\d\d[-:]\d\d[-:]\d\d(?:\.\d+)?)\.json$")
_NAME_KEYS = ("peft", "delta", "pretrained", "model", "path", "engine")
# What makes a run faster or smaller, not another.
_SPEED = {
    "batch_size", "cache_dir", "data_parallel_size", "device", "device_map", "enforce_eager",
    "gpu_memory_utilization", "low_cpu_mem_usage", "max_batch_size", "max_memory_per_gpu",
    "max_num_seqs", "num_concurrent", "offload_folder", "parallelize", "progress", "swap_space",
    "tensor_parallel_size", "timeout", "token", "trust_remote_code", "use_fast_tokenizer",
}  # fmt: skip


@dataclass(frozen=True)
class RunFile:
    """One samples file and the task that its name says."""

    path: Path
    task: str


@dataclass(frozen=True)
class Run:
    """The files of one run of lm_eval.

    Parameters
    ----------
    folder : Path
    date : str
        As in the files' names (sorts by time); empty where unknown.
    files : tuple of RunFile
    results : mapping
        Content of the results file; empty where there is none.
    results_path : Path, optional
    fault : str
        What is wrong with the results file, if it cannot be read.
    """

    folder: Path
    date: str
    files: tuple[RunFile, ...]
    results: Mapping[str, Any] = field(default_factory=dict)
    results_path: Path | None = None
    fault: str = ""

    @property
    def label(self) -> str:
        """Where the run lies, for messages."""
        return f"{self.folder} ({self.date})" if self.date else str(self.folder)

    @property
    def model(self) -> str:
        """The model's name as the results file has it; the folder's name where there is none."""
        named = self.results.get("model_name") or _name_of(self._model_args)
        revision = self._model_args.get("revision")
        if isinstance(named, str) and named:
            plain = not revision or revision == "main"
            return named if plain else f"{named}@{revision}"
        return self.folder.name

    @property
    def named(self) -> bool:
        """Whether the results file names the model."""
        return bool(self.results.get("model_name") or _name_of(self._model_args))

    @property
    def limited(self) -> bool | None:
        """Whether `--limit` or `--samples` left documents out; None if no file says so."""
        config = self.results.get("config")
        if not isinstance(config, Mapping) or "limit" not in config:
            return None
        return config["limit"] is not None or bool(config.get("samples"))

    def n_samples(self, task: str) -> tuple[int, int] | None:
        """Return how many documents a task has and how many were run; None where not known."""
        counts = _get(self.results, "n-samples", task)
        if not isinstance(counts, Mapping):
            return None
        original, effective = counts.get("original"), counts.get("effective")
        if isinstance(original, int) and isinstance(effective, int):
            return original, effective
        return None

    def filters(self, task: str) -> list[str] | None:
        """Return the names of a task's filters; None if no file tells."""
        config = _get(self.results, "configs", task)
        if not isinstance(config, Mapping) or "output_type" not in config:
            return None
        listed = config.get("filter_list")
        if not isinstance(listed, list):
            return ["none"]
        return [str(x.get("name")) for x in listed if isinstance(x, Mapping)]

    def settings(self, tasks: Sequence[str]) -> dict[str, str]:
        """Return the settings that tell one variant of a model from another, as short texts.

        A setting that no file tells is "unknown", which is not "off".
        """
        config = self.results.get("config")
        config = config if isinstance(config, Mapping) else {}
        return {
            "chat_template": _switch(self.results, "chat_template"),
            "num_fewshot": _common(self._shots(task) for task in tasks),
            "system_instruction": _switch(self.results, "system_instruction"),
            "model_args": self._other_args(),
            "gen_kwargs": _switch(config, "gen_kwargs"),
            "fewshot_as_multiturn": _switch(self.results, "fewshot_as_multiturn"),
            "backend": str(config.get("model") or UNKNOWN),
            "task_version": _common(_get(self.results, "versions", task) for task in tasks),
        }

    @property
    def _model_args(self) -> dict[str, Any]:
        return _arguments(_get(self.results, "config", "model_args"))

    def _other_args(self) -> str:
        arguments = self._model_args
        if not arguments and _get(self.results, "config", "model_args") is None:
            return UNKNOWN
        skipped = _SPEED | {"revision"}
        name = _name_of(arguments)
        rest = {k: v for k, v in arguments.items() if k not in skipped and str(v) != name}
        return ",".join(f"{k}={rest[k]}" for k in sorted(rest)) or OFF

    def _shots(self, task: str) -> Any:
        shots = _get(self.results, "n-shot", task)
        return shots if shots is not None else _get(self.results, "configs", task, "num_fewshot")


def find_runs(sources: Iterable[Path], leaves: Iterable[str]) -> list[Run]:
    """Return the runs found in files and folders (searched recursively), ordered by path and date.

    Parameters
    ----------
    sources : paths
        A samples file, or a folder at any level above some.
    leaves : names
        Leaf tasks of the benchmark: versions of lm_eval before 0.4.3 put the task's name at the
        end of the file's name, where it can only be found if it is known.

    Raises
    ------
    FileNotFoundError
        For a source that does not exist.
    """
    longest_first = sorted(leaves, key=len, reverse=True)
    groups: dict[tuple[Path, str], dict[Path, RunFile]] = defaultdict(dict)
    for path in _distinct(p for source in sources for p in _files(source)):
        found = _identify(path, longest_first)
        if found is not None:
            file, date = found
            groups[path.parent, date][path] = file
    runs = []
    for (folder, date), files in sorted(groups.items()):
        runs.append(Run(folder, date, tuple(files.values()), *_read_results(folder, date)))
    return runs


def canonical(name: str) -> str:
    """Return a model's name as lm_eval writes it in a folder's name (`org/name`: `org__name`)."""
    return re.sub(r"[\"<>:/|\\?*\[\]]+", "__", name)


def _distinct(paths: Iterable[Path]) -> list[Path]:
    """Return the paths sorted; of several names of one file, the first.

    Links are not resolved: a cache of the hub holds files under their names as links to others.
    """
    seen: dict[Path, Path] = {}
    for path in sorted({Path(os.path.abspath(path)) for path in paths}):  # noqa: PTH100
        seen.setdefault(path.resolve(), path)
    return sorted(seen.values())


def _files(source: Path) -> Iterable[Path]:
    if source.is_file():
        return [source]
    if not source.is_dir():
        raise FileNotFoundError(f"{source}: no such file or folder; give a run of lm_eval")
    return [
        Path(folder) / name
        for folder, _, names in os.walk(source)
        for name in names
        if name.endswith((".json", ".jsonl", ".json.gz", ".jsonl.gz", ".parquet"))
    ]


def _identify(path: Path, leaves: Sequence[str]) -> tuple[RunFile, str] | None:
    """Return the file with its task, and the run's date, if its name is that of a samples file."""
    if match := _DATED.match(path.name):
        return RunFile(path, match["task"]), match["date"]
    if match := _UNDATED.match(path.name):
        return RunFile(path, match["task"]), ""
    stem = re.sub(_PACKED, "", path.name)
    # lm_eval 0.4.0 to 0.4.2: <model arguments>_<task>.jsonl
    leaf = next((x for x in leaves if stem.endswith(f"_{x}")), None)
    if leaf is None or stem.startswith("results") or path.suffix == ".parquet":
        return None
    return RunFile(path, leaf), ""


def _read_results(folder: Path, date: str) -> tuple[dict[str, Any], Path | None, str]:
    """Return the content of the run's results file, its path, and what is wrong with it."""
    fault = ""
    for path in sorted(folder.glob("*.json")):
        if path.name.startswith("samples_"):
            continue
        match = _RESULTS.search(path.name)
        if (match["date"] == date) if match else (not date and path.name == "results.json"):
            try:
                content = json.loads(path.read_text(encoding="utf-8-sig", errors="replace"))
            except ValueError as error:
                fault = f"{path}: not a JSON file ({error}); model and settings are guessed"
                continue
            if isinstance(content, dict) and "results" in content:
                return content, path, ""
    return {}, None, fault


def _arguments(raw: Any) -> dict[str, Any]:
    """Return `--model_args` as a mapping, whether it was logged as one or as text."""
    if isinstance(raw, Mapping):
        return {str(k): v for k, v in raw.items()}
    if not isinstance(raw, str):
        return {}
    pairs = (part.partition("=") for part in raw.split(",") if "=" in part)
    return {key.strip(): value.strip() for key, _, value in pairs}


def _name_of(arguments: Mapping[str, Any]) -> str | None:
    return next((str(arguments[k]) for k in _NAME_KEYS if arguments.get(k)), None)


def _get(content: Any, *keys: str) -> Any:
    for key in keys:
        if not isinstance(content, Mapping):
            return None
        content = content.get(key)
    return content


def _switch(content: Mapping[str, Any], key: str) -> str:
    """Return "unknown", "off" or a short text that changes with the value."""
    if key not in content:
        return UNKNOWN
    value = content[key]
    if value is None or value is False or value in ("", {}):
        return OFF
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    if len(text) <= 40 and "\n" not in text:
        return text
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _common(values: Iterable[Any]) -> str:
    """Return the value that all tasks share; otherwise all of them."""
    distinct = sorted({UNKNOWN if value is None else str(value) for value in values})
    return "/".join(distinct) or UNKNOWN
