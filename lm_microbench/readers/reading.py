"""ReadingReport: what was read, what was left out and why; and the rules it was read by."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from lm_microbench import files

ConflictRule = Literal["refuse", "newest", "drop"]
NullRule = Literal["wrong", "drop", "guess"]
ChangedRule = Literal["refuse", "drop"]
_SHOWN = 10


class ConflictError(ValueError):
    """The input contradicts itself and no rule says what to do; `report` has all of it."""

    def __init__(self, message: str, report: ReadingReport) -> None:
        """Keep the report beside the one-line message."""
        super().__init__(message)
        self.report = report


@dataclass(frozen=True)
class Rules:
    """What to do where the input leaves a choice.

    Parameters
    ----------
    conflict : {"refuse", "newest", "drop"}
        Where two answers of one model to one item differ: refuse to read, take the newest run's
        (in one file: the later row's), or take neither (not answered).
    min_coverage : float
        Models that answered a smaller share of what their runs should hold leave; in [0, 1].
    changed : {"refuse", "drop"}
        Rows whose document is not the benchmark's (another version of the data): set the whole run
        aside, or only those rows.
    null : {"wrong", "drop", "guess"}
        A generation of which no answer could be extracted (MMLU-Pro dumps): a score of 0, not
        answered, or what a guess scores on average, 1 / number of options.
    merge_duplicates : bool
        Items of the same content become one item, whose score is the mean of the answered ones.
    rename : mapping of str to str
        New names of models.
    """

    conflict: ConflictRule = "refuse"
    min_coverage: float = 1.0
    changed: ChangedRule = "refuse"
    null: NullRule = "wrong"
    merge_duplicates: bool = False
    rename: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check every field."""
        for name, value, known in (
            ("conflict", self.conflict, ("refuse", "newest", "drop")),
            ("changed", self.changed, ("refuse", "drop")),
            ("null", self.null, ("wrong", "drop", "guess")),
        ):
            if value not in known:
                raise ValueError(f"{name}: {value!r} is no rule; give one of {', '.join(known)}")
        if not 0 <= self.min_coverage <= 1:
            raise ValueError(f"min_coverage: {self.min_coverage} is outside [0, 1]")


@dataclass
class FileNote:
    """One file: what it was taken for, and what could not be used."""

    path: str
    task: str = ""
    rows: int = 0
    skipped: str = ""
    rejected: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    examples: dict[str, str] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


@dataclass
class SubtaskNote:
    """How many items of a subtask a model should have answered, and what was found."""

    expected: int = 0
    found: int = 0
    missing: int = 0
    duplicate: int = 0
    conflicting: int = 0


@dataclass
class ModelNote:
    """One column: where it comes from and how complete it is; `left` says why it is not there.

    `accuracy` is the mean score of what was answered, `accuracy_of_all` that of all items expected
    if a missing answer counts as wrong.
    """

    model: str
    kind: str
    coverage: float
    accuracy: float | None
    accuracy_of_all: float | None
    runs: list[str]
    settings: dict[str, str]
    subtasks: dict[str, SubtaskNote]
    left: str = ""

    def total(self, name: str) -> int:
        """Return the sum of one count over the subtasks."""
        return sum(int(getattr(note, name)) for note in self.subtasks.values())


@dataclass
class ReadingReport:
    """All that a reader has to say about its input; `commits` are those read from the hub."""

    benchmark: str
    rules: Rules = field(default_factory=Rules)
    files: list[FileNote] = field(default_factory=list)
    models: list[ModelNote] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    commits: dict[str, str] = field(default_factory=dict)
    sources: list[str] = field(default_factory=list)

    @property
    def kept(self) -> list[ModelNote]:
        """The models that the matrix holds."""
        return [model for model in self.models if not model.left]

    def to_dict(self) -> dict[str, Any]:
        """Return the whole report as JSON values."""
        return {"summary": self.summary().splitlines(), **asdict(self)}

    def save(self, path: Path) -> None:
        """Write the whole report as JSON, atomically."""
        text = json.dumps(self.to_dict(), indent=1, ensure_ascii=True)
        files.write_text(path, text + "\n")

    def summary(self) -> str:
        """Return the report in a few lines: counts, then what a user should know, shortened."""
        read = [file for file in self.files if not file.skipped]
        rows = sum(file.rows for file in read)
        lines = [
            f"{self.benchmark}: {len(read)} files with {rows:,} rows read, "
            f"{len(self.files) - len(read)} files skipped; {len(self.kept)} models kept, "
            f"{len(self.models) - len(self.kept)} left out"
        ]
        lines += _short("skipped", Counter(f.skipped for f in self.files if f.skipped))
        rejected: Counter[str] = Counter()
        for file in self.files:
            rejected.update(file.rejected)
        lines += _short("rows not used", rejected)
        counts: Counter[str] = Counter()
        for file in self.files:
            counts.update(file.counts)
        lines += _short("counted", counts)
        lines += _listed("fault", [fault for file in self.files for fault in file.faults])
        lines += _listed("conflict", self.conflicts)
        lines += _listed("note", self.notes)
        lines += _listed("left out", [f"{m.model}: {m.left}" for m in self.models if m.left])
        lines += _listed("incomplete", list(self._incomplete()))
        return "\n".join(lines)

    def _incomplete(self) -> Iterable[str]:
        for m in self.kept:
            if m.coverage < 1:
                lacking = [name for name, s in m.subtasks.items() if s.expected and not s.found]
                none = f"; nothing of {', '.join(lacking)}" if lacking else ""
                yield (
                    f"{m.model}: {m.total('found'):,} of {m.total('expected'):,} items{none}; "
                    "its score is over those"
                )


def _short(what: str, counts: Mapping[str, int]) -> list[str]:
    return [f"  {what}: {n:,} ({reason})" for reason, n in counts.items()]


def _listed(what: str, texts: Sequence[str]) -> list[str]:
    lines = [f"  {what}: {text}" for text in texts[:_SHOWN]]
    if len(texts) > _SHOWN:
        lines.append(f"  {what}: and {len(texts) - _SHOWN} more (see the report file)")
    return lines
